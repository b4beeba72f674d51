// A number in [0, 1) that depends on two others: the output function of a PCG (Jarzynski and Olano 2020, "Hash Functions for GPU
// Rendering").
fn hashed(a: u32, b: u32) -> f32 {
    let state = (a ^ (b * 0x9e3779b9u)) * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return f32(((word >> 22u) ^ word) >> 8u) * 0x1p-24;
}

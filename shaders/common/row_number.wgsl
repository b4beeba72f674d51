// A number from 0 to 1 for each row, the same in every image (O'Neill's PCG as a hash: Jarzynski and Olano 2020, "Hash
// Functions for GPU Rendering").
fn row_number(row: u32) -> f32 {
    let state = row * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return f32(((word >> 22u) ^ word) >> 8u) / 16777216.0;
}

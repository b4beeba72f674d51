// The eight corners of a box in world space, for all that asks a layer where its rows are.
// Out: positions (8, 3).

struct Params {
    low: vec3f,
    positions_offset: u32,
    high: vec3f,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> positions: array<f32>;

@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) corner: u32) {
    let high = vec3<bool>((corner & 1u) != 0u, (corner & 2u) != 0u, (corner & 4u) != 0u);
    let position = select(params.low, params.high, high);
    for (var axis = 0u; axis < 3u; axis++) {
        positions[params.positions_offset + 3u * corner + axis] = position[axis];
    }
}

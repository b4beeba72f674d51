// The header of an obstacle's array, which shaders/common/obstacle.wgsl describes; the samples after it are copied.
// Out: obstacle (32 + samples).

struct Params {
    row0: vec4f,
    row1: vec4f,
    row2: vec4f,
    row3: vec4f,
    row4: vec4f,
    row5: vec4f,
    row6: vec4f,
    row7: vec4f,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> obstacle: array<f32>;

@compute @workgroup_size(1)
fn write_header() {
    let rows = array(
        params.row0, params.row1, params.row2, params.row3, params.row4, params.row5, params.row6, params.row7,
    );
    for (var i = 0u; i < 32u; i += 1u) {
        obstacle[i] = rows[i / 4u][i % 4u];
    }
}

// The header of an obstacle's array, which shaders/common/obstacle.wgsl describes; the samples after it are copied.
// Out: obstacle (144 + samples).

struct Params {
    //% for k in range(36)
    row${k}: vec4f,
    //% endfor
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> obstacle: array<f32>;

@compute @workgroup_size(1)
fn write_header() {
    //% for k in range(36)
    //% for i in range(4)
    obstacle[${4 * k + i}] = params.row${k}[${i}];
    //% endfor
    //% endfor
}

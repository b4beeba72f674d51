// What draw/point_splatting.wgsl has added up, over what is solid. Out: linear premultiplied color.
//% include "common/fullscreen.wgsl"
//% include "common/color.wgsl"
//% include "common/output.wgsl"
//% include "common/sums.wgsl"

struct PointArrays {             // the beginning of that in draw/point_splatting.wgsl
    viewport: vec2u,        // pixels
}

@group(0) @binding(4) var<uniform> arrays: PointArrays;
@group(0) @binding(5) var<storage, read> sums: array<u32>;

@fragment
fn cover_fragment(in: Screen) -> Output {
    let pixel = u32(in.pixel.y) * arrays.viewport.x + u32(in.pixel.x);
    var sum = vec4f(0.0);
    for (var i = 0u; i < 2u; i++) {
        let at = 2u * pixel + i;
        let passed = 2u * arrays.viewport.x * arrays.viewport.y + 2u * at;
        let found = lights_of(sums[at], vec2u(sums[passed], sums[passed + 1u]));
        if i == 0u { sum = vec4f(found, 0.0, 0.0); } else { sum = vec4f(sum.rg, found); }
    }
    if !any(sum > vec4f(0.0)) { discard; }
    let found = resolved(sum);
    return output(vec4f(bounded(found.rgb), found.a));
}

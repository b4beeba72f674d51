// Soft sprites (draw/marks.wgsl) over what is solid, in one sample per pixel. In and out: premultiplied color.
//% include "common/fullscreen.wgsl"
//% include "common/output.wgsl"

@group(0) @binding(0) var one_sample: texture_2d<f32>;

@fragment
fn cover_fragment(in: Screen) -> Output {
    let color = textureLoad(one_sample, vec2i(in.pixel.xy), 0);
    if color.a == 0.0 && all(color.rgb == vec3f(0.0)) { discard; }
    return output(color);
}

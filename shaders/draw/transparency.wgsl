// What is transparent, added up without an order (common/transparency.wgsl), over what is solid.
// In: the sums, and what is let through, of each pixel. Out: linear premultiplied color.
//% include "common/fullscreen.wgsl"
//% include "common/output.wgsl"

@group(0) @binding(0) var weighed: texture_2d<f32>;
@group(0) @binding(1) var through: texture_2d<f32>;

@fragment
fn cover_fragment(in: Screen) -> Output {
    let pixel = vec2i(in.pixel.xy);
    let sum = textureLoad(weighed, pixel, 0);
    let covered = 1.0 - textureLoad(through, pixel, 0).r;
    if covered <= 0.0 { discard; }
    return output(vec4f(sum.rgb / max(sum.a, 1e-6), 1.0) * covered);
}

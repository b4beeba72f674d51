// What was computed for each of the four samples of a pixel: light of surfaces (draw/deferred.wgsl), or what a march along each line
// of sight found (draw/volume.wgsl), which is blended. In and out: premultiplied color.
//% include "common/fullscreen.wgsl"
//% include "common/output.wgsl"

@group(0) @binding(0) var samples: texture_2d_array<f32>;

@fragment
fn cover_fragment(in: Screen, @builtin(sample_index) which: u32) -> Output {
    let color = textureLoad(samples, vec2i(in.pixel.xy), which, 0);
//% if BLENDED
    if all(color == vec4f(0.0)) { discard; }
//% endif
    return output(color);
}

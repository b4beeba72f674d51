// The light of surfaces that draw/deferred.wgsl has lit, for each sample. Out: color.
//% include "common/fullscreen.wgsl"
//% include "common/output.wgsl"

@group(0) @binding(0) var lit_samples: texture_2d_array<f32>;

@fragment
fn cover_fragment(in: Screen, @builtin(sample_index) which: u32) -> Output {
    let color = textureLoad(lit_samples, vec2i(in.pixel.xy), which, 0);
    if color.a == 0.0 { discard; }
    return output(color);
}

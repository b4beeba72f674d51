// The light of surfaces that draw/deferred.wgsl has lit, for each sample; nothing where there is none. Out: color.
//% include "common/fullscreen.wgsl"
//% include "common/output.wgsl"

@group(0) @binding(0) var lit_samples: texture_2d_array<f32>;

@fragment
fn cover_fragment(in: Screen, @builtin(sample_index) which: u32) -> Output {
    return output(textureLoad(lit_samples, vec2i(in.pixel.xy), which, 0));
}

// The light of what is opaque, for layers that it shines through. In: its samples. Out: their mean.
//% include "common/fullscreen.wgsl"

@group(0) @binding(0) var solid_light: texture_multisampled_2d<f32>;

@fragment
fn mean_fragment(@builtin(position) at: vec4f) -> @location(0) vec4f {
    var sum = vec4f(0.0);
    for (var i = 0; i < 4; i++) { sum += textureLoad(solid_light, vec2i(at.xy), i); }
    return 0.25 * sum;
}

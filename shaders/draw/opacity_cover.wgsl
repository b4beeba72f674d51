// The optical depths of one volume, as draw/volume.wgsl has computed them, to be added to a map of them.
//% include "common/fullscreen.wgsl"

@group(0) @binding(0) var depths: texture_2d_array<f32>;

struct OpticalDepths {
    @location(0) near: vec4f,
    @location(1) far: vec4f,
}

@fragment
fn cover_fragment(in: Screen) -> OpticalDepths {
    let texel = vec2i(in.pixel.xy);
    return OpticalDepths(textureLoad(depths, texel, 0, 0), textureLoad(depths, texel, 1, 0));
}

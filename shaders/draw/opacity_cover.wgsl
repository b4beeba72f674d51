// The optical depths of one volume, or with LIQUID of one liquid, as draw/volume.wgsl or draw/liquid_shadow.wgsl has computed
// them, to be added to a map of them.
//% include "common/fullscreen.wgsl"

//% if LIQUID
@group(0) @binding(0) var depths: texture_2d<f32>;
//% else
@group(0) @binding(0) var depths: texture_2d_array<f32>;
//% endif

struct OpticalDepths {
    @location(0) near: vec4f,
    @location(1) far: vec4f,
    @location(2) liquid: vec4f,
}

@fragment
fn cover_fragment(in: Screen) -> OpticalDepths {
    let texel = vec2i(in.pixel.xy);
    //% if LIQUID
    return OpticalDepths(vec4f(0.0), vec4f(0.0), textureLoad(depths, texel, 0));
    //% else
    return OpticalDepths(textureLoad(depths, texel, 0, 0), textureLoad(depths, texel, 1, 0), vec4f(0.0));
    //% endif
}

// What draw/post_process.wgsl has computed, in the part of the target that the viewport is.
//% include "common/fullscreen.wgsl"

@group(0) @binding(0) var computed: texture_2d<f32>;

@fragment
fn cover_fragment(in: Screen) -> @location(0) vec4f {
    return textureLoad(computed, vec2i(in.uv * vec2f(textureDimensions(computed))), 0);
}

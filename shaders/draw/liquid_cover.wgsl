// The surface of a liquid over what is opaque, with its depth.
// In: its outline, by draw/liquid_outline.wgsl, and its light. Out: the same color, and depth.
//% include "common/view.wgsl"
//% include "common/fullscreen.wgsl"
//% include "common/liquid_outline.wgsl"

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(2) var outline: texture_2d<f32>;
@group(0) @binding(3) var colors: texture_2d<f32>;

struct Pixel {
    @location(0) color: vec4f,
    @location(1) display: vec4f,     // the same: common/output.wgsl
    @builtin(frag_depth) depth: f32,
    @builtin(sample_mask) samples: u32,
}

@fragment
fn cover_fragment(in: Screen) -> Pixel {
    let pixel = vec2i(in.pixel.xy);
    let packed = textureLoad(outline, pixel, 0).xy;
    if packed.x <= 0.0 { discard; }
    let found = outline_of(packed);
    let color = textureLoad(colors, pixel + found.away, 0);
    return Pixel(color, color, depth_at(vec3f(0.0, 0.0, -found.distance)), found.samples);
}

// The layers of a texture array from the texels of a tensor, and its smaller levels, each from the one before.
// In: texels, four bytes each, of a layer that begins at texel `first`; or the larger level.
// With SRGB the target encodes what is written.
//% include "common/fullscreen.wgsl"
//% include "common/color.wgsl"

struct Layer {
    first: u32,         // its first texel in the binding
    width: u32,
}

@group(0) @binding(0) var<uniform> layer: Layer;
//% if FILL
@group(0) @binding(1) var<storage, read> texels: array<u32>;
//% else
@group(0) @binding(1) var larger: texture_2d<f32>;
@group(0) @binding(2) var smooth_sampler: sampler;
//% endif

//% if FILL
@fragment
fn fill_fragment(@builtin(position) at: vec4f) -> @location(0) vec4f {
    let pixel = vec2u(at.xy);
    let texel = unpack4x8unorm(texels[layer.first + pixel.y * layer.width + pixel.x]);
//% if SRGB
    return vec4f(srgb_to_linear(texel.rgb), texel.a);
//% else
    return texel;
//% endif
}
//% else
// The mean of the texels under this one: of sides that are odd, of more than two of them.
@fragment
fn shrink_fragment(@builtin(position) at: vec4f) -> @location(0) vec4f {
    let size = vec2f(textureDimensions(larger));
    let smaller = max(floor(0.5 * size), vec2f(1.0));
    let ratio = size / smaller;
    var sum = vec4f(0.0);
    for (var i = 0u; i < 4u; i++) {
        let part = (vec2f(f32(i & 1u), f32(i >> 1u)) - 0.5) * 0.5;
        sum += textureSampleLevel(larger, smooth_sampler, (at.xy + part) * ratio / size, 0.0);
    }
    return 0.25 * sum;
}
//% endif

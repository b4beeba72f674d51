// What a fragment of an opaque surface returns: its light, or with GBUFFER what draw/deferred.wgsl computes it from
// (renderer/deferred.py). With OWN_DEPTH the caller sets a depth. Needs common/coverage.wgsl, and common/material.wgsl.
//% if GBUFFER
//% include "common/octahedral.wgsl"
//% endif

struct Pixel {
//% if GBUFFER
    @location(0) paint: vec4u,      // the base color as halves; 10 bits of the roughness, 6 of the metallic fraction
    @location(1) normal: vec2u,     // in eye space, 16 bits each
//% else
    @location(0) color: vec4f,
    @location(1) display: vec4f,    // the same: common/output.wgsl
//% endif
//% if OWN_DEPTH is defined
    @builtin(frag_depth) depth: f32,
//% endif
//% if SAMPLE_MASK
    @builtin(sample_mask) samples: u32,
//% endif
}

//% if GBUFFER
fn solid_pixel(material: Material, normal: vec3f, samples: u32) -> Pixel {
    var out: Pixel;
    let base = bounded(material.base);
    let red_green = pack2x16float(base.rg);
    let rest = vec2u(clamp(vec2f(material.metallic, material.roughness), vec2f(0.0), vec2f(1.0)) * vec2f(63.0, 1023.0) + 0.5);
    out.paint = vec4u(red_green & 0xffffu, red_green >> 16u, pack2x16float(vec2f(base.b, 0.0)), rest.x | (rest.y << 6u));
    let word = octahedral(normal);
    out.normal = vec2u(word & 0xffffu, word >> 16u);
    out.samples = samples;
    return out;
}
//% else
fn solid_pixel(light: vec3f, samples: u32) -> Pixel {
    var out: Pixel;
    out.color = vec4f(light, 1.0);
//% if SAMPLE_MASK
    out.samples = samples;
//% else
    out.color.a = coverage(samples);
//% endif
    out.display = out.color;
    return out;
}
//% endif

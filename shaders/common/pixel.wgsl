// What a fragment of an opaque surface returns: its light, or with GBUFFER what draw/deferred.wgsl computes it from
// (renderer/deferred.py). With OWN_DEPTH the caller sets a depth. Needs common/coverage.wgsl, and common/material.wgsl.
//% if GBUFFER
//% include "common/octahedral.wgsl"
//% endif

struct Pixel {
//% if GBUFFER
    @location(0) paint: vec4f,      // the material's base color and roughness
    @location(1) shape: vec4u,      // 16 bits each: two of the normal in eye space, the metallic fraction, none
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
    let word = octahedral(normal);
    let metallic = u32(clamp(material.metallic, 0.0, 1.0) * 65535.0 + 0.5);
    out.paint = vec4f(bounded(material.base), material.roughness);
    out.shape = vec4u(word & 0xffffu, word >> 16u, metallic, 0u);
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

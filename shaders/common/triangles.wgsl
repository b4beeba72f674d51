// What all layers of triangles share: which side is visible, light, and which samples are covered. Needs the uniforms `view`
// of common/view.wgsl and `style` with the fields named here, common/lighting.wgsl and common/coverage.wgsl.
//% include "common/shadows.wgsl"
//% include "common/transparency.wgsl"

// The normal on the visible side. Turned round only if triangle and normal agree on that: near the outline a smooth
// normal may lean away from the eye, and a triangle of a few pixels, nearly edge-on, does not know its own side.
fn toward_eye(normal: vec3f, flat_normal: vec3f, to_eye: vec3f) -> vec3f {
    let behind = dot(normal, flat_normal) < -0.3 && dot(normal, to_eye) < 0.0;
    return select(normal, -normal, behind);
}

struct Pixel {
    @location(0) color: vec4f,
    @location(1) display: vec4f,     // the same: common/output.wgsl
//% if SAMPLE_MASK
    @builtin(sample_mask) samples: u32,
//% endif
}

// Light from `eye` toward the eye. `smooth_normal` is in eye space and of any length; 0 asks for the triangle's own.
fn light_of(eye: vec3f, smooth_normal: vec3f, base: vec3f, pixel: vec2f) -> vec3f {
    let to_eye = -sight_to(eye);
    var normal = normalize(cross(dpdx(eye), dpdy(eye)));
    normal *= select(-1.0, 1.0, dot(normal, to_eye) >= 0.0);
    if dot(smooth_normal, smooth_normal) > 1e-20 { normal = toward_eye(normalize(smooth_normal), normal, to_eye); }
    return bounded(lit_at(Material(base, style.metallic, style.roughness), normal, to_eye, eye, pixel));
}

// A fragment at `eye` that is solid; what is not is left to `shaded_clear`.
fn shaded(eye: vec3f, smooth_normal: vec3f, color: vec4f, pixel: vec2f) -> Pixel {
    var out: Pixel;
    var samples = unclipped_samples(eye);
    if samples == 0u || color.a < OPAQUE { discard; }
    out.color = vec4f(light_of(eye, smooth_normal, color.rgb, pixel), 1.0);
//% if SAMPLE_MASK
    out.samples = samples;
//% else
    out.color.a = coverage(samples);
//% endif
    out.display = out.color;
    return out;
}

// One that is transparent, of any distance.
fn shaded_clear(eye: vec3f, smooth_normal: vec3f, color: vec4f, pixel: vec2f) -> Clear {
    let alpha = select(clamp(color.a, 0.0, 1.0), 0.0, color.a >= OPAQUE || beyond_clips(eye) > 0.0);
    return clear(light_of(eye, smooth_normal, color.rgb, pixel), alpha, eye);
}

// A fragment has no color where only depth is drawn.
fn no_depth(eye: vec3f, alpha: f32, pixel: vec2f) -> bool {
    return beyond_clips(eye) > 0.0 || is_hole(alpha, pixel);
}

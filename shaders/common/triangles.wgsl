// What all layers of triangles share: which side is visible, light, and which samples are covered. Needs the uniforms `view`
// of common/view.wgsl and `style` with the fields named here, common/lighting.wgsl and common/coverage.wgsl.
//% include "common/shadows.wgsl"
//% include "common/transparency.wgsl"
//% include "common/pixel.wgsl"
//% if GBUFFER
//% include "common/hidden.wgsl"

const ROUNDING = 1e-5;      // of a depth, relative to it

// Whether a triangle is hidden in this pixel also where it is nearest. Its depths that were drawn before may differ by rounding.
fn is_hidden(at: vec4f) -> bool {
    return is_behind(at.z * (1.0 + ROUNDING) + fwidth(at.z), at.xy);
}
//% endif

// The normal on the visible side. Turned round only if triangle and normal agree on that: near the outline a smooth
// normal may lean away from the eye, and a triangle of a few pixels, nearly edge-on, does not know its own side.
fn toward_eye(normal: vec3f, flat_normal: vec3f, to_eye: vec3f) -> vec3f {
    let behind = dot(normal, flat_normal) < -0.3 && dot(normal, to_eye) < 0.0;
    return select(normal, -normal, behind);
}

// The normal at `eye` on the visible side. `smooth_normal` is in eye space and of any length; 0 asks for the triangle's own.
fn visible_normal(eye: vec3f, smooth_normal: vec3f) -> vec3f {
    let to_eye = -sight_to(eye);
    var normal = normalize(cross(dpdx(eye), dpdy(eye)));
    normal *= select(-1.0, 1.0, dot(normal, to_eye) >= 0.0);
    if dot(smooth_normal, smooth_normal) > 1e-20 { normal = toward_eye(normalize(smooth_normal), normal, to_eye); }
    return normal;
}

fn material_of(base: vec3f) -> Material {
    return Material(base, style.metallic, style.roughness);
}

// Light from `eye` toward the eye.
fn light_of(eye: vec3f, smooth_normal: vec3f, base: vec3f, pixel: vec2f) -> vec3f {
    return bounded(lit_at(material_of(base), visible_normal(eye, smooth_normal), -sight_to(eye), eye, pixel));
}

// A fragment at `eye` that is solid, `at` this position in the image; what is not is left to `shaded_clear`.
fn shaded(eye: vec3f, smooth_normal: vec3f, color: vec4f, at: vec4f) -> Pixel {
    let samples = unclipped_samples(eye);
//% if GBUFFER
    if is_hidden(at) { discard; }
//% endif
    if samples == 0u || color.a < OPAQUE { discard; }
//% if GBUFFER
    return solid_pixel(material_of(color.rgb), visible_normal(eye, smooth_normal), samples);
//% else
    return solid_pixel(light_of(eye, smooth_normal, color.rgb, at.xy), samples);
//% endif
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

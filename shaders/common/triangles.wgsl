// What all layers of triangles share: which side is seen, light, and which samples are covered. Needs the uniforms `view` of
// common/view.wgsl and `style` with the fields named here, common/lighting.wgsl and common/coverage.wgsl.

// The normal on the side that is seen. Turned round only if triangle and normal agree on that: near the outline a smooth
// normal may lean away from the eye, and a triangle of a few pixels, seen edge-on, does not know its own side.
fn seen_side(normal: vec3f, flat_normal: vec3f, to_eye: vec3f) -> vec3f {
    let behind = dot(normal, flat_normal) < -0.3 && dot(normal, to_eye) < 0.0;
    return select(normal, -normal, behind);
}

struct Pixel {
    @location(0) color: vec4f,
//% if SAMPLE_MASK
    @builtin(sample_mask) samples: u32,
//% endif
}

// A fragment at `eye`. `smooth_normal` is in eye space and of any length; 0 asks for the triangle's own.
fn shaded(eye: vec3f, smooth_normal: vec3f, color: vec4f, pixel: vec2f) -> Pixel {
    let to_eye = -sight_to(eye);
    var normal = normalize(cross(dpdx(eye), dpdy(eye)));
    normal *= select(-1.0, 1.0, dot(normal, to_eye) >= 0.0);
    if dot(smooth_normal, smooth_normal) > 1e-20 { normal = seen_side(normalize(smooth_normal), normal, to_eye); }
    var out: Pixel;
    var samples = 15u;
    if color.a < 1.0 { samples = alpha_samples(color.a, pixel); }
    let light = lit(Material(color.rgb, style.metallic, style.roughness), normal, to_eye);
    out.color = vec4f(bounded(light), 1.0);
//% if SAMPLE_MASK
    out.samples = samples;
//% else
    out.color.a = share(samples);
//% endif
    return out;
}

// Metal-rough surfaces (common/material.wgsl) under a sun and a sky. Needs a uniform `view` of common/view.wgsl, and the light from
// around of common/environment.wgsl or common/gradient.wgsl.
// Sky: three-color hemisphere; its mirror image is weighed by the split sum of Karis 2013, "Real Shading in Unreal Engine 4".
//% include "common/material.wgsl"

// Sky radiance in a direction, blurred over the lobe that `roughness` spreads it to.
fn gradient_toward(direction: vec3f, roughness: f32) -> vec3f {
    let height = dot(direction, view.up);
    let spread = 0.06 + 0.94 * roughness;
    let above = smoothstep(-spread, spread, height);
    let overhead = mix(view.horizon, view.sky, smoothstep(0.0, 1.0, max(height, 0.0)));
    return mix(view.ground, overhead, above);
}

// Mean sky radiance over the hemisphere around `normal`, weighed by the cosine.
fn gradient_around(normal: vec3f) -> vec3f {
    let upper = mix(view.horizon, view.sky, 0.6);
    return mix(view.ground, upper, 0.5 + 0.5 * dot(normal, view.up));
}

// Light that leaves the surface toward the eye. `normal` and `to_eye` are unit vectors in eye space.
fn lit(material: Material, normal: vec3f, to_eye: vec3f) -> vec3f {
    return lit_where(material, normal, to_eye, vec2f(1.0));
}

// The same where only a fraction of the sun's light arrives, `open.x`, and of the sky's, `open.y`.
fn lit_where(material: Material, normal: vec3f, to_eye: vec3f, open: vec2f) -> vec3f {
    let f0 = mix(vec3f(PAINT), material.base, material.metallic);
    return lit_by(material, f0, reflection(material, max(dot(normal, to_eye), 1e-4)), normal, to_eye, open);
}

// The same by the parts of a reflection.
fn lit_by(material: Material, f0: vec3f, part: Reflection, normal: vec3f, to_eye: vec3f, open: vec2f) -> vec3f {
    let facing = max(dot(normal, to_eye), 1e-4);
    let mirrored = sky_toward(reflect(-to_eye, normal), material.roughness);
    return direct_light(material, f0, part, normal, to_eye, facing, view.sun_direction) * view.sun * open.x
        + (part.often + part.below) * sky_around(normal) * open.y
        + part.once * mirrored * mirror_open(open.y, material.roughness, facing);
}

// The fraction of a mirror image that is not hidden, where `open` of the hemisphere is not (Lagarde and de Rousiers 2014).
fn mirror_open(open: f32, roughness: f32, facing: f32) -> f32 {
    return clamp(pow(facing + open, exp2(-16.0 * roughness - 1.0)) - 1.0 + open, 0.0, 1.0);
}

// Mean light from a whole matt ball of color `base`, far away.
fn lit_ball(base: vec3f, to_eye: vec3f, eye: vec3f) -> vec3f {
    var light = view.sun * ball_phase(dot(view.sun_direction, to_eye)) + sky_around(to_eye);
    //% if AREA_LIGHTS is not defined or AREA_LIGHTS
    let count = select(0u, view.light_count, dot(eye, eye) < 1e30);    // a position matters in name only: see common/shadows.wgsl
    for (var i = 0u; i < count; i++) {
        let area = view.lights[i];
        let toward = area.center - eye;
        let squared = max(dot(toward, toward), 1e-20);
        let direction = toward * inverseSqrt(squared);
        let across = cross(area.right, area.above);     // a quarter of a rectangle
        let part = select(4.0 / PI, 1.0, area.kind > 0.5);
        let covered = select(part * max(-dot(across, direction), 0.0), dot(area.right, area.right), area.kind > 1.5);
        light += area.radiance * (ball_phase(dot(direction, to_eye)) * min(covered / squared, 1.0));
    }
    //% endif
    return base * light;
}

// Lambert's phase function, by the cosine between the light and the eye.
fn ball_phase(cosine: f32) -> f32 {
    let phase = acos(clamp(cosine, -1.0, 1.0));
    return (2.0 / 3.0) * (sin(phase) + (PI - phase) * cos(phase)) / PI;
}

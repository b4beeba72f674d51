// Metal-rough surfaces under a sun and a sky. Needs a uniform `view` of common/view.wgsl.
// Sun: Cook-Torrance with the GGX distribution and the height-correlated Smith visibility
// (Walter et al. 2007; Heitz 2014) and Schlick's Fresnel. Sky: three-colour hemisphere; its mirror image is weighed
// with the split-sum fit of Karis 2014, "Physically Based Shading on Mobile".

struct Material {
    base: vec3f,        // linear
    metallic: f32,
    roughness: f32,     // perceptual; its square is the GGX width
}

const PI = 3.14159265;

// Sky radiance seen in a direction, blurred over the lobe that `roughness` spreads it to.
fn sky_toward(direction: vec3f, roughness: f32) -> vec3f {
    let height = dot(direction, view.up);
    let spread = 0.06 + 0.94 * roughness;
    let above = smoothstep(-spread, spread, height);
    let overhead = mix(view.horizon, view.sky, smoothstep(0.0, 1.0, max(height, 0.0)));
    return mix(view.ground, overhead, above);
}

// Mean sky radiance over the hemisphere around `normal`, weighed by the cosine.
fn sky_around(normal: vec3f) -> vec3f {
    let upper = mix(view.horizon, view.sky, 0.6);
    return mix(view.ground, upper, 0.5 + 0.5 * dot(normal, view.up));
}

fn sky_reflectance(f0: vec3f, roughness: f32, facing: f32) -> vec3f {
    let r = roughness * vec4f(-1.0, -0.0275, -0.572, 0.022) + vec4f(1.0, 0.0425, 1.04, -0.04);
    let edge = min(r.x * r.x, exp2(-9.28 * facing)) * r.x + r.y;
    let scale = vec2f(-1.04, 1.04) * edge + r.zw;
    return f0 * scale.x + scale.y;
}

// Light that leaves the surface toward the eye. `normal` and `to_eye` are unit vectors in eye space.
fn lit(material: Material, normal: vec3f, to_eye: vec3f) -> vec3f {
    let facing = max(dot(normal, to_eye), 1e-4);
    let f0 = mix(vec3f(0.04), material.base, material.metallic);
    let matt = material.base * (1.0 - material.metallic);
    return sun_light(material, f0, matt, normal, to_eye, facing)
        + matt * sky_around(normal)
        + sky_reflectance(f0, material.roughness, facing)
            * sky_toward(reflect(-to_eye, normal), material.roughness);
}

fn sun_light(
    material: Material, f0: vec3f, matt: vec3f, normal: vec3f, to_eye: vec3f, facing: f32,
) -> vec3f {
    let sunward = dot(normal, view.sun_direction);
    if sunward <= 0.0 { return vec3f(0.0); }
    let half_way = normalize(view.sun_direction + to_eye);
    let across = max(dot(normal, half_way), 0.0);
    let width = max(material.roughness * material.roughness, 0.005);
    let w2 = width * width;
    let bell = across * across * (w2 - 1.0) + 1.0;
    let distribution = w2 / (PI * bell * bell);
    let visibility = 0.5 / (sunward * sqrt(facing * facing * (1.0 - w2) + w2)
        + facing * sqrt(sunward * sunward * (1.0 - w2) + w2));
    let fresnel = f0 + (1.0 - f0) * fifth_power(1.0 - max(dot(to_eye, half_way), 0.0));
    // The sun is given as the radiance of a white matt surface, so pi has moved to the mirror term.
    return view.sun * sunward * (matt * (1.0 - fresnel) + fresnel * (PI * distribution * visibility));
}

fn fifth_power(x: f32) -> f32 {
    let x2 = x * x;
    return x2 * x2 * x;
}

// Mean light from a whole matt ball of colour `base`, far away: Lambert's phase function for the sun.
fn lit_ball(base: vec3f, to_eye: vec3f) -> vec3f {
    let cosine = clamp(dot(view.sun_direction, to_eye), -1.0, 1.0);
    let phase = acos(cosine);
    let sun = (2.0 / 3.0) * (sin(phase) + (PI - phase) * cosine) / PI;
    return base * (view.sun * sun + sky_around(to_eye));
}

// Metal-rough surfaces: what they do with light from a direction, and from all around. Needs a function sky_reflectance(roughness,
// facing): of light from all around, what facets reflect for each unit of f0, and in addition.
// Cook-Torrance with the GGX distribution and the height-correlated Smith visibility (Walter et al. 2007; Heitz 2014) and
// Schlick's Fresnel. What facets throw at each other is not lost, so that white under a white sky is as white as the sky.

struct Material {
    base: vec3f,        // linear
    metallic: f32,
    roughness: f32,     // perceptual; its square is the GGX width
}

const PI = 3.14159265;

// Of all light from around, what the facets reflect: x for each unit of f0, and y in addition. Polynomials fitted to the
// integrals of the terms below over the hemisphere, right to 0.06 where they are worst, which is edge-on.
fn fitted_reflectance(roughness: f32, facing: f32) -> vec2f {
    let r = roughness * vec3f(1.0, roughness, roughness * roughness);
    let lost = dot(r, vec3f(0.7115, -1.5464, 0.959))
        + facing * (dot(r, vec3f(-2.7731, 8.9218, -5.0051)) + facing * dot(r, vec3f(1.7904, -6.4859, 4.1284)));
    let edge = (1.0818 - 2.4794 * r.x + 1.4815 * r.y) * pow(1.0 - min(facing, 1.0), 5.1112 - 8.0424 * r.x + 8.8285 * r.y);
    return vec2f(1.0 - clamp(lost, 0.0, 0.75) - edge, edge);
}

// What a surface does with light from all around, on one side: the fraction that it reflects at its first facets, the
// fraction that comes back after more of them, and what is left to be scattered below. They add up to 1 where nothing is
// absorbed (Fdez-Aguera 2019, "A Multiple-Scattering Microfacet Model for Real-Time Image-based Lighting").
struct Reflection {
    once: vec3f,
    often: vec3f,
    below: vec3f,
    gain: vec3f,        // light of many facets for each that of one (Turquin 2019)
}

const PAINT = 0.04;     // the light that a dielectric of index 1.5 reflects, which faces it

fn reflection(material: Material, facing: f32) -> Reflection {
    return reflection_of(material, PAINT, facing);
}

// The same where the dielectric below has another index.
fn reflection_of(material: Material, dielectric: f32, facing: f32) -> Reflection {
    let fit = sky_reflectance(material.roughness, facing);
    let paint = vec3f(dielectric) * fit.x + fit.y;
    let metal = material.base * fit.x + fit.y;
    let all = fit.x + fit.y;
    let paint_often = reflected_often(paint, vec3f(dielectric), all);
    let metal_often = reflected_often(metal, material.base, all);
    let below = material.base * (1.0 - material.metallic) * (1.0 - paint - paint_often);
    let f0 = mix(vec3f(dielectric), material.base, material.metallic);
    let once = mix(paint, metal, material.metallic);
    return Reflection(once, mix(paint_often, metal_often, material.metallic), below, 1.0 + f0 * (1.0 / all - 1.0));
}

fn reflected_often(once: vec3f, f0: vec3f, all: f32) -> vec3f {
    let mean = f0 + (1.0 - f0) / 21.0;
    return once * mean / (1.0 - mean * (1.0 - all)) * (1.0 - all);
}

// Light toward the eye for each unit from `direction`: of the radiance of a white matt surface that faces it, so pi has moved to
// the mirror term.
fn direct_light(
    material: Material, f0: vec3f, part: Reflection, normal: vec3f, to_eye: vec3f, facing: f32, direction: vec3f,
) -> vec3f {
    let toward = dot(normal, direction);
    if toward <= 0.0 { return vec3f(0.0); }
    let half_vector = normalize(direction + to_eye);
    let across = max(dot(normal, half_vector), 0.0);
    let width = max(material.roughness * material.roughness, 0.005);
    let w2 = width * width;
    let bell = across * across * (w2 - 1.0) + 1.0;
    let distribution = w2 / (PI * bell * bell);
    let visibility = 0.5 / (toward * sqrt(facing * facing * (1.0 - w2) + w2)
        + facing * sqrt(toward * toward * (1.0 - w2) + w2));
    let fresnel = f0 + (1.0 - f0) * fifth_power(1.0 - max(dot(to_eye, half_vector), 0.0));
    return toward * (part.below + fresnel * part.gain * (PI * distribution * visibility));
}

fn fifth_power(x: f32) -> f32 {
    let x2 = x * x;
    return x2 * x2 * x;
}

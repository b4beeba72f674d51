// The surfaces of liquids for a path tracer: by Fresnel's equations a ray is mirrored, or refracted by Snell's law. What is mirrored
// outside is as rough as the liquid. Needs common/trace_surface.wgsl.

const NOT_BENT = 0u;
const REFRACTED = 1u;
const MIRRORED = 2u;        // inside a liquid
const BLURRED = 0.3;        // least roughness with which a liquid mirrors light onto what is matt: sharper, it is noise

// What happens to a ray at a surface.
struct Bend {
    kind: u32,              // NOT_BENT: it is scattered
    direction: vec3f,
    passes: f32,            // radiance that comes along it, to that of the ray before: that inside is ior^2 as large
    medium: Medium,
    chance: f32,            // of being scattered
    ior: f32,               // of a liquid that scatters; 0: it is none
    by_facets: bool,        // rough facets refract the ray, as densely as `refracted_density` says
}

// A surface that is no liquid scatters always.
fn no_bend() -> Bend {
    return Bend(NOT_BENT, vec3f(0.0), 1.0, AIR, 1.0, 0.0, false);
}

// `scattered` is a direction to which facets mirror the ray.
fn bend_at(surface: Surface, ray: Ray, liquid: Medium, medium: Medium, scattered: vec3f, random_: f32) -> Bend {
    var normal = surface.normal;
//% if LOBES
    if surface.is_rough { normal = normalize(scattered - ray.direction); }
//% endif
    let cosine = max(dot(normal, -ray.direction), 1e-4);
    let ratio = select(1.0 / liquid.ior, liquid.ior, surface.is_front);
    let mirrored = fresnel(cosine, ratio);
    if random_ < mirrored {
        if surface.is_front { return Bend(NOT_BENT, vec3f(0.0), 1.0, medium, mirrored, liquid.ior, false); }
        let direction = mirrored_within(surface, normal, ray.direction);
        return Bend(MIRRORED, direction, 1.0, medium, mirrored, liquid.ior, false);
    }
//% if LOBES
    if surface.is_thin {
        let beyond = scattered - 2.0 * max(dot(scattered, surface.side), 0.0) * surface.side;
        let onward = select(ray.direction, beyond, surface.is_rough);
        let by_facets = surface.is_rough && dot(scattered, surface.side) > 0.0;
        return Bend(REFRACTED, onward, 1.0, medium, mirrored, liquid.ior, by_facets);
    }
//% endif
    var direction = refract(ray.direction, normal, 1.0 / ratio);
    let by_facets = surface.is_rough && dot(direction, surface.side) < 0.0;
    if !(dot(direction, surface.side) < 0.0) { direction = refract(ray.direction, surface.side, 1.0 / ratio); }
    if !(dot(direction, direction) > 0.0) { direction = ray.direction; }
    if surface.is_front { return Bend(REFRACTED, direction, 1.0 / (ratio * ratio), liquid, mirrored, liquid.ior, by_facets); }
    return Bend(REFRACTED, direction, leaving_radiance(liquid, medium), AIR, mirrored, liquid.ior, by_facets);
}

// Radiance in a liquid to that outside. A line of sight that begins in a liquid sees the radiance there.
fn leaving_radiance(liquid: Medium, medium: Medium) -> f32 {
    return select(liquid.ior * liquid.ior, 1.0, medium.ior == 0.0);
}

// By a smooth normal, or by that of the triangle where it would leave the liquid.
fn mirrored_within(surface: Surface, normal: vec3f, direction: vec3f) -> vec3f {
    let smooth_ = reflect(direction, normal);
    return select(reflect(direction, surface.side), smooth_, dot(smooth_, surface.side) > 0.0);
}

// A surface of facets that mirror everything.
fn mirror_of(surface: Surface, to_eye: vec3f, on_matt: bool) -> Facing {
    let roughness = max(surface.material.roughness, select(0.0, BLURRED, on_matt));
    let only = Reflection(vec3f(0.0), vec3f(0.0), vec3f(0.0), vec3f(1.0));
    let cosine = max(dot(surface.normal, to_eye), 1e-4);
    return Facing(Material(vec3f(1.0), 1.0, roughness), vec3f(1.0), surface.normal, to_eye, cosine, only, 1.0);
}

//% if LOBES
// How densely facets of a surface refract a ray around a direction beyond it, per steradian: those that are visible (Heitz 2018),
// which turn it there (Walter et al. 2007, "Microfacet Models for Refraction through Rough Surfaces", equations 16 and 17), and do
// not mirror it.
fn refracted_density(surface: Surface, facing: Facing, ior: f32, direction: vec3f) -> f32 {
    if surface.is_thin {
        let back = direction - 2.0 * dot(direction, surface.side) * surface.side;
        return (1.0 - fresnel(max(dot(normalize(back + facing.to_eye), facing.to_eye), 1e-4), ior)) * reflected_density(facing, back);
    }
    let ratio = select(1.0 / ior, ior, surface.is_front);
    let half_ = facing.to_eye + ratio * direction;
    let facet = normalize(half_) * select(1.0, -1.0, ratio > 1.0);
    let before = dot(facet, facing.to_eye);
    let after = dot(facet, direction);
    let across = dot(facet, facing.normal);
    if before <= 0.0 || after >= 0.0 || across <= 0.0 { return 0.0; }
    let width = facet_width(facing.material);
    let w2 = width * width;
    let bell = across * across * (w2 - 1.0) + 1.0;
    let c = facing.cosine;
    let visible = w2 / (PI * bell * bell) * 2.0 * before / (c + sqrt(c * c * (1.0 - w2) + w2));
    let both = before + ratio * after;
    return (1.0 - fresnel(before, ratio)) * visible * ratio * ratio * -after / max(both * both, 1e-20);
}

// The chance that a ray is mirrored to this direction, by facets that decide it one by one where they are rough.
fn chance_of(bend: Bend, surface: Surface, facing: Facing, direction: vec3f) -> f32 {
    return select(bend.chance, mirrored_part(bend, facing, direction), surface.is_rough);
}
//% else
fn chance_of(bend: Bend, surface: Surface, facing: Facing, direction: vec3f) -> f32 {
    return bend.chance;
}
//% endif

// The fraction that facets of a liquid mirror from a direction; 1 of other surfaces, whose facets are known.
fn mirrored_part(bend: Bend, surface: Facing, direction: vec3f) -> f32 {
    if bend.ior == 0.0 { return 1.0; }
    return fresnel(max(dot(normalize(direction + surface.to_eye), surface.to_eye), 1e-4), bend.ior);
}

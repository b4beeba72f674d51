// Reflection at a surface for a path tracer: the terms of common/material.wgsl as a density, and samples of it. Needs
// common/trace_scene.wgsl. Facets are sampled as they are visible (Heitz 2018, "Sampling the GGX Distribution of Visible Normals").
//% include "common/material.wgsl"

const TABLE_SIDE = 32u;

// By the table of path_trace/reflectance.py, the integrals themselves.
fn sky_reflectance(roughness: f32, facing: f32) -> vec2f {
    let position = clamp(vec2f(facing, roughness), vec2f(0.0), vec2f(1.0)) * f32(TABLE_SIDE - 1u);
    let low = min(vec2u(position), vec2u(TABLE_SIDE - 2u));
    let part = position - vec2f(low);
    let at = params.reflectance + 2u * (low.y * TABLE_SIDE + low.x);
    let upper = mix(reflectance_at(at), reflectance_at(at + 2u), part.x);
    return mix(upper, mix(reflectance_at(at + 2u * TABLE_SIDE), reflectance_at(at + 2u * TABLE_SIDE + 2u), part.x), part.y);
}

fn reflectance_at(at: u32) -> vec2f {
    return vec2f(tables[at], tables[at + 1u]);
}

// A surface as it is seen from one direction.
struct Facing {
    material: Material,
    f0: vec3f,              // what facets reflect head-on
    normal: vec3f,
    to_eye: vec3f,
    cosine: f32,            // between the two
    part: Reflection,
    mirrored: f32,          // the part of the samples that goes to the facets
}

fn facing_to(material: Material, dielectric: f32, normal: vec3f, to_eye: vec3f) -> Facing {
    let cosine = max(dot(normal, to_eye), 1e-4);
    let part = reflection_of(material, dielectric, cosine);
    let facets = dot(part.once + part.often, vec3f(1.0));
    let below = dot(part.below, vec3f(1.0));
    let mirrored = select(clamp(facets / (facets + below), 0.1, 0.9), 1.0, below <= 0.0);
    let f0 = mix(vec3f(dielectric), material.base, material.metallic);
    return Facing(material, f0, normal, to_eye, cosine, part, mirrored);
}

// Radiance toward the eye for each unit of radiance from a direction, and of solid angle.
fn reflected(surface: Facing, direction: vec3f) -> vec3f {
    let all = direct_light(
        surface.material, surface.f0, surface.part, surface.normal, surface.to_eye, surface.cosine, direction,
    );
    return all / PI;
}

fn facet_width(material: Material) -> f32 {
    return max(material.roughness * material.roughness, 0.005);
}

// How densely directions of `reflected_direction` are around this one, per steradian.
fn reflected_density(surface: Facing, direction: vec3f) -> f32 {
    let toward = dot(surface.normal, direction);
    if toward <= 0.0 { return 0.0; }
    let width = facet_width(surface.material);
    let w2 = width * width;
    let across = max(dot(surface.normal, normalize(direction + surface.to_eye)), 0.0);
    let bell = across * across * (w2 - 1.0) + 1.0;
    let c = surface.cosine;
    let facets = w2 / (PI * bell * bell) * 0.5 / (c + sqrt(c * c * (1.0 - w2) + w2));
    return mix(toward / PI, facets, surface.mirrored);
}

// A direction by three random numbers; it may point into the surface, where nothing is reflected to.
fn reflected_direction(surface: Facing, random_: vec3f) -> vec3f {
    let radius = sqrt(random_.x);
    let angle = 2.0 * PI * random_.y;
    let disc = radius * vec2f(cos(angle), sin(angle));
    if random_.z >= surface.mirrored {
        return turned(vec3f(disc, sqrt(max(1.0 - random_.x, 0.0))), surface.normal);
    }
    let width = facet_width(surface.material);
    let eye = counted(surface.to_eye, surface.normal);
    let stretched = normalize(vec3f(width * eye.xy, max(eye.z, 1e-4)));
    let height = 0.5 * (1.0 + stretched.z);
    let lifted = mix(sqrt(max(1.0 - disc.x * disc.x, 0.0)), disc.y, height);
    let depth = sqrt(max(1.0 - disc.x * disc.x - lifted * lifted, 0.0));
    // Axes across the view: one that is level, and one in the plane of the view and the normal.
    let level = stretched.x * stretched.x + stretched.y * stretched.y;
    let first = select(vec3f(1.0, 0.0, 0.0), vec3f(-stretched.y, stretched.x, 0.0) * inverseSqrt(max(level, 1e-20)), level > 1e-12);
    let bent = disc.x * first + lifted * cross(stretched, first) + depth * stretched;
    let facet = normalize(vec3f(width * bent.xy, max(bent.z, 0.0)));
    return reflect(-surface.to_eye, turned(facet, surface.normal));
}

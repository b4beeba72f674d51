// Light that leaves the surface of an asset: of sun, sky and area lights, of the asset's own lights, and what comes through from
// behind. Include for light_of, leaving and behind, after common/asset_surface.wgsl. In: LIGHTS, whether the asset has some;
// COATS; TRANSMISSION, whether some materials let light through.

const LIGHT_FLOATS = 16u;

//% if LIGHTS
// From the asset's own light, toward the eye (KHR_lights_punctual): a position and 0 directional, 1 point or 2 spot; the
// direction and range; the color in lux or candela; the cosines of the cone's angles.
fn light_from(
    number: u32, material: Material, f0: vec3f, part: Reflection, normal: vec3f, to_eye: vec3f, eye: vec3f,
) -> vec3f {
    let at = style.first_light + LIGHT_FLOATS * number;
    let kind = lights[at + 3u];
    let position = (view.world_to_eye * vec4f(lights[at], lights[at + 1u], lights[at + 2u], 1.0)).xyz;
    let pointing = (view.world_to_eye * vec4f(lights[at + 4u], lights[at + 5u], lights[at + 6u], 0.0)).xyz;
    let away = position - eye;
    let distance = max(length(away), 1e-18);
    let direction = select(away / distance, -pointing, kind == 0.0);
    var strength = 1.0;
    if kind > 0.0 {
        let range = lights[at + 7u];
        let part_of_range = distance / max(range, 1e-18);
        let window = clamp(1.0 - part_of_range * part_of_range * part_of_range * part_of_range, 0.0, 1.0);
        strength = select(1.0, window, range > 0.0) / (distance * distance);
    }
    if kind > 1.0 {
        let outer = lights[at + 12u];
        let cone = clamp((dot(-direction, pointing) - outer) / max(lights[at + 11u] - outer, 1e-3), 0.0, 1.0);
        strength *= cone * cone;
    }
    let color = vec3f(lights[at + 8u], lights[at + 9u], lights[at + 10u]);
    let facing = max(dot(normal, to_eye), 1e-4);
    return color * (strength / PI) * direct_light(material, f0, part, normal, to_eye, facing, direction);
}

//% endif
// Light of sun, sky and the asset's own lights, by the parts of a reflection.
fn lit_surface(
    in: Corner, material: Material, f0: vec3f, part: Reflection, normal: vec3f, occlusion: f32,
) -> vec3f {
    let to_eye = -sight_to(in.eye);
    let open = vec2f(sun_open(in.eye, normal, in.clip.xy), sky_open(in.eye, in.clip.xy) * occlusion);
    var light = lit_by(material, f0, part, normal, to_eye, open)
        + light_of_areas(material, part, normal, to_eye, in.eye, in.clip.xy);
//% if LIGHTS
    let count = select(0u, style.light_count, dot(in.eye, in.eye) < 1e30);      // a position matters in name only: see common/shadows.wgsl
    for (var i = 0u; i < count; i++) {
        light += light_from(i, material, f0, part, normal, to_eye, in.eye);
    }
//% endif
    return light;
}

// Light that leaves a surface, and the fraction of the light behind it that comes through.
struct Leaving {
    light: vec3f,
    through: vec3f,
}

fn leaving(in: Corner, surface: Surface) -> Leaving {
    if surface.unlit { return Leaving(bounded(surface.base.rgb), vec3f(0.0)); }
    let to_eye = -sight_to(in.eye);
    let material = Material(surface.base.rgb, surface.metallic, surface.roughness);
    let dielectric = factor(in.material, 15u);
    let f0 = mix(vec3f(dielectric), material.base, material.metallic);
    var part = reflection_of(material, dielectric, max(dot(surface.normal, to_eye), 1e-4));
    var out = Leaving(surface.emissive, part.below * surface.transmission);
    part.below *= 1.0 - surface.transmission;
    out.light += lit_surface(in, material, f0, part, surface.normal, surface.occlusion);
//% if COATS
    // A mirror of index 1.5, which takes from what is below what it reflects of a light that comes from the eye.
    let facing = max(dot(surface.coat_normal, to_eye), 1e-4);
    let reflected = surface.coat * (PAINT + (1.0 - PAINT) * fifth_power(1.0 - min(facing, 1.0)));
    let mirror = Material(vec3f(1.0), 1.0, surface.coat_roughness);
    let all = reflection(mirror, facing);
    let above = lit_surface(in, mirror, vec3f(1.0), all, surface.coat_normal, surface.occlusion);
    out = Leaving(mix(out.light, above, reflected), out.through * (1.0 - reflected));
//% endif
    return Leaving(bounded(out.light), out.through);
}

fn light_of(in: Corner, surface: Surface) -> vec3f {
    return leaving(in, surface).light;
}

//% if TRANSMISSION
@group(2) @binding(0) var light_behind: texture_2d<f32>;    // of what is opaque, with smaller levels
@group(2) @binding(1) var behind_sampler: sampler;

// Light from behind: refracted through the thickness of the surface, blurred by its roughness, and not yet absorbed. Without
// a thickness the surface is thin, and light goes straight on.
fn behind(in: Corner, surface: Surface, thickness: f32) -> vec4f {
    let ior = factor(in.material, TRANSMISSION + 6u);
    let sight = sight_to(in.eye);
    let bent = select(sight, refract(sight, surface.normal, 1.0 / max(ior, 1.0)), thickness > 0.0);
    let clip = view.eye_to_clip * vec4f(in.eye + bent * thickness, 1.0);
    let uv = vec2f(0.5, -0.5) * clip.xy / clip.w + 0.5;
    let spread = surface.roughness * clamp(2.0 * ior - 2.0, 0.0, 1.0);
    return textureSampleLevel(light_behind, behind_sampler, uv, spread * log2(f32(textureDimensions(light_behind).x)));
}

//% endif

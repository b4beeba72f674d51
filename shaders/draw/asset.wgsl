// An asset: triangles with the metal-rough materials of glTF 2.0 (section 3.9 and Appendix B) and their textures, lit by sun, sky
// and the lights of the asset. In: the attributes of each vertex, an index buffer, and tables: of materials, lights, and
// textures as the layers of two arrays. What Appendix B leaves out is what facets throw at each other: common/lighting.wgsl.
// KHR_materials_clearcoat, _ior, _transmission and _volume by their formulas; what is behind is what was drawn as opaque.
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% include "common/lighting.wgsl"
//% include "common/coverage.wgsl"
//% include "common/shadows.wgsl"
//% include "common/transparency.wgsl"
//% include "common/pixel.wgsl"
//% include "common/asset_materials.wgsl"

struct Style {              // packed by name in renderer/layers/asset.py
    color: vec4f,           // linear; where no color is bound
    range: vec2f,           // values at the two ends of the colormap
    auto_range: f32,
    blend: f32,             // 1: materials that blend are transparent
    first_material: u32,    // offsets in the storage bindings
    material_count: u32,
    first_light: u32,
    light_count: u32,
}

struct Vertex {
    @location(0) position: ${POSITION},
    @location(1) normal: ${NORMAL},
//% if TANGENT
    @location(2) tangent: ${TANGENT},
//% endif
//% if TEXCOORD
    @location(3) texcoord: ${TEXCOORD},
//% endif
//% if COLOR
    @location(4) color: ${COLOR},
//% endif
//% if COLORMAPPED
    @location(5) extent: vec2f,
//% endif
//% if MATERIAL
    @location(6) material: ${MATERIAL},
//% endif
}

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) eye: vec3f,
    @location(1) normal: vec3f,         // in eye space
    @location(2) tangent: vec4f,        // 0 without
    @location(3) texcoord: vec4f,
    @location(4) color: vec4f,
    @location(5) @interpolate(flat) material: u32,
}

struct Coordinates {
    texcoord: vec4f,
    across: vec4f,      // from a pixel to the next
    down: vec4f,
}

// What a material is at a point.
struct Surface {
    base: vec4f,
    emissive: vec3f,
    metallic: f32,
    roughness: f32,
    occlusion: f32,
    normal: vec3f,
    unlit: bool,
    transmission: f32,      // the part of the light that is not reflected that comes from behind
//% if COATS
    coat: f32,
    coat_roughness: f32,
    coat_normal: vec3f,
//% endif
}

const MATERIAL_FLOATS = ${COLUMNS}u;
const LIGHT_FLOATS = 16u;

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> style: Style;
@group(0) @binding(2) var<storage, read> materials: array<f32>;
@group(0) @binding(3) var<storage, read> lights: array<f32>;
@group(0) @binding(4) var color_maps: texture_2d_array<f32>;
@group(0) @binding(5) var data_maps: texture_2d_array<f32>;
@group(0) @binding(6) var repeating: sampler;               // beyond the edge along u and v
@group(0) @binding(7) var ending: sampler;
@group(0) @binding(8) var repeating_ending: sampler;
@group(0) @binding(9) var ending_repeating: sampler;
//% if COLORMAPPED
@group(0) @binding(10) var colormap: texture_2d<f32>;
@group(0) @binding(11) var smooth_sampler: sampler;
//% endif

@vertex
fn asset_vertex(vertex: Vertex) -> Corner {
    var out: Corner;
    out.eye = (view.world_to_eye * vec4f(vec3f(vertex.position), 1.0)).xyz;
    out.clip = view.eye_to_clip * vec4f(out.eye, 1.0);
    out.normal = (view.world_to_eye * vec4f(vec3f(vertex.normal), 0.0)).xyz;
//% if TANGENT
    out.tangent = vec4f((view.world_to_eye * vec4f(vec3f(vertex.tangent.xyz), 0.0)).xyz, f32(vertex.tangent.w));
//% endif
//% if TEXCOORD
    out.texcoord = vec4f(vertex.texcoord);
//% endif
//% if COLORMAPPED
    let range = select(style.range, vertex.extent, style.auto_range > 0.0);
    let x = colormap_coordinate(f32(vertex.color), range, f32(textureDimensions(colormap).x));
    out.color = textureSampleLevel(colormap, smooth_sampler, vec2f(x, 0.5), 0.0);
//% elif COLOR and COLOR_COMPONENTS == 4
    out.color = vec4f(srgb_to_linear(vec3f(vertex.color.rgb)), f32(vertex.color.a));
//% elif COLOR
    out.color = vec4f(srgb_to_linear(vec3f(vertex.color)), 1.0);
//% else
    out.color = style.color;
//% endif
//% if MATERIAL
    out.material = min(u32(max(f32(vertex.material), 0.0) + 0.5), style.material_count - 1u);
//% endif
    return out;
}

// materials ---------------------------------------------------------------------------------------------------------

fn factor(material: u32, at: u32) -> f32 {
    return materials[style.first_material + MATERIAL_FLOATS * material + at];
}

// Where a map is sampled, how far apart neighboring pixels are there, and along which axes it ends.
struct Sample {
    at: vec2f,
    across: vec2f,
    down: vec2f,
    ends: vec2<bool>,
}

fn sample_of(map: Map, where_: Coordinates) -> Sample {
    let turn = turn_of(map);
    let across = turn * set_of(map, where_.across);
    let down = turn * set_of(map, where_.down);
    return Sample(uv_of(map, where_.texcoord), across, down, map.wrap > vec2f(0.0));
}

//% for maps in ("color_maps", "data_maps")
fn ${maps}_at(map: Map, where_: Coordinates) -> vec4f {
    let s = sample_of(map, where_);
    let layer = i32(map.layer);
    if all(s.ends) { return textureSampleGrad(${maps}, ending, s.at, layer, s.across, s.down); }
    if s.ends.x { return textureSampleGrad(${maps}, ending_repeating, s.at, layer, s.across, s.down); }
    if s.ends.y { return textureSampleGrad(${maps}, repeating_ending, s.at, layer, s.across, s.down); }
    return textureSampleGrad(${maps}, repeating, s.at, layer, s.across, s.down);
}
//% endfor

fn coordinates_of(in: Corner) -> Coordinates {
    return Coordinates(in.texcoord, dpdx(in.texcoord), dpdy(in.texcoord));
}

fn base_color(in: Corner, where_: Coordinates) -> vec4f {
    let m = in.material;
    var base = vec4f(factors(m, 0u), factor(m, 3u)) * in.color;
    let map = map_of(m, 0u);
    if map.layer >= 0.0 { base *= color_maps_at(map, where_); }
    return base;
}

fn mapped_normal(
    in: Corner, where_: Coordinates, front: bool, across: vec3f, down: vec3f, map: Map, scale: f32,
) -> vec3f {
    let side = select(-1.0, 1.0, front);
    let flat_normal = cross(across, down);
    let smooth_ = dot(in.normal, in.normal) > 1e-20;
    let facing = select(flat_normal * sign(-dot(flat_normal, sight_to(in.eye))), in.normal * side, smooth_);
    let normal = normalize(facing);
    if map.layer < 0.0 { return normal; }
    let texel = data_maps_at(map, where_).xyz;
    if abs(in.tangent.w) > 0.5 {
        let tangent = in.tangent.xyz * side;
        return bumped(normal, mat2x3f(tangent, cross(normal, tangent) * in.tangent.w), texel, scale);
    }
    let s = sample_of(map, where_);
    return bumped(normal, frame_along(normal, across, down, s.across, s.down), texel, scale);
}

fn surface_of(in: Corner, where_: Coordinates, front: bool, across: vec3f, down: vec3f) -> Surface {
    let m = in.material;
    var out = Surface();
    out.base = base_color(in, where_);
    out.unlit = factor(m, 14u) > 0.0;
    out.emissive = factors(m, 4u);
    let emissive = map_of(m, 4u);
    if emissive.layer >= 0.0 { out.emissive *= color_maps_at(emissive, where_).rgb; }
    out.metallic = factor(m, 8u);
    out.roughness = factor(m, 9u);
    let rough = map_of(m, 1u);
    if rough.layer >= 0.0 {
        let found = data_maps_at(rough, where_);
        out.roughness *= found.y;
        out.metallic *= found.z;
    }
    out.occlusion = 1.0;
    let occlusion = map_of(m, 3u);
    if occlusion.layer >= 0.0 { out.occlusion = 1.0 + factor(m, 11u) * (data_maps_at(occlusion, where_).x - 1.0); }
    out.normal = mapped_normal(in, where_, front, across, down, map_of(m, 2u), factor(m, 10u));
//% if COATS
    out.coat = factor(m, COAT);
    let coat = map_at(m, COAT + 4u);
    if coat.layer >= 0.0 { out.coat *= data_maps_at(coat, where_).x; }
    out.coat_roughness = factor(m, COAT + 1u);
    let coat_rough = map_at(m, COAT + 16u);
    if coat_rough.layer >= 0.0 { out.coat_roughness *= data_maps_at(coat_rough, where_).y; }
    out.coat_normal = mapped_normal(in, where_, front, across, down, map_at(m, COAT + 28u), factor(m, COAT + 2u));
//% endif
    return out;
}

// light -------------------------------------------------------------------------------------------------------------

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
    for (var i = 0u; i < style.light_count; i++) {
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
// fragments ---------------------------------------------------------------------------------------------------------

// Whether it is drawn by `asset_through`.
fn transmits(in: Corner) -> bool {
//% if TRANSMISSION
    return factor(in.material, TRANSMISSION) > 0.0;
//% else
    return false;
//% endif
}

// Whether a fragment is of the side that is not drawn.
fn is_culled(in: Corner, front: bool) -> bool {
    return !front && factor(in.material, 13u) == 0.0;
}

// The samples of a pixel whose alpha is at least the cutoff of the mask.
fn masked_samples(in: Corner, where_: Coordinates) -> u32 {
    let m = in.material;
    let map = map_of(m, 0u);
    let alpha = factor(m, 3u) * in.color.a;
    let cutoff = factor(m, 7u) - 1.0 / 1024.0;  // GPUs interpolate alike texels to slightly less than they are
    if map.layer < 0.0 { return select(0u, 15u, alpha >= cutoff); }
    var mask = 0u;
    for (var i = 0u; i < 4u; i++) {
        let at = where_.texcoord + where_.across * SAMPLES[i].x + where_.down * SAMPLES[i].y;
        let found = alpha * color_maps_at(map, Coordinates(at, where_.across, where_.down)).a;
        mask |= select(0u, 1u << i, found >= cutoff);
    }
    return mask;
}

@fragment
fn asset_fragment(in: Corner, @builtin(front_facing) front: bool) -> Pixel {
    let where_ = coordinates_of(in);
    let across = dpdx(in.eye);
    let down = dpdy(in.eye);
    var samples = unclipped_samples(in.eye);
    let surface = surface_of(in, where_, front, across, down);
    let mode = factor(in.material, 12u);
    if mode == MASK { samples &= masked_samples(in, where_); }
    let clear = mode == BLEND && style.blend > 0.0 && surface.base.a < OPAQUE;
    if samples == 0u || clear || is_culled(in, front) || transmits(in) { discard; }
    return solid_pixel(light_of(in, surface), samples);
}

//% if TRANSMISSION
// After what is opaque, over it.
@fragment
fn asset_through(in: Corner, @builtin(front_facing) front: bool) -> Pixel {
    var out: Pixel;
    let where_ = coordinates_of(in);
    let across = dpdx(in.eye);
    let down = dpdy(in.eye);
    var samples = unclipped_samples(in.eye);
    var surface = surface_of(in, where_, front, across, down);
    let m = in.material;
    let mode = factor(m, 12u);
    if mode == MASK { samples &= masked_samples(in, where_); }
    let clear = mode == BLEND && style.blend > 0.0 && surface.base.a < OPAQUE;
    surface.transmission = factor(m, TRANSMISSION);
    let map = map_at(m, TRANSMISSION + 8u);
    if map.layer >= 0.0 { surface.transmission *= data_maps_at(map, where_).x; }
    var thickness = factor(m, TRANSMISSION + 1u);
    let thick = map_at(m, TRANSMISSION + 20u);
    if thick.layer >= 0.0 { thickness *= data_maps_at(thick, where_).y; }
    if samples == 0u || clear || is_culled(in, front) || !transmits(in) { discard; }
    let distance = factor(m, TRANSMISSION + 2u);
    let depth = select(thickness / max(distance, 1e-30), 0.0, distance <= 0.0);
    let absorbed = pow(max(factors(m, TRANSMISSION + 3u), vec3f(1e-6)), vec3f(depth));
    let found = leaving(in, surface);
    let through = found.through * absorbed;
    let under = behind(in, surface, thickness);
    out.color = vec4f(found.light + through * under.rgb, 1.0 - dot(through, vec3f(1.0 / 3.0)) * (1.0 - under.a));
//% if SAMPLE_MASK
    out.samples = samples;
//% endif
    out.display = vec4f(0.0, 0.0, 0.0, out.color.a);
    return out;
}

//% endif
@fragment
fn asset_clear(in: Corner, @builtin(front_facing) front: bool) -> Clear {
    let where_ = coordinates_of(in);
    let surface = surface_of(in, where_, front, dpdx(in.eye), dpdy(in.eye));
    let drawn = factor(in.material, 12u) == BLEND && surface.base.a < OPAQUE && !is_culled(in, front);
    let alpha = select(0.0, clamp(surface.base.a, 0.0, 1.0), drawn && beyond_clips(in.eye) <= 0.0);
    return clear(light_of(in, surface), alpha, in.eye);
}

@fragment
fn asset_depth(in: Corner) {
    let alpha = base_color(in, coordinates_of(in)).a;
    let mode = factor(in.material, 12u);
    let masked = mode == MASK && alpha < factor(in.material, 7u);
    let clear = mode == BLEND && style.blend > 0.0 && is_hole(alpha, in.clip.xy);
    if beyond_clips(in.eye) > 0.0 || masked || clear { discard; }
//% if TRANSMISSION
    if is_hole(1.0 - factor(in.material, TRANSMISSION), in.clip.xy) { discard; }
//% endif
}

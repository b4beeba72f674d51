// Textures of assets for a path tracer: what path_trace/details.py has put into `tables` and `texels`. Needs common/trace_scene.wgsl.
//% include "common/asset_materials.wgsl"

// What the row of a material refers to.
struct Details {
    material: u32,          // its numbers in `tables`, after four of the sizes of maps; 0: it has its row and nothing more
    color_maps: u32,        // first texels
    data_maps: u32,
}

fn details_of(flags: u32) -> Details {
    let words = materials[4u * (flags & MATERIAL) + 3u];
    return Details(words.y, words.z, words.w);
}

fn factor(material: u32, at: u32) -> f32 {
    return tables[material + at];
}

fn numbers_at(at: u32) -> vec4f {
    return vec4f(tables[at], tables[at + 1u], tables[at + 2u], tables[at + 3u]);
}

// Of a corner: two sets of texture coordinates, then the tangent and its handedness.
fn corner_numbers(row: u32, at: u32) -> vec4f {
    return numbers_at(corners[row].w + at);
}

fn numbers_between(first: u32, u: f32, v: f32, at: u32) -> vec4f {
    return (1.0 - u - v) * corner_numbers(first, at) + u * corner_numbers(first + 1u, at)
        + v * corner_numbers(first + 2u, at);
}

//% if MAPS
// The light of each byte of sRGB, a float; then the texels of all maps, four bytes each.
@group(0) @binding(7) var<storage, read> texels: array<u32>;

fn light_of_byte(byte: u32) -> f32 {
    return bitcast<f32>(texels[byte & 255u]);
}

// A map of colors or of data, interpolated between four texels of its largest level: the samples of a pixel are its mean.
fn texel_of(details: Details, map: Map, texcoord: vec4f, is_color: bool) -> vec4f {
    let sizes = numbers_at(details.material - 4u);
    let size = vec2i(select(sizes.zw, sizes.xy, is_color));
    let first = select(details.data_maps, details.color_maps, is_color) + u32(map.layer) * u32(size.x * size.y);
    let uv = uv_of(map, texcoord);
    let position = select(fract(uv), clamp(uv, vec2f(0.0), vec2f(1.0)), map.wrap > vec2f(0.0)) * vec2f(size) - 0.5;
    let low = floor(position);
    let part = position - low;
    var sum = vec4f(0.0);
    for (var i = 0u; i < 4u; i++) {
        let step = vec2u(i & 1u, i >> 1u);
        let cell = vec2i(low) + vec2i(step);
        let at = vec2u(select((cell + size) % size, clamp(cell, vec2i(0), size - 1), map.wrap > vec2f(0.0)));
        let word = texels[first + at.y * u32(size.x) + at.x];
        var value = unpack4x8unorm(word);
        if is_color { value = vec4f(light_of_byte(word), light_of_byte(word >> 8u), light_of_byte(word >> 16u), value.a); }
        let weight = select(1.0 - part, part, step == vec2u(1u));
        sum += weight.x * weight.y * value;
    }
    return sum;
}

const LEAST_ROUGHNESS = 0.05;
const MAP_OFFSETS = array<u32, MAP_COUNT>(
    FACTORS, FACTORS + MAP_FLOATS, FACTORS + 2u * MAP_FLOATS, FACTORS + 4u * MAP_FLOATS,
//% if LOBES
    COAT + 4u, COAT + 4u + MAP_FLOATS, COAT + 4u + 2u * MAP_FLOATS, TRANSMISSION + 8u,
//% endif
);
const MAP_COUNT = ${8 if LOBES else 4}u;
const BASE_COLOR = 0u;          // of those maps
const METALLIC_ROUGHNESS = 1u;
const NORMAL = 2u;
const EMISSIVE = 3u;
const COAT_STRENGTH = 4u;
const COAT_ROUGHNESS = 5u;
const COAT_NORMAL = 6u;
const CLEAR_FRACTION = 7u;

// Where a ray meets a triangle that has textures.
struct Mapped {
    details: Details,
    first: u32,             // of its corners
    u: f32,
    v: f32,
}

var<private> maps: array<vec4f, MAP_COUNT>;     // samples at the last hit; 1 without a map

// Sample some of the maps at a hit; those that are colors are decoded.
fn sample_maps(mapped: Mapped, chosen: u32) {
    let texcoord = numbers_between(mapped.first, mapped.u, mapped.v, 0u);
    var offsets = MAP_OFFSETS;
    for (var i = 0u; i < MAP_COUNT; i++) { maps[i] = vec4f(1.0); }
    // A loop of unknown length: compilers do not repeat its body.
    for (var rest = chosen; rest != 0u; rest &= rest - 1u) {
        let i = firstTrailingBit(rest);
        let map = map_at(mapped.details.material, offsets[i]);
        if map.layer >= 0.0 { maps[i] = texel_of(mapped.details, map, texcoord, i == BASE_COLOR || i == EMISSIVE); }
    }
}

fn mapped_at(hit: Hit, flags: u32, first: u32) -> Mapped {
    let mapped = Mapped(details_of(flags), first, hit.u, hit.v);
    sample_maps(mapped, select((1u << MAP_COUNT) - 1u, 0u, mapped.details.material == 0u));
    return mapped;
}

// The normal that one of the maps gives a surface, by the tangents of its corners, or else by its coordinates along two edges.
fn turned_normal(mapped: Mapped, edges: mat2x3f, normal: vec3f, front: bool, number: u32) -> vec3f {
    let m = mapped.details.material;
    if m == 0u { return normal; }
    var offsets = MAP_OFFSETS;
    let map = map_at(m, offsets[number]);
    if map.layer < 0.0 { return normal; }
    let scale = factor(m, select(10u, COAT + 2u, number == COAT_NORMAL));
    let tangent = numbers_between(mapped.first, mapped.u, mapped.v, 4u);
    if abs(tangent.w) > 0.5 {
        let along = tangent.xyz * select(-1.0, 1.0, front);
        return bumped(normal, mat2x3f(along, cross(normal, along) * tangent.w), maps[number].xyz, scale);
    }
    let a = set_of(map, corner_numbers(mapped.first, 0u));
    let to_b = turn_of(map) * (set_of(map, corner_numbers(mapped.first + 1u, 0u)) - a);
    let to_c = turn_of(map) * (set_of(map, corner_numbers(mapped.first + 2u, 0u)) - a);
    return bumped(normal, frame_along(normal, edges[0], edges[1], to_b, to_c), maps[number].xyz, scale);
}

//% endif
// Of a triangle that lets light through: how opaque it is, and the color with which it does.
fn passed_color(flags: u32, primitive: u32, u: f32, v: f32) -> vec4f {
    var color = color_at(primitive, u, v);
    let details = details_of(flags);
    let m = details.material;
    if m == 0u { return vec4f(vec3f(1.0), color.a); }
    var clear = 1.0;
    var metallic = bitcast<f32>(materials[4u * (flags & MATERIAL)].x);
//% if MAPS
    let chosen = 1u << BASE_COLOR | 1u << METALLIC_ROUGHNESS${" | 1u << CLEAR_FRACTION" if LOBES};
    sample_maps(Mapped(details, primitives[3u * primitive + 1u].w, u, v), select(1u, chosen, (flags & LIQUID) != 0u));
    color *= maps[BASE_COLOR];
    if factor(m, 12u) == MASK { color.a = f32(color.a >= factor(m, 7u) - 1.0 / 1024.0); }
    metallic *= maps[METALLIC_ROUGHNESS].z;
//% if LOBES
    clear = maps[CLEAR_FRACTION].x;
//% endif
//% endif
    return vec4f(color.rgb * clear * factor(m, TRANSMISSION) * (1.0 - metallic), color.a);
}

//% if LOBES
const COAT_CHANCE = 0.1;        // with which a clear coat is chosen at least: what it reflects is bright

// One layer of a material, by chance: its clear coat, what transmits light, or what is opaque.
fn choose_layer(surface: ptr<function, Surface>, details: Details, coat_normal: vec3f, to_eye: vec3f) {
    let m = details.material;
    if m == 0u { return; }
    var coat = vec2f(factor(m, COAT), factor(m, COAT + 1u));
    var clear = factor(m, TRANSMISSION);
//% if MAPS
    coat *= vec2f(maps[COAT_STRENGTH].x, maps[COAT_ROUGHNESS].y);
    clear *= maps[CLEAR_FRACTION].x;
//% endif
    let material = (*surface).material;
    clear *= 1.0 - material.metallic;
    (*surface).dielectric = factor(m, 15u);
    // A mirror of index 1.5, as in common/asset_light.wgsl.
    let facing = clamp(dot(coat_normal, to_eye), 1e-4, 1.0);
    let reflected = coat.x * (PAINT + (1.0 - PAINT) * fifth_power(1.0 - facing));
    let chance = select(0.0, max(reflected, COAT_CHANCE), reflected > 0.0);
    if next_random() < chance {
        (*surface).scattering *= reflected / chance;
        (*surface).material = Material(vec3f(1.0), 1.0, max(coat.y, 0.05));
        (*surface).normal = coat_normal;
        (*surface).emitted = vec3f(0.0);
        (*surface).is_clear = false;
        return;
    }
    let below = (1.0 - reflected) / max(1.0 - chance, 1e-6);
    (*surface).scattering *= below;
    (*surface).emitted *= below;
    (*surface).is_clear = next_random() < clear;
    if (*surface).is_clear {
        (*surface).tint = material.base;
        (*surface).is_thin = factor(m, TRANSMISSION + 1u) == 0.0;
        (*surface).is_front = (*surface).is_front || (*surface).is_thin;
        (*surface).is_rough = material.roughness * material.roughness > 0.005;
    } else {
        (*surface).material.metallic = material.metallic / max(1.0 - clear, 1e-6);
    }
}
//% endif

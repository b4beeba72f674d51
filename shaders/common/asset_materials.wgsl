// Materials of assets as rows of numbers (content.Material.floats), where their textures are sampled, and what maps of normals do. Needs a
// function factor(material, at): a number of a row.

const FACTORS = 16u;            // numbers before the maps
const COAT = 76u;               // strength, roughness, scale of normals, then three maps
const TRANSMISSION = 116u;      // fraction, thickness, distance and color of the attenuation, index, then two maps
const MAP_FLOATS = 12u;
const MASK = 1.0;
const BLEND = 2.0;

// A texture of a material: content.Map.
struct Map {
    layer: f32,         // below 0: none
    texcoord: f32,
    wrap: vec2f,        // 0 repeat, 1 clamp, 2 mirror
    turn: vec4f,        // rows of a matrix
    shift: vec2f,
}

fn factors(material: u32, at: u32) -> vec3f {
    return vec3f(factor(material, at), factor(material, at + 1u), factor(material, at + 2u));
}

fn map_of(material: u32, number: u32) -> Map {
    return map_at(material, FACTORS + MAP_FLOATS * number);
}

fn map_at(material: u32, at: u32) -> Map {
    return Map(
        factor(material, at), factor(material, at + 1u), vec2f(factor(material, at + 2u), factor(material, at + 3u)),
        vec4f(factors(material, at + 4u), factor(material, at + 7u)),
        vec2f(factor(material, at + 8u), factor(material, at + 9u)),
    );
}

// What the coordinates of a map are multiplied by, and which of two sets they are.
fn turn_of(map: Map) -> mat2x2f {
    return transpose(mat2x2f(map.turn.xy, map.turn.zw));
}

fn set_of(map: Map, texcoord: vec4f) -> vec2f {
    return select(texcoord.xy, texcoord.zw, map.texcoord > 0.5);
}

// Where a map is sampled: from 0 to 1 where it is mirrored.
fn uv_of(map: Map, texcoord: vec4f) -> vec2f {
    let uv = turn_of(map) * set_of(map, texcoord) + map.shift;
    let mirrored = 1.0 - abs(1.0 - 2.0 * fract(0.5 * uv));
    return select(uv, mirrored, map.wrap == vec2f(2.0));
}

// Tangent and bitangent of a texture whose vertices have none, from two vectors along the surface and what its coordinates change by along
// them (Schueler 2013, "Followup: Normal Mapping Without Precomputed Tangents").
fn frame_along(normal: vec3f, across: vec3f, down: vec3f, uv_across: vec2f, uv_down: vec2f) -> mat2x3f {
    let right = cross(down, normal);
    let up = cross(normal, across);
    let tangent = right * uv_across.x + up * uv_down.x;
    let bitangent = right * uv_across.y + up * uv_down.y;
    let longest = max(dot(tangent, tangent), dot(bitangent, bitangent));
    let side = sign(dot(normal, cross(across, down)));
    // Green is up in the image, where v points down.
    return mat2x3f(tangent, -bitangent) * (side * inverseSqrt(max(longest, 1e-30)));
}

// A normal turned by a texel of a map.
fn bumped(normal: vec3f, frame: mat2x3f, texel: vec3f, scale: f32) -> vec3f {
    let bump = (2.0 * texel - 1.0) * vec3f(scale, scale, 1.0);
    return normalize(frame * bump.xy + normal * max(bump.z, 1e-3));
}

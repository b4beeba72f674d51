// What the material of an asset is at a point: its factors times the texels of its maps, and the normals that these bend.
// Include for surface_of, after what draw/asset.wgsl declares. In: COLUMNS, numbers of a material; COATS, whether some have a
// clear coat.

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

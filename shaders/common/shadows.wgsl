// How much of the sun and of the sky a point sees. Needs a uniform `view` of common/view.wgsl and common/lighting.wgsl; the
// bindings are those of `lighting_layout` in renderer/bindings.py. Soft shadows: the penumbra grows with the distance to what
// casts the shadow (Fernando 2005, "Percentage-Closer Soft Shadows"). Without shadows, loops without turns: they cost nearly
// nothing, also where both sides of every branch are run. It is so infinitely far away too: were it a uniform alone that ends them,
// llvmpipe would compile the shader anew in every frame.
@group(1) @binding(0) var sun_map: texture_depth_2d_array;      // the finest first
@group(1) @binding(1) var nearer_to_sun: sampler_comparison;
@group(1) @binding(2) var occlusion: texture_2d<f32>;       // the visible fraction of the sky, and the depth

@group(1) @binding(7) var optical_depths: texture_2d_array<f32>;    // renderer/opacity_map.py

//% set WITH_AREAS = AREA_LIGHTS is not defined or AREA_LIGHTS
//% include "common/area_lights.wgsl"

const GOLDEN = 2.39996323;      // radians from one sample of a spiral to the next

// Light of the sun and the sky that leaves a position toward the eye, as far as its surroundings do not occlude it. `pixel`
// is the fragment's position on the screen.
fn lit_at(material: Material, normal: vec3f, to_eye: vec3f, eye: vec3f, pixel: vec2f) -> vec3f {
    //% if WITH_AREAS
    let f0 = mix(vec3f(PAINT), material.base, material.metallic);
    let part = reflection(material, max(dot(normal, to_eye), 1e-4));
    let open = vec2f(sun_open(eye, normal, pixel), sky_open(eye, pixel));
    return lit_by(material, f0, part, normal, to_eye, open) + light_of_areas(material, part, normal, to_eye, eye, pixel);
    //% else
    return lit_where(material, normal, to_eye, vec2f(sun_open(eye, normal, pixel), sky_open(eye, pixel)));
    //% endif
}

// One of the shadow maps, and what throws light into it. Lengths are in widths of the map that positions are in.
struct ShadowMap {
    number: u32,
    placement: vec3f,       // from a position to the map: a factor, then x and y
    axes: mat2x2f,          // the shape of the light, 1 across at most; the sun is round
    spread: f32,            // radius of a penumbra for each unit of depth
    search: f32,            // radius in which what occludes the light is looked for
    least: f32,             // depth by which that is above the surface
}

// A position in the largest shadow map, and the surface there.
struct Shaded {
    position: vec3f,
    slope: vec2f,       // how the depth of the surface itself changes across the map
    turn: f32,          // of the spiral of samples, at this pixel
}

// The fraction of the sun's light that arrives at `eye`, a position in eye space on a surface with this normal.
fn sun_open(eye: vec3f, normal: vec3f, pixel: vec2f) -> f32 {
    return sun_past_solids(eye, normal, pixel) * sun_through_volumes(eye);
}

// The fraction that volumes and liquids let through.
fn sun_through_volumes(eye: vec3f) -> f32 {
    var through = 1.0;
    let is_empty = textureDimensions(optical_depths).x < 2u;
    for (var i = select(view.opacity_maps, 0u, is_empty | (dot(eye, eye) > 1e30)); i > 0u; i--) {
        let position = (view.eye_to_opacity * vec4f(eye, 1.0)).xyz;
        let is_inside = all(position.xy == clamp(position.xy, vec2f(0.0), vec2f(1.0)));
        let near = textureSampleLevel(optical_depths, environment_sampler, position.xy, 0, 0.0);
        let far = textureSampleLevel(optical_depths, environment_sampler, position.xy, 1, 0.0);
        let before = clamp(vec4f(position.z) - vec4f(0.0, 1.0, 2.0, 3.0), vec4f(0.0), vec4f(1.0));
        let behind = clamp(vec4f(position.z) - vec4f(4.0, 5.0, 6.0, 7.0), vec4f(0.0), vec4f(1.0));
        let depth = dot(before, near - vec4f(0.0, near.xyz)) + dot(behind, far - vec4f(near.w, far.xyz)) + liquid_depth(position);
        through = 1.0 - view.shadows * (1.0 - exp(-select(0.0, depth, is_inside)));
    }
    return through;
}

// The optical depth of liquid: that of an even layer. It ends gradually where the map does.
fn liquid_depth(position: vec3f) -> f32 {
    let layer = textureSampleLevel(optical_depths, environment_sampler, position.xy, 2, 0.0).xyz;
    let middle_and_extent = layer.yz / max(layer.x, 1e-5);
    let before = clamp((position.z - middle_and_extent.x) / max(middle_and_extent.y, 1e-3) + 0.5, 0.0, 1.0);
    let from_middle = abs(position.xy - 0.5);
    return layer.x * before * (1.0 - smoothstep(0.45, 0.5, max(from_middle.x, from_middle.y)));
}

// The fraction that arrives at a position in a volume past what is opaque, from one sample of the finest shadow map that contains it.
fn sun_in_air(eye: vec3f) -> f32 {
    var open = 1.0;
    let maps = select(0u, view.sun_map_count, view.shadow_taps > 0u && dot(eye, eye) < 1e30);
    for (var map = 0u; map < maps; map++) {
        let placement = view.sun_maps[map];
        let position = (view.eye_to_sun * vec4f(eye, 1.0)).xyz;
        let coordinate = position.xy * placement.x + placement.yz;
        if all(abs(coordinate - 0.5) < vec2f(0.495)) {
            open -= view.shadows * (1.0 - textureSampleCompareLevel(sun_map, nearer_to_sun, coordinate, map, position.z));
            break;
        }
    }
    return open;
}

// The visible fraction of the sun behind what is opaque: from the finest shadow map that contains all that can occlude it; the
// maps are blended where one ends.
fn sun_past_solids(eye: vec3f, normal: vec3f, pixel: vec2f) -> f32 {
    let taps = select(0u, view.shadow_taps, dot(eye, eye) < 1e30);
    let maps = select(0u, view.sun_map_count, taps > 0u);
    if taps == 0u { return 1.0; }
    let across = (view.eye_to_sun * vec4f(normal, 0.0)).xyz;
    let sunward = max(dot(normal, view.sun_direction), 0.05);
    let away = 0.6 + 1.2 * sqrt(max(1.0 - sunward * sunward, 0.0));     // in texels
    var slope = -across.xy / max(across.z, 1e-9) / 16.0;    // 16 is (depth range / width of the map)²
    slope *= min(1.0, 1.2 / max(length(slope), 1e-9));
    let turn = 6.2831853 * fract(52.9829189 * fract(dot(floor(pixel), vec2f(0.06711056, 0.00583715))));
    var visible = 0.0;
    var missing = 1.0;
    for (var map = 0u; map < maps; map++) {
        let placement = view.sun_maps[map];
        let position = (view.eye_to_sun * vec4f(eye + normal * (placement.w * away), 1.0)).xyz;
        let from_middle = abs(position.xy * placement.x + placement.yz - 0.5);
        let border = max(from_middle.x, from_middle.y) + view.sun_search * placement.x;
        let weight = missing * (1.0 - smoothstep(0.43, 0.49, border));
        let count = select(0u, taps, weight > 0.0);
        let disc = ShadowMap(map, placement.xyz, mat2x2f(1.0, 0.0, 0.0, 1.0), view.sun_spread, view.sun_search, 3e-6);
        visible += weight * open_in_map(Shaded(position, slope, turn), disc, count);
        missing -= weight;
    }
    return 1.0 - view.shadows * (1.0 - visible - missing);
}

// The visible fraction of a light in one map, from `count` samples over it.
fn open_in_map(surface: Shaded, map: ShadowMap, count: u32) -> f32 {
    let texel = 1.0 / (f32(textureDimensions(sun_map).x) * map.placement.x);
    let blurred = penumbra(surface, map, texel, (count + 1u) / 2u);
    let radius = max(blurred, 0.75 * texel);
    let taps = select(min(count, 4u), count, blurred > 0.0);    // where nothing was found, a few show that nothing is there
    var visible = 0.0;
    for (var i = 0u; i < taps; i++) {
        let aside = ${"map.axes * " if WITH_AREAS}(spiral(i, taps, surface.turn) * radius);
        let coordinate = (surface.position.xy + aside) * map.placement.x + map.placement.yz;
        let depth = surface.position.z + max(dot(surface.slope, aside), 0.0);
        visible += textureSampleCompareLevel(sun_map, nearer_to_sun, coordinate, map.number, depth);
    }
    return visible / f32(max(taps, 1u));
}

// The radius around a position within which the light may be occluded, from `count` samples: what occludes it is so far above the
// surface that the light has this radius there. A texel is measured as the radius is.
fn penumbra(surface: Shaded, map: ShadowMap, texel: f32, count: u32) -> f32 {
    let texels = vec2f(textureDimensions(sun_map));
    let search = max(map.search, 1.5 * texel);
    var sum = vec2f(0.0);
    for (var i = 0u; i < count; i++) {
        let aside = ${"map.axes * " if WITH_AREAS}(spiral(i, count, surface.turn + 1.3) * search);
        let coordinate = ((surface.position.xy + aside) * map.placement.x + map.placement.yz) * texels;
        let found = textureLoad(sun_map, clamp(vec2i(coordinate), vec2i(0), vec2i(texels) - 1), map.number, 0);
        let above = found - surface.position.z - max(dot(surface.slope, aside), 0.0);
        sum += select(vec2f(0.0), vec2f(above, 1.0), above > map.least);
    }
    return min(map.spread * sum.x / max(sum.y, 1.0), search);
}

// Point `i` of `count` that fill a disc of radius 1 evenly.
fn spiral(i: u32, count: u32, turn: f32) -> vec2f {
    let angle = f32(i) * GOLDEN + turn;
    return sqrt((f32(i) + 0.5) / f32(count)) * vec2f(cos(angle), sin(angle));
}

// The visibility of the sky, interpolated between the four nearest pixels at which it was computed, of similar depth.
fn sky_open(eye: vec3f, pixel: vec2f) -> f32 {
    var sum = vec2f(0.0);
    let here = relative_depth(eye);
    let size = vec2i(textureDimensions(occlusion));
    let half_pixel = pixel * 0.5 - 0.5;
    let low = floor(half_pixel);
    let taps = select(0u, view.occlusion_taps, dot(eye, eye) < 1e30);
    for (var i = 0u; i < taps; i++) {
        let corner = vec2f(f32(i & 1u), f32(i >> 1u));
        let found = textureLoad(occlusion, clamp(vec2i(low + corner), vec2i(0), size - 1), 0).xy;
        let near = 1.0 - abs(half_pixel - low - corner);
        let weight = near.x * near.y / (1e-3 + abs(found.y - here));
        sum += vec2f(found.x, 1.0) * max(weight, 1e-6);
    }
    return select(1.0, 1.0 - view.occlusion * (1.0 - sum.x / max(sum.y, 1e-9)), taps > 0u);
}

// How much of the sun and of the sky a point sees. Needs a uniform `view` of common/view.wgsl and common/lighting.wgsl; the
// bindings are those of `lighting_layout` in renderer/bindings.py. Soft shadows: the penumbra grows with the distance to what
// casts the shadow (Fernando 2005, "Percentage-Closer Soft Shadows"). Without shadows, loops without turns: they cost nearly
// nothing, also where both sides of every branch are run. It is so infinitely far away too: were it a uniform alone that ends them,
// llvmpipe would compile the shader anew in every frame.
@group(1) @binding(0) var sun_map: texture_depth_2d;
@group(1) @binding(1) var nearer_to_sun: sampler_comparison;
@group(1) @binding(2) var occlusion: texture_2d<f32>;       // the visible fraction of the sky, and the depth

const GOLDEN = 2.39996323;      // radians from one sample of a spiral to the next

// Light of the sun and the sky that leaves a position toward the eye, as far as its surroundings do not occlude it. `pixel`
// is the fragment's position on the screen.
fn lit_at(material: Material, normal: vec3f, to_eye: vec3f, eye: vec3f, pixel: vec2f) -> vec3f {
    return lit_where(material, normal, to_eye, vec2f(sun_open(eye, normal, pixel), sky_open(eye, pixel)));
}

// The visible fraction of the sun from `eye`, a position in eye space on a surface with this normal.
fn sun_open(eye: vec3f, normal: vec3f, pixel: vec2f) -> f32 {
    let taps = select(0u, view.shadow_taps, dot(eye, eye) < 1e30);
    if taps == 0u { return 1.0; }
    let across = (view.eye_to_sun * vec4f(normal, 0.0)).xyz;
    let sunward = max(dot(normal, view.sun_direction), 0.05);
    let away = eye + normal * view.sun_texel * (0.6 + 1.2 * sqrt(max(1.0 - sunward * sunward, 0.0)));
    let map_position = (view.eye_to_sun * vec4f(away, 1.0)).xyz;
    // How the depth of the surface itself changes across the map; 16 is (map depth / map width)².
    var slope = -across.xy / max(across.z, 1e-9) / 16.0;
    slope *= min(1.0, 1.2 / max(length(slope), 1e-9));
    let turn = 6.2831853 * fract(52.9829189 * fract(dot(floor(pixel), vec2f(0.06711056, 0.00583715))));
    let reach = penumbra(map_position, slope, turn, taps / 2u + 1u);
    var visible = 0.0;
    for (var i = 0u; i < taps; i++) {
        let aside = spiral(i, taps, turn) * max(reach, 0.75 / f32(textureDimensions(sun_map).x));
        visible += textureSampleCompareLevel(sun_map, nearer_to_sun, map_position.xy + aside, map_position.z + max(dot(slope, aside), 0.0));
    }
    let border = max(abs(map_position.x - 0.5), abs(map_position.y - 0.5));
    let there = view.shadows * (1.0 - smoothstep(0.44, 0.49, border));
    return 1.0 - there * (1.0 - visible / f32(max(taps, 1u)));
}

// The radius around a position in the map within which the sun may be occluded, in map widths, from `count` samples.
fn penumbra(map_position: vec3f, slope: vec2f, turn: f32, count: u32) -> f32 {
    let texels = vec2f(textureDimensions(sun_map));
    let search = clamp(view.sun_spread * 0.25, 1.5 / texels.x, 0.08);
    var sum = vec2f(0.0);
    for (var i = 0u; i < count; i++) {
        let aside = spiral(i, count, turn + 1.3) * search;
        let texel = clamp(vec2i((map_position.xy + aside) * texels), vec2i(0), vec2i(texels) - 1);
        let above = textureLoad(sun_map, texel, 0) - map_position.z - max(dot(slope, aside), 0.0);
        sum += select(vec2f(0.0), vec2f(above, 1.0), above > 2e-5);
    }
    return min(view.sun_spread * sum.x / max(sum.y, 1.0), search);
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

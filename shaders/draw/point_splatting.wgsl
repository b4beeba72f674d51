// Points that are too small to be visible as spheres, added up in a buffer instead of drawn: for a million of them
// rasterizers take ten times as long. In: the attributes of each point, f32. Out: for each pixel light and optical depth as
// integers, so that the sums are the same in any order: two words of two each, and all words' passes.
// Compute rasterization of points: Schütz, Kerbl and Wimmer 2021, "Rendering Point Clouds with Compute Shaders and Vertex
// Order Optimization". What hides and what shines is added up as draw/point_splatting_composite.wgsl undoes it.
//% include "common/index.wgsl"
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% include "common/gradient.wgsl"
//% include "common/lighting_terms.wgsl"
//% include "common/sums.wgsl"

//% include "common/point_rows.wgsl"
//% include "common/spheres.wgsl"
//% include "common/points.wgsl"

@group(0) @binding(5) var<storage, read_write> sums: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read_write> is_sphere_row: array<u32>;   // 1: as a sphere
@group(0) @binding(7) var depths: texture_depth_multisampled_2d;   // of what is solid

// Whether a sphere is within the image's sides, or reaches in.
fn is_in_sight(center: vec3f, radius: f32) -> bool {
    let slope = vec2f(view.eye_to_clip[0][0], view.eye_to_clip[1][1]);
    let side = select(vec2f(-center.z), vec2f(1.0), is_parallel());
    let reach = radius * select(sqrt(1.0 + slope * slope), slope, is_parallel());
    return all(abs(center.xy * slope + view.eye_to_clip[2].xy * center.z + view.eye_to_clip[3].xy) <= side + reach);
}

// Which rows are drawn as spheres.
@compute @workgroup_size(128)
fn survey(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let row = linear_index(id, groups, 128u);
    if row >= arrays.rows { return; }
    let point = point_at(row);
    let center = eye_position(point);
    let radius = point_radius(point, row);
    is_sphere_row[row] = u32(is_sphere(center, radius) && is_in_sight(center, radius));
}

@compute @workgroup_size(128)
fn gather(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let row = linear_index(id, groups, 128u);
    if row >= arrays.rows { return; }
    let point = point_at(row);
    let center = eye_position(point);
    let spot = spot_of(point, row, center, point_radius(point, row));
    let clip = view.eye_to_clip * vec4f(center, 1.0);
    if !(spot.reach > 0.0 && clip.z >= 0.0) { return; }
    let size = vec2f(arrays.viewport);
    let middle = (clip.xy / clip.w * vec2f(0.5, -0.5) + 0.5) * size;
    // Aside of the image's middle what faces the eye is drawn out, away from it: here, as much wider in both directions.
    let wider = select(sqrt(length(center) / -center.z), 1.0, is_parallel());
    let reach = spot.reach * wider * vec2f(view.eye_to_clip[0][0], view.eye_to_clip[1][1]) / clip.w * 0.5 * size;
    let first = vec2i(clamp(floor(middle - reach), vec2f(0.0), size));
    let end = vec2i(clamp(ceil(middle + reach), vec2f(0.0), size));
    let depth = clip.z / clip.w;
    for (var y = first.y; y < end.y; y++) {
        for (var x = first.x; x < end.x; x++) {
            let offset = (vec2f(vec2i(x, y)) + 0.5 - middle) / reach;
            let fall = max(1.0 - dot(offset, offset), 0.0);
            if fall > 0.0 { add(vec2i(x, y), row, spot.light * (fall * fall), depth); }
        }
    }
}

// Add premultiplied light to a pixel, as far as nothing solid is before it.
fn add(pixel: vec2i, row: u32, light: vec4f, depth: f32) {
    var visible = 0.0;
    for (var i = 0; i < 4; i++) { visible += select(0.0, 0.25, depth > textureLoad(depths, pixel, i)); }
    if visible == 0.0 { return; }
    let at = u32(pixel.y) * arrays.viewport.x + u32(pixel.x);
    let found = optical(light * visible);
    // Rounded up or down by chance, lest the faint ones are lost.
    let chance = scrambled(row ^ (at * 2654435769u));
    add_pair(2u * at, integer(found.r, chance), integer(found.g, chance >> 8u));
    add_pair(2u * at + 1u, integer(found.b, chance >> 16u), integer(found.a, chance >> 24u));
}

// Add two numbers with one atomic operation: the lower halves share a word, and `passed` counts what does not fit in it: for
// `low` its whole upper half, and for `high` that of all that was added to the word, with the passes of `low` in it.
fn add_pair(at: u32, low: u32, high: u32) {
    let above = (high & 0xffffu) + (low >> 16u);
    let word = (low & 0xffffu) | (above << 16u);
    if word == 0u { return; }
    let before = atomicAdd(&sums[at], word);
    let passed = 2u * arrays.viewport.x * arrays.viewport.y + 2u * at;
    let of_low = (low >> 16u) + (((before & 0xffffu) + (low & 0xffffu)) >> 16u);
    let of_high = (high >> 16u) + (above >> 16u) + u32(before > ~word);
    if of_low > 0u { atomicAdd(&sums[passed], of_low); }
    if of_high > 0u { atomicAdd(&sums[passed + 1u], of_high); }
}

// A well mixed number (the finalizer of MurmurHash3).
fn scrambled(seed: u32) -> u32 {
    var h = (seed ^ (seed >> 16u)) * 0x85ebca6bu;
    h = (h ^ (h >> 13u)) * 0xc2b2ae35u;
    return h ^ (h >> 16u);
}

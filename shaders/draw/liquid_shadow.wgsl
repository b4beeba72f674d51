// The length of liquid that the sun's light goes through, for a map of optical depths: of each texel all of it, and the mean and the
// variance of how far from the sun it is. A particle is a blob of the volume that it has at rest (draw/liquid_tiles.wgsl), at least so
// wide that texels show no grain; where one is many texels wide, sums are those of a coarser map.
// In: the attributes of each particle; POSITION, SIZE and DENSITY as in common/liquid_rows.wgsl; `view` is that of an eye in the sun;
// ENTRY, the entry point: `add_rows` adds up the blobs, in integers since they come in any order, `depths_of_texels` makes the map.
// Out: optical depth; times the middle of the liquid, in planes from the sun, and times its extent along the light.
//% include "common/view.wgsl"
//% include "common/index.wgsl"
//% include "common/liquid.wgsl"
//% include "common/liquid_lists.wgsl"

@group(0) @binding(2) var<uniform> lists: Lists;
//% include "common/liquid_rows.wgsl"

const PLANES = 8.0;             // mirrored in renderer/sun.py
const LEAST_REACH = 1.5;        // of a blob, in texels
const MOST_REACH = 4.0;         // above which a map is coarser
const LIMIT = 12.0;             // of particles that are larger than the first
const COARSEST = 5.0;
const UNIT = 134217728.0;       // of a length, in widths of the map
const LUMINANCE = vec3f(0.2126, 0.7152, 0.0722);

// How many times the texels of the sums are as wide as those of the map, as a power of 2: by the size of the first particle.
fn coarseness() -> u32 {
    let size = style.size * ${"f32(sizes[lists.sizes.x])" if SIZE else "1.0"};
    let reach = COLUMN * size / view.sun_maps[0].w;
    return u32(clamp(ceil(log2(max(reach, 1e-6) / MOST_REACH)), 0.0, COARSEST));
}

fn side_of_sums() -> u32 {
    return lists.viewport.x >> coarseness();
}

//% if ENTRY == "add_rows"
@group(0) @binding(4) var<storage, read_write> sums: array<atomic<u32>>;   // lengths, and times the distance and its square

// Of a texel whose middle is `aside` from that of a blob, in reaches.
fn profile(aside: vec2f) -> f32 {
    let fall = max(1.0 - dot(aside, aside), 0.0);
    return fall * fall;
}

@compute @workgroup_size(128)
fn add_rows(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let row = linear_index(id, num_workgroups, 128u);
    if row >= lists.rows { return; }
    let eye = eye_of_row(row);
    let size = size_of_row(row);
    let side = side_of_sums();
    let texel = view.sun_maps[0].w * f32(lists.viewport.x) / f32(side);
    let clip = view.eye_to_clip * vec4f(eye, 1.0);
    let middle = (clip.xy * vec2f(0.5, -0.5) + 0.5) * f32(side);
    let reach = clamp(COLUMN * size / texel, LEAST_REACH, LIMIT);
    // Written so that a NaN fails.
    let is_near = all(middle > vec2f(-reach)) && all(middle < vec2f(f32(side) + reach));
    if !(is_near && size > 0.0 && abs(clip.z) < 1e30 && beyond_clips(eye) <= 0.0) { return; }
    let low = vec2i(clamp(ceil(middle - reach - 0.5), vec2f(0.0), vec2f(f32(side))));
    let high = vec2i(clamp(floor(middle + reach - 0.5), vec2f(-1.0), vec2f(f32(side) - 1.0)));
    // All texels of a blob, also beyond the map: together they have its volume.
    let from_middle = fract(middle - 0.5);
    let around = i32(ceil(reach));
    var whole = 0.0;
    for (var y = -around; y <= around; y++) {
        for (var x = -around; x <= around; x++) { whole += profile((vec2f(vec2i(x, y)) - from_middle) / reach); }
    }
    let away = clamp(1.0 - clip.z, 0.0, 1.0);
    let extent = size * abs(view.eye_to_clip[2].z);
    let length = UNIT * 8.0 * size * size * size / (texel * texel * texel * f32(side) * whole);
    for (var y = low.y; y <= high.y; y++) {
        for (var x = low.x; x <= high.x; x++) {
            let part = length * profile((vec2f(vec2i(x, y)) + 0.5 - middle) / reach);
            let at = 3u * (u32(y) * side + u32(x));
            atomicAdd(&sums[at], u32(part + 0.5));
            atomicAdd(&sums[at + 1u], u32(part * away + 0.5));
            atomicAdd(&sums[at + 2u], u32(part * (away * away + extent * extent / 3.0) + 0.5));
        }
    }
}
//% else
@group(0) @binding(4) var<storage, read> sums: array<u32>;
@group(0) @binding(5) var depths: texture_storage_2d<rgba16float, write>;

fn sums_at(texel: vec2i, side: u32) -> vec3f {
    let inside = vec2u(clamp(texel, vec2i(0), vec2i(i32(side) - 1)));
    let at = 3u * (inside.y * side + inside.x);
    return vec3f(vec3u(sums[at], sums[at + 1u], sums[at + 2u])) / UNIT;
}

@compute @workgroup_size(8, 8)
fn depths_of_texels(@builtin(global_invocation_id) id: vec3u) {
    if any(id.xy >= lists.viewport) { return; }
    let side = side_of_sums();
    let position = (vec2f(id.xy) + 0.5) * (f32(side) / f32(lists.viewport.x)) - 0.5;
    let first = vec2i(floor(position));
    let along = position - floor(position);
    let upper = mix(sums_at(first, side), sums_at(first + vec2i(1, 0), side), along.x);
    let lower = mix(sums_at(first + vec2i(0, 1), side), sums_at(first + vec2i(1, 1), side), along.x);
    let found = mix(upper, lower, along.y);
    let mean = found.yz / max(found.x, 1e-20);
    let extent = sqrt(12.0 * max(mean.y - mean.x * mean.x, 0.0));     // of an even layer with this variance
    let extinction = style.shadow * dot(style.absorption + style.scattering, LUMINANCE);
    let depth = min(extinction * found.x * view.sun_maps[0].w * f32(lists.viewport.x), 50.0);
    textureStore(depths, id.xy, vec4f(depth * vec3f(1.0, PLANES * mean.x, PLANES * extent), 0.0));
}
//% endif

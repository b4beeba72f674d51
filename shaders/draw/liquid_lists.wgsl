// Lists of the particles that each tile of an image may show, for draw/liquid_tiles.wgsl; in any order.
// In: the attributes of each particle; POSITION, SIZE and DENSITY, the types of their numbers, empty if they are not bound; ENTRY,
// the entry point.
// `project` finds where each one is in the image, `count` how many touch each tile, and after a running total of those
// `scatter` makes the lists.
//% include "common/index.wgsl"
//% include "common/liquid_grid.wgsl"

@group(0) @binding(2) var<uniform> lists: Lists;
//% if ENTRY == "project"
//% include "common/view.wgsl"
//% include "common/liquid.wgsl"
//% include "common/liquid_rows.wgsl"
@group(0) @binding(4) var<storage, read_write> particles: array<vec4f>;   // see draw/liquid_tiles.wgsl
@group(0) @binding(5) var<storage, read_write> rects: array<vec2u>;      // the first and the last tile: x in the lower half
@group(0) @binding(6) var<storage, read_write> totals: array<atomic<u32>>;

var<workgroup> sums: array<atomic<u32>, LEVELS>;

// What is across the image at distance 1, or at any if all lines of sight are parallel: from where to where a sphere reaches
// along an axis; `along` is how far its center is. All of it, where the sphere is not before the eye.
fn extent_across(across: f32, along: f32, radius: f32) -> vec2f {
    let ahead = along * along - radius * radius;
    let aside = radius * sqrt(across * across + ahead);
    let reach = select((across * along + vec2f(-aside, aside)) / ahead, vec2f(-1e9, 1e9), along <= radius);
    return select(reach, across + vec2f(-radius, radius), is_parallel());
}

fn pixels_of(eye: vec3f, radius: f32) -> vec4f {
    let x = extent_across(eye.x, -eye.z, radius);
    let y = extent_across(eye.y, -eye.z, radius);
    let clip = view.eye_to_clip;
    let slope = vec2f(clip[0].x, clip[1].y);
    let shift = clip[3].xy - clip[2].xy;
    let size = vec2f(lists.viewport);
    let one = ((vec2f(x.x, y.x) * slope + shift) * vec2f(0.5, -0.5) + 0.5) * size;
    let other = ((vec2f(x.y, y.y) * slope + shift) * vec2f(0.5, -0.5) + 0.5) * size;
    return vec4f(min(one, other) - 1.0, max(one, other) + 1.0);
}

// The tiles that a row touches; NONE if it is not in the image.
fn rect_of(row: u32) -> vec2u {
    let eye = eye_of_row(row);
    let size = size_of_row(row);
    let is_cut = beyond_clips(eye) > 0.0;
    particles[row] = vec4f(eye.xy / select(-eye.z, 1.0, is_parallel()), -eye.z, select(size, -size, is_cut));
    let radius = size * style.sphere_scale;
    let is_outside = dot(eye, eye) > radius * radius || is_parallel();
    // Written so that a NaN fails.
    if !(-eye.z > view.near && radius > 0.0 && radius < 1e30 && is_outside) { return NONE; }
    let reach = pixels_of(eye, size * max(style.sphere_scale, COLUMN));
    let last = vec2f(lists.viewport) - 1.0;
    if !(all(reach.zw >= vec2f(0.0)) && all(reach.xy <= last)) { return NONE; }
    let low = vec2u(clamp(reach.xy, vec2f(0.0), last)) / TILE;
    let high = vec2u(clamp(reach.zw, vec2f(0.0), last)) / TILE;
    return vec2u(low.x | (low.y << 16u), high.x | (high.y << 16u));
}

@compute @workgroup_size(128)
fn project(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    if lane < LEVELS { atomicStore(&sums[lane], 0u); }
    workgroupBarrier();
    let row = linear_index(id, num_workgroups, 128u);
    if row < lists.rows {
        let rect = rect_of(row);
        rects[row] = rect;
        for (var level = 0u; level < select(LEVELS, 0u, all(rect == NONE)); level++) {
            let touched = tiles_of(rect, level);
            atomicAdd(&sums[level], (touched.z - touched.x + 1u) * (touched.w - touched.y + 1u));
        }
    }
    workgroupBarrier();
    if lane < LEVELS {
        // Two words: many particles that fill the image are more than one holds.
        let sum = atomicLoad(&sums[lane]);
        let before = atomicAdd(&totals[2u * lane], sum);
        if before + sum < before { atomicAdd(&totals[2u * lane + 1u], 1u); }
    }
}
//% else
@group(0) @binding(5) var<storage, read> rects: array<vec2u>;
@group(0) @binding(6) var<storage, read> totals: array<u32>;
@group(0) @binding(7) var<storage, read_write> counts: array<atomic<u32>>;
//% if ENTRY == "scatter"
@group(0) @binding(8) var<storage, read> starts: array<u32>;
@group(0) @binding(9) var<storage, read_write> rows: array<u32>;
//% endif

@compute @workgroup_size(128)
fn ${ENTRY}(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let row = linear_index(id, num_workgroups, 128u);
    if row >= lists.rows { return; }
    let rect = rects[row];
    if all(rect == NONE) { return; }
    let level = level_of_lists(lists.capacity);
    let across = tiles_across(level);
    let touched = tiles_of(rect, level);
    for (var y = touched.y; y <= touched.w; y++) {
        for (var x = touched.x; x <= touched.z; x++) {
            let tile = y * across + x;
            //% if ENTRY == "scatter"
            // Counts are 0 again after this.
            rows[starts[tile] + atomicSub(&counts[tile], 1u) - 1u] = row;
            //% else
            atomicAdd(&counts[tile], 1u);
            //% endif
        }
    }
}
//% endif

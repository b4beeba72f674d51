// What the lines of sight of an image meet of a liquid: its particles as spheres, and as blobs of the volume that they have at
// rest, (2 size)³, whose profile across is (1 - x²)²: a column through many particles has the right length at any spacing
// (van der Laan, Green and Sainz 2009, "Screen Space Fluid Rendering with Curvature Flow"). A workgroup has one tile,
// an invocation four pixels of it: what they do with a particle is done for all four at once. Each of PARTS invocations with
// the same pixels takes a part of the particles: some lists are far longer than others, and the longest takes longest.
// In: lists of particles by draw/liquid_lists.wgsl; ENTRY, the entry point.
// Out: of `find_fronts` the distance along the direction of view of the nearest sphere, and its size; the length of liquid along
// the line of sight, and that of it which is near the surface. Drops and thin sheets have something behind them:
// `find_behinds` finds the foremost surface without what is thin, how thin that is, and how round.
//% include "common/view.wgsl"
//% include "common/tiles.wgsl"
//% include "common/liquid.wgsl"
//% include "common/liquid_grid.wgsl"

@group(0) @binding(2) var<uniform> lists: Lists;
// Of each particle its center: x and y at distance 1, or at any if all lines of sight are parallel, and the distance along the
// direction of view; and its size, below 0 if its center is cut off by a clip plane.
@group(0) @binding(3) var<storage, read> particles: array<vec4f>;
@group(0) @binding(4) var<storage, read> totals: array<u32>;
@group(0) @binding(5) var<storage, read> starts: array<u32>;
@group(0) @binding(6) var<storage, read> rows: array<u32>;
//% if ENTRY == "find_fronts"
@group(0) @binding(7) var solid_depth: texture_depth_multisampled_2d;
@group(0) @binding(8) var fronts: texture_storage_2d<rg32float, write>;
@group(0) @binding(9) var columns: texture_storage_2d<rg32float, write>;
//% else
@group(0) @binding(7) var fronts: texture_2d<f32>;
@group(0) @binding(8) var columns: texture_2d<f32>;
@group(0) @binding(9) var behinds: texture_storage_2d<rgba32float, write>;
//% endif
//% include "common/liquid_layers.wgsl"

const SIDE = TILE / 2u;         // invocations along each side of a tile
const ROUNDING = 1e-3;          // more than what rounding may change, in comparisons that leave out particles
const LANES = SIDE * SIDE;          // of each part
const PARTS = ${PARTS}u;
const BATCH = LANES * PARTS;    // particles that a workgroup reads together, each invocation one

var<workgroup> batch: array<vec4f, BATCH>;
var<workgroup> bounds: vec2u;

// The lines of sight of four pixels: where they are at distance 1, as the centers of particles are; and their directions.
struct Sights {
    x: vec4f,
    y: vec4f,
    along_x: vec4f,
    along_y: vec4f,
    along_z: vec4f,
    middle: vec2f,      // of the four, at distance 1
    spread: f32,        // how far they are from there
    slant: f32,         // at most, how much farther apart two lines of sight are across the image than across themselves
}

struct Fronts {
    distance: vec4f,    // 0: nothing was found
    size: vec4f,
}

// Pixel number `i` of those of an invocation.
fn pixel_of_four(invocation: vec2u, i: u32) -> vec2u {
    return 2u * invocation + vec2u(i & 1u, i >> 1u);
}

fn sights_of(invocation: vec2u) -> Sights {
    var found: Sights;
    for (var i = 0u; i < 4u; i++) {
        let through = eye_at(vec2f(pixel_of_four(invocation, i)) + 0.5, vec2f(lists.viewport), 1.0);
        let direction = sight_to(through);
        found.x[i] = through.x;
        found.y[i] = through.y;
        found.along_x[i] = direction.x;
        found.along_y[i] = direction.y;
        found.along_z[i] = direction.z;
    }
    let low = vec2f(found.x[0], found.y[0]);
    let high = vec2f(found.x[3], found.y[3]);
    found.middle = 0.5 * (low + high);
    found.spread = (0.5 + ROUNDING) * length(high - low);
    let facing = min(min(abs(found.along_z.x), abs(found.along_z.y)), min(abs(found.along_z.z), abs(found.along_z.w)));
    found.slant = (1.0 + ROUNDING) / facing;
    return found;
}

// Whether any of the lines of sight may be nearer to the center of a particle than `reach`: it takes less time to find out than to
// find where they pass it.
fn is_near(sights: Sights, particle: vec4f, reach: f32) -> bool {
    let away = sights.middle - particle.xy;
    let scale = select(particle.z, 1.0, is_parallel());
    let most = reach / scale * sights.slant + sights.spread;
    return dot(away, away) <= most * most;
}

// The largest of those of four distances that count, or no end if one is not known.
fn farthest_of(distances: vec4f, is_counted: vec4<bool>) -> f32 {
    let known = select(vec4f(0.0), select(vec4f(3.4e38), distances, distances > vec4f(0.0)), is_counted);
    return max(max(known.x, known.y), max(known.z, known.w));
}

// How lines of sight pass a particle: from where they are at the center's distance, how far back they are nearest to the center,
// and the square of how far away they are there. Without differences of large numbers, and without branches: it is done most often.
struct Passes {
    back: vec4f,
    miss2: vec4f,
}

fn passes_of(sights: Sights, particle: vec4f) -> Passes {
    let scale = select(particle.z, 1.0, is_parallel());
    let x = (sights.x - particle.x) * scale;
    let y = (sights.y - particle.y) * scale;
    let back = x * sights.along_x + y * sights.along_y;
    return Passes(back, x * x + y * y - back * back);
}

// What is nearer, of fronts that were found and the sphere of a particle.
fn nearer(found: Fronts, sights: Sights, particle: vec4f, is_counted: vec4<bool>) -> Fronts {
    let size = abs(particle.w);
    let radius = size * style.sphere_scale;
    let passes = passes_of(sights, particle);
    let inside2 = radius * radius - passes.miss2;
    let distance = particle.z + sights.along_z * (passes.back + sqrt(max(inside2, vec4f(0.0))));
    let before = (found.distance <= vec4f(0.0)) | (distance < found.distance);
    let larger = (distance == found.distance) & (vec4f(size) > found.size);
    // What begins behind the eye is no front, in whatever order lists have it.
    var is_found = is_counted & (inside2 > vec4f(0.0)) & (distance > vec4f(0.0)) & (before | larger);
    // A loop, which software adapters leave out where no plane cuts; they take all branches.
    for (var k = select(0u, 3u, is_clipped()); k > 0u; k--) {
        let plane = view.clips[k - 1u];
        let scale = select(distance, vec4f(1.0), is_parallel());
        is_found &= (plane.x * sights.x + plane.y * sights.y) * scale - plane.z * distance + plane.w <= vec4f(0.0);
    }
    return Fronts(select(found.distance, distance, is_found), select(found.size, vec4f(size), is_found));
}

// Whether the sphere of a particle may be nearer than one of the fronts that count.
fn may_be_nearer(found: Fronts, sights: Sights, particle: vec4f, is_counted: vec4<bool>) -> bool {
    let radius = abs(particle.w) * style.sphere_scale;
    let nearest = particle.z - (1.0 + ROUNDING) * radius - 1e-6 * particle.z;
    return nearest <= farthest_of(found.distance, is_counted) && is_near(sights, particle, radius);
}

fn is_clipped() -> bool {
    return any(view.clips[0].xyz != vec3f(0.0)) || any(view.clips[1].xyz != vec3f(0.0)) || any(view.clips[2].xyz != vec3f(0.0));
}

// The range in `rows` of the particles of a workgroup's tile. To be called by all of its invocations.
fn range_of(tile: vec2u, lane: u32) -> vec2u {
    if lane == 0u {
        let level = level_of_lists(lists.capacity);
        let number = (tile.y >> level) * tiles_across(level) + (tile.x >> level);
        bounds = vec2u(starts[number], starts[number + 1u]);
    }
    return workgroupUniformLoad(&bounds);
}

// Read the particles from `first` on into `batch`; returns how many. To be called by all invocations.
fn read_batch(first: u32, range: vec2u, lane: u32) -> u32 {
    workgroupBarrier();
    if first + lane < range.y { batch[lane] = particles[rows[first + lane]]; }
    workgroupBarrier();
    return min(BATCH, range.y - first);
}

//% if PARTS > 1
var<workgroup> of_parts: array<array<vec4u, 2>, BATCH>;

// The nearest of what the parts have found. To be called by all invocations.
fn nearest_of_parts(found: Fronts, lane: u32) -> Fronts {
    workgroupBarrier();
    of_parts[lane] = array<vec4u, 2>(bitcast<vec4u>(found.distance), bitcast<vec4u>(found.size));
    workgroupBarrier();
    var nearest = found;
    for (var k = lane % LANES; k < BATCH; k += LANES) {
        let distance = bitcast<vec4f>(of_parts[k][0]);
        let size = bitcast<vec4f>(of_parts[k][1]);
        let before = (nearest.distance <= vec4f(0.0)) | (distance < nearest.distance);
        let larger = (distance == nearest.distance) & (size > nearest.size);
        let is_found = (distance > vec4f(0.0)) & (before | larger);
        nearest = Fronts(select(nearest.distance, distance, is_found), select(nearest.size, size, is_found));
    }
    return nearest;
}
//% else
fn nearest_of_parts(found: Fronts, lane: u32) -> Fronts {
    return found;
}
//% endif

//% if ENTRY == "find_fronts"
const LENGTH = 8.0 / (COLUMN * COLUMN) * 3.0 / 3.14159265;     // through the middle of a particle, in sizes
const UNIT = 16777216.0;        // in a distance of the camera's target: lists are in any order, and so sums are of integers

fn plus(sum: vec4u, more: vec4u) -> vec4u {
    return select(sum + more, vec4u(0xffffffffu), sum + more < sum);
}

//% if PARTS > 1
// The sums of all parts, all of them and those near the front. To be called by all invocations.
fn sums_of_parts(own: array<vec4u, 2>, lane: u32) -> array<vec4u, 2> {
    workgroupBarrier();
    of_parts[lane] = own;
    workgroupBarrier();
    var sums = array<vec4u, 2>();
    for (var k = lane % LANES; k < BATCH; k += LANES) {
        sums[0] = plus(sums[0], of_parts[k][0]);
        sums[1] = plus(sums[1], of_parts[k][1]);
    }
    return sums;
}
//% else
fn sums_of_parts(own: array<vec4u, 2>, lane: u32) -> array<vec4u, 2> {
    return own;
}
//% endif

@compute @workgroup_size(SIDE, SIDE, PARTS)
fn find_fronts(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(global_invocation_id) id: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let range = range_of(vec2u(group.x, tile_row(group.y, groups.y)), lane);
    let invocation = pixel_of_tile(id, groups, SIDE);
    let sights = sights_of(invocation);
    var front = Fronts(vec4f(0.0), vec4f(0.0));
    for (var first = range.x; first < range.y; first += BATCH) {
        let count = read_batch(first, range, lane);
        for (var i = lane / LANES; i < count; i += PARTS) {
            // A loop, as where planes cut: software adapters take all branches.
            for (var k = u32(may_be_nearer(front, sights, batch[i], vec4<bool>(true))); k > 0u; k--) {
                front = nearer(front, sights, batch[i], vec4<bool>(true));
            }
        }
    }
    front = nearest_of_parts(front, lane);
    var solid = vec4f(0.0);
    for (var i = 0u; i < 4u; i++) {
        let pixel = min(pixel_of_four(invocation, i), lists.viewport - 1u);
        solid[i] = distance_of(textureLoad(solid_depth, pixel, 0));
    }
    let near = near_end(front.distance, front.size);
    let scale = LENGTH * UNIT / view.distance;
    let end = max(max(solid.x, solid.y), max(solid.z, solid.w));
    var all = vec4u(0u);
    var foremost = vec4u(0u);
    for (var first = range.x; first < range.y; first += BATCH) {
        let count = read_batch(first, range, lane);
        for (var i = lane / LANES; i < select(0u, count, any(front.distance > vec4f(0.0))); i += PARTS) {
            let particle = batch[i];
            let reach = particle.w * COLUMN;
            let is_counted = particle.w > 0.0 && particle.z <= end && is_near(sights, particle, reach);
            for (var k = u32(is_counted); k > 0u; k--) {
                let fall = max(1.0 - passes_of(sights, particle).miss2 / (reach * reach), vec4f(0.0));
                let length = vec4u(select(vec4f(0.0), scale * particle.w * fall * fall, vec4f(particle.z) <= solid));
                all = plus(all, length);
                foremost = plus(foremost, select(vec4u(0u), length, vec4f(particle.z) < near));
            }
        }
    }
    let sums = sums_of_parts(array<vec4u, 2>(all, foremost), lane);
    for (var i = lane / LANES; i < 4u; i += PARTS) {
        let pixel = pixel_of_four(invocation, i);
        if any(pixel >= lists.viewport) { continue; }
        textureStore(fronts, pixel, vec4f(front.distance[i], front.size[i], 0.0, 0.0));
        textureStore(columns, pixel, vec4f(vec2f(vec2u(sums[0][i], sums[1][i])) / UNIT, 0.0, 0.0));
    }
}
//% else
const SEPARATE = 8.0;      // sizes from the front of something thin to that of something else

var<workgroup> any_thin: u32;

// What is thick is the same surface, and so is what has no air before the next particles, or no particles behind and is no drop.
fn behind_of(front: vec2f, next: vec2f, thin: f32, ball: f32) -> vec4f {
    let is_close = next.x < front.x + SEPARATE * front.y;
    let is_same = select(ball <= 0.0, is_close, next.x > 0.0);
    return select(vec4f(next, thin, ball), vec4f(front, 0.0, 0.0), thin <= 0.0 || is_same);
}

@compute @workgroup_size(SIDE, SIDE, PARTS)
fn find_behinds(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(global_invocation_id) id: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let range = range_of(vec2u(group.x, tile_row(group.y, groups.y)), lane);
    let invocation = pixel_of_tile(id, groups, SIDE);
    var front = Fronts(vec4f(0.0), vec4f(0.0));
    var thin = vec4f(0.0);
    for (var i = 0u; i < 4u; i++) {
        let pixel = vec2i(pixel_of_four(invocation, i));
        if any(pixel >= vec2i(lists.viewport)) { continue; }
        let found = textureLoad(fronts, pixel, 0).xy;
        front.distance[i] = found.x;
        front.size[i] = found.y;
        if found.x > 0.0 { thin[i] = thinness(pixel, found); }
    }
    let is_thin = thin > vec4f(0.0);
    if lane == 0u { any_thin = 0u; }
    workgroupBarrier();
    if any(is_thin) { any_thin = 1u; }
    var next = Fronts(vec4f(0.0), vec4f(0.0));
    if workgroupUniformLoad(&any_thin) > 0u {
        let sights = sights_of(invocation);
        let near = near_end(front.distance, front.size);
        let begins = select(vec4f(3.4e38), near, is_thin);
        let begin = min(min(begins.x, begins.y), min(begins.z, begins.w));
        for (var first = range.x; first < range.y; first += BATCH) {
            let count = read_batch(first, range, lane);
            for (var i = lane / LANES; i < select(0u, count, any(is_thin)); i += PARTS) {
                let particle = batch[i];
                let is_counted = particle.z >= begin && may_be_nearer(next, sights, particle, is_thin);
                for (var k = u32(is_counted); k > 0u; k--) {
                    next = nearer(next, sights, particle, is_thin & (vec4f(particle.z) >= near));
                }
            }
        }
        next = nearest_of_parts(next, lane);
    }
    for (var i = lane / LANES; i < 4u; i += PARTS) {
        let pixel = vec2i(pixel_of_four(invocation, i));
        if any(pixel >= vec2i(lists.viewport)) { continue; }
        let here = vec2f(front.distance[i], front.size[i]);
        var ball = 0.0;
        if is_thin[i] { ball = roundness(pixel, here); }
        textureStore(behinds, pixel, behind_of(here, vec2f(next.distance[i], next.size[i]), thin[i], ball));
    }
}
//% endif

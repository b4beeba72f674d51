// A blade that is drawn across the image of a cloth: it parts the threads that are visible where it passes.
// A stroke appears as a line: it and the eye span a plane of sight. What is in that plane has a position x across it and y
// along its rays, and appears at t = x / y of the stroke's length, or at t = x if the rays are parallel. `front` says
// for each of BINS parts of the length the depth (y) of the nearest thing: an image of one row, with depth alone.
// In: vertices: position and inverse area; edges: two vertices each; triangles: those that are left, torn ones without
//     area; the spherical obstacle.
// Out: springs: rest length, negative once torn, and stiffnesses.
//% include "common/index.wgsl"

struct Params {
    count: u32,
    corner: vec3f,        // where x and y are 0
    unit: f32,            // world units in one of y
    across: vec3f,        // of x = 1
    meeting: f32,         // 1: the rays meet in the corner; 0: they are parallel
    along: vec3f,         // of y = 1, where x is 0
    reach: f32,           // how far behind the front threads are parted [m]
    side: vec3f,          // across the plane of sight, unit length
    radius: f32,          // of the ball; 0: none
    across_from: vec3f,   // dot with it gives x
    along_from: vec3f,    // and y
    center: vec3f,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> front: array<atomic<u32>>;  // bits of y, which order as y does: y > 0
@group(0) @binding(2) var<storage, read> vertices: array<vec4f>;
@group(0) @binding(3) var<storage, read> triangles: array<u32>;
@group(0) @binding(4) var<storage, read> edges: array<vec2u>;
@group(0) @binding(5) var<storage, read> nearest: array<u32>;              // the front, where it is read
@group(0) @binding(6) var<storage, read_write> springs: array<vec4f>;

const BINS = ${BINS}u;
const FARTHEST = 3.0e38;
const SLACK = 1e-3;  // of a stroke's length, so that no thread slips between two of them

// What a position across the stroke is divided by to have t.
fn divisor(y: f32) -> f32 {
    return select(1.0, y, params.meeting > 0.0);
}

// Where the line from a to b, on different sides of the plane of sight, goes through it: x and y.
fn crossing(a: vec3f, b: vec3f, a_side: f32, b_side: f32) -> vec2f {
    let position = mix(a, b, a_side / (a_side - b_side)) - params.corner;
    return vec2f(dot(position, params.across_from), dot(position, params.along_from));
}

fn side_of(position: vec3f) -> f32 {
    return dot(position - params.corner, params.side);
}

// The ball, before anything else is known.
@compute @workgroup_size(64)
fn see_ball(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= BINS {
        return;
    }
    let t = (f32(id.x) + 0.5) / f32(BINS);
    let origin = params.corner + select(t, 0.0, params.meeting > 0.0) * params.across;
    let along = params.along + select(0.0, t, params.meeting > 0.0) * params.across;
    let back = origin - params.center;
    let a = dot(along, along);
    let b = dot(along, back);
    let inside = b * b - a * (dot(back, back) - params.radius * params.radius);
    let y = (-b - sqrt(max(inside, 0.0))) / a;
    atomicStore(&front[id.x], bitcast<u32>(select(FARTHEST, y, params.radius > 0.0 && inside > 0.0 && y > 0.0)));
}

// One triangle of the cloth: the piece of the plane of sight that it covers.
@compute @workgroup_size(64)
fn see_sheet(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let n = linear_index(id, num_workgroups, 64u);
    if n >= params.count {
        return;
    }
    var corners: array<vec3f, 3>;
    var sides: array<f32, 3>;
    for (var c = 0u; c < 3u; c += 1u) {
        corners[c] = vertices[triangles[3u * n + c]].xyz;
        sides[c] = side_of(corners[c]);
    }
    var ends: array<vec2f, 2>;
    var found = 0u;
    for (var c = 0u; c < 3u; c += 1u) {
        let next = (c + 1u) % 3u;
        if (sides[c] > 0.0) != (sides[next] > 0.0) {
            ends[min(found, 1u)] = crossing(corners[c], corners[next], sides[c], sides[next]);
            found += 1u;
        }
    }
    if found < 2u || min(ends[0].y, ends[1].y) <= 0.0 {
        return;
    }
    let coordinates = vec2f(ends[0].x / divisor(ends[0].y), ends[1].x / divisor(ends[1].y)) * f32(BINS) - 0.5;
    let first = max(ceil(min(coordinates.x, coordinates.y)), 0.0);
    let last = min(floor(max(coordinates.x, coordinates.y)), f32(BINS - 1u));
    for (var k = first; k <= last; k += 1.0) {
        let t = (k + 0.5) / f32(BINS);
        let one = ends[0].x - t * divisor(ends[0].y);
        let other = ends[1].x - t * divisor(ends[1].y);
        let fraction = select(0.5, clamp(one / (one - other), 0.0, 1.0), one != other);
        atomicMin(&front[u32(k)], bitcast<u32>(mix(ends[0].y, ends[1].y, fraction)));
    }
}

// One thread: parted if it crosses the stroke.
@compute @workgroup_size(64)
fn part(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let n = linear_index(id, num_workgroups, 64u);
    if n >= params.count {
        return;
    }
    let spring = springs[n];
    let a = vertices[edges[n].x].xyz;
    let b = vertices[edges[n].y].xyz;
    let a_side = side_of(a);
    let b_side = side_of(b);
    if spring.x <= 0.0 || (a_side > 0.0) == (b_side > 0.0) {
        return;
    }
    let at = crossing(a, b, a_side, b_side);
    let t = at.x / divisor(at.y);
    if at.y <= 0.0 || t < -SLACK || t > 1.0 + SLACK {
        return;
    }
    let bin = u32(clamp(t * f32(BINS), 0.0, f32(BINS - 1u)));
    if (at.y - bitcast<f32>(nearest[bin])) * params.unit <= params.reach {
        springs[n].x = -spring.x;
    }
}

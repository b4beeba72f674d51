// What is drawn and reported of a cloth: which edges tear, the triangles that are left, normals, strains, energies.
// In: vertices: position and inverse area; velocities; edges, springs (rest length, negative once torn, and stiffnesses)
//     and hinges as in models/cloth.wgsl; long_edges and long_springs: those between distant vertices of a thread; next: of
//     each vertex the edges to the next one of its row and of its column, then such long edges; corners: vertices of each triangle, sides: its edges; spokes and fans: edges
//     and triangles around each vertex, those of vertex i from spoke_starts[i] and fan_starts[i] on.
// Out: ball: center and radius of the spherical obstacle, to be drawn; springs; index, where a triangle with a torn
//     side has no area; normals; strains, in velocities.w: the largest at each vertex, with the sign of a stretch;
//     tallies: kinetic energy, energy of height, of edges, and speed; impulses; pulling: energies of long edges.
// The reference implementation is app/vertigrad/models/reference/cloth.py.
//% include "common/index.wgsl"

struct Params {
    count: u32,
    stretching: u32,        // edges before those of shear
    limit: f32,             // strain at which an edge tears
    density: f32,
    first: u32,             // long edge of the color
    hop: u32,               // vertices between the edges that it runs along
    columns: u32,           // vertices of a row
    stretch: vec3f,         // shares of the stiffness
    shear: f32,
    bend: f32,
    gravity: f32,
    radius: f32,            // of the spherical obstacle
    center: vec3f,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> vertices: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> velocities: array<vec4f>;
@group(0) @binding(3) var<storage, read> edges: array<vec2u>;
@group(0) @binding(4) var<storage, read_write> tearing: array<vec4f>;  // the springs, where they are written
@group(0) @binding(5) var<storage, read> springs: array<vec4f>;
@group(0) @binding(6) var<storage, read> corners: array<u32>;
@group(0) @binding(7) var<storage, read> sides: array<u32>;
@group(0) @binding(8) var<storage, read_write> index: array<u32>;
@group(0) @binding(9) var<storage, read> triangles: array<u32>;        // the index, where it is read
@group(0) @binding(10) var<storage, read> spoke_starts: array<u32>;
@group(0) @binding(11) var<storage, read> spokes: array<u32>;
@group(0) @binding(12) var<storage, read> fan_starts: array<u32>;
@group(0) @binding(13) var<storage, read> fans: array<u32>;
@group(0) @binding(14) var<storage, read_write> normals: array<vec4f>;
@group(0) @binding(15) var<storage, read> hinges: array<u32>;
@group(0) @binding(16) var<storage, read_write> tallies: array<vec4f>;
@group(0) @binding(17) var<storage, read_write> impulses: array<vec4f>;
@group(0) @binding(18) var<storage, read> moving: array<vec4f>;        // the velocities, where they are only read
@group(0) @binding(19) var<storage, read_write> bending: array<f32>;
@group(0) @binding(20) var<storage, read_write> ball: array<vec4f>;
@group(0) @binding(21) var<storage, read> long_edges: array<vec2u>;
@group(0) @binding(22) var<storage, read_write> long_springs: array<vec4f>;
@group(0) @binding(23) var<storage, read> next: array<vec4u>;
@group(0) @binding(24) var<storage, read_write> pulling: array<f32>;

@compute @workgroup_size(1)
fn put_ball() {
    ball[0] = vec4f(params.center, params.radius);
}

@compute @workgroup_size(64)
fn tear(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let n = linear_index(id, num_workgroups, 64u);
    if n >= params.count {
        return;
    }
    let spring = tearing[n];
    let a = vertices[edges[n].x].xyz;
    let b = vertices[edges[n].y].xyz;
    if spring.x > 0.0 && distance(a, b) > spring.x * (1.0 + params.limit) {
        tearing[n].x = -spring.x;
    }
}

// A long edge parts with any of the shorter ones that it runs along.
@compute @workgroup_size(64)
fn part_long(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let n = linear_index(id, num_workgroups, 64u);
    if n >= params.count {
        return;
    }
    let ends = long_edges[params.first + n];
    let in_row = ends.y - ends.x < params.columns;
    let step = params.hop * select(params.columns, 1u, in_row);
    let slot = select(0u, 2u, params.hop > 1u) + select(1u, 0u, in_row);
    var torn = false;
    for (var v = ends.x; v < ends.y; v += step) {
        let edge = next[v][slot];
        if params.hop > 1u {
            torn = torn || long_springs[edge].x <= 0.0;
        } else {
            torn = torn || springs[edge].x <= 0.0;
        }
    }
    if torn {
        long_springs[params.first + n].x = -abs(long_springs[params.first + n].x);
    }
}

@compute @workgroup_size(64)
fn pull(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let n = linear_index(id, num_workgroups, 64u);
    if n >= params.count {
        return;
    }
    let spring = long_springs[n];
    let longer = distance(vertices[long_edges[n].x].xyz, vertices[long_edges[n].y].xyz) - spring.x;
    pulling[n] = select(0.0, 0.5 * dot(params.stretch, spring.yzw) * longer * longer, spring.x > 0.0 && longer > 0.0);
}

@compute @workgroup_size(64)
fn cover(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let n = linear_index(id, num_workgroups, 64u);
    if n >= params.count {
        return;
    }
    let first = 3u * n;
    let least = min(springs[sides[first]].x, min(springs[sides[first + 1u]].x, springs[sides[first + 2u]].x));
    for (var c = 0u; c < 3u; c += 1u) {
        index[first + c] = select(0u, corners[first + c], least > 0.0);
    }
}

@compute @workgroup_size(64)
fn normals_and_strains(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.count {
        return;
    }
    var sum = vec3f(0.0);
    for (var k = fan_starts[i]; k < fan_starts[i + 1u]; k += 1u) {
        let first = 3u * fans[k];
        let a = vertices[triangles[first]].xyz;
        let ab = vertices[triangles[first + 1u]].xyz - a;
        let ac = vertices[triangles[first + 2u]].xyz - a;
        sum += cross(ab, ac);
    }
    let size = length(sum);
    if size > 0.0 {  // a vertex that has lost all its triangles has its last normal
        normals[i] = vec4f(sum / size, 0.0);
    }
    var most = 0.0;
    for (var k = spoke_starts[i]; k < spoke_starts[i + 1u]; k += 1u) {
        let spring = springs[spokes[k]];
        let ends = edges[spokes[k]];
        let strain = distance(vertices[ends.x].xyz, vertices[ends.y].xyz) / spring.x - 1.0;
        most = select(most, strain, spring.x > 0.0 && abs(strain) > abs(most));
    }
    velocities[i].w = most;
}

@compute @workgroup_size(64)
fn tally(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.count {
        return;
    }
    let vertex = vertices[i];
    let velocity = moving[i].xyz;
    let mass = select(0.0, params.density / vertex.w, vertex.w > 0.0);
    var elastic = 0.0;
    for (var k = spoke_starts[i]; k < spoke_starts[i + 1u]; k += 1u) {
        let spring = springs[spokes[k]];
        let ends = edges[spokes[k]];
        let longer = distance(vertices[ends.x].xyz, vertices[ends.y].xyz) - spring.x;
        let thread = spokes[k] < params.stretching;
        let stiffness = select(params.shear * spring.y, dot(params.stretch, spring.yzw), thread);
        elastic += select(0.0, 0.25 * stiffness * longer * longer, spring.x > 0.0);  // half at each end
    }
    let speed2 = dot(velocity, velocity);
    tallies[i] = vec4f(0.5 * mass * speed2, mass * params.gravity * vertex.y, elastic, sqrt(speed2));
    impulses[i] = vec4f(mass * velocity, mass);
}

@compute @workgroup_size(64)
fn flex(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let n = linear_index(id, num_workgroups, 64u);
    if n >= params.count {
        return;
    }
    let at = 6u * n;
    let torn = springs[hinges[at + 3u]].x <= 0.0 || springs[hinges[at + 4u]].x <= 0.0;
    let bow = vertices[hinges[at]].xyz - 2.0 * vertices[hinges[at + 1u]].xyz + vertices[hinges[at + 2u]].xyz;
    bending[n] = select(0.5 * params.bend * bitcast<f32>(hinges[at + 5u]) * dot(bow, bow), 0.0, torn);
}

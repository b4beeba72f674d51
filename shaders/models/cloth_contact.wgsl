// Self-collision of a cloth: vertices are balls at a distance from those they are not woven to.
// In: vertices: position and inverse area; rest_positions: where they are in the cloth as it was cut; velocities; order and
//     starts of a grid of neighbors with cells of edge `reach`. MOST: partners that a vertex can have.
// Out: partners (search): of each vertex how many, then which, in the order of the grid; pushes (repel): how far each
//     vertex is to be moved. Every vertex gathers its own pushes, so the same state gives the same bits.
// The reference implementation is app/vertigrad/models/reference/cloth.py.
//% include "common/index.wgsl"
//% import "common/grid.wgsl" as grid with context

struct Params {
    count: u32,
    h: f32,
    friction: f32,
    thickness: f32,         // minimal distance
    reach: f32,             // distance within which partners are looked for
    ${grid.fields()}
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> vertices: array<vec4f>;
@group(0) @binding(2) var<storage, read> rest_positions: array<vec4f>;
@group(0) @binding(3) var<storage, read> velocities: array<vec4f>;
@group(0) @binding(4) var<storage, read> order: array<u32>;
@group(0) @binding(5) var<storage, read> starts: array<u32>;
@group(0) @binding(6) var<storage, read_write> found: array<u32>;
@group(0) @binding(7) var<storage, read> partners: array<u32>;
@group(0) @binding(8) var<storage, read_write> pushes: array<vec4f>;

//% include "common/grid.wgsl"

const STIFFNESS = 0.5;  // fraction of an overlap that one small step takes away; less than 1, since overlaps are many

@compute @workgroup_size(64)
fn search(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.count {
        return;
    }
    let here = vertices[i].xyz;
    let rest = rest_positions[i].xyz;
    let first = i * ${MOST + 1}u;
    var n = 0u;
    //% call grid.neighbors("here", "starts")
    let other = order[k];
    let near = distance(vertices[other].xyz, here) < params.reach;
    if near && n < ${MOST}u && distance(rest_positions[other].xyz, rest) >= params.reach {
        n += 1u;
        found[first + n] = other;
    }
    //% endcall
    found[first] = n;
}

@compute @workgroup_size(64)
fn repel(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.count {
        return;
    }
    let here = vertices[i];
    let velocity = velocities[i].xyz;
    let first = i * ${MOST + 1}u;
    let last = first + partners[first];
    var push = vec3f(0.0);
    for (var n = first + 1u; n <= last; n += 1u) {
        let other = vertices[partners[n]];
        let offset = here.xyz - other.xyz;
        let far = length(offset);
        if far < params.thickness && far > 0.0 && here.w > 0.0 {
            let normal = offset / far;
            let depth = params.thickness - far;
            let displacement = (velocity - velocities[partners[n]].xyz) * params.h;
            let slide = displacement - normal * dot(displacement, normal);
            let size = length(slide);
            let held = select(0.0, min(1.0, params.friction * depth / size), size > 0.0);
            push += (normal * depth - slide * held) * (here.w / (here.w + other.w));
        }
    }
    pushes[i] = vec4f(STIFFNESS * push, 0.0);
}

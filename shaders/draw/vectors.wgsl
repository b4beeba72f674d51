// A field of vectors taken at the points of a coarser lattice, for arrows. In: vectors on a grid.
// Out: arrows (count, 7), x fastest: the position, the direction, and its length.
//% import "common/vectors.wgsl" as vectors
//% include "common/index.wgsl"

struct Params {
    ${vectors.fields()}
    lattice: vec3u,         // points along x, y and z, each in the middle of its share of the box
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> vectors: array<f32>;
@group(0) @binding(2) var<storage, read_write> arrows: array<f32>;

//% include "common/vectors.wgsl"

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    let lattice = params.lattice;
    if i >= lattice.x * lattice.y * lattice.z { return; }
    let cell = vec3u(i % lattice.x, i / lattice.x % lattice.y, i / (lattice.x * lattice.y));
    let position = mix(params.low, params.high, (vec3f(cell) + 0.5) / vec3f(lattice));
    let vector = vector_between(position);
    for (var axis = 0u; axis < 3u; axis++) {
        arrows[7u * i + axis] = position[axis];
        arrows[7u * i + 3u + axis] = vector[axis];
    }
    arrows[7u * i + 6u] = length(vector);
}

// The surface of a liquid on a grid: signed distances from particles (Zhu and Bridson 2005, "Animating Sand as a Fluid", section
// 5), negative inside. A node that no particle reaches has the particles' reach as distance.
// In: particles (x, y, z, size) in the order of a neighbor grid, whose `starts` is an input. Out: values (nz, ny, nx).
//% import "common/grid.wgsl" as grid with context
//% include "common/index.wgsl"

struct Params {
    nodes: vec3u,      // of the grid, x fastest
    low: vec3f,        // where it begins
    spacing: f32,
    reach: f32,        // of a particle, in sizes
    radius: f32,       // of the surface around the particles' weighted mean, in sizes
    least: f32,        // sum of the weights inside
    ${grid.fields()}
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> starts: array<u32>;
@group(0) @binding(2) var<storage, read> particles: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> values: array<f32>;

//% include "common/grid.wgsl"

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.nodes.x * params.nodes.y * params.nodes.z { return; }
    let node = vec3u(i % params.nodes.x, i / params.nodes.x % params.nodes.y, i / (params.nodes.x * params.nodes.y));
    let here = params.low + params.spacing * vec3f(node);
    var offset = vec3f(0.0);
    var size = 0.0;
    var weights = 0.0;
    //% call grid.neighbors("here", "starts")
    let particle = particles[k];
    let away = (particle.xyz - here) / (params.reach * particle.w);
    let fall = max(1.0 - dot(away, away), 0.0);
    let weight = fall * fall * fall;
    offset += weight * (particle.xyz - here);
    size += weight * particle.w;
    weights += weight;
    //% endcall
    let distance = max(length(offset) - params.radius * size, size * (params.least - weights)) / weights;
    values[i] = select(params.grid_cell, min(distance, params.grid_cell), weights > 1e-6);
}

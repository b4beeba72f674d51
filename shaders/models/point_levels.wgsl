// Levels of detail of many points: the cell of each in a grid, and the leaf of an octree that the cell belongs to.
// In: positions (count, 3). `count_cells` adds the points of each cell to counts; `assign` writes keys, the leaf of each point.
// The leaves are chosen from the counts in app/vertigrad/models/data/point_levels.py, as by Schütz et al. 2023, "GPU-Accelerated LOD
// Generation for Point Clouds". The reference implementation is in tests/models/test_point_levels.py.
//% include "common/index.wgsl"

struct Params {
    low: vec3f,         // corner of the grid
    count: u32,
    per_unit: f32,      // cells
    side: u32,          // cells along each axis
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> positions: array<f32>;
@group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read> leaves: array<u32>;
@group(0) @binding(4) var<storage, read_write> keys: array<u32>;

fn cell_of(point: u32) -> u32 {
    let position = vec3f(positions[3u * point], positions[3u * point + 1u], positions[3u * point + 2u]);
    let cell = min(vec3u(max((position - params.low) * params.per_unit, vec3f(0.0))), vec3u(params.side - 1u));
    return (cell.z * params.side + cell.y) * params.side + cell.x;
}

@compute @workgroup_size(128)
fn count_cells(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let point = linear_index(id, groups, 128u);
    if point < params.count { atomicAdd(&counts[cell_of(point)], 1u); }
}

@compute @workgroup_size(128)
fn assign(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let point = linear_index(id, groups, 128u);
    if point < params.count { keys[point] = leaves[cell_of(point)]; }
}

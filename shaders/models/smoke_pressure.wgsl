// Multigrid V-cycles for the pressure of smoke in a box with obstacles; the equation and its sources are in the reference,
// app/vertigrad/models/reference/smoke_pressure.py.
// In: solid, 1 where a cell holds no air; rhs, what flows out of each cell in a step, in cells.
// In and out: pressure, times the step over the edge of a cell; walls: conductances of the lower faces along x, y, z, and
// the sum of all conductances around the cell, 0 where there is no air.
// Cells are stored x first. `size` is the cells of the level that is written, `fine` those of the finer one.
//% include "common/index.wgsl"

struct Params {
    size: vec3u,
    fine: vec3u,
    color: u32,
    open_low: vec3u,   // 1 where the side of the box lets air through
    open_high: vec3u,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> solid: array<u32>;
@group(0) @binding(2) var<storage, read> walls: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> pressure: array<f32>;
@group(0) @binding(4) var<storage, read> rhs: array<f32>;
@group(0) @binding(5) var<storage, read_write> walls_out: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> coarse_pressure: array<f32>;
@group(0) @binding(7) var<storage, read_write> coarse_rhs: array<f32>;
@group(0) @binding(8) var<storage, read> coarse_walls: array<vec4f>;

const NEXT = array(vec3i(1, 0, 0), vec3i(0, 1, 0), vec3i(0, 0, 1));

fn cell_of(i: u32, size: vec3u) -> vec3i {
    return vec3i(vec3u(i % size.x, i / size.x % size.y, i / (size.x * size.y)));
}

fn index(cell: vec3i, size: vec3u) -> u32 {
    let at = vec3u(cell);
    return (at.z * size.y + at.y) * size.x + at.x;
}

fn inside(cell: vec3i, size: vec3u) -> bool {
    return all(cell >= vec3i(0)) && all(cell < vec3i(size));
}

fn is_fluid(cell: vec3i) -> f32 {
    if !inside(cell, params.size) {
        return 0.0;
    }
    return 1.0 - f32(solid[index(cell, params.size)]);
}

// The finest level.
@compute @workgroup_size(128)
fn conduct(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.size.x * params.size.y * params.size.z {
        return;
    }
    let cell = cell_of(i, params.size);
    let here = is_fluid(cell);
    let low = select(vec3f(0.0), vec3f(params.open_low), cell == vec3i(0));
    let high = select(vec3f(0.0), vec3f(params.open_high), cell == vec3i(params.size) - 1);
    var sum = 2.0 * here * dot(low + high, vec3f(1.0));
    var lower = vec3f(0.0);
    //% for axis in range(3)
    lower[${axis}] = here * is_fluid(cell - NEXT[${axis}]);
    sum += lower[${axis}] + here * is_fluid(cell + NEXT[${axis}]);
    //% endfor
    walls_out[i] = vec4f(lower, sum);
}

fn walls_at(cell: vec3i, size: vec3u) -> vec4f {
    if !inside(cell, size) {
        return vec4f(0.0);
    }
    return walls[index(cell, size)];
}

// Of what flows through the faces around a fine cell: what follows from the diagonal alone, to where there is no pressure.
fn freely(cell: vec3i) -> f32 {
    let here = walls_at(cell, params.fine);
    var free = here.w - here.x - here.y - here.z;
    //% for axis in range(3)
    free -= walls_at(cell + NEXT[${axis}], params.fine)[${axis}];
    //% endfor
    return free;
}

// The conductance of a coarse cell's lower face along each axis: the mean of the four fine faces on it.
fn thinned(coarse: vec3i) -> vec3f {
    var lower = vec3f(0.0);
    if !inside(coarse, params.size) {
        return lower;
    }
    let first = 2 * coarse;
    //% for axis in range(3)
    //% set a, b = (axis + 1) % 3, (axis + 2) % 3
    for (var k = 0; k < 4; k += 1) {
        let fine = first + (k & 1) * NEXT[${a}] + (k >> 1u) * NEXT[${b}];
        lower[${axis}] += 0.25 * walls_at(fine, params.fine)[${axis}];
    }
    //% endfor
    return lower;
}

// A level from the finer one.
@compute @workgroup_size(128)
fn coarsen(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.size.x * params.size.y * params.size.z {
        return;
    }
    let cell = cell_of(i, params.size);
    var free = 0.0;
    for (var k = 0; k < 8; k += 1) {
        free += freely(2 * cell + vec3i(k & 1, (k >> 1u) & 1, k >> 2u));
    }
    let lower = thinned(cell);
    var sum = 0.25 * free + lower.x + lower.y + lower.z;
    //% for axis in range(3)
    sum += thinned(cell + NEXT[${axis}])[${axis}];
    //% endfor
    walls_out[i] = vec4f(lower, sum);
}

fn pressure_at(cell: vec3i, size: vec3u) -> f32 {
    if !inside(cell, size) {
        return 0.0;
    }
    return pressure[index(cell, size)];
}

// Conductances times pressures, over the faces of a cell.
fn flow(cell: vec3i, lower: vec3f, size: vec3u) -> f32 {
    var total = 0.0;
    //% for axis in range(3)
    total += lower[${axis}] * pressure_at(cell - NEXT[${axis}], size);
    total += walls_at(cell + NEXT[${axis}], size)[${axis}] * pressure_at(cell + NEXT[${axis}], size);
    //% endfor
    return total;
}

fn relax(cell: vec3i, size: vec3u) {
    let i = index(cell, size);
    let here = walls[i];
    if here.w > 0.0 {
        pressure[i] = (flow(cell, here.xyz, size) - rhs[i]) / here.w;
    }
}

// Half a sweep of Gauss and Seidel's: the cells of one color. The invocations are half the cells along x, rounded up.
@compute @workgroup_size(128)
fn smooth_color(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    let half = vec3u((params.size.x + 1u) / 2u, params.size.y, params.size.z);
    if i >= half.x * half.y * half.z {
        return;
    }
    var cell = cell_of(i, half);
    cell.x = 2 * cell.x + ((cell.y + cell.z + i32(params.color)) & 1);
    if cell.x < i32(params.size.x) {
        relax(cell, params.size);
    }
}

// What is left on the finer level, as the right-hand side of the coarser one, whose pressure begins at 0.
@compute @workgroup_size(128)
fn restrict_(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.size.x * params.size.y * params.size.z {
        return;
    }
    let first = 2 * cell_of(i, params.size);
    var total = 0.0;
    for (var k = 0; k < 8; k += 1) {
        let cell = first + vec3i(k & 1, (k >> 1u) & 1, k >> 2u);
        let at = index(cell, params.fine);
        let here = walls[at];
        if here.w > 0.0 {
            total += rhs[at] - (flow(cell, here.xyz, params.fine) - here.w * pressure[at]);
        }
    }
    coarse_rhs[i] = 0.5 * total;  // mean of 8, by the square of the edges' ratio
    coarse_pressure[i] = 0.0;
}

// The coarser level's correction added to the finer one: trilinear, cells without air left out.
@compute @workgroup_size(128)
fn prolong(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.fine.x * params.fine.y * params.fine.z || !(walls[i].w > 0.0) {
        return;
    }
    let cell = cell_of(i, params.fine);
    let near = cell / 2;
    let side = 2 * (cell & vec3i(1)) - 1;
    var total = vec2f(0.0);
    for (var k = 0; k < 8; k += 1) {
        let far = vec3i(k & 1, (k >> 1u) & 1, k >> 2u);
        let coarse = near + far * side;
        if inside(coarse, params.size) {
            let at = index(coarse, params.size);
            let each = select(vec3f(0.75), vec3f(0.25), far == vec3i(1));
            let weight = select(0.0, each.x * each.y * each.z, coarse_walls[at].w > 0.0);
            total += weight * vec2f(coarse_pressure[at], 1.0);
        }
    }
    if total.y > 0.0 {
        pressure[i] += total.x / total.y;
    }
}

// The coarsest level, in one workgroup: sweeps of both colors.
@compute @workgroup_size(256)
fn solve(@builtin(local_invocation_index) lane: u32) {
    let half = vec3u((params.size.x + 1u) / 2u, params.size.y, params.size.z);
    for (var color = 0u; color < ${2 * LAST_SWEEPS}u; color += 1u) {
        for (var i = lane; i < half.x * half.y * half.z; i += 256u) {
            var cell = cell_of(i, half);
            cell.x = 2 * cell.x + ((cell.y + cell.z + i32(color)) & 1);
            if cell.x < i32(params.size.x) {
                relax(cell, params.size);
            }
        }
        storageBarrier();
    }
}

// Waves on a plane of square cells, and the same backwards: how a later number depends on an earlier state.
// In: before, a state: heights a step ago, heights now (side x side each), and what receivers heard (slots x receivers);
//     medium, of each cell the square of how many cells waves cross in a step, and how much is lost there;
//     receiver_of, of each cell the number of its receiver, or -1; slot, which row of what was heard this step fills.
// Out, step: after, the state a step later. Leapfrog: (1 + s) u' = 2 u - (1 - s) u_before + k L u, with L the sum of the
//     differences to four neighbors; at the edge there are fewer, so that waves are reflected.
// Out, step_backward: after, the gradient by the state before a step, from `before`, that by the state after it: the transpose.
// Out, show: what is drawn: positions (height along y) of the plane and of the receivers, and heights as they are.
// The reference implementation is app/vertigrad/models/reference/wave_source.py.
//% include "common/index.wgsl"

struct Params {
    side: u32,
    receivers: u32,
    slots: u32,
    slot: u32,
    before_offset: u32,
    after_offset: u32,
    position_offset: u32,
    listener_offset: u32,
    wave_offset: u32,
    height: f32,
    lift: f32,  // of receivers over the water
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> before: array<f32>;
@group(0) @binding(2) var<storage, read> medium: array<vec2f>;
@group(0) @binding(3) var<storage, read> receiver_of: array<i32>;
@group(0) @binding(4) var<storage, read_write> after: array<f32>;
@group(0) @binding(5) var<storage, read_write> position: array<f32>;
@group(0) @binding(6) var<storage, read_write> listener: array<f32>;  // positions of receivers
@group(0) @binding(7) var<storage, read_write> wave: array<f32>;

fn cells() -> u32 {
    return params.side * params.side;
}

// The neighbor of a cell, or the cell itself at the edge.
fn neighbor(cell: u32, number: u32) -> u32 {
    let side = params.side;
    let row = cell / side;
    let column = cell % side;
    switch number {
        case 0u: { return select(cell, cell - side, row > 0u); }
        case 1u: { return select(cell, cell + side, row + 1u < side); }
        case 2u: { return select(cell, cell - 1u, column > 0u); }
        default: { return select(cell, cell + 1u, column + 1u < side); }
    }
}

fn now(cell: u32) -> f32 {
    return before[params.before_offset + cells() + cell];
}

fn heard_at(receiver: u32) -> u32 {
    return 2u * cells() + params.slot * params.receivers + receiver;
}

// What of the state before a step only passes through: what was heard at other times.
fn pass_on(i: u32, own: f32) {
    let at = 2u * cells() + i;
    let is_own = i / params.receivers == params.slot;
    after[params.after_offset + at] = select(before[params.before_offset + at], own, is_own);
}

@compute @workgroup_size(64)
fn step(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let cell = linear_index(id, num_workgroups, 64u);
    if cell >= cells() {
        let i = cell - cells();
        if i < params.slots * params.receivers && i / params.receivers != params.slot {
            pass_on(i, 0.0);
        }
        return;
    }
    let height = now(cell);
    var around = 0.0;
    for (var k = 0u; k < 4u; k += 1u) {
        around += now(neighbor(cell, k)) - height;
    }
    let here = medium[cell];
    let old = before[params.before_offset + cell];
    let next = (2.0 * height - (1.0 - here.y) * old + here.x * around) / (1.0 + here.y);
    after[params.after_offset + cell] = height;
    after[params.after_offset + cells() + cell] = next;
    let receiver = receiver_of[cell];
    if receiver >= 0 {
        after[params.after_offset + heard_at(u32(receiver))] = next;
    }
}

// How the number depends on the height that the step gave a cell, divided as the step was.
fn scaled_gradient(cell: u32) -> f32 {
    let receiver = receiver_of[cell];
    var gradient = now(cell);
    if receiver >= 0 {
        gradient += before[params.before_offset + heard_at(u32(receiver))];
    }
    return gradient / (1.0 + medium[cell].y);
}

@compute @workgroup_size(64)
fn step_backward(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let cell = linear_index(id, num_workgroups, 64u);
    if cell >= cells() {
        let i = cell - cells();
        if i < params.slots * params.receivers {
            pass_on(i, 0.0);
        }
        return;
    }
    let own = scaled_gradient(cell);
    let spread = medium[cell].x * own;
    var around = 0.0;
    for (var k = 0u; k < 4u; k += 1u) {
        let other = neighbor(cell, k);
        around += medium[other].x * scaled_gradient(other) - spread;
    }
    after[params.after_offset + cell] = -(1.0 - medium[cell].y) * own;
    after[params.after_offset + cells() + cell] = before[params.before_offset + cell] + 2.0 * own + around;
}

@compute @workgroup_size(64)
fn show(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let cell = linear_index(id, num_workgroups, 64u);
    if cell >= cells() {
        return;
    }
    let height = now(cell);
    wave[params.wave_offset + cell] = height;
    position[params.position_offset + 3u * cell + 1u] = params.height * height;
    let number = receiver_of[cell];
    if number >= 0 {
        listener[params.listener_offset + 3u * u32(number) + 1u] = params.height * height + params.lift;
    }
}

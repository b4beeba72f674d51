// The backward pass through ops/cell.wgsl, in f32. Entries:
//   recompute_cells   an LSTM's cells, from their gates: every invocation walks all steps of one unit of one member
//   reset       r · state of a GRU for all steps at once
//   backward    one step: gradients of the gates, and what of the state's gradient goes past them
//   backward_reset  the rest of that step for a GRU: what came back through r · state
// In: KIND, "rnn", "lstm", "gru" or "gru_linear" (reset after the product); PEEPHOLES, LENGTHS, COUPLED, CLIPPED, F, G, H
//     as in ops/cell.wgsl; F_DERIVATIVE, G_DERIVATIVE, H_DERIVATIVE, the derivatives of F, G and H over x.
//     gates (steps, members, gates * size) are x Wᵀ + h Rᵀ + biases; of "gru_linear" the last third is without the state's
//     part, which is inner (steps, members, size). previous are the states before each step. All are contiguous.
// Out: found, the gradient of gates, of one step; of_state, that of h Rᵀ where it is another ("gru_linear"). carried and
//     carried_cell go in as the gradients of a step's state and cell, and out as those of the step before, but for what
//     flows through h Rᵀ. Where a member has ended they stay as they are.
//% include "common/index.wgsl"
//% include "common/math.wgsl"
//% include "common/activation.wgsl"
//% include "common/derivative.wgsl"
//% set GATES = {"rnn": 1, "lstm": 4}.get(KIND, 3)

struct Params {
    members: u32,
    size: u32,
    steps: u32,
    step: u32,       // the step in time
    backwards: u32,  // whether time runs from the end
    bound: f32,      // of what goes into the activations
    f_parameters: vec2f,
    g_parameters: vec2f,
    h_parameters: vec2f,
    gates_offset: u32,
    inner_offset: u32,
    previous_offset: u32,
    peepholes_offset: u32,
    lengths_offset: u32,
    cells_offset: u32,
    known_offset: u32,
    output_gradient_offset: u32,
    carried_offset: u32,
    carried_cell_offset: u32,
    found_offset: u32,
    of_state_offset: u32,
    back_offset: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> gates: array<f32>;
@group(0) @binding(2) var<storage, read> inner: array<f32>;
@group(0) @binding(3) var<storage, read> previous: array<f32>;
@group(0) @binding(4) var<storage, read> peepholes: array<f32>;
@group(0) @binding(5) var<storage, read> lengths: array<i32>;
@group(0) @binding(6) var<storage, read_write> cells: array<f32>;  // (steps + 1, members, size) in the order of work
@group(0) @binding(7) var<storage, read> known: array<f32>;        // cells before and after this step
@group(0) @binding(8) var<storage, read> output_gradient: array<f32>;        // the gradient of this step's output
@group(0) @binding(9) var<storage, read_write> carried: array<f32>;
@group(0) @binding(10) var<storage, read_write> carried_cell: array<f32>;
@group(0) @binding(11) var<storage, read_write> found: array<f32>;
@group(0) @binding(12) var<storage, read_write> of_state: array<f32>;
@group(0) @binding(13) var<storage, read> back: array<f32>;        // what came back to r · state

//% for name in ("F", "G", "H")
fn ${name.lower()}(x: f32) -> f32 {
    return ${{"F": F, "G": G, "H": H}[name]};
}

fn ${name.lower()}_derivative(x: f32) -> f32 {
    return ${{"F": F_DERIVATIVE, "G": G_DERIVATIVE, "H": H_DERIVATIVE}[name]};
}

//% endfor
fn clipped(x: f32) -> f32 {
    return ${"clamp(x, -params.bound, params.bound)" if CLIPPED else "x"};
}

// The gradient of what goes into an activation, where it is not held.
fn free(x: f32, gradient: f32) -> f32 {
    return ${"select(0.0, gradient, abs(x) <= params.bound)" if CLIPPED else "gradient"};
}

fn gate_at(member: u32, number: u32, unit: u32) -> u32 {
    return (member * ${GATES}u + number) * params.size + unit;
}

fn gate(member: u32, number: u32, unit: u32) -> f32 {
    return gates[params.gates_offset + gate_at(member, number, unit)];
}

fn has_ended(member: u32, step: u32) -> bool {
    return ${"i32(step) >= lengths[params.lengths_offset + member]" if LENGTHS else "false"};
}

fn leave(member: u32, number: u32, unit: u32, gradient: f32) {
    found[params.found_offset + gate_at(member, number, unit)] = gradient;
}

//% if KIND == "lstm"
fn peephole(number: u32, unit: u32) -> f32 {
    return ${"peepholes[params.peepholes_offset + number * params.size + unit]" if PEEPHOLES else "0.0"};
}

// What goes into the gates i, o, f and c, but for what the gate o sees of the new cell.
fn before(member: u32, unit: u32, cell: f32) -> vec4f {
    return vec4f(
        gate(member, 0u, unit) + peephole(0u, unit) * cell,
        gate(member, 1u, unit),
        gate(member, 2u, unit) + peephole(2u, unit) * cell,
        gate(member, 3u, unit),
    );
}

fn forget_gate(x: vec4f) -> f32 {
    return ${"1.0 - f(clipped(x.x))" if COUPLED else "f(clipped(x.z))"};
}

@compute @workgroup_size(64)
fn recompute_cells(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    let all = params.members * params.size;
    if i >= all {
        return;
    }
    let member = i / params.size;
    let unit = i % params.size;
    var cell = cells[params.cells_offset + i];
    for (var turn = 0u; turn < params.steps; turn += 1u) {
        let step = select(turn, params.steps - 1u - turn, params.backwards != 0u);
        if !has_ended(member, step) {
            let x = before(step * params.members + member, unit, cell);
            cell = forget_gate(x) * cell + f(clipped(x.x)) * g(clipped(x.w));
        }
        cells[params.cells_offset + (turn + 1u) * all + i] = cell;
    }
}
//% endif

//% if KIND == "gru"
@compute @workgroup_size(64)
fn reset(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i < params.steps * params.members * params.size {
        let factor = f(clipped(gate(i / params.size, 1u, i % params.size)));
        found[params.found_offset + i] = factor * previous[params.previous_offset + i];
    }
}

@compute @workgroup_size(64)
fn backward_reset(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.members * params.size {
        return;
    }
    let member = i / params.size;
    let unit = i % params.size;
    if has_ended(member, params.step) {
        leave(member, 1u, unit, 0.0);
        return;
    }
    let x = gate(member, 1u, unit);
    let gradient = back[params.back_offset + i];
    leave(member, 1u, unit, free(x, gradient * previous[params.previous_offset + i] * f_derivative(clipped(x))));
    carried[params.carried_offset + i] += gradient * f(clipped(x));
}
//% endif

@compute @workgroup_size(64)
fn backward(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.members * params.size {
        return;
    }
    let member = i / params.size;
    let unit = i % params.size;
    if has_ended(member, params.step) {
        //% for number in range(GATES)
        leave(member, ${number}u, unit, 0.0);
        //% if KIND == "gru_linear"
        of_state[params.of_state_offset + gate_at(member, ${number}u, unit)] = 0.0;
        //% endif
        //% endfor
        return;
    }
    let gradient = carried[params.carried_offset + i] + output_gradient[params.output_gradient_offset + i];
    //% if KIND == "rnn"
    let x = gate(member, 0u, unit);
    leave(member, 0u, unit, free(x, gradient * f_derivative(clipped(x))));
    carried[params.carried_offset + i] = 0.0;
    //% elif KIND == "lstm"
    let cell = known[params.known_offset + i];
    let new_cell = known[params.known_offset + params.members * params.size + i];
    let x = before(member, unit, cell);
    let x_output = x.y + peephole(1u, unit) * new_cell;
    let input = f(clipped(x.x));
    let candidate = g(clipped(x.w));
    let by_output = free(x_output, gradient * h(new_cell) * f_derivative(clipped(x_output)));
    let by_cell = carried_cell[params.carried_cell_offset + i] + gradient * f(clipped(x_output)) * h_derivative(new_cell)
        + by_output * peephole(1u, unit);
    //% if COUPLED
    let by_input = free(x.x, by_cell * (candidate - cell) * f_derivative(clipped(x.x)));
    let by_forget = 0.0;
    //% else
    let by_input = free(x.x, by_cell * candidate * f_derivative(clipped(x.x)));
    let by_forget = free(x.z, by_cell * cell * f_derivative(clipped(x.z)));
    //% endif
    leave(member, 0u, unit, by_input);
    leave(member, 1u, unit, by_output);
    leave(member, 2u, unit, by_forget);
    leave(member, 3u, unit, free(x.w, by_cell * input * g_derivative(clipped(x.w))));
    carried[params.carried_offset + i] = 0.0;
    carried_cell[params.carried_cell_offset + i] =
        by_cell * forget_gate(x) + by_input * peephole(0u, unit) + by_forget * peephole(2u, unit);
    //% else
    let old = previous[params.previous_offset + i];
    let x_update = gate(member, 0u, unit);
    let update = f(clipped(x_update));
    //% if KIND == "gru_linear"
    let x_reset = gate(member, 1u, unit);
    let factor = f(clipped(x_reset));
    let of_inner = inner[params.inner_offset + i];
    let x = gate(member, 2u, unit) + factor * of_inner;
    //% else
    let x = gate(member, 2u, unit);
    //% endif
    let by_update = free(x_update, gradient * (old - g(clipped(x))) * f_derivative(clipped(x_update)));
    let by_candidate = free(x, gradient * (1.0 - update) * g_derivative(clipped(x)));
    leave(member, 0u, unit, by_update);
    leave(member, 2u, unit, by_candidate);
    //% if KIND == "gru_linear"
    let by_reset = free(x_reset, by_candidate * of_inner * f_derivative(clipped(x_reset)));
    leave(member, 1u, unit, by_reset);
    of_state[params.of_state_offset + gate_at(member, 0u, unit)] = by_update;
    of_state[params.of_state_offset + gate_at(member, 1u, unit)] = by_reset;
    of_state[params.of_state_offset + gate_at(member, 2u, unit)] = by_candidate * factor;
    //% endif
    carried[params.carried_offset + i] = gradient * update;
    //% endif
}

// The end of one step of a recurrent cell: gates from their two products, then the new state, which is also the output.
// In: KIND, "rnn", "lstm", "gru", "gru_linear" (reset after the product) or "gru_reset" (the part before the second
//     product); DTYPE of all tensors; BIAS, PEEPHOLES, LENGTHS, whether they are used; COUPLED, whether an LSTM's
//     forget gate is 1 - input gate; CLIPPED, whether what goes into the activations is held; F, G, H, activations over
//     x.
// Out: state (members, size), cell (members, size), out (members, size); gru_reset: reset = r * state.
// Gates are in ONNX's order: i o f c, and z r h.
//% import "common/element.wgsl" as element
//% if DTYPE == "f16"
enable f16;
//% endif
//% include "common/index.wgsl"
//% include "common/math.wgsl"
//% include "common/activation.wgsl"
//% if DTYPE == "f64"
//% include "common/double.wgsl"
//% include "common/double_powers.wgsl"
//% include "common/double_angles.wgsl"
//% include "common/double_activation.wgsl"
//% endif
//% set VALUE = "f64" if DTYPE == "f64" else "f32"
//% set GATES = {"rnn": 1, "lstm": 4}.get(KIND, 3)

struct Params {
    members: u32,
    size: u32,
    step: u32,       // the step in time
    bound: ${VALUE},      // of what goes into the activations
    f_parameters: vec2<${VALUE}>,
    g_parameters: vec2<${VALUE}>,
    h_parameters: vec2<${VALUE}>,
    from_x_offset: u32,
    product_offset: u32,
    bias_offset: u32,
    peepholes_offset: u32,
    lengths_offset: u32,
    state_offset: u32,
    cell_offset: u32,
    reset_offset: u32,
    out_offset: u32,
    from_x_strides: vec2i,
    out_strides: vec2i,
    lengths_strides: i32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> from_x: array<${DTYPE}>;    // x Wᵀ, (members, gates * size)
@group(0) @binding(2) var<storage, read> product: array<${DTYPE}>;  // h Rᵀ, (members, gates * size)
//% if BIAS
@group(0) @binding(3) var<storage, read> bias: array<${DTYPE}>;     // (2 * gates * size): of x Wᵀ, of h Rᵀ
//% endif
//% if PEEPHOLES
@group(0) @binding(4) var<storage, read> peepholes: array<${DTYPE}>;
//% endif
//% if LENGTHS
@group(0) @binding(5) var<storage, read> lengths: array<i32>;
//% endif
@group(0) @binding(6) var<storage, read_write> state: array<${DTYPE}>;
//% if KIND == "lstm"
@group(0) @binding(7) var<storage, read_write> cell: array<${DTYPE}>;
//% endif
//% if KIND == "gru_reset"
@group(0) @binding(8) var<storage, read_write> reset: array<${DTYPE}>;
//% else
@group(0) @binding(8) var<storage, read_write> out: array<${DTYPE}>;
//% endif

fn f(x: ${VALUE}) -> ${VALUE} {
    return ${F};
}

fn g(x: ${VALUE}) -> ${VALUE} {
    return ${G};
}

fn h(x: ${VALUE}) -> ${VALUE} {
    return ${H};
}

fn clipped(x: ${VALUE}) -> ${VALUE} {
    return ${"clamp(x, -params.bound, params.bound)" if CLIPPED else "x"};
}

fn of_x(member: u32, gate: u32, unit: u32) -> ${VALUE} {
    let column = gate * params.size + unit;
    let at = i32(params.from_x_offset) + i32(member) * params.from_x_strides.x + i32(column) * params.from_x_strides.y;
    return ${VALUE}(from_x[u32(at)]) ${"+ " ~ VALUE ~ "(bias[params.bias_offset + column])" if BIAS else ""};
}

fn of_state(member: u32, gate: u32, unit: u32) -> ${VALUE} {
    let column = gate * params.size + unit;
    let value = ${VALUE}(product[params.product_offset + member * ${GATES}u * params.size + column]);
    return value ${"+ " ~ VALUE ~ "(bias[params.bias_offset + " ~ GATES ~ "u * params.size + column])" if BIAS else ""};
}

fn gate(member: u32, number: u32, unit: u32) -> ${VALUE} {
    return of_x(member, number, unit) + of_state(member, number, unit);
}

//% if PEEPHOLES
fn peephole(number: u32, unit: u32) -> ${VALUE} {
    return ${VALUE}(peepholes[params.peepholes_offset + number * params.size + unit]);
}
//% endif

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.members * params.size {
        return;
    }
    let member = i / params.size;
    let unit = i % params.size;
    let old = ${VALUE}(state[params.state_offset + i]);
    //% if KIND == "gru_reset"
    reset[params.reset_offset + i] = ${DTYPE}(f(clipped(gate(member, 1u, unit))) * old);
    //% else
    let out_at = u32(i32(params.out_offset) + i32(member) * params.out_strides.x + i32(unit) * params.out_strides.y);
    //% if LENGTHS
    if i32(params.step) >= lengths[params.lengths_offset + member * u32(params.lengths_strides)] {
        out[out_at] = ${DTYPE}(0);
        return;
    }
    //% endif
    //% if KIND == "rnn"
    let result = f(clipped(gate(member, 0u, unit)));
    //% elif KIND == "lstm"
    let old_cell = ${VALUE}(cell[params.cell_offset + i]);
    //% if PEEPHOLES
    let peeped = vec2<${VALUE}>(peephole(0u, unit), peephole(2u, unit)) * old_cell;
    //% else
    let peeped = vec2<${VALUE}>();
    //% endif
    let input = f(clipped(gate(member, 0u, unit) + peeped.x));
    //% if COUPLED
    let forget = 1.0 - input;
    //% else
    let forget = f(clipped(gate(member, 2u, unit) + peeped.y));
    //% endif
    let new_cell = forget * old_cell + input * g(clipped(gate(member, 3u, unit)));
    //% if PEEPHOLES
    let output = f(clipped(gate(member, 1u, unit) + peephole(1u, unit) * new_cell));
    //% else
    let output = f(clipped(gate(member, 1u, unit)));
    //% endif
    cell[params.cell_offset + i] = ${DTYPE}(new_cell);
    let result = output * h(new_cell);
    //% else
    let update = f(clipped(gate(member, 0u, unit)));
    //% if KIND == "gru_linear"
    let factor = f(clipped(gate(member, 1u, unit)));
    let candidate = g(clipped(of_x(member, 2u, unit) + factor * of_state(member, 2u, unit)));
    //% else
    let candidate = g(clipped(gate(member, 2u, unit)));
    //% endif
    let result = (1.0 - update) * candidate + update * old;
    //% endif
    state[params.state_offset + i] = ${DTYPE}(result);
    out[out_at] = ${DTYPE}(result);
    //% endif
}

// One step of an optimizer on one tensor of weights, all in one pass.
// In: RULE, "sgd" or "adam"; MOMENTUM, of sgd, whether there are velocities; NESTEROV, of sgd, whether the step looks
//     ahead; gradients; scale, one number that gradients are multiplied by (1, or what clipping leaves of them),
//     below 0 if nothing is to change;
//     params.weight_decay pulls weights to 0: with DECOUPLED separately from the gradient, else as part of it.
// Out: weights, and what the rule remembers: first (velocities, or mean gradients), second (mean squares).
// Sources: Kingma & Ba 2015, Adam, algorithm 1; Loshchilov & Hutter 2019, Decoupled weight decay, algorithm 2;
//     Sutskever et al. 2013 for momentum, in the form in which PyTorch writes it.
//% include "common/index.wgsl"

struct Params {
    count: u32,
    weights_offset: u32,
    gradients_offset: u32,
    lr: f32,
    weight_decay: f32,
    //% if RULE == "adam"
    beta1: f32,
    beta2: f32,
    rest1: f32,  // 1 - beta1, which f32 would lose digits of
    rest2: f32,
    epsilon: f32,
    correction1: f32,  // 1 / (1 - beta1^t)
    correction2: f32,
    //% else
    momentum: f32,
    //% endif
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> gradients: array<f32>;
@group(0) @binding(2) var<storage, read> scale: array<f32>;
@group(0) @binding(3) var<storage, read_write> weights: array<f32>;
//% if RULE == "adam" or MOMENTUM
@group(0) @binding(4) var<storage, read_write> first: array<f32>;
//% endif
//% if RULE == "adam"
@group(0) @binding(5) var<storage, read_write> second: array<f32>;
//% endif

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 256u);
    if i >= params.count || scale[0] < 0.0 {
        return;
    }
    let at = params.weights_offset + i;
    var weight = weights[at];
    var gradient = gradients[params.gradients_offset + i] * scale[0];
    //% if DECOUPLED
    weight *= 1.0 - params.lr * params.weight_decay;
    //% else
    gradient += params.weight_decay * weight;
    //% endif
    //% if RULE == "adam"
    let mean = params.beta1 * first[i] + params.rest1 * gradient;
    let square = params.beta2 * second[i] + params.rest2 * gradient * gradient;
    first[i] = mean;
    second[i] = square;
    weight -= params.lr * (mean * params.correction1) / (sqrt(square * params.correction2) + params.epsilon);
    //% elif MOMENTUM
    let velocity = params.momentum * first[i] + gradient;
    first[i] = velocity;
    //% if NESTEROV
    weight -= params.lr * (gradient + params.momentum * velocity);
    //% else
    weight -= params.lr * velocity;
    //% endif
    //% else
    weight -= params.lr * gradient;
    //% endif
    weights[at] = weight;
}

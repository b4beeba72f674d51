// Splats that are not visible move to where others are large and dense: those are divided, as one that is too large is into
// two.
// In: opacity, logits, and sums (count), running sums of how much each asks to be divided, 0 of those that are not visible;
//     what is learned, as splat_fit.py has it: position, scale (logarithms), rotation, opacity, color (count, ...).
// Out, choose: chosen (count), of those that are not visible the one to divide, else -1; divided (count), 1 of each that is
//     chosen: it begins as 0. Out, put: the parameters of those that are not visible. Out, shrink: scale of the divided.
// Kerbl, Kopanas, Leimkühler and Drettakis 2023, section 5, for how one is divided; Kheradmand et al. 2024, "3D Gaussian
// splatting as Markov chain Monte Carlo", section 3.3, for moving those that are not visible, so that their number stays.
//% include "common/index.wgsl"
//% include "common/math.wgsl"
//% include "common/philox.wgsl"

struct Params {
    count: u32,
    step: u32,      // of learning
    key: vec2u,
    unseen: f32,    // the logit of opacity below which a splat is not visible
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> sums: array<f32>;
@group(0) @binding(2) var<storage, read_write> chosen: array<i32>;
@group(0) @binding(3) var<storage, read_write> divided: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read_write> position: array<f32>;
@group(0) @binding(5) var<storage, read_write> scale: array<f32>;
@group(0) @binding(6) var<storage, read_write> rotation: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> opacity: array<f32>;
@group(0) @binding(8) var<storage, read_write> color: array<f32>;

const LESS = 0.4700036; // log(1.6): both parts are smaller by this factor

@compute @workgroup_size(64)
fn choose(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.count { return; }
    chosen[i] = -1;
    let total = sums[params.count - 1u];
    if opacity[i] >= params.unseen || !(total > 0.0) { return; }
    let chosen_weight = total * philox_uniform(philox(vec4u(i, params.step, 0u, 0u), params.key)).x;
    var low = 0u;       // the first whose running sum is beyond chosen_weight
    var high = params.count - 1u;
    while low < high {
        let middle = (low + high) / 2u;
        if sums[middle] > chosen_weight { high = middle; } else { low = middle + 1u; }
    }
    if opacity[low] < params.unseen { return; }
    chosen[i] = i32(low);
    atomicStore(&divided[low], 1u);
}

@compute @workgroup_size(64)
fn put(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.count || chosen[i] < 0 { return; }
    let source = u32(chosen[i]);
    let words = philox(vec4u(i, params.step, 1u, 0u), params.key);
    let near = philox_radius(words.x) * cos(philox_angle(words.y));
    let other = philox_radius(words.z) * vec2f(cos(philox_angle(words.w)), sin(philox_angle(words.w)));
    let q = rotation[source] / length(rotation[source]);
    let offset = vec3f(near, other) * exp(vec3f(scale[3u * source], scale[3u * source + 1u], scale[3u * source + 2u]));
    let turned = offset + 2.0 * cross(q.xyz, cross(q.xyz, offset) + q.w * offset);
    for (var axis = 0u; axis < 3u; axis++) {
        position[3u * i + axis] = position[3u * source + axis] + turned[axis];
        scale[3u * i + axis] = scale[3u * source + axis] - LESS;
        color[3u * i + axis] = color[3u * source + axis];
    }
    rotation[i] = rotation[source];
    opacity[i] = opacity[source];
}

@compute @workgroup_size(64)
fn shrink(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.count || atomicLoad(&divided[i]) == 0u { return; }
    for (var axis = 0u; axis < 3u; axis++) {
        scale[3u * i + axis] -= LESS;
    }
}

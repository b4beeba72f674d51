// Adaptive density control: which splats are copied, divided into two, or removed, and where each new row comes from.
// In: moves (rows, 2), of each splat the summed lengths of the gradients by its middle on the image and in how many views it
//     was visible; what is trained, as splat_photos_project.wgsl has it; rows from `count` on are not splats.
// Out, decide: copies (rows), the rows that each becomes: 0, 1 or 2. In: starts (rows), running sums of those before. Out, fill_rows:
//     origin (total), the row that each new one comes from, and part: 0 of a splat that stays as it is, 1 of a copy, 2 of one
//     of two parts. Out, divide: position and scale of parts, which are drawn from the splat that is divided.
// Kerbl, Kopanas, Leimkühler and Drettakis 2023, "3D Gaussian Splatting for Real-Time Radiance Field Rendering", section 5.
//% include "common/index.wgsl"
//% include "common/math.wgsl"
//% include "common/philox.wgsl"
//% include "common/quaternion.wgsl"

struct Params {
    rows: u32,
    count: u32,
    step: u32,          // of training
    key: vec2u,
    threshold: f32,     // of the mean gradient
    divided: f32,       // logarithm of the largest standard deviation above which a splat is divided, not copied
    largest: f32,       // above which it is removed
    least: f32,         // logit of opacity below which it is removed
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> moves: array<vec2f>;
@group(0) @binding(2) var<storage, read> opacity: array<f32>;
@group(0) @binding(3) var<storage, read_write> position: array<f32>;
@group(0) @binding(4) var<storage, read_write> scale: array<f32>;
@group(0) @binding(5) var<storage, read> rotation: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> copies: array<u32>;
@group(0) @binding(7) var<storage, read> counted: array<u32>;      // what was `copies`
@group(0) @binding(8) var<storage, read> starts: array<u32>;
@group(0) @binding(9) var<storage, read_write> origin: array<u32>;
@group(0) @binding(10) var<storage, read_write> part: array<u32>;
@group(0) @binding(11) var<storage, read> known: array<u32>;       // what was `part`

const SMALLER = 0.4700036; // log(1.6): both parts are smaller by this factor

fn largest_scale(i: u32) -> f32 {
    return max(max(scale[3u * i], scale[3u * i + 1u]), scale[3u * i + 2u]);
}

@compute @workgroup_size(64)
fn decide(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.rows { return; }
    let is_sound = i < params.count && opacity[i] >= params.least && largest_scale(i) <= params.largest;
    let grows = moves[i].y > 0.0 && moves[i].x >= params.threshold * moves[i].y;
    copies[i] = select(0u, select(1u, 2u, grows), is_sound);
}

@compute @workgroup_size(64)
fn fill_rows(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.count { return; }
    let is_divided = counted[i] == 2u && largest_scale(i) > params.divided;
    for (var k = 0u; k < counted[i]; k++) {
        origin[starts[i] + k] = i;
        part[starts[i] + k] = select(k, 2u, is_divided);
    }
}

@compute @workgroup_size(64)
fn divide(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.count || known[i] != 2u { return; }
    let words = philox(vec4u(i, params.step, 0u, 0u), params.key);
    let first = philox_radius(words.x) * cos(philox_angle(words.y));
    let others = philox_radius(words.z) * vec2f(cos(philox_angle(words.w)), sin(philox_angle(words.w)));
    let size = exp(vec3f(scale[3u * i], scale[3u * i + 1u], scale[3u * i + 2u]));
    let q = rotation[i];
    let axes = rotation_axes(select(vec4f(0.0, 0.0, 0.0, 1.0), q / length(q), dot(q, q) > 0.0));
    let offset = axes * (vec3f(first, others) * size);
    for (var axis = 0u; axis < 3u; axis++) {
        position[3u * i + axis] += offset[axis];
        scale[3u * i + axis] -= SMALLER;
    }
}

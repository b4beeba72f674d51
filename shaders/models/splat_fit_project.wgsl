// Gaussian splats as a camera sees them: ellipses on its image; and the backward pass from the ellipses to the splats.
// In: position (count, 3), scale (count, 3), standard deviations along a splat's own axes, rotation (count, 4), a
//     quaternion x, y, z, w of any length, opacity (count), light (count, 3), linear color; cameras as in
//     splat_fit_views.wgsl.
// Out, project: flat, three of four numbers for each splat: middle and half lengths of its box [pixels]; the inverse of its
//     covariance (xx, xy, yy) and its opacity; color. keys (count), rising with depth, all ones for what is not visible.
// In, project_backward: flat, and words (count, 9, 2), the sums of splat_fit_tiles.wgsl, `largest` being their scale.
// Out, project_backward: gradients (count, 14), gradients by position, scale, rotation, opacity and light.
// Zwicker, Pfister, van Baar and Gross 2001, "EWA volume splatting", eqs. 24 to 31; Kerbl, Kopanas, Leimkühler and
// Drettakis 2023, "3D Gaussian Splatting for Real-Time Radiance Field Rendering", section 4 and appendix A.
// The reference implementation is app/vertigrad/models/reference/splat_fit.py.
//% include "common/index.wgsl"
//% include "common/fixed_sum.wgsl"
//% include "common/quaternion.wgsl"

struct Params {
    count: u32,
    view: u32,
    focal: f32,     // [pixels]
    middle: f32,    // of the image [pixels]
    blur: f32,      // variance that a pixel adds [pixels²]
    near: f32,      // what is nearer is not visible
    reach: f32,     // nor what is farther to a side than this, over its depth
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> cameras: array<vec4f>;
@group(0) @binding(2) var<storage, read> position: array<f32>;
@group(0) @binding(3) var<storage, read> scale: array<f32>;
@group(0) @binding(4) var<storage, read> rotation: array<vec4f>;
@group(0) @binding(5) var<storage, read> opacity: array<f32>;
@group(0) @binding(6) var<storage, read> light: array<f32>;
@group(0) @binding(7) var<storage, read_write> flat: array<vec4f>;
@group(0) @binding(8) var<storage, read_write> keys: array<u32>;
@group(0) @binding(9) var<storage, read> ellipses: array<vec4f>;    // what was `flat`
@group(0) @binding(10) var<storage, read> words: array<u32>;
@group(0) @binding(11) var<storage, read> largest: array<f32>;
@group(0) @binding(12) var<storage, read_write> gradients: array<f32>;

const LEAST = 1.0 / 255.0;  // alpha that is not visible

// A splat before the camera: x to the right, y down, z forward.
struct Projected {
    view_position: vec3f,
    axes: mat3x3f,      // its own axes in the world, of unit length
    turned: mat3x3f,    // those in the camera's space, of the length of its standard deviations
    slope: vec2f,       // view_position.xy / view_position.z
    scale: f32,         // pixels of a unit of length
    across: vec3f,      // how far each axis reaches along the rows of the image [pixels]
    down: vec3f,        // and along its columns
}

fn three(array_of: u32, i: u32) -> vec3f {
    if array_of == 0u {
        return vec3f(position[3u * i], position[3u * i + 1u], position[3u * i + 2u]);
    }
    return vec3f(scale[3u * i], scale[3u * i + 1u], scale[3u * i + 2u]);
}

fn camera() -> mat3x3f {    // its columns are the camera's right, down and forward
    let rows = 3u * params.view;
    return mat3x3f(cameras[rows].xyz, cameras[rows + 1u].xyz, cameras[rows + 2u].xyz);
}

// The projection is taken as linear around the middle.
fn projected(i: u32) -> Projected {
    var out: Projected;
    let rows = 3u * params.view;
    let away = vec3f(cameras[rows].w, cameras[rows + 1u].w, cameras[rows + 2u].w);
    let sizes = three(1u, i);
    out.view_position = three(0u, i) * camera() + away;
    out.axes = rotation_axes(rotation[i] / length(rotation[i]));
    out.turned = transpose(camera()) * out.axes;
    out.turned = mat3x3f(out.turned[0] * sizes.x, out.turned[1] * sizes.y, out.turned[2] * sizes.z);
    out.slope = out.view_position.xy / out.view_position.z;
    out.scale = params.focal / out.view_position.z;
    let rows_of = transpose(out.turned);
    out.across = out.scale * (rows_of[0] - out.slope.x * rows_of[2]);
    out.down = out.scale * (rows_of[1] - out.slope.y * rows_of[2]);
    return out;
}

@compute @workgroup_size(64)
fn project(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.count { return; }
    let splat = projected(i);
    let xx = dot(splat.across, splat.across) + params.blur;
    let xy = dot(splat.across, splat.down);
    let yy = dot(splat.down, splat.down) + params.blur;
    let area = xx * yy - xy * xy;
    let depth = splat.view_position.z;
    let is_before = depth > params.near && all(abs(splat.slope) < vec2f(params.reach)) && area > 0.0;
    let is_visible = is_before && opacity[i] > LEAST;
    // As far as its alpha is not below LEAST; nothing meets a box whose half lengths are below 0.
    let lengths = sqrt(2.0 * log(max(opacity[i] / LEAST, 1.0)) * vec2f(xx, yy));
    flat[3u * i] = vec4f(params.focal * splat.slope + params.middle, select(vec2f(-1e9), lengths, is_visible));
    flat[3u * i + 1u] = vec4f(vec3f(yy, -xy, xx) / area, opacity[i]);
    flat[3u * i + 2u] = vec4f(light[3u * i], light[3u * i + 1u], light[3u * i + 2u], 0.0);
    keys[i] = select(0xffffffffu, bitcast<u32>(depth), is_visible);
}

fn sum(i: u32, k: u32) -> f32 {
    let at = 18u * i + 2u * k;
    return fixed_value(words[at], words[at + 1u], largest[0]);
}

fn write(i: u32, first: u32, values: vec4f, count: u32) {
    for (var k = 0u; k < count; k++) {
        gradients[14u * i + first + k] = values[k];
    }
}

@compute @workgroup_size(64)
fn project_backward(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.count { return; }
    let box = ellipses[3u * i];
    let inverse = ellipses[3u * i + 1u];
    if box.z < 0.0 {    // it was not visible
        for (var k = 0u; k < 14u; k++) { gradients[14u * i + k] = 0.0; }
        return;
    }
    let splat = projected(i);
    // By the middle, and by the covariance: half of inverse S inverse, S being the second moments of the sums.
    let first = vec2f(sum(i, 1u), sum(i, 2u)) * box.zw;
    let by_middle = vec2f(dot(inverse.xy, first), dot(inverse.yz, first));
    let moments = vec3f(sum(i, 3u), sum(i, 4u), sum(i, 5u)) * vec3f(box.z * box.z, box.z * box.w, box.w * box.w);
    let k = mat2x2f(inverse.x, inverse.y, inverse.y, inverse.z);
    let by_covariance = 0.5 * (k * mat2x2f(moments.x, moments.y, moments.y, moments.z) * k);

    // By the axes on the image, and by what they are computed from.
    let by_across = 2.0 * (by_covariance[0].x * splat.across + by_covariance[0].y * splat.down);
    let by_down = 2.0 * (by_covariance[0].y * splat.across + by_covariance[1].y * splat.down);
    let forward = transpose(splat.turned)[2];
    let by_slope = params.focal * by_middle - splat.scale * vec2f(dot(by_across, forward), dot(by_down, forward));
    let by_scale = (dot(by_across, splat.across) + dot(by_down, splat.down)) / splat.scale;
    let by_depth = -(dot(splat.slope, by_slope) + splat.scale * by_scale) / splat.view_position.z;
    let by_position = vec3f(by_slope / splat.view_position.z, by_depth);
    let by_forward = -splat.slope.x * by_across - splat.slope.y * by_down;
    let by_turned = transpose(mat3x3f(by_across, by_down, by_forward)) * splat.scale;

    // By the axes in the world, their lengths and the quaternion that turns them.
    let by_axes = camera() * by_turned;
    let sizes = three(1u, i);
    let by_sizes = vec3f(
        dot(by_axes[0], splat.axes[0]),
        dot(by_axes[1], splat.axes[1]),
        dot(by_axes[2], splat.axes[2]),
    );
    let by_rotation = quaternion_backward(
        rotation[i],
        mat3x3f(by_axes[0] * sizes.x, by_axes[1] * sizes.y, by_axes[2] * sizes.z),
    );
    write(i, 0u, vec4f(camera() * by_position, 0.0), 3u);
    write(i, 3u, vec4f(by_sizes, 0.0), 3u);
    write(i, 6u, by_rotation, 4u);
    write(i, 10u, vec4f(sum(i, 0u) / inverse.w), 1u);
    write(i, 11u, vec4f(sum(i, 6u), sum(i, 7u), sum(i, 8u), 0.0), 3u);
}

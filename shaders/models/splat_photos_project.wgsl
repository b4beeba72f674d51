// Trained Gaussian splats as a camera sees them: ellipses on its image and the tiles that they touch; and the backward pass
// from the ellipses to what is trained.
// In: HARMONICS, values of a row of `harmonics`: 0, 9, 24 or 45; position (rows, 3), scale (rows, 3), logarithms of standard
//     deviations along a splat's own axes, rotation (rows, 4), a quaternion x, y, z, w of any length, opacity (rows), logits,
//     color (rows, 3), factors of the first spherical harmonic, harmonics (rows, HARMONICS), red, green and blue of each;
//     cameras (4 views, 4): rows of the rotation to x right, y down, z forward, each with the translation along it, and focal
//     lengths and principal point [pixels]. Rows from `count` on are not splats.
// Out, project: projected, three of four numbers for each row: middle [pixels], depth, opacity; the inverse of its covariance
//     (xx, xy, yy) [1 / pixels²], 0; color. keys, rising with depth, all ones for what is not visible; counts of tiles, and
//     rects, the first and the last of them: x in the lower half.
// In, project_backward: projected; order, rows by depth; sums (rows, 10) of splat_photos_tiles.wgsl in that order.
// Out, project_backward: gradients of what is trained; `moves`, to which is added: of each visible row the length of the gradient
//     by its middle, in half widths of the image, and 1.
// Zwicker, Pfister, van Baar and Gross 2001, "EWA volume splatting", eqs. 24 to 31; Kerbl, Kopanas, Leimkühler and
// Drettakis 2023, "3D Gaussian Splatting for Real-Time Radiance Field Rendering", sections 4 and 5 and appendix A.
// The reference implementation is app/vertigrad/models/reference/splat_photos.py.
//% include "common/index.wgsl"
//% include "common/splat_harmonics.wgsl"
//% include "common/quaternion.wgsl"

struct Params {
    rows: u32,
    count: u32,
    view: u32,
    degree: u32,        // of the harmonics that are used
    width: u32,         // of the image [pixels]
    height: u32,
    near: f32,          // what is nearer is not visible
    blur: f32,          // variance that each splat gets on the screen [pixels²]
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> cameras: array<vec4f>;
@group(0) @binding(2) var<storage, read> position: array<f32>;
@group(0) @binding(3) var<storage, read> scale: array<f32>;
@group(0) @binding(4) var<storage, read> rotation: array<vec4f>;
@group(0) @binding(5) var<storage, read> opacity: array<f32>;
@group(0) @binding(6) var<storage, read> color: array<f32>;
//% if HARMONICS
@group(0) @binding(7) var<storage, read> harmonics: array<f32>;
//% endif
//% if ENTRY == "project"
@group(0) @binding(8) var<storage, read_write> projected: array<vec4f>;
@group(0) @binding(9) var<storage, read_write> keys: array<u32>;
@group(0) @binding(10) var<storage, read_write> counts: array<u32>;
@group(0) @binding(11) var<storage, read_write> rects: array<vec2u>;
//% else
@group(0) @binding(8) var<storage, read> projected: array<vec4f>;
@group(0) @binding(9) var<storage, read> order: array<u32>;
@group(0) @binding(10) var<storage, read> sums: array<f32>;
@group(0) @binding(11) var<storage, read_write> by_position: array<f32>;
@group(0) @binding(12) var<storage, read_write> by_scale: array<f32>;
@group(0) @binding(13) var<storage, read_write> by_rotation: array<vec4f>;
@group(0) @binding(14) var<storage, read_write> by_opacity: array<f32>;
@group(0) @binding(15) var<storage, read_write> by_color: array<f32>;
@group(0) @binding(16) var<storage, read_write> moves: array<vec2f>;
//% if HARMONICS
@group(0) @binding(17) var<storage, read_write> by_harmonics: array<f32>;
//% endif
//% endif

const LEAST = 1.0 / 255.0;  // alpha that is not visible
const ASIDE = 1.3;          // how far beyond the image's border, as a factor, the projection is taken where a splat is
const TILE = 16u;           // pixels along each side

// A splat before the camera.
struct Splat {
    view_position: vec3f,
    axes: mat3x3f,      // its own axes in the world, of unit length
    turned: mat3x3f,    // those in the camera's space, of the length of its standard deviations
    slope: vec2f,       // where the projection is taken as linear
    is_beyond: vec2<bool>,  // whether that is not its middle, along each axis of the image
    across: vec3f,      // how far each axis reaches along the rows of the image [pixels]
    down: vec3f,        // and along its columns
}

fn sizes(i: u32) -> vec3f {
    return exp(vec3f(scale[3u * i], scale[3u * i + 1u], scale[3u * i + 2u]));
}

fn camera() -> mat3x3f {    // its columns are the camera's right, down and forward
    let rows = 4u * params.view;
    return mat3x3f(cameras[rows].xyz, cameras[rows + 1u].xyz, cameras[rows + 2u].xyz);
}

fn away() -> vec3f {
    let rows = 4u * params.view;
    return vec3f(cameras[rows].w, cameras[rows + 1u].w, cameras[rows + 2u].w);
}

fn lens() -> vec4f {
    return cameras[4u * params.view + 3u];
}

fn position_of(i: u32) -> vec3f {
    return vec3f(position[3u * i], position[3u * i + 1u], position[3u * i + 2u]);
}

fn splat_of(i: u32) -> Splat {
    var out: Splat;
    let size = sizes(i);
    out.view_position = position_of(i) * camera() + away();
    let q = rotation[i];
    out.axes = rotation_axes(select(vec4f(0.0, 0.0, 0.0, 1.0), q / length(q), dot(q, q) > 0.0));
    out.turned = transpose(camera()) * out.axes;
    out.turned = mat3x3f(out.turned[0] * size.x, out.turned[1] * size.y, out.turned[2] * size.z);
    let reach = ASIDE * 0.5 * vec2f(f32(params.width), f32(params.height)) / lens().xy;
    let slope = out.view_position.xy / out.view_position.z;
    out.slope = clamp(slope, -reach, reach);
    out.is_beyond = slope != out.slope;
    let rows_of = transpose(out.turned);
    let pixels = lens().xy / out.view_position.z;
    out.across = pixels.x * (rows_of[0] - out.slope.x * rows_of[2]);
    out.down = pixels.y * (rows_of[1] - out.slope.y * rows_of[2]);
    return out;
}

// From the camera to the splat in the world.
fn sight_to(i: u32) -> vec3f {
    return position_of(i) + camera() * away();
}

//% if ENTRY == "project"
// The color in a direction; negative ones are cut off.
fn color_of(i: u32, sight: vec3f) -> vec3f {
    var sum = 0.5 + FIRST_HARMONIC * vec3f(color[3u * i], color[3u * i + 1u], color[3u * i + 2u]);
//% if HARMONICS
    let weights = harmonics_in(sight, params.degree);
    for (var k = 0u; k < min(params.degree * (params.degree + 2u), ${HARMONICS // 3}u); k++) {
        let at = ${HARMONICS}u * i + 3u * k;
        sum += weights[k + 1u] * vec3f(harmonics[at], harmonics[at + 1u], harmonics[at + 2u]);
    }
//% endif
    return max(sum, vec3f(0.0));
}

@compute @workgroup_size(64)
fn project(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.rows { return; }
    keys[i] = 0xffffffffu;
    counts[i] = 0u;
    if i >= params.count { return; }
    let splat = splat_of(i);
    let depth = splat.view_position.z;
    let alpha = 1.0 / (1.0 + exp(-opacity[i]));
    let xx = dot(splat.across, splat.across) + params.blur;
    let xy = dot(splat.across, splat.down);
    let yy = dot(splat.down, splat.down) + params.blur;
    let area = xx * yy - xy * xy;
    if !(depth > params.near && alpha > LEAST && area > 0.0 && area < 1e30) { return; }
    let middle = lens().xy * splat.view_position.xy / depth + lens().zw;
    let lengths = sqrt(2.0 * log(alpha / LEAST) * vec2f(xx, yy));   // as far as it is visible
    let size = vec2u(params.width, params.height);
    if !(all(middle + lengths >= vec2f(0.0)) && all(middle - lengths < vec2f(size))) { return; }
    let last_tile = vec2f((size - 1u) / TILE);
    let first = vec2u(clamp(floor((middle - lengths) / f32(TILE)), vec2f(0.0), last_tile));
    let last = vec2u(clamp(floor((middle + lengths) / f32(TILE)), vec2f(0.0), last_tile));
    projected[3u * i] = vec4f(middle, depth, alpha);
    projected[3u * i + 1u] = vec4f(vec3f(yy, -xy, xx) / area, 0.0);
    projected[3u * i + 2u] = vec4f(color_of(i, normalize(sight_to(i))), 0.0);
    keys[i] = min(bitcast<u32>(depth), 0xfffffffeu);
    counts[i] = (last.x - first.x + 1u) * (last.y - first.y + 1u);
    rects[i] = vec2u(first.x | (first.y << 16u), last.x | (last.y << 16u));
}
//% else
fn write_three(which: u32, i: u32, value: vec3f) {
    for (var k = 0u; k < 3u; k++) {
        if which == 0u { by_position[3u * i + k] = value[k]; }
        if which == 1u { by_scale[3u * i + k] = value[k]; }
        if which == 2u { by_color[3u * i + k] = value[k]; }
    }
}

fn write_nothing(i: u32) {
    for (var k = 0u; k < 3u; k++) { write_three(k, i, vec3f(0.0)); }
    by_rotation[i] = vec4f(0.0);
    by_opacity[i] = 0.0;
//% if HARMONICS
    for (var k = 0u; k < ${HARMONICS}u; k++) { by_harmonics[${HARMONICS}u * i + k] = 0.0; }
//% endif
}

// Write the gradients of harmonics, and return that by the direction from the camera.
fn color_backward(i: u32, sight: vec3f, by: vec3f) -> vec3f {
    write_three(2u, i, FIRST_HARMONIC * by);
//% if HARMONICS
    let weights = harmonics_in(sight, params.degree);
    var factors: array<f32, 16>;
    for (var k = 0u; k < ${HARMONICS // 3}u; k++) {
        let at = ${HARMONICS}u * i + 3u * k;
        let gradient = weights[k + 1u] * by;
        factors[k + 1u] = dot(by, vec3f(harmonics[at], harmonics[at + 1u], harmonics[at + 2u]));
        by_harmonics[at] = gradient.x;
        by_harmonics[at + 1u] = gradient.y;
        by_harmonics[at + 2u] = gradient.z;
    }
    return harmonics_backward(sight, factors, params.degree);
//% else
    return vec3f(0.0);
//% endif
}

@compute @workgroup_size(64)
fn project_backward(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let number = linear_index(id, num_workgroups, 64u);
    if number >= params.rows { return; }
    let i = order[number];
    let at = 10u * number;
    if i >= params.count || sums[at + 9u] == 0.0 {
        write_nothing(i);
        return;
    }
    let splat = splat_of(i);
    let shown = projected[3u * i];
    let inverse = projected[3u * i + 1u].xyz;
    // By the middle, and by the covariance: half of inverse S inverse, S being the second moments of the sums.
    let first = vec2f(sums[at + 1u], sums[at + 2u]);
    let by_middle = vec2f(dot(inverse.xy, first), dot(inverse.yz, first));
    let k = mat2x2f(inverse.x, inverse.y, inverse.y, inverse.z);
    let moments = mat2x2f(sums[at + 3u], sums[at + 4u], sums[at + 4u], sums[at + 5u]);
    let by_covariance = 0.5 * (k * moments * k);

    // By the axes on the image, and by what they are computed from.
    let depth = splat.view_position.z;
    let pixels = lens().xy / depth;
    let by_across = 2.0 * (by_covariance[0].x * splat.across + by_covariance[0].y * splat.down);
    let by_down = 2.0 * (by_covariance[0].y * splat.across + by_covariance[1].y * splat.down);
    let forward = transpose(splat.turned)[2];
    let by_bend = -pixels * vec2f(dot(by_across, forward), dot(by_down, forward));
    let by_slope = lens().xy * by_middle + select(by_bend, vec2f(0.0), splat.is_beyond);
    let by_pixels = dot(by_across, splat.across) + dot(by_down, splat.down);    // times `pixels`
    let slope = splat.view_position.xy / depth;
    let by_view = vec3f(by_slope, -dot(slope, by_slope) - by_pixels) / depth;
    let turned_across = pixels.x * by_across;
    let turned_down = pixels.y * by_down;
    let by_forward = -splat.slope.x * turned_across - splat.slope.y * turned_down;
    let by_axes = camera() * transpose(mat3x3f(turned_across, turned_down, by_forward));

    let size = sizes(i);
    let by_sizes = vec3f(dot(by_axes[0], splat.axes[0]), dot(by_axes[1], splat.axes[1]), dot(by_axes[2], splat.axes[2]));
    write_three(1u, i, by_sizes * size);
    let by_turned = mat3x3f(by_axes[0] * size.x, by_axes[1] * size.y, by_axes[2] * size.z);
    by_rotation[i] = quaternion_backward(rotation[i], by_turned);
    by_opacity[i] = sums[at] * (1.0 - shown.w);     // of the logit, by the logarithm of the opacity
    let by_color = select(vec3f(0.0), vec3f(sums[at + 6u], sums[at + 7u], sums[at + 8u]), projected[3u * i + 2u].rgb > vec3f(0.0));
    let sight = sight_to(i);
    let direction = sight / length(sight);
    let by_direction = color_backward(i, direction, by_color);
    let by_sight = (by_direction - direction * dot(direction, by_direction)) / length(sight);
    write_three(0u, i, camera() * by_view + by_sight);
    moves[i] += vec2f(length(0.5 * vec2f(f32(params.width), f32(params.height)) * by_middle), 1.0);
}
//% endif

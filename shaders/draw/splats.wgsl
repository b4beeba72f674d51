// Gaussian splats: clouds with a density that falls as exp(-d² / 2), each visible as an ellipse on the screen. One quad for
// each, drawn in the order that draw/splat_order.wgsl and a sort have found, the farthest first.
// In: the attributes of each splat. Out: display-referred color, premultiplied.
// Kerbl, Kopanas, Leimkühler and Drettakis 2023, "3D Gaussian Splatting for Real-Time Radiance Field Rendering";
// the projection of the covariance: Zwicker, Pfister, van Baar and Gross 2001, "EWA volume splatting", eq. 31.
//% set OPTIONAL = [("scales", SCALE), ("rotations", ROTATION), ("opacities", OPACITY), ("colors", COLOR)]
//% set FREE = 4 + (OPTIONAL | selectattr(1) | list | length)
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% if PICKING
//% include "common/pick_pixel.wgsl"
//% else
//% include "common/output.wgsl"
//% endif

struct Style {              // packed by name in renderer/layers/splats.py
    color: vec4f,           // linear; where no color is bound
    scale: vec3f,           // standard deviations along a splat's own axes; a factor where scales are bound
    opacity: f32,           // a factor where opacities are bound
    range: vec2f,           // values at the two ends of the colormap
    auto_range: f32,
    brightness: f32,
    arrays: array<vec4u, 3>,// first element and elements from row to row: of positions, scales; rotations, opacities; colors
    blur: f32,              // variance that each splat gets on the screen [pixels²]
    antialiased: f32,       // 1: opacity is lowered where a splat is blurred, so that its total light stays the same
    pad0: vec2f,
}

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) @interpolate(linear) deviations: vec2f,     // in standard deviations along the axes of the ellipse
    @location(1) @interpolate(flat) color: vec4f,
    @location(2) eye: vec3f,        // at the depth of its center
//% if PICKING
    @location(3) @interpolate(flat) row: u32,
    @location(4) @interpolate(flat) center: vec3f,
//% endif
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> style: Style;
@group(0) @binding(2) var<storage, read> order: array<u32>;
@group(0) @binding(3) var<storage, read> positions: array<f32>;
//% for name, count in OPTIONAL if count
@group(0) @binding(${3 + loop.index}) var<storage, read> ${name}: array<f32>;
//% endfor
//% if COLOR == 1
@group(0) @binding(${FREE}) var<storage, read> extent: array<vec2f>;
@group(0) @binding(${FREE + 1}) var colormap: texture_2d<f32>;
@group(0) @binding(${FREE + 2}) var smooth_sampler: sampler;
//% endif

const NOWHERE = vec4f(0.0, 0.0, -1.0, 1.0);     // outside the clip volume
const LEAST = 1.0 / 255.0;  // alpha that is not visible
const MOST = 0.99;          // as in the paper
const ASIDE = 1.3;          // how far beyond the image's border, as a factor, the projection is taken where a splat is

fn splat_color(row: u32) -> vec4f {
    let at = style.arrays[2].x + row * style.arrays[2].y;
//% if COLOR == 1
    let range = select(style.range, extent[0], style.auto_range > 0.0);
    let x = colormap_coordinate(colors[at], range, f32(textureDimensions(colormap).x));
    return textureSampleLevel(colormap, smooth_sampler, vec2f(x, 0.5), 0.0);
//% elif COLOR
    let color = max(vec3f(colors[at], colors[at + 1u], colors[at + 2u]), vec3f(0.0));
    return vec4f(srgb_to_linear(color), ${"colors[at + 3u]" if COLOR == 4 else "1.0"});
//% else
    return style.color;
//% endif
}

fn splat_alpha(row: u32) -> f32 {
//% if OPACITY
    return style.opacity * opacities[style.arrays[1].z + row * style.arrays[1].w];
//% else
    return style.opacity;
//% endif
}

// The axes of a splat, of the length of its standard deviations, in world space.
fn splat_axes(row: u32) -> mat3x3f {
//% if SCALE
    let at = style.arrays[0].z + row * style.arrays[0].w;
//% if SCALE == 3
    let scale = style.scale * vec3f(scales[at], scales[at + 1u], scales[at + 2u]);
//% else
    let scale = style.scale * scales[at];
//% endif
//% else
    let scale = style.scale;
//% endif
//% if ROTATION
    let turn = style.arrays[1].x + row * style.arrays[1].y;
    let rotation = vec4f(rotations[turn], rotations[turn + 1u], rotations[turn + 2u], rotations[turn + 3u]);
    let q = select(vec4f(0.0, 0.0, 0.0, 1.0), rotation / length(rotation), dot(rotation, rotation) > 0.0);
    let x = vec3f(1.0 - 2.0 * (q.y * q.y + q.z * q.z), 2.0 * (q.x * q.y + q.w * q.z), 2.0 * (q.x * q.z - q.w * q.y));
    let y = vec3f(2.0 * (q.x * q.y - q.w * q.z), 1.0 - 2.0 * (q.x * q.x + q.z * q.z), 2.0 * (q.y * q.z + q.w * q.x));
    return mat3x3f(scale.x * x, scale.y * y, scale.z * cross(x, y));
//% else
    return mat3x3f(scale.x, 0.0, 0.0, 0.0, scale.y, 0.0, 0.0, 0.0, scale.z);
//% endif
}

// The covariance on the screen [pixels²]: xx, xy and yy. The projection is taken as linear around the middle.
fn screen_covariance(row: u32, eye: vec3f) -> vec3f {
    let turn = mat3x3f(view.world_to_eye[0].xyz, view.world_to_eye[1].xyz, view.world_to_eye[2].xyz);
    let axes = turn * splat_axes(row);
    let reach = ASIDE / vec2f(view.eye_to_clip[0][0], view.eye_to_clip[1][1]);
    let slope = clamp(eye.xy / -eye.z, -reach, reach);
    let scale = 1.0 / pixel_at(eye);
    // Rows of the Jacobian: a pixel's position is x / -z, or x alone, times `scale`.
    let along = select(slope, vec2f(0.0), is_parallel());
    let across = scale * (vec3f(axes[0].x, axes[1].x, axes[2].x) + along.x * vec3f(axes[0].z, axes[1].z, axes[2].z));
    let upward = scale * (vec3f(axes[0].y, axes[1].y, axes[2].y) + along.y * vec3f(axes[0].z, axes[1].z, axes[2].z));
    return vec3f(dot(across, across), dot(across, upward), dot(upward, upward));
}

@vertex
fn splat_vertex(@builtin(vertex_index) corner: u32, @builtin(instance_index) instance: u32) -> Corner {
    var out: Corner;
    let row = order[instance];
    let at = style.arrays[0].x + row * style.arrays[0].y;
    let eye = (view.world_to_eye * vec4f(positions[at], positions[at + 1u], positions[at + 2u], 1.0)).xyz;
    let sharp = screen_covariance(row, eye);
    let covariance = sharp + vec3f(style.blur, 0.0, style.blur);
    let before = max(sharp.x * sharp.z - sharp.y * sharp.y, 0.0);
    let area = covariance.x * covariance.z - covariance.y * covariance.y;
    out.color = splat_color(row);
    out.color = vec4f(linear_to_srgb(bounded(out.color.rgb * style.brightness)), out.color.a);
    var alpha = splat_alpha(row) * out.color.a;
    alpha *= select(1.0, sqrt(before / max(area, 1e-20)), style.antialiased > 0.0);

    // The two axes of the ellipse, of the length of its standard deviations.
    let middle = 0.5 * (covariance.x + covariance.z);
    let half_difference = 0.5 * (covariance.x - covariance.z);
    let spread = sqrt(half_difference * half_difference + covariance.y * covariance.y);
    // Written so that numbers that are nearly the same are not subtracted.
    let found = select(vec2f(covariance.y, spread - half_difference), vec2f(spread + half_difference, covariance.y), half_difference >= 0.0);
    let longer = select(vec2f(1.0, 0.0), normalize(found), dot(found, found) > 1e-30);
    let deviations = sqrt(max(vec2f(middle + spread, middle - spread), vec2f(1e-12)));
    let reach = sqrt(max(2.0 * log(alpha / LEAST), 0.0));
    let side = (vec2f(f32(corner & 1u), f32(corner >> 1u)) * 2.0 - 1.0) * reach;
    let offset = longer * (side.x * deviations.x) + vec2f(-longer.y, longer.x) * (side.y * deviations.y);
    let moved = eye + vec3f(offset * pixel_at(eye), 0.0);
    let drawn = -eye.z > view.near && alpha > LEAST;
    out.eye = moved;
    out.deviations = side;
    out.color.a = alpha;
    out.clip = select(NOWHERE, view.eye_to_clip * vec4f(moved, 1.0), drawn);
//% if PICKING
    out.row = row;
    out.center = eye;
//% endif
    return out;
}

//% if PICKING
@fragment
fn splat_fragment(in: Corner) -> PickPixel {
    if in.color.a * exp(-0.5 * dot(in.deviations, in.deviations)) < LEAST_ALPHA { discard; }
    return picked_row(in.row, in.center);
}
//% else
@fragment
fn splat_fragment(in: Corner) -> Output {
    let alpha = min(in.color.a * exp(-0.5 * dot(in.deviations, in.deviations)), MOST);
    if alpha < LEAST || beyond_clips(in.eye) > 0.0 { discard; }
    return output(vec4f(in.color.rgb, 1.0) * alpha);
}
//% endif

// Gaussian splats: clouds with a density that falls as exp(-d² / 2), each visible as an ellipse on the screen. One quad for
// each, the farthest first: in the reverse of the order that draw/splat_order.wgsl and a sort have found.
// In: the attributes of each splat. Out: display-referred color, premultiplied; of `splat_depth` depth in the shadow map, of as many
// texels as the alpha says (Enderton et al. 2010, "Stochastic Transparency").
//% set FIRST = 4
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% include "common/finite.wgsl"
//% if PICKING
//% include "common/pick_pixel.wgsl"
//% else
//% include "common/output.wgsl"
//% endif
//% include "common/splat_rows.wgsl"
//% include "common/hashed.wgsl"

struct Corner {
    @builtin(position) clip: vec4f,
    // In standard deviations along the axes of the ellipse. Linear on the screen, since all corners have the same depth;
    // with @interpolate(linear) Mesa's llvmpipe is wrong where a triangle is clipped.
    @location(0) deviations: vec2f,
    @location(1) @interpolate(flat) color: vec4f,
    @location(2) eye: vec3f,        // at the depth of its center
    @location(3) @interpolate(flat) row: u32,
//% if PICKING
    @location(4) @interpolate(flat) center: vec3f,
//% endif
}

@group(0) @binding(2) var<storage, read> order: array<u32>;         // the nearest first
@group(0) @binding(3) var<storage, read> draw_size: array<u32>;     // element 1: how many of them are drawn

const NOWHERE = vec4f(0.0, 0.0, -1.0, 1.0);     // outside the clip volume

@vertex
fn splat_vertex(@builtin(vertex_index) corner: u32, @builtin(instance_index) instance: u32) -> Corner {
    let row = order[draw_size[1] - 1u - instance];
//% if SHADOWED and not PICKING
    return splat_corner(corner, row, splat_open(row, (view.world_to_eye * vec4f(splat_position(row), 1.0)).xyz));
//% else
    return splat_corner(corner, row, 1.0);
//% endif
}

fn splat_corner(corner: u32, row: u32, open: f32) -> Corner {
    var out: Corner;
    let ellipse = splat_ellipse(row);
    let eye = ellipse.eye;
    out.color = splat_shown(row, eye, ellipse.alpha, open);

    // The two axes of the ellipse, of the length of its standard deviations.
    let covariance = ellipse.covariance;
    let middle = 0.5 * (covariance.x + covariance.z);
    let half_difference = 0.5 * (covariance.x - covariance.z);
    let spread = sqrt(half_difference * half_difference + covariance.y * covariance.y);
    // Written so that numbers that are nearly the same are not subtracted.
    let found = select(vec2f(covariance.y, spread - half_difference), vec2f(spread + half_difference, covariance.y), half_difference >= 0.0);
    let longer = select(vec2f(1.0, 0.0), normalize(found), dot(found, found) > 1e-30);
    let deviations = sqrt(max(vec2f(middle + spread, middle - spread), vec2f(1e-12)));
    let side = (vec2f(f32(corner & 1u), f32(corner >> 1u)) * 2.0 - 1.0) * splat_reach(out.color.a);
    let offset = longer * (side.x * deviations.x) + vec2f(-longer.y, longer.x) * (side.y * deviations.y);
    let moved = eye + vec3f(offset * splat_pixel(eye), 0.0);
    out.eye = moved;
    out.deviations = side;
    out.clip = select(NOWHERE, view.eye_to_clip * vec4f(moved, 1.0), out.color.a > LEAST);
    out.row = row;
//% if PICKING
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
// All rows, in any order; a row that is not finite has no corner anywhere.
@vertex
fn shade_vertex(@builtin(vertex_index) corner: u32, @builtin(instance_index) row: u32) -> Corner {
    var out = splat_corner(corner, row, 1.0);
    if !all_finite(out.eye) { out.clip = NOWHERE; }
    return out;
}

@fragment
fn splat_depth(in: Corner) {
    let alpha = min(in.color.a * exp(-0.5 * dot(in.deviations, in.deviations)), MOST);
    // Splats behind each other leave holes that are independent: together they let through what each lets through.
    let noise = hashed(in.row, u32(in.clip.y) << 16u | u32(in.clip.x));
    if alpha < LEAST || alpha * style.shadow <= noise || beyond_clips(in.eye) > 0.0 { discard; }
}

@fragment
fn splat_fragment(in: Corner) -> Output {
    let alpha = min(in.color.a * exp(-0.5 * dot(in.deviations, in.deviations)), MOST);
    if alpha < LEAST || beyond_clips(in.eye) > 0.0 { discard; }
    return output(vec4f(in.color.rgb, 1.0) * alpha);
}
//% endif

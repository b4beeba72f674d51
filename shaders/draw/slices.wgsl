// Slices through a grid of samples, across its axes: in each pixel the value there, by the colormap. In: the samples.
// Out: color, and depth. With PICKING the same as the rows of the nearest samples.
//% import "common/field.wgsl" as field
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% include "common/field.wgsl"
//% include "common/grid_row.wgsl"
//% if PICKING
//% include "common/pick_pixel.wgsl"
//% else
//% include "common/coverage.wgsl"
//% include "common/pixel.wgsl"
//% include "common/unlit.wgsl"
//% endif

struct Style {              // packed by name in renderer/layers/slices.py
    values: Field,
    low: vec3f,             // the box in world space
    inset: f32,             // samples between the box and the first sample
    high: vec3f,
    brightness: f32,
    at: vec3f,              // of each slice along its axis, as a fraction of the box
    auto_range: f32,        // 1: `range` is the extent of the values
    shown: vec3f,           // 1: there is a slice across this axis
    hidden_below: f32,      // fraction of the range below which nothing is drawn
    range: vec2f,           // values at the two ends of the colormap
    smooth_values: f32,     // 1: values between samples by a cubic B-spline, 0: linear
    pad0: f32,
}

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) eye: vec3f,
    @location(1) sample: vec3f,     // position counted in samples
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> style: Style;
@group(0) @binding(2) var<storage, read> values: array<f32>;
@group(0) @binding(3) var<storage, read> extent: array<vec2f>;
@group(0) @binding(4) var colormap: texture_2d<f32>;
@group(0) @binding(5) var smooth_sampler: sampler;

${field.functions("values", "style.values.size", "style.values.first", "style.values.strides")}

${field.around("values", "style.values.size")}

${field.smooth("values")}

@vertex
fn slice_vertex(@builtin(vertex_index) number: u32) -> Corner {
    let axis = number / 6u;
    let turn = array<u32, 6>(0u, 1u, 2u, 2u, 1u, 3u)[number % 6u];
    let across = vec2f(f32(turn & 1u), f32(turn >> 1u));
    var part = vec3f(style.at.x, across.x, across.y);
    if axis == 1u { part = vec3f(across.x, style.at.y, across.y); }
    if axis == 2u { part = vec3f(across.x, across.y, style.at.z); }
    let world = mix(style.low, style.high, part);
    let eye = (view.world_to_eye * vec4f(world, 1.0)).xyz;
    let clip = select(vec4f(0.0, 0.0, -1.0, 1.0), view.eye_to_clip * vec4f(eye, 1.0), style.shown[axis] > 0.0);
    return Corner(clip, eye, part * (vec3f(style.values.size) - 1.0 + 2.0 * style.inset) - style.inset);
}

// The value as a fraction of the range, after its derivatives along x, y and z, from one sample to the next.
fn fraction_around(position: vec3f) -> vec4f {
    let range = select(style.range, extent[0], style.auto_range > 0.0);
    let span = range.y - range.x;
    var found = vec4f(0.0);
    if (style.smooth_values > 0.0) & (abs(position.x) < 1e30) {     // a position in name only: see common/shadows.wgsl
        found = values_smooth(position);
    } else {
        found = values_around(position);
    }
    return (found - vec4f(0.0, 0.0, 0.0, range.x)) / select(1.0, span, abs(span) > 1e-30);
}

//% if PICKING
@fragment
fn slice_fragment(in: Corner) -> PickPixel {
    let part = fraction_around(in.sample).w;
    if !is_finite(part) || (style.hidden_below > 0.0 && part < style.hidden_below) { discard; }
    return picked_row(nearest_row(in.eye, style.values.size), in.eye);
}
//% else
// Samples of a pixel in which the value is not below the threshold. Derivatives of positions are those of the plane; derivatives of
// what is read from memory are not known at its edges on every GPU.
fn samples_above(part: vec4f, position: vec3f) -> u32 {
    let gradient = vec2f(dot(part.xyz, dpdx(position)), dot(part.xyz, dpdy(position)));
    let below = covered_samples(part.w - style.hidden_below, gradient);
    return select(15u, 15u & ~below, style.hidden_below > 0.0);
}

@fragment
fn slice_fragment(in: Corner) -> Pixel {
    let part = fraction_around(in.sample);
    let samples = samples_above(part, in.sample) & unclipped_samples(in.eye);
    let texels = f32(textureDimensions(colormap).x);
    let column = (clamp(part.w, 0.0, 1.0) * (texels - 1.0) + 0.5) / texels;
    let color = textureSampleLevel(colormap, smooth_sampler, vec2f(column, 0.5), 0.0);
    if samples == 0u || !is_finite(part.w) { discard; }
    return solid_pixel(unlit(color.rgb), samples);
}
//% endif

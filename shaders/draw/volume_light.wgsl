// How much light of the sun, and of the sky overhead, reaches the middle of each cell of a box through the density in it.
// In: samples of the density, and their extent. Out: for each cell, x fastest, the two fractions let through.
//% import "common/curve.wgsl" as curve
//% import "common/field.wgsl" as field
//% include "common/field.wgsl"
//% include "common/index.wgsl"

struct Params {
    densities_size: vec3u,
    densities_offset: u32,
    densities_strides: vec3i,
    extinction: f32,        // of the full density, per world unit
    light_size: vec3u,
    inset: f32,             // samples between the box and the first sample
    box: vec3f,             // the lengths of its edges
    auto_density: f32,      // 1: the range is the extent of the densities
    sun: vec3f,             // toward it, in world space
    light_offset: u32,
    up: vec3f,
    pad0: f32,
    density_range: vec2f,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> densities: array<f32>;
@group(0) @binding(2) var<storage, read> density_extent: array<vec2f>;
@group(0) @binding(3) var<storage, read_write> light: array<vec2f>;
@group(0) @binding(4) var<storage, read> opacity: array<f32>;    // at even distances over the range of densities

const MOST_STEPS = 192;
const DARK = 12.0;          // optical depth behind which nothing is visible

${field.functions("densities", "params.densities_size", "params.densities_offset", "params.densities_strides")}

${curve.functions("opacity")}

fn extinction_at(position: vec3f, range: vec2f) -> f32 {
    let value = densities_between(position / params.box * (vec3f(params.densities_size) - 1.0 + 2.0 * params.inset) - params.inset);
    let span = range.y - range.x;
    let full = clamp((value - range.x) / select(1.0, span, abs(span) > 1e-30), 0.0, 1.0);
    return select(0.0, params.extinction * opacity_at(full), is_finite(value));
}

// The optical depth from a position in the box, counted from its lowest corner, to where a direction leaves it.
fn optical_depth(position: vec3f, direction: vec3f, step: f32, range: vec2f) -> f32 {
    var sum = 0.0;
    for (var i = 0; i < MOST_STEPS && sum < DARK; i++) {
        let here = position + direction * (step * (f32(i) + 0.5));
        if any(here < vec3f(0.0)) || any(here > params.box) { break; }
        sum += step * extinction_at(here, range);
    }
    return sum;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    let size = params.light_size;
    if i >= size.x * size.y * size.z { return; }
    let cell = vec3u(i % size.x, (i / size.x) % size.y, i / (size.x * size.y));
    let edges = params.box / vec3f(size);
    let position = (vec3f(cell) + 0.5) * edges;
    let step = min(edges.x, min(edges.y, edges.z));
    let range = select(params.density_range, density_extent[0], params.auto_density > 0.0);
    let sun = optical_depth(position, params.sun, step, range);
    let sky = optical_depth(position, params.up, step, range);
    // What is scattered several times gets farther than what comes straight; the sky comes from all sides.
    let straight = 0.65 * exp(-sun) + 0.35 * exp(-0.25 * sun);
    let around = 0.6 * exp(-0.5 * sky) + 0.4 * exp(-0.12 * sky);
    light[params.light_offset / 2u + i] = vec2f(straight, around);
}

// What light passes through on its way to the middle of each cell of a box. In: samples of the density, and their extent. Out: for each
// cell, x fastest, the optical depths toward the sun and toward the sky overhead; behind those of all cells the light of area lights, red
// and green; and behind that blue, and 1 where the whole cell is empty (common/volume_steps.wgsl).
// Depths and not what they let through, since a depth is about linear between cells (common/volume_scattering.wgsl).
//% import "common/curve.wgsl" as curve
//% import "common/field.wgsl" as field
//% include "common/field.wgsl"
//% include "common/fraction.wgsl"
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
    depth_steps: i32,       // toward the sun and the sky, at most
    density_range: vec2f,
    lamp_count: u32,
    shadow: f32,            // 0: the light of lamps reaches everything, 1: as it would
    low: vec3f,             // corner of the box in world space
    lamps: array<vec4f, 32>,    // of each its center and kind, half its width, half its height, and its radiance
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> densities: array<f32>;
@group(0) @binding(2) var<storage, read> density_extent: array<vec2f>;
@group(0) @binding(3) var<storage, read_write> light: array<vec2f>;
@group(0) @binding(4) var<storage, read> opacity: array<f32>;    // at even distances over the range of densities

const LAMP_STEPS = 192;
const DARK = 12.0;          // optical depth behind which nothing is visible
const ROUND = 0.88622693;   // half the edge of a square as large as a disc of radius 1
const PI = 3.14159265;
const MARGIN = 0.01;        // in samples, for rounding

${field.functions("densities", "params.densities_size", "params.densities_offset", "params.densities_strides")}

${curve.functions("opacity")}

fn extinction_at(position: vec3f, range: vec2f) -> f32 {
    let value = densities_between(position / params.box * (vec3f(params.densities_size) - 1.0 + 2.0 * params.inset) - params.inset);
    return select(0.0, params.extinction * opacity_at(fraction(value, range)), is_finite(value));
}

// The optical depth from a position in the box, counted from its lowest corner, to where a direction leaves it, or so many steps on.
fn optical_depth(position: vec3f, direction: vec3f, step: f32, most: i32, range: vec2f) -> f32 {
    var sum = 0.0;
    for (var i = 0; i < most && sum < DARK; i++) {
        let here = position + direction * (step * (f32(i) + 0.5));
        if any(here < vec3f(0.0)) || any(here > params.box) { break; }
        sum += step * extinction_at(here, range);
    }
    return sum;
}

// The solid angle of a parallelogram of corners a, a + b, a + c and a + b + c, as seen from the origin (Van Oosterom and Strackee 1983,
// "The Solid Angle of a Plane Triangle").
fn solid_angle(a: vec3f, b: vec3f, c: vec3f) -> f32 {
    return triangle_angle(a, a + b, a + c) + triangle_angle(a + b, a + b + c, a + c);
}

fn triangle_angle(a: vec3f, b: vec3f, c: vec3f) -> f32 {
    let lengths = vec3f(length(a), length(b), length(c));
    let below = lengths.x * lengths.y * lengths.z + dot(a, b) * lengths.z + dot(a, c) * lengths.y + dot(b, c) * lengths.x;
    return 2.0 * atan2(abs(dot(a, cross(b, c))), below);
}

// In how large a solid angle a lamp shines on a position; `away` is from there to its center.
fn lamp_angle(kind: f32, away: vec3f, right: vec3f, above: vec3f) -> f32 {
    if kind > 1.5 {
        let squared = min(dot(right, right) / max(dot(away, away), 1e-30), 1.0);
        return 2.0 * PI * squared / (1.0 + sqrt(1.0 - squared));
    }
    if dot(cross(right, above), away) >= 0.0 { return 0.0; }    // behind it
    let part = select(1.0, ROUND, kind > 0.5);
    return solid_angle(away - part * (right + above), 2.0 * part * right, 2.0 * part * above);
}

// The light of area lights at a position in the box, counted from its lowest corner.
fn lamp_light(position: vec3f, step: f32, range: vec2f) -> vec3f {
    var sum = vec3f(0.0);
    for (var lamp = 0u; lamp < params.lamp_count; lamp++) {
        let center = params.lamps[4u * lamp];
        let away = center.xyz - params.low - position;
        let angle = lamp_angle(center.w, away, params.lamps[4u * lamp + 1u].xyz, params.lamps[4u * lamp + 2u].xyz);
        if angle <= 0.0 { continue; }
        let most = min(i32(length(away) / step) + 1, LAMP_STEPS);
        let depth = optical_depth(position, normalize(away), step, most, range);
        let straight = 0.65 * exp(-depth) + 0.35 * exp(-0.25 * depth);  // and what is scattered on the way, as that of the sun
        sum += params.lamps[4u * lamp + 3u].xyz * (angle / PI * mix(1.0, straight, params.shadow));
    }
    return sum;
}

// Whether there is no extinction anywhere in a cell of the grid of light: by the smallest and the largest of the samples that are read in it.
fn is_empty(cell: vec3f, range: vec2f) -> bool {
    let samples = (vec3f(params.densities_size) - 1.0 + 2.0 * params.inset) / vec3f(params.light_size);
    let first = vec3i(floor(cell * samples - params.inset - MARGIN));
    let last = vec3i(floor((cell + 1.0) * samples - params.inset + MARGIN)) + 1;
    var ends = vec2f(3.4e38, -3.4e38);
    for (var z = first.z; z <= last.z; z++) {
        for (var y = first.y; y <= last.y; y++) {
            for (var x = first.x; x <= last.x; x++) {
                let value = densities_at(vec3i(x, y, z));
                ends = select(ends, vec2f(min(ends.x, value), max(ends.y, value)), is_finite(value));
            }
        }
    }
    let reach = vec2f(fraction(ends.x, range), fraction(ends.y, range)) * f32(arrayLength(&opacity) - 1u);
    let end = i32(ceil(max(reach.x, reach.y)));
    var most = 0.0;
    for (var i = i32(min(reach.x, reach.y)); i <= end && most <= 0.0; i++) { most = params.extinction * opacity[i]; }
    return most <= 0.0;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    let size = params.light_size;
    let count = size.x * size.y * size.z;
    if i >= count { return; }
    let cell = vec3f(vec3u(i % size.x, (i / size.x) % size.y, i / (size.x * size.y)));
    let edges = params.box / vec3f(size);
    let position = (cell + 0.5) * edges;
    let step = min(edges.x, min(edges.y, edges.z));
    let range = select(params.density_range, density_extent[0], params.auto_density > 0.0);
    let sun = optical_depth(position, params.sun, step, params.depth_steps, range);
    let sky = optical_depth(position, params.up, step, params.depth_steps, range);
    let lamps = lamp_light(position, step, range);
    let first = params.light_offset / 2u + i;
    light[first] = vec2f(sun, sky);
    light[first + count] = lamps.xy;
    light[first + 2u * count] = vec2f(lamps.z, select(0.0, 1.0, is_empty(cell, range)));
}

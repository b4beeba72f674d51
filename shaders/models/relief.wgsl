// An image, or any plane of numbers, as a relief: a grid of points, and a color for each.
// In: DTYPE, the values' element type; values (rows, columns, CHANNELS) by strides, CHANNELS 1 or 3. HEIGHT: "", or the
//     element type of heights, a plane of heights_shape by strides, which is stretched over the values.
// Out: positions (rows, columns, 3), y up, the first row at the back; colors (rows, columns, 3); levels (rows, columns):
//      the heights, or else the value of a plane, the luminance (Rec. 709) of an image.
// The reference implementation is in app/vertigrad/models/data/relief.py.
//% if "f16" in (DTYPE, HEIGHT)
enable f16;
//% endif
//% include "common/index.wgsl"

struct Params {
    rows: u32,
    columns: u32,
    values_offset: u32,
    step: f32,
    height: f32,
    base: f32,
    values_strides: vec3i,
    //% if HEIGHT
    heights_offset: u32,
    heights_shape: vec2u,
    heights_strides: vec2i,
    //% endif
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> values: array<${DTYPE}>;
@group(0) @binding(2) var<storage, read_write> positions: array<f32>;
@group(0) @binding(3) var<storage, read_write> colors: array<f32>;
@group(0) @binding(4) var<storage, read_write> levels: array<f32>;
//% if HEIGHT
@group(0) @binding(5) var<storage, read> heights: array<${HEIGHT}>;

fn height_in(row: i32, column: i32) -> f32 {
    let strides = params.heights_strides;
    return f32(heights[u32(i32(params.heights_offset) + row * strides.x + column * strides.y)]);
}

// Linear between the middles of the plane's cells, and constant beyond the outermost of them.
fn height_at(row: u32, column: u32) -> f32 {
    let size = vec2f(params.heights_shape);
    let cell = (vec2f(f32(row), f32(column)) + 0.5) * size / vec2f(f32(params.rows), f32(params.columns)) - 0.5;
    let point = clamp(cell, vec2f(0.0), size - 1.0);
    let a = vec2i(point);
    let b = min(a + 1, vec2i(params.heights_shape) - 1);
    let part = point - vec2f(a);
    let above = mix(height_in(a.x, a.y), height_in(a.x, b.y), part.y);
    let below = mix(height_in(b.x, a.y), height_in(b.x, b.y), part.y);
    return mix(above, below, part.x);
}
//% endif

fn value(row: u32, column: u32, channel: i32) -> f32 {
    let strides = params.values_strides;
    let at = i32(params.values_offset) + i32(row) * strides.x + i32(column) * strides.y + channel * strides.z;
    return f32(values[u32(at)]);
}

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.rows * params.columns {
        return;
    }
    let row = i / params.columns;
    let column = i % params.columns;
    //% if CHANNELS == 1
    let color = vec3f(value(row, column, 0));
    //% else
    let color = vec3f(value(row, column, 0), value(row, column, 1), value(row, column, 2));
    //% endif
    //% if HEIGHT
    let level = height_at(row, column);
    //% elif CHANNELS == 1
    let level = color.x;
    //% else
    let level = dot(color, vec3f(0.2126, 0.7152, 0.0722));
    //% endif
    let middle = 0.5 * vec2f(f32(params.columns - 1u), f32(params.rows - 1u));
    let point = (vec2f(f32(column), f32(row)) - middle) * params.step;
    positions[3u * i] = point.x;
    positions[3u * i + 1u] = params.height * (level - params.base);
    positions[3u * i + 2u] = point.y;
    colors[3u * i] = clamp(color.x, 0.0, 1.0);
    colors[3u * i + 1u] = clamp(color.y, 0.0, 1.0);
    colors[3u * i + 2u] = clamp(color.z, 0.0, 1.0);
    levels[i] = level;
}

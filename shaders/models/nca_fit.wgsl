// What cells see: their own numbers, and how those change along x and z; and the same backwards.
// In, perceive: source (side x side, channels), cells in rows; beyond the edge everything is 0.
// Out, perceive: target (side x side, 3 channels): own values, then both of Sobel's differences, divided by 8.
// In and out, perceive_backward: from the gradient by the perception (source) that by the values (target): the transpose.
// The reference implementation is app/vertigrad/models/reference/nca_fit.py.
//% include "common/index.wgsl"

struct Params {
    side: u32,
    channels: u32,
    source_offset: u32,
    perceived_offset: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> source: array<f32>;
@group(0) @binding(2) var<storage, read_write> perceived: array<f32>;

// Of the cell at these steps from (column, row): number `k` of `width` numbers; 0 beyond the edge.
fn number(column: i32, row: i32, width: u32, k: u32) -> f32 {
    let side = i32(params.side);
    let is_inside = column >= 0 && row >= 0 && column < side && row < side;
    let cell = u32(select(0, row * side + column, is_inside));
    return select(0.0, source[params.source_offset + cell * width + k], is_inside);
}

// Sobel's difference along x, and along z, of number k around a cell.
fn differences(column: i32, row: i32, width: u32, k: u32) -> vec2f {
    let a = number(column - 1, row - 1, width, k);
    let b = number(column, row - 1, width, k);
    let c = number(column + 1, row - 1, width, k);
    let d = number(column - 1, row, width, k);
    let f = number(column + 1, row, width, k);
    let g = number(column - 1, row + 1, width, k);
    let h = number(column, row + 1, width, k);
    let i = number(column + 1, row + 1, width, k);
    return vec2f((c + 2.0 * f + i) - (a + 2.0 * d + g), (g + 2.0 * h + i) - (a + 2.0 * b + c)) / 8.0;
}

@compute @workgroup_size(128)
fn perceive(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let at = linear_index(id, num_workgroups, 128u);
    let width = params.channels;
    if at >= params.side * params.side * width {
        return;
    }
    let cell = at / width;
    let k = at % width;
    let gradient = differences(i32(cell % params.side), i32(cell / params.side), width, k);
    let to = params.perceived_offset + cell * 3u * width + k;
    perceived[to] = source[params.source_offset + at];
    perceived[to + width] = gradient.x;
    perceived[to + 2u * width] = gradient.y;
}

// Differences change their sign when they are transposed.
@compute @workgroup_size(128)
fn perceive_backward(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let at = linear_index(id, num_workgroups, 128u);
    let width = params.channels;
    if at >= params.side * params.side * width {
        return;
    }
    let cell = at / width;
    let k = at % width;
    let column = i32(cell % params.side);
    let row = i32(cell / params.side);
    let along = differences(column, row, 3u * width, width + k).x;
    let down = differences(column, row, 3u * width, 2u * width + k).y;
    perceived[params.perceived_offset + at] = number(column, row, 3u * width, k) - along - down;
}

// What cells see: their own numbers, and how those change along x and z; and the same backwards.
// In, perceive: given (side x side, channels), cells in rows; beyond the edge everything is 0.
// Out, perceive: made (side x side, 3 channels): own numbers, then both of Sobel's differences, divided by 8.
// In and out, perceive_backward: from the gradient by what is seen (given) that by the numbers (made): the transpose.
// The reference implementation is app/vertigrad/models/reference/nca_fit.py.
//% include "common/index.wgsl"

struct Params {
    side: u32,
    channels: u32,
    given_offset: u32,
    made_offset: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> given: array<f32>;
@group(0) @binding(2) var<storage, read_write> made: array<f32>;

// Of the cell at these steps from (column, row): number `k` of `width` numbers; 0 beyond the edge.
fn number(column: i32, row: i32, width: u32, k: u32) -> f32 {
    let side = i32(params.side);
    let is_inside = column >= 0 && row >= 0 && column < side && row < side;
    let cell = u32(select(0, row * side + column, is_inside));
    return select(0.0, given[params.given_offset + cell * width + k], is_inside);
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
    let seen = differences(i32(cell % params.side), i32(cell / params.side), width, k);
    let to = params.made_offset + cell * 3u * width + k;
    made[to] = given[params.given_offset + at];
    made[to + width] = seen.x;
    made[to + 2u * width] = seen.y;
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
    made[params.made_offset + at] = number(column, row, 3u * width, k) - along - down;
}

// Structural similarity of images, window by window, and the backward pass. The window is WEIGHTS along each axis.
// In: x and y (planes, rows, columns). Sums over windows are of x, y, x², y², x y, in this order.
// Out, along: lines (planes, rows, columns', 5), sums along rows; columns' and rows' are as many as windows fit.
// Out, evaluate: values (planes, rows', columns'), and parts, how each depends on its five sums.
// Out, down: spread (planes, rows, columns', 5), parts carried back along columns; back: by_x and by_y, those carried
//     back along rows, times gradient, one number, over the number of values.
// Wang, Bovik, Sheikh and Simoncelli 2004, "Image quality assessment: from error visibility to structural similarity",
// eq. 13. The reference implementation is in tests/learn/test_similarity.py.
//% include "common/index.wgsl"
//% set WINDOW = WEIGHTS | length

struct Params {
    planes: u32,
    rows: u32,
    columns: u32,
    c1: f32,
    c2: f32,
    x_offset: u32,
    y_offset: u32,
    gradient_offset: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> y: array<f32>;
@group(0) @binding(3) var<storage, read_write> lines: array<f32>;
@group(0) @binding(4) var<storage, read> summed: array<f32>;        // what was `lines`
@group(0) @binding(5) var<storage, read_write> values: array<f32>;
@group(0) @binding(6) var<storage, read_write> parts: array<f32>;
@group(0) @binding(7) var<storage, read> known: array<f32>;         // what was `parts`
@group(0) @binding(8) var<storage, read_write> spread: array<f32>;
@group(0) @binding(9) var<storage, read> carried: array<f32>;       // what was `spread`
@group(0) @binding(10) var<storage, read> gradient: array<f32>;
@group(0) @binding(11) var<storage, read_write> by_x: array<f32>;
@group(0) @binding(12) var<storage, read_write> by_y: array<f32>;

const BEYOND = ${WINDOW - 1}u;  // pixels of a line that no window begins at

struct Sums {
    x: f32,
    y: f32,
    xx: f32,
    yy: f32,
    xy: f32,
}

fn plus(sums: Sums, weight: f32, more: Sums) -> Sums {
    return Sums(
        sums.x + weight * more.x,
        sums.y + weight * more.y,
        sums.xx + weight * more.xx,
        sums.yy + weight * more.yy,
        sums.xy + weight * more.xy,
    );
}

fn pair(i: u32) -> vec2f {
    return vec2f(x[params.x_offset + i], y[params.y_offset + i]);
}

fn powers(i: u32) -> Sums {
    let own = pair(i);
    return Sums(own.x, own.y, own.x * own.x, own.y * own.y, own.x * own.y);
}

//% for NAME in ("summed", "known", "carried")
fn ${NAME}_at(i: u32) -> Sums {
    let at = 5u * i;
    return Sums(${NAME}[at], ${NAME}[at + 1u], ${NAME}[at + 2u], ${NAME}[at + 3u], ${NAME}[at + 4u]);
}

//% endfor
// Column, row and plane of element i, of planes with so many columns and rows.
fn pixel_of(i: u32, columns: u32, rows: u32) -> vec3u {
    return vec3u(i % columns, i / columns % rows, i / columns / rows);
}

@compute @workgroup_size(64)
fn along(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    let width = params.columns - BEYOND;
    if i >= params.planes * params.rows * width { return; }
    let pixel = pixel_of(i, width, params.rows);
    let first = (pixel.z * params.rows + pixel.y) * params.columns + pixel.x;
    var sums: Sums;
    //% for weight in WEIGHTS
    sums = plus(sums, ${weight}, powers(first + ${loop.index0}u));
    //% endfor
    lines[5u * i] = sums.x;
    lines[5u * i + 1u] = sums.y;
    lines[5u * i + 2u] = sums.xx;
    lines[5u * i + 3u] = sums.yy;
    lines[5u * i + 4u] = sums.xy;
}

@compute @workgroup_size(64)
fn evaluate(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    let width = params.columns - BEYOND;
    let height = params.rows - BEYOND;
    if i >= params.planes * height * width { return; }
    let pixel = pixel_of(i, width, height);
    let first = (pixel.z * params.rows + pixel.y) * width + pixel.x;
    var mean: Sums;
    //% for weight in WEIGHTS
    mean = plus(mean, ${weight}, summed_at(first + ${loop.index0}u * width));
    //% endfor
    let both = mean.x * mean.y;
    let squares = mean.x * mean.x + mean.y * mean.y;
    let light = 2.0 * both + params.c1;
    let structure = 2.0 * (mean.xy - both) + params.c2;
    let bright = squares + params.c1;
    let varied = mean.xx + mean.yy - squares + params.c2;
    let value = light * structure / (bright * varied);
    let cross = 2.0 * (structure - light) / (bright * varied);
    let own = 2.0 * value * (1.0 / varied - 1.0 / bright);
    values[i] = value;
    parts[5u * i] = cross * mean.y + own * mean.x;
    parts[5u * i + 1u] = cross * mean.x + own * mean.y;
    parts[5u * i + 2u] = -value / varied;
    parts[5u * i + 3u] = -value / varied;
    parts[5u * i + 4u] = 2.0 * light / (bright * varied);
}

@compute @workgroup_size(64)
fn down(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    let width = params.columns - BEYOND;
    let height = params.rows - BEYOND;
    if i >= params.planes * params.rows * width { return; }
    let pixel = pixel_of(i, width, params.rows);
    var sums: Sums;
    //% for weight in WEIGHTS
    if pixel.y >= ${loop.index0}u && pixel.y - ${loop.index0}u < height {
        sums = plus(sums, ${weight}, known_at((pixel.z * height + pixel.y - ${loop.index0}u) * width + pixel.x));
    }
    //% endfor
    spread[5u * i] = sums.x;
    spread[5u * i + 1u] = sums.y;
    spread[5u * i + 2u] = sums.xx;
    spread[5u * i + 3u] = sums.yy;
    spread[5u * i + 4u] = sums.xy;
}

@compute @workgroup_size(64)
fn back(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    let width = params.columns - BEYOND;
    if i >= params.planes * params.rows * params.columns { return; }
    let pixel = pixel_of(i, params.columns, params.rows);
    let line = (pixel.z * params.rows + pixel.y) * width;
    var sums: Sums;
    //% for weight in WEIGHTS
    if pixel.x >= ${loop.index0}u && pixel.x - ${loop.index0}u < width {
        sums = plus(sums, ${weight}, carried_at(line + pixel.x - ${loop.index0}u));
    }
    //% endfor
    let own = pair(i);
    let factor = gradient[params.gradient_offset] / f32(params.planes * (params.rows - BEYOND) * width);
    by_x[i] = factor * (sums.x + 2.0 * sums.xx * own.x + sums.xy * own.y);
    by_y[i] = factor * (sums.y + 2.0 * sums.yy * own.y + sums.xy * own.x);
}

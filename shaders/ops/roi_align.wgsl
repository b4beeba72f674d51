// Regions of images resampled to one size, by bilinear samples on a grid in each cell: their mean, or the largest.
// In: x (images, channels, height, width), rois (regions, 4), corners x1 y1 x2 y2 in pixels of the original image,
//     images (regions,), all packed; LARGEST, whether the largest weighted corner of the samples is taken, not the mean.
// Out: out (regions, channels, rows, columns).
//% include "common/index.wgsl"

struct Params {
    count: u32,  // elements of the result
    channels: u32,
    height: u32,
    width: u32,
    rows: u32,
    columns: u32,
    samples: u32,  // along each axis of a cell; 0: as many as its pixels
    scale: f32,  // of the original image to x
    shift: f32,  // where the middle of a pixel is
    least: f32,  // size of a region
    x_offset: u32,
    rois_offset: u32,
    images_offset: u32,
    out_offset: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> rois: array<f32>;
@group(0) @binding(3) var<storage, read> images: array<i32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

// The four weighted neighbors of a point; 0 outside.
fn neighbors(plane: u32, point: vec2f) -> vec4f {
    let size = vec2f(f32(params.width), f32(params.height));
    if any(point < vec2f(-1.0)) || any(point > size) {
        return vec4f();
    }
    let clamped = clamp(point, vec2f(), size - 1.0);
    let low = vec2u(clamped);
    let high = min(low + 1u, vec2u(params.width, params.height) - 1u);
    let t = clamped - vec2f(low);
    let s = 1.0 - t;
    return vec4f(
        s.x * s.y * x[plane + low.y * params.width + low.x],
        t.x * s.y * x[plane + low.y * params.width + high.x],
        s.x * t.y * x[plane + high.y * params.width + low.x],
        t.x * t.y * x[plane + high.y * params.width + high.x],
    );
}

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    let cell = vec2f(f32(i % params.columns), f32(i / params.columns % params.rows));
    let channel = i / (params.columns * params.rows) % params.channels;
    let region = i / (params.columns * params.rows * params.channels);
    let at = params.rois_offset + region * 4u;
    let first = vec2f(rois[at], rois[at + 1u]) * params.scale - params.shift;
    let last = vec2f(rois[at + 2u], rois[at + 3u]) * params.scale - params.shift;
    let step = max(last - first, vec2f(params.least)) / vec2f(f32(params.columns), f32(params.rows));
    let grid = select(vec2u(params.samples), vec2u(ceil(step)), params.samples == 0u);
    let image = u32(images[params.images_offset + region]);
    let plane = params.x_offset + (image * params.channels + channel) * params.height * params.width;
    var total = 0.0;
    var largest = 0.0;
    for (var row = 0u; row < grid.y; row += 1u) {
        for (var column = 0u; column < grid.x; column += 1u) {
            let inside = (vec2f(f32(column), f32(row)) + 0.5) / vec2f(grid);
            let near = neighbors(plane, first + (cell + inside) * step);
            total += near.x + near.y + near.z + near.w;
            let most = max(max(near.x, near.y), max(near.z, near.w));
            largest = select(max(largest, most), most, row + column == 0u);
        }
    }
    //% if LARGEST
    out[params.out_offset + i] = largest;
    //% else
    out[params.out_offset + i] = total / max(f32(grid.x * grid.y), 1.0);
    //% endif
}

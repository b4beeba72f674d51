// Ellipses blended into an image tile by tile, the nearest in front, and the backward pass from the image to the ellipses.
// A workgroup of 64 does a tile of 16 x 16 pixels, each invocation four of them, 8 apart. No atomics: the backward pass writes
// sums over a tile for each pair of an ellipse and a tile, which are added up ellipse by ellipse, always in one order.
// In: projected (3 rows), as splat_photos_project.wgsl gives it; lists of pairs as draw/splat_lists.wgsl makes them: `pairs`,
//     numbers of pairs by tile, the nearest first; pair_rows, the row of each pair; ranges, of each tile in `pairs`.
// Out, blend: image (height, width, 3) over the background.
// In, blend_backward: image, gradient, that by it. Out: partial (pairs, 9), of each pair sums over the pixels of a tile: with q the
//     gradient by the exponent and x, y the offset from the middle, of q, q x, q y, q x², q x y, q y², and of the gradient by
//     the color.
// Out, add_chunks: chunks (pairs / 32, 9), sums of 32 pairs of one row. Out, add_rows: sums (rows, 10), of each row in the order of
//     depth, and the number of its pairs. Out, judge: factor, 1 if all pairs had room in this step and all before it, else -1;
//     status: the most pairs that there were, the steps that were complete.
// Kerbl, Kopanas, Leimkühler and Drettakis 2023, section 6 and appendix C. Unlike theirs, the backward pass goes from front to
// back: what is behind an ellipse is the finished pixel without what is in front of it, and both directions are one loop.
// The reference implementation is app/vertigrad/models/reference/splat_photos.py.
//% include "common/index.wgsl"

struct Params {
    rows: u32,
    capacity: u32,      // of pairs
    across: u32,        // tiles
    width: u32,
    height: u32,
    background: vec3f,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> projected: array<vec4f>;
@group(0) @binding(2) var<storage, read> pairs: array<u32>;
@group(0) @binding(3) var<storage, read> pair_rows: array<u32>;
@group(0) @binding(4) var<storage, read> ranges: array<vec2u>;
@group(0) @binding(5) var<storage, read_write> image: array<f32>;
@group(0) @binding(6) var<storage, read> finished: array<f32>;      // what was `image`
@group(0) @binding(7) var<storage, read> gradient: array<f32>;
@group(0) @binding(8) var<storage, read_write> partial: array<f32>;
@group(0) @binding(9) var<storage, read> partials: array<f32>;      // what was `partial`
@group(0) @binding(10) var<storage, read_write> chunks: array<f32>;
@group(0) @binding(11) var<storage, read> chunk_sums: array<f32>;   // what was `chunks`
@group(0) @binding(12) var<storage, read> touched: array<u32>;
@group(0) @binding(13) var<storage, read> starts: array<u32>;
@group(0) @binding(14) var<storage, read_write> sums: array<f32>;
@group(0) @binding(15) var<storage, read> total: array<u32>;        // pairs
@group(0) @binding(16) var<storage, read_write> status: array<u32>;
@group(0) @binding(17) var<storage, read_write> factor: array<f32>;

const LANES = 64u;
const BLOCK = 8u;           // pixels along each side that a workgroup does at once
const LEAST = 1.0 / 255.0;  // alpha that is not visible
const MOST = 0.99;
const END = 1e-4;           // transmittance at which a pixel is finished
const SUMS = 9u;
const BATCH = 4u;           // ellipses that are summed together
const COLUMN = 65u;         // words of the sums of 64 invocations, so that they are not all in one bank
const PARTS = 4u;           // of these sums, added up first
const CHUNK = 32u;          // pairs

var<workgroup> own_range: vec2u;
var<workgroup> is_going: atomic<u32>;
var<workgroup> going: u32;
var<workgroup> middles: array<vec2f, LANES>;
var<workgroup> shapes: array<vec4f, LANES>;     // inverse covariance and opacity
var<workgroup> colors: array<vec3f, LANES>;
var<workgroup> numbers: array<u32, LANES>;      // of pairs
var<workgroup> columns: array<f32, ${4 * 9 * 65}>;
var<workgroup> parts: array<f32, ${4 * 9 * 4}>;

fn tile_of(group: vec3u, groups: vec3u) -> u32 {
    return group.x + groups.x * group.y;
}

fn pixel_of(tile: u32, lane: u32, k: u32) -> vec2u {
    let start = 2u * BLOCK * vec2u(tile % params.across, tile / params.across);
    return start + vec2u(lane % BLOCK, lane / BLOCK) + BLOCK * vec2u(k & 1u, k >> 1u);
}

fn is_inside(pixel: vec2u) -> bool {
    return pixel.x < params.width && pixel.y < params.height;
}

// Whether an invocation has a pixel that is not finished. In uniform control flow.
fn any_going(own: bool, lane: u32) -> bool {
    if lane == 0u { atomicStore(&is_going, 0u); }
    workgroupBarrier();
    if own { atomicStore(&is_going, 1u); }
    workgroupBarrier();
    if lane == 0u { going = atomicLoad(&is_going); }
    return workgroupUniformLoad(&going) == 1u;
}

// Read the ellipses of the list from number `first` on, one for each invocation.
fn load_batch(first: u32, end: u32, lane: u32) {
    if first + lane < end {
        let number = pairs[first + lane];
        let row = pair_rows[number];
        let a = projected[3u * row];
        middles[lane] = a.xy;
        shapes[lane] = vec4f(projected[3u * row + 1u].xyz, a.w);
        colors[lane] = projected[3u * row + 2u].xyz;
        numbers[lane] = number;
    }
    workgroupBarrier();
}

fn range_of(tile: u32, lane: u32) -> vec2u {
    if lane == 0u { own_range = ranges[tile]; }
    return workgroupUniformLoad(&own_range);
}

// Alpha of an ellipse at an offset from its middle, before the limit of what is visible and of MOST.
fn alpha_at(shape: vec4f, offset: vec2f) -> f32 {
    let power = shape.x * offset.x * offset.x + 2.0 * shape.y * offset.x * offset.y + shape.z * offset.y * offset.y;
    return shape.w * exp(-0.5 * power);
}

@compute @workgroup_size(64)
fn blend(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let tile = tile_of(group, groups);
    if tile >= params.across * ((params.height + 2u * BLOCK - 1u) / (2u * BLOCK)) { return; }
    let range = range_of(tile, lane);
    // Of four pixels: transmittance, 0 of what is finished; the same with what is finished; and the color.
    //% for k in range(4)
    let pixel${k} = pixel_of(tile, lane, ${k}u);
    var left${k} = select(0.0, 1.0, is_inside(pixel${k}));
    var transmittance${k} = 1.0;
    var light${k} = vec3f(0.0);
    //% endfor
    for (var first = range.x; first < range.y; first += LANES) {
        let own = left0 + left1 + left2 + left3 > 0.0;
        if !any_going(own, lane) { break; }
        load_batch(first, range.y, lane);
        for (var n = 0u; own && n < min(LANES, range.y - first); n++) {
            let shape = shapes[n];
            let away = vec2f(pixel0) + 0.5 - middles[n];
            //% for k in range(4)
            let alpha${k} = alpha_at(shape, away + ${("vec2f(0.0)", "vec2f(8.0, 0.0)", "vec2f(0.0, 8.0)", "vec2f(8.0)")[k]});
            if alpha${k} >= LEAST && left${k} > 0.0 {
                let alpha = min(alpha${k}, MOST);
                let behind = left${k} * (1.0 - alpha);
                if behind < END {
                    left${k} = 0.0;
                } else {
                    light${k} += left${k} * alpha * colors[n];
                    left${k} = behind;
                    transmittance${k} = behind;
                }
            }
            //% endfor
        }
        workgroupBarrier();
    }
    //% for k in range(4)
    write_pixel(pixel${k}, light${k} + transmittance${k} * params.background);
    //% endfor
}

fn write_pixel(pixel: vec2u, value: vec3f) {
    if !is_inside(pixel) { return; }
    let at = 3u * (pixel.y * params.width + pixel.x);
    image[at] = value.x;
    image[at + 1u] = value.y;
    image[at + 2u] = value.z;
}

fn three(at: u32, is_there: bool, of_gradient: bool) -> vec3f {
    if !is_there { return vec3f(0.0); }
    if of_gradient { return vec3f(gradient[at], gradient[at + 1u], gradient[at + 2u]); }
    return vec3f(finished[at], finished[at + 1u], finished[at + 2u]);
}

// Add up the columns of a batch, and write them to its pairs.
fn add_columns(batch: u32, count: u32, lane: u32) {
    workgroupBarrier();
    for (var n = lane; n < BATCH * SUMS * PARTS; n += LANES) {
        let at = n / PARTS * COLUMN + n % PARTS * (LANES / PARTS);
        var sum = 0.0;
        for (var k = 0u; k < LANES / PARTS; k++) { sum += columns[at + k]; }
        parts[n] = sum;
    }
    workgroupBarrier();
    if lane < BATCH * SUMS && batch + lane / SUMS < count {
        let at = PARTS * lane;
        let number = numbers[batch + lane / SUMS];
        partial[SUMS * number + lane % SUMS] = parts[at] + parts[at + 1u] + parts[at + 2u] + parts[at + 3u];
    }
    workgroupBarrier();
}

@compute @workgroup_size(64)
fn blend_backward(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let tile = tile_of(group, groups);
    if tile >= params.across * ((params.height + 2u * BLOCK - 1u) / (2u * BLOCK)) { return; }
    let range = range_of(tile, lane);
    // Of four pixels: transmittance; gradients; and what these make of the light behind.
    //% for k in range(4)
    let pixel${k} = pixel_of(tile, lane, ${k}u);
    let at${k} = 3u * (pixel${k}.y * params.width + pixel${k}.x);
    var left${k} = select(0.0, 1.0, is_inside(pixel${k}));
    let own${k} = three(at${k}, left${k} > 0.0, true);
    var behind${k} = dot(own${k}, three(at${k}, left${k} > 0.0, false));
    //% endfor
    var first = range.x;
    for (; first < range.y; first += LANES) {
        if !any_going(left0 + left1 + left2 + left3 > 0.0, lane) { break; }
        load_batch(first, range.y, lane);
        let count = min(LANES, range.y - first);
        for (var batch = 0u; batch < count; batch += BATCH) {
            for (var b = 0u; b < BATCH; b++) {
                var exponent = 0.0;     // sums over the four pixels
                var moment = vec2f(0.0);
                var squares = vec3f(0.0);
                var light = vec3f(0.0);
                if batch + b < count && left0 + left1 + left2 + left3 > 0.0 {
                    let shape = shapes[batch + b];
                    let color = colors[batch + b];
                    let away = vec2f(pixel0) + 0.5 - middles[batch + b];
                    //% for k in range(4)
                    let offset${k} = away + ${("vec2f(0.0)", "vec2f(8.0, 0.0)", "vec2f(0.0, 8.0)", "vec2f(8.0)")[k]};
                    let raw${k} = alpha_at(shape, offset${k});
                    if raw${k} >= LEAST && left${k} > 0.0 {
                        let alpha = min(raw${k}, MOST);
                        let after = left${k} * (1.0 - alpha);
                        if after < END {
                            left${k} = 0.0;
                        } else {
                            let weight = left${k} * alpha;
                            let value = dot(own${k}, color);
                            behind${k} -= weight * value;
                            let by_alpha = left${k} * value - behind${k} / (1.0 - alpha);
                            let q = select(by_alpha * alpha, 0.0, raw${k} > MOST);
                            left${k} = after;
                            exponent += q;
                            moment += q * offset${k};
                            squares += q * offset${k}.xxy * offset${k}.xyy;
                            light += weight * own${k};
                        }
                    }
                    //% endfor
                }
                let column = b * SUMS * COLUMN + lane;
                columns[column] = exponent;
                columns[column + COLUMN] = moment.x;
                columns[column + 2u * COLUMN] = moment.y;
                columns[column + 3u * COLUMN] = squares.x;
                columns[column + 4u * COLUMN] = squares.y;
                columns[column + 5u * COLUMN] = squares.z;
                columns[column + 6u * COLUMN] = light.x;
                columns[column + 7u * COLUMN] = light.y;
                columns[column + 8u * COLUMN] = light.z;
            }
            add_columns(batch, count, lane);
        }
    }
    // What is behind finished pixels.
    for (var n = SUMS * first + lane; n < SUMS * range.y; n += LANES) {
        partial[SUMS * pairs[n / SUMS] + n % SUMS] = 0.0;
    }
}

@compute @workgroup_size(64)
fn add_chunks(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    let first = i / SUMS * CHUNK;
    if first + CHUNK > min(total[0], params.capacity) || total[0] > params.capacity { return; }
    if pair_rows[first] != pair_rows[first + CHUNK - 1u] { return; }
    var sum = 0.0;
    for (var k = 0u; k < CHUNK; k++) { sum += partials[SUMS * (first + k) + i % SUMS]; }
    chunks[i] = sum;
}

@compute @workgroup_size(64)
fn add_rows(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    let number = i / 10u;
    if number >= params.rows { return; }
    let has_room = max(status[0], total[0]) <= params.capacity;  // also in the steps before, as `judge` has found
    let count = select(0u, touched[number], has_room);
    let column = i % 10u;
    if column == SUMS {
        sums[i] = f32(count);
        return;
    }
    var sum = 0.0;
    if count > 0u {
        let first = starts[number];
        let end = first + count;
        let low = min((first + CHUNK - 1u) / CHUNK * CHUNK, end);   // whole chunks begin, and end
        let high = max(end / CHUNK * CHUNK, low);
        for (var n = first; n < low; n++) { sum += partials[SUMS * n + column]; }
        for (var n = low / CHUNK; n < high / CHUNK; n++) { sum += chunk_sums[SUMS * n + column]; }
        for (var n = high; n < end; n++) { sum += partials[SUMS * n + column]; }
    }
    sums[i] = sum;
}

@compute @workgroup_size(1)
fn judge() {
    status[0] = max(status[0], total[0]);
    let has_room = status[0] <= params.capacity;
    factor[0] = select(-1.0, 1.0, has_room);
    status[1] += select(0u, 1u, has_room);
}

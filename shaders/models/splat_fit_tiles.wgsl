// Ellipses blended into an image, the nearest in front, and the backward pass from the image to the ellipses.
// A workgroup does a tile of 8 x 8 pixels. It reads all ellipses in the order of their depth, 256 at a time, and
// lists those whose boxes meet the tile: so there are no lists in memory that could become too long.
// In: flat as splat_fit_project.wgsl gives it, order (count), the nearest first.
// Out, draw: image (side, side, 3), linear color over the background.
// In, draw_backward: image, gradient (side, side, 3), the gradient by it, `largest`, the magnitude of its largest element.
// Out, draw_backward: words (count, 9, 2), which begin as 0: of each ellipse sums over pixels, as common/fixed_sum.wgsl has them.
//     With q the gradient by the exponent and x, y the offset from the middle over the half lengths of the box, they are of
//     q, q x, q y, q x², q x y, q y², and of the gradient by its color.
// Kerbl, Kopanas, Leimkühler and Drettakis 2023, section 4 and appendix C. Unlike theirs, the backward pass goes from front to
// draw_backward: what is behind an ellipse is the finished pixel without what is in front of it, and both directions are one
// loop. The reference implementation is app/vertigrad/models/reference/splat_fit.py.
//% include "common/fixed_sum.wgsl"

struct Params {
    count: u32,
    side: u32,
    background: vec3f,  // linear
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> flat: array<vec4f>;
@group(0) @binding(2) var<storage, read> order: array<i32>;
@group(0) @binding(3) var<storage, read_write> image: array<f32>;
@group(0) @binding(4) var<storage, read> finished: array<f32>;  // what was `image`
@group(0) @binding(5) var<storage, read> gradient: array<f32>;
@group(0) @binding(6) var<storage, read> largest: array<f32>;
@group(0) @binding(7) var<storage, read_write> words: array<atomic<u32>>;

const TILE = 8u;
const LANES = TILE * TILE;
const EACH = 4u;            // ellipses that an invocation reads in a round
const LEAST = 1.0 / 255.0;  // alpha that is not visible
const MOST = 0.99;
const OPAQUE = 1e-4;        // of what is behind so little is visible that it is left out
const BATCH = 16u;          // ellipses that are summed together
const PARTS = LANES / BATCH;// of the pixels, each summed by an invocation
const SUMS = 9u;
const ENOUGH = 0xffffffffu;

var<workgroup> meets: array<atomic<u32>, ${4 * 8 * 8 // 32}>;
var<workgroup> is_open: atomic<u32>;
var<workgroup> listed: u32;
var<workgroup> rows: array<u32, ${4 * 8 * 8}>;
var<workgroup> contributions: array<vec2f, ${16 * 8 * 8}>;     // of a pixel in an ellipse's color, and q
var<workgroup> colors: array<vec3f, ${8 * 8}>;         // gradients of pixels
var<workgroup> partial: array<f32, ${9 * 8 * 8}>;

// Where the tile begins, and how far a pixel is from there.
fn pixel_of(tile: u32, lane: u32) -> vec2u {
    let tiles = (params.side + TILE - 1u) / TILE;
    return TILE * vec2u(tile % tiles, tile / tiles) + vec2u(lane % TILE, lane / TILE);
}

// Put those of the 256 ellipses from number `first` on that meet the tile into `rows`, in their order, and return how many
// they are; ENOUGH if no pixel is open any more. In uniform control flow.
fn list_round(first: u32, tile: u32, lane: u32, is_pixel_open: bool) -> u32 {
    if lane < EACH * LANES / 32u { atomicStore(&meets[lane], 0u); }
    if lane == 0u { atomicStore(&is_open, 0u); }
    workgroupBarrier();
    let half = 0.5 * f32(TILE);
    let middle = vec2f(pixel_of(tile, 0u)) + half;
    var own: array<u32, EACH>;
    for (var k = 0u; k < EACH; k++) {
        let at = first + k * LANES + lane;
        if at < params.count {
            own[k] = u32(order[at]);
            let box = flat[3u * own[k]];
            if all(abs(box.xy - middle) <= box.zw + half) {
                atomicOr(&meets[(k * LANES + lane) / 32u], 1u << (lane % 32u));
            }
        }
    }
    if is_pixel_open { atomicStore(&is_open, 1u); }
    workgroupBarrier();
    var before = 0u;
    for (var word = 0u; word < EACH * LANES / 32u; word++) {
        let mask = atomicLoad(&meets[word]);
        if word % 2u == lane / 32u && ((mask >> (lane % 32u)) & 1u) == 1u {
            rows[before + countOneBits(mask & ((1u << (lane % 32u)) - 1u))] = own[word / 2u];
        }
        before += countOneBits(mask);
    }
    if lane == 0u { listed = select(ENOUGH, before, atomicLoad(&is_open) == 1u); }
    return workgroupUniformLoad(&listed);
}

// Alpha of an ellipse at a pixel, and how far from its middle that is.
struct Contribution {
    away: vec2f,
    alpha: f32,
    is_held: bool,  // at the most that there may be
}

fn contribution_of(row: u32, pixel: vec2u) -> Contribution {
    let away = vec2f(pixel) + 0.5 - flat[3u * row].xy;
    let inverse = flat[3u * row + 1u];
    let power = -0.5 * (inverse.x * away.x * away.x + inverse.z * away.y * away.y) - inverse.y * away.x * away.y;
    let alpha = inverse.w * exp(power);
    return Contribution(away, select(0.0, min(alpha, MOST), alpha >= LEAST), alpha > MOST);
}

@compute @workgroup_size(64)
fn draw(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let pixel = pixel_of(group.x, lane);
    let is_inside = all(pixel < vec2u(params.side));
    var through = select(0.0, 1.0, is_inside);
    var light = vec3f(0.0);
    for (var first = 0u; first < params.count; first += EACH * LANES) {
        let count = list_round(first, group.x, lane, through > OPAQUE);
        if count == ENOUGH { break; }
        for (var k = 0u; k < count; k++) {
            if through <= OPAQUE { break; }
            let alpha = contribution_of(rows[k], pixel).alpha;
            light += through * alpha * flat[3u * rows[k] + 2u].rgb;
            through *= 1.0 - alpha;
        }
        workgroupBarrier();
    }
    if is_inside {
        let at = 3u * (pixel.y * params.side + pixel.x);
        light += through * params.background;
        image[at] = light.x;
        image[at + 1u] = light.y;
        image[at + 2u] = light.z;
    }
}

fn three(at: u32, is_there: bool, of_gradient: bool) -> vec3f {
    if !is_there { return vec3f(0.0); }
    if of_gradient { return vec3f(gradient[at], gradient[at + 1u], gradient[at + 2u]); }
    return vec3f(finished[at], finished[at + 1u], finished[at + 2u]);
}

// Add up a batch of the list: an invocation sums a part of the pixels for one of the ellipses.
fn sum_batch(first: u32, count: u32, tile: u32, lane: u32) {
    let own = lane / PARTS;
    var sums: array<f32, SUMS>;
    if first + own < count {
        let box = flat[3u * rows[first + own]];
        for (var n = 0u; n < LANES / PARTS; n++) {
            let pixel = (lane % PARTS) * (LANES / PARTS) + n;
            let contribution = contributions[own * LANES + pixel];
            let away = (vec2f(pixel_of(tile, pixel)) + 0.5 - box.xy) / box.zw;
            sums[0] += contribution.y;
            sums[1] += contribution.y * away.x;
            sums[2] += contribution.y * away.y;
            sums[3] += contribution.y * away.x * away.x;
            sums[4] += contribution.y * away.x * away.y;
            sums[5] += contribution.y * away.y * away.y;
            sums[6] += contribution.x * colors[pixel].x;
            sums[7] += contribution.x * colors[pixel].y;
            sums[8] += contribution.x * colors[pixel].z;
        }
    }
    for (var k = 0u; k < SUMS; k++) {
        partial[lane * SUMS + k] = sums[k];
    }
    workgroupBarrier();
    for (var n = lane; n < BATCH * SUMS; n += LANES) {
        let ellipse = n / SUMS;
        if first + ellipse >= count { break; }
        var total = 0.0;
        for (var part = 0u; part < PARTS; part++) {
            total += partial[(ellipse * PARTS + part) * SUMS + n % SUMS];
        }
        let steps = fixed_steps(total, largest[0]);
        let word = 2u * (SUMS * rows[first + ellipse] + n % SUMS);
        atomicAdd(&words[word], fixed_low(steps));
        atomicAdd(&words[word + 1u], fixed_high(steps));
    }
}

@compute @workgroup_size(64)
fn draw_backward(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let pixel = pixel_of(group.x, lane);
    let is_inside = all(pixel < vec2u(params.side));
    let at = 3u * (pixel.y * params.side + pixel.x);
    let own = three(at, is_inside, true);
    colors[lane] = own;
    var through = select(0.0, 1.0, is_inside);
    var behind = dot(own, three(at, is_inside, false));     // what the gradient makes of the light behind
    for (var first = 0u; first < params.count; first += EACH * LANES) {
        let count = list_round(first, group.x, lane, through > OPAQUE);
        if count == ENOUGH { break; }
        for (var batch = 0u; batch < count; batch += BATCH) {
            for (var k = 0u; k < BATCH; k++) {
                var found = vec2f(0.0);
                if batch + k < count && through > OPAQUE {
                    let row = rows[batch + k];
                    let contribution = contribution_of(row, pixel);
                    let weight = through * contribution.alpha;
                    let value = dot(own, flat[3u * row + 2u].rgb);
                    behind -= weight * value;
                    let by_alpha = through * value - behind / (1.0 - contribution.alpha);
                    found = vec2f(weight, select(by_alpha * contribution.alpha, 0.0, contribution.is_held));
                    through *= 1.0 - contribution.alpha;
                }
                contributions[k * LANES + lane] = found;
            }
            workgroupBarrier();
            sum_batch(batch, count, group.x, lane);
            workgroupBarrier();
        }
        workgroupBarrier();
    }
}

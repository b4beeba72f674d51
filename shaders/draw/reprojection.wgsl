// Temporal anti-aliasing of an image whose camera moves: the image, moved within a pixel, is blended with the one before, where that had
// what is visible here (Karis 2014, "High Quality Temporal Supersampling"). In: the image, its depth, the mean before. Out: the new
// mean, linear premultiplied light; if SPLIT, the same of display-referred colors.
// What the image before had is bounded by the neighbors of the pixel, in luma and chroma. There are no motion vectors: where the
// mean of the neighbors is not what it was, something moved by itself or was hidden, and the image before does not count.
//% include "common/fullscreen.wgsl"

struct Reprojection {       // mirrored by renderer/accumulation.py
    to_before: mat4x4f,     // from clip coordinates to those of the image before
    jitter: vec2f,          // pixels by which this image is moved
    of_sample: f32,         // what of the mean is this image at least; 1: there is none before
    pad0: f32,
}

@group(0) @binding(0) var<uniform> reprojection: Reprojection;
@group(0) @binding(1) var light: texture_2d<f32>;
@group(0) @binding(2) var light_before: texture_2d<f32>;
@group(0) @binding(3) var depths: texture_depth_multisampled_2d;
//% if SPLIT
@group(0) @binding(4) var display: texture_multisampled_2d<f32>;
@group(0) @binding(5) var display_before: texture_2d<f32>;
//% endif

const SLOW = 0.1;           // what of the mean is the newest image, of what rests,
const PER_PIXEL = 0.6;      // more for each pixel that it moves,
const MOST = 0.5;           // and at most
const BOUND = 0.9;          // standard deviations of the neighbors, within which the image before counts
const SAME = 0.2;           // standard deviations by which the mean of the neighbors may have changed,
const OTHER = 0.5;          // and from which on the image before does not count
const LEAST = 0.01;         // deviation of even areas

struct Means {
    @location(0) light: vec4f,
//% if SPLIT
    @location(1) display: vec4f,
//% endif
}

// Luma and chroma of bounded light: what is very bright does not outweigh everything.
fn compressed(color: vec4f) -> vec4f {
    let c = color.rgb / (1.0 + max(color.r, max(color.g, color.b)));
    return vec4f(0.25 * (c.r + 2.0 * c.g + c.b), 0.5 * (c.r - c.b), 0.25 * (2.0 * c.g - c.r - c.b), color.a);
}

fn expanded(y: vec4f) -> vec4f {
    let c = vec3f(y.x + y.y - y.z, y.x + y.z, y.x - y.y - y.z);
    return vec4f(c / max(1.0 - max(c.r, max(c.g, c.b)), 1e-4), y.w);
}

// Four pixels along each axis around a position: the first of them, and the weights of all.
struct Window {
    first: vec2i,
    weights: array<vec2f, 4>,
}

// Those of Catmull and Rom's spline, which does not blur what is looked up in every frame.
fn spline(position: vec2f) -> Window {
    let low = floor(position - 0.5);
    let f = position - 0.5 - low;
    return Window(vec2i(low) - 1, array<vec2f, 4>(
        f * (-0.5 + f * (1.0 - 0.5 * f)), 1.0 + f * f * (-2.5 + 1.5 * f),
        f * (0.5 + f * (2.0 - 1.5 * f)), f * f * (-0.5 + 0.5 * f),
    ));
}

// Those of the mean of three by three pixels.
fn box(position: vec2f) -> Window {
    let low = floor(position - 0.5);
    let f = position - 0.5 - low;
    return Window(vec2i(low) - 1, array<vec2f, 4>((1.0 - f) / 3.0, vec2f(1.0 / 3.0), vec2f(1.0 / 3.0), f / 3.0));
}

// A pixel of this image, and what the image before had.
struct Found {
    now: vec4f,
    straight: vec4f,        // the same without the jitter, interpolated by parabolas
    before: vec4f,          // bounded
    change: f32,            // of the mean of its neighbors, in standard deviations
}

fn light_at(pixel: vec2i) -> vec4f {
    return textureLoad(light, pixel, 0);
}

//% if SPLIT
fn display_at(pixel: vec2i) -> vec4f {
    return 0.25 * (textureLoad(display, pixel, 0) + textureLoad(display, pixel, 1) + textureLoad(display, pixel, 2)
        + textureLoad(display, pixel, 3));
}

//% endif
//% for image in ["light", "display"] if image == "light" or SPLIT
fn ${image}_mean(window: Window) -> vec4f {
    let last = vec2i(textureDimensions(${image}_before)) - 1;
    var weights = window.weights;
    var sum = vec4f(0.0);
    for (var i = 0; i < 16; i++) {
        let at = clamp(window.first + vec2i(i % 4, i / 4), vec2i(0), last);
        sum += weights[i % 4].x * weights[i / 4].y * compressed(textureLoad(${image}_before, at, 0));
    }
    return sum;
}

// What is at a pixel of the ${image}; `position` is that of the same in the image before.
fn ${image}_found(pixel: vec2i, position: vec2f) -> Found {
    let last = vec2i(textureDimensions(${image})) - 1;
    var sum = vec4f(0.0);
    var squares = vec4f(0.0);
    var straight = vec4f(0.0);
    let jitter = reprojection.jitter;
    var weights = array<vec2f, 3>(0.5 * jitter * (jitter - 1.0), 1.0 - jitter * jitter, 0.5 * jitter * (jitter + 1.0));
    for (var i = 0; i < 9; i++) {
        let one = compressed(${image}_at(clamp(pixel + vec2i(i % 3, i / 3) - 1, vec2i(0), last)));
        sum += one;
        squares += one * one;
        straight += weights[i % 3].x * weights[i / 3].y * one;
    }
    let mean = sum / 9.0;
    let deviation = sqrt(max(squares / 9.0 - mean * mean, vec4f(0.0)));
    let bound = BOUND * deviation;
    let before = clamp(${image}_mean(spline(position)), mean - bound, mean + bound);
    let changes = abs(${image}_mean(box(position - reprojection.jitter)) - mean) / (deviation + LEAST);
    let change = max(max(changes.x, changes.y), max(changes.z, changes.w));
    return Found(${image}_at(pixel), max(expanded(straight), vec4f(0.0)), expanded(before), change);
}

//% endfor
// The new mean, of light as the mean at rest is. An image that is not blended must not be moved within its pixels.
fn blended(found: Found, share: f32, is_other: f32) -> vec4f {
    let mean = mix(found.before, mix(found.now, found.straight, is_other), share);
    return select(mean, found.straight, is_other >= 1.0);   // whatever was before, also what is not finite
}

// The depth nearest to the eye around a pixel: outlines move with what is in front.
fn nearest_depth(pixel: vec2i) -> f32 {
    let last = vec2i(textureDimensions(depths)) - 1;
    var nearest = 0.0;
    for (var i = 0; i < 5; i++) {
        let aside = vec2i(select(0, select(-1, 1, i == 2), i == 1 || i == 2), select(0, select(-1, 1, i == 4), i > 2));
        nearest = max(nearest, textureLoad(depths, clamp(pixel + aside, vec2i(0), last), 0));
    }
    return nearest;
}

// The new means of the pixel with this middle.
fn means_at(middle: vec2f) -> Means {
    let pixel = vec2i(middle);
    let size = vec2f(textureDimensions(light));
    let clip = vec4f((2.0 * middle / size - 1.0) * vec2f(1.0, -1.0), nearest_depth(pixel), 1.0);
    let found = reprojection.to_before * clip;
    let position = (found.xy / found.w * vec2f(0.5, -0.5) + 0.5) * size;
    let is_there = found.w > 0.0 && all(position >= vec2f(0.0)) && all(position < size) && reprojection.of_sample < 1.0;
    let of_light = light_found(pixel, position);
    var change = of_light.change;
//% if SPLIT
    let of_display = display_found(pixel, position);
    change = max(change, of_display.change);
//% endif
    let is_other = select(1.0, smoothstep(SAME, OTHER, change), is_there && change < OTHER);
    // Outlines of round bodies are not moved with their surface: the faster it moves, the less counts what was before.
    let moved = distance(position, middle);
    let share = max(max(reprojection.of_sample, min(SLOW + PER_PIXEL * moved, MOST)), is_other);
    var out: Means;
    out.light = blended(of_light, share, is_other);
//% if SPLIT
    out.display = blended(of_display, share, is_other);
//% endif
    return out;
}

@fragment
fn reprojection_fragment(in: Screen) -> Means {
    return means_at(in.pixel.xy);
}

@group(1) @binding(0) var light_after: texture_storage_2d<rgba32float, write>;
//% if SPLIT
@group(1) @binding(1) var display_after: texture_storage_2d<rgba32float, write>;
//% endif

@compute @workgroup_size(8, 8)
fn reprojection_pixels(@builtin(global_invocation_id) id: vec3u) {
    if any(id.xy >= textureDimensions(light_after)) { return; }
    let means = means_at(vec2f(id.xy) + 0.5);
    textureStore(light_after, id.xy, means.light);
//% if SPLIT
    textureStore(display_after, id.xy, means.display);
//% endif
}

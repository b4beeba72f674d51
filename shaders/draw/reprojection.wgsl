// Temporal anti-aliasing of an image whose camera moves: the image, moved within a pixel, is blended with the one before, where that had
// what is visible here (Karis 2014, "High Quality Temporal Supersampling"). In: the image, its depth, the mean before. Out: the new
// mean, linear premultiplied light. If SPLIT, display-referred colors are those of the image alone.
// What the image before had is bounded by the neighbors of the pixel, in luma and chroma: what moves or was hidden leaves no trail.
//% include "common/fullscreen.wgsl"

struct Reprojection {       // mirrored by renderer/accumulation.py
    to_before: mat4x4f,     // from clip coordinates to those of the image before
    of_sample: f32,         // what of the mean is this image at least; 1: there is none before
    pad0: f32,
    pad1: f32,
    pad2: f32,
}

@group(0) @binding(0) var<uniform> reprojection: Reprojection;
@group(0) @binding(1) var light: texture_2d<f32>;
@group(0) @binding(2) var light_before: texture_2d<f32>;
@group(0) @binding(3) var depths: texture_depth_multisampled_2d;
//% if SPLIT
@group(0) @binding(4) var display: texture_multisampled_2d<f32>;
//% endif

const SLOW = 0.1;           // what of the mean is the newest image, of what rests,
const PER_PIXEL = 0.6;      // more for each pixel that it moves,
const MOST = 0.5;           // and at most

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

// The image before at a position in pixels: Catmull and Rom's spline, which does not blur what is looked up in every frame.
fn before_at(position: vec2f) -> vec4f {
    let size = vec2i(textureDimensions(light_before));
    let low = floor(position - 0.5);
    let f = position - 0.5 - low;
    let weights = array<vec2f, 4>(
        f * (-0.5 + f * (1.0 - 0.5 * f)), 1.0 + f * f * (-2.5 + 1.5 * f),
        f * (0.5 + f * (2.0 - 1.5 * f)), f * f * (-0.5 + 0.5 * f),
    );
    var sum = vec4f(0.0);
    for (var i = 0; i < 16; i++) {
        let at = clamp(vec2i(low) + vec2i(i % 4, i / 4) - 1, vec2i(0), size - 1);
        sum += weights[i % 4].x * weights[i / 4].y * compressed(textureLoad(light_before, at, 0));
    }
    return sum;
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

@fragment
fn reprojection_fragment(in: Screen) -> Means {
    let pixel = vec2i(in.pixel.xy);
    let size = vec2f(textureDimensions(light));
    let last = vec2i(size) - 1;
    let now = compressed(textureLoad(light, pixel, 0));
    var sum = vec4f(0.0);
    var squares = vec4f(0.0);
    for (var i = 0; i < 9; i++) {
        let one = compressed(textureLoad(light, clamp(pixel + vec2i(i % 3, i / 3) - 1, vec2i(0), last), 0));
        sum += one;
        squares += one * one;
    }
    let mean = sum / 9.0;
    let deviation = 0.9 * sqrt(max(squares / 9.0 - mean * mean, vec4f(0.0)));

    let clip = vec4f((2.0 * in.pixel.xy / size - 1.0) * vec2f(1.0, -1.0), nearest_depth(pixel), 1.0);
    let found = reprojection.to_before * clip;
    let position = (found.xy / found.w * vec2f(0.5, -0.5) + 0.5) * size;
    let is_there = found.w > 0.0 && all(position >= vec2f(0.0)) && all(position < size);
    var out: Means;
    out.light = expanded(now);
    if is_there && reprojection.of_sample < 1.0 {
        let old = clamp(before_at(position), mean - deviation, mean + deviation);
        // Outlines of round bodies are not moved with their surface: the faster it moves, the less counts what was before.
        let moved = distance(position, in.pixel.xy);
        let share = max(reprojection.of_sample, min(SLOW + PER_PIXEL * moved, MOST));
        out.light = mix(expanded(old), out.light, share);   // of light, as the mean at rest is
    }
//% if SPLIT
    out.display = 0.25 * (textureLoad(display, pixel, 0) + textureLoad(display, pixel, 1) + textureLoad(display, pixel, 2)
        + textureLoad(display, pixel, 3));
//% endif
    return out;
}

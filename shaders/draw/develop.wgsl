// From light to what a screen shows: exposure, glow, film curve, background, dithering.
// In: the linear premultiplied picture, each of its samples, and its glow. Out: colours of the screen.
// Every sample is developed by itself and the results are averaged: bright outlines stay smooth that way.
// If TRANSPARENT, no background: colours not multiplied by their alpha, which is the coverage. If ENLARGED, fewer pixels were
// drawn than are shown: what is shown lies between the four nearest. FINE pixels were drawn for each that is shown, along each
// side: 1, or more, of which the mean is shown.
//% include "common/fullscreen.wgsl"
//% include "common/colour.wgsl"

struct Develop {            // mirrored by renderer/view.py
    background: vec3f,      // linear, as it shall be on the screen
    exposure: f32,
    glow: f32,              // share of the light that the lens scatters
    vignette: f32,
    aspect: f32,
    edges: f32,             // how strongly steps in depth are drawn
    edge_color: vec3f,      // linear, as it shall be on the screen
    edge_width: f32,        // pixels
    tint_light: vec3f,      // what white becomes,
    tint: f32,              // of this share of the colors
    tint_dark: vec3f,       // and what black becomes
    parallel: f32,          // 1: depth is linear
}

@group(0) @binding(0) var<uniform> develop: Develop;
//% if BY_SAMPLE
@group(0) @binding(1) var picture: texture_multisampled_2d<f32>;
//% else
@group(0) @binding(1) var picture: texture_2d<f32>;
//% endif
@group(0) @binding(2) var glow: texture_2d<f32>;
@group(0) @binding(3) var smooth_sampler: sampler;
//% if EDGES
@group(0) @binding(4) var depths: texture_depth_2d;     // of what is solid, one sample a pixel
//% endif

// The film's response per channel is Naka and Rushton's x^n / (x^n + s^n): an S in log exposure that keeps
// middle grey where it is. As in Sobotka's AgX the channels are first drawn together and afterwards apart again,
// so that very bright colours turn white instead of clipping to a pure primary.
const GREY = 0.18;
const WHITE = 12.0;         // exposure that becomes full white
const INWARD = 0.12;
const OUTWARD = 0.10;
const EDGE_GAIN = 40.0;     // steps of so small a share of the distance are drawn in full
const LINEAR = 0.001;       // linear depth of one distance, about
const SAMPLES = ${4 if BY_SAMPLE else 1};   // of each pixel

fn film(light: vec3f) -> vec3f {
    let grey = luminance(light);
    let drawn = steep(mix(light, vec3f(grey), INWARD));
    let half_way = steep(vec3f(GREY)) * (1.0 / GREY - 1.0);
    let white = steep(vec3f(WHITE));
    let shown = drawn / (drawn + half_way) * ((white + half_way) / white);
    let shown_grey = luminance(shown);
    return clamp((shown - shown_grey * OUTWARD) / (1.0 - OUTWARD), vec3f(0.0), vec3f(1.0));
}

// x to the power of 1.5, the film's contrast.
fn steep(x: vec3f) -> vec3f {
    return x * sqrt(x);
}

fn background(uv: vec2f) -> vec3f {
    let height = 1.0 - uv.y;
    return develop.background * mix(0.8, 1.2, smoothstep(0.0, 1.0, height));
}

fn vignette(uv: vec2f) -> f32 {
    let aside = (uv - 0.5) * vec2f(min(develop.aspect, 1.6), 1.0);
    return 1.0 - develop.vignette * smoothstep(0.25, 1.0, length(aside));
}

// Triangular noise of one step of 8 bits, different in every pixel, against bands in smooth shades.
fn dither(pixel: vec2f) -> f32 {
    let first = fract(52.9829189 * fract(dot(pixel, vec2f(0.06711056, 0.00583715))));
    let second = fract(52.9829189 * fract(dot(pixel + 47.0, vec2f(0.00583715, 0.06711056))));
    return (first + second - 1.0) / 255.0;
}

// What one sample shows, in linear light, before the vignette.
fn shown_sample(drawn: vec4f, scattered: vec3f, behind: vec3f) -> vec3f {
//% if GLOW
    let light = mix(drawn.rgb, scattered, develop.glow);
//% else
    let light = drawn.rgb;
//% endif
    let covered = clamp(drawn.a, 0.0, 1.0);
    let shown = film(bounded(light * develop.exposure));
    return tinted(shown, covered) + behind * (1.0 - covered);
}

//% if EDGES
// How much of an edge a pixel shows. A plane's reversed depth is linear on the screen, so what differs from the mean of two
// opposite neighbours is no plane: the farther side of a step, or a fold. After Boucheny 2009, eye-dome lighting, with that
// difference in the place of his.
fn edge_of(place: vec2i) -> f32 {
    let size = vec2i(textureDimensions(depths));
    let here = textureLoad(depths, clamp(place, vec2i(0), size - 1), 0);
    var steps = 0.0;
    for (var i = 0u; i < 4u; i++) {
        let way = array<vec2f, 4>(vec2f(1.0, 0.0), vec2f(0.0, 1.0), vec2f(0.7071, 0.7071), vec2f(0.7071, -0.7071))[i];
        let aside = vec2i(round(way * develop.edge_width));
        let one = textureLoad(depths, clamp(place + aside, vec2i(0), size - 1), 0);
        let other = textureLoad(depths, clamp(place - aside, vec2i(0), size - 1), 0);
        let mean = 0.5 * (one + other);
        steps += clamp(EDGE_GAIN * (mean - here) / select(max(mean, 1e-30), LINEAR, develop.parallel > 0.0), 0.0, 1.0);
    }
    return 1.0 - exp2(-2.0 * steps);
}

// The same, smooth across pixels. The turns are constants: llvmpipe keeps a MB for each picture with a loop here whose
// turns it does not know.
fn edge_at(place: vec2i) -> f32 {
    var sum = 0.0;
    for (var i = 0u; i < 5u; i++) {
        let beside = array<vec2i, 5>(vec2i(0), vec2i(1, 0), vec2i(-1, 0), vec2i(0, 1), vec2i(0, -1))[i];
        sum += edge_of(place + beside) * select(0.15, 0.4, i == 0u);
    }
    return develop.edges * sum;
}

//% endif

// A colour, or its place between what black and white become.
fn tinted(shown: vec3f, covered: f32) -> vec3f {
    let light = clamp(luminance(shown), 0.0, 1.0);
    let shade = develop.tint_dark * covered + (develop.tint_light - develop.tint_dark) * light;
    return mix(shown, shade, develop.tint);
}

//% if TRANSPARENT
// What is shown, in linear light, as a colour and an alpha for programs that blend encoded colours, as most do. What
// covers is never brighter than its coverage; more is light that covers nothing, such as a glow. It adds the alpha with
// which it looks the same on black.
fn with_alpha(shown: vec3f, coverage: f32) -> vec4f {
    let brightest = max(shown.r, max(shown.g, shown.b));
    if max(coverage, brightest) <= 0.0 { return vec4f(0.0); }
    let ends = linear_to_srgb(vec3f(min(brightest, 1.0), coverage, 0.0));
    let alpha = coverage + max(ends.x - ends.y, 0.0);
    let glow = linear_to_srgb(min(shown, vec3f(1.0))) / max(ends.x, 1e-6);
    let covered = linear_to_srgb(min(shown / max(coverage, 1e-6), vec3f(1.0)));
    return vec4f(min(mix(glow, covered, coverage / max(coverage, brightest)), vec3f(1.0)), alpha);
}

//% endif
//% if ENLARGED
// What is shown between the four nearest pixels that were drawn, and how much of it is covered. One film for all of their
// samples, the brighter ones counting less, so that bright outlines stay smooth: this is drawn because time is short.
fn developed(uv: vec2f, scattered: vec3f, behind: vec3f) -> vec4f {
    let size = vec2f(textureDimensions(picture));
    let upper = floor(uv * size - 0.5);
    let part = uv * size - 0.5 - upper;
    var sum = vec4f(0.0);
    var weights = 0.0;
    for (var i = 0; i < 4; i++) {
        let beside = vec2i(i & 1, i >> 1u);
        let near = select(1.0 - part, part, beside == vec2i(1));
        let place = clamp(vec2i(upper) + beside, vec2i(0), vec2i(size) - 1);
        for (var which = 0; which < SAMPLES; which++) {
            let drawn = textureLoad(picture, place, which);
            let weight = near.x * near.y / (1.0 + develop.exposure * max(drawn.r, max(drawn.g, drawn.b)));
            sum += weight * drawn;
            weights += weight;
        }
    }
    sum /= max(weights, 1e-9);
    return vec4f(shown_sample(sum, scattered, behind), clamp(sum.a, 0.0, 1.0));
}
//% else
//% if BY_SAMPLE
// Whether the samples of a pixel differ.
fn on_outline(place: vec2i, first: vec4f) -> bool {
    return any(textureLoad(picture, place, 1) != first) || any(textureLoad(picture, place, 2) != first)
        || any(textureLoad(picture, place, 3) != first);
}

//% endif
// What a pixel that was drawn shows, in linear light, before the vignette; and how much of it is covered.
fn developed_at(place: vec2i, scattered: vec3f, behind: vec3f) -> vec4f {
    let first = textureLoad(picture, place, 0);
    var shown = vec4f(shown_sample(first, scattered, behind), clamp(first.a, 0.0, 1.0));
//% if BY_SAMPLE
    // A loop without turns is skipped even by adapters that run both sides of every branch.
    let samples = select(1, SAMPLES, on_outline(place, first));
    for (var i = 1; i < samples; i++) {
        let drawn = textureLoad(picture, place, i);
        shown += vec4f(shown_sample(drawn, scattered, behind), clamp(drawn.a, 0.0, 1.0));
    }
    shown /= f32(samples);
//% endif
    return shown;
}

// The same of a pixel that is shown.
fn developed(uv: vec2f, scattered: vec3f, behind: vec3f) -> vec4f {
    let middle = uv * vec2f(textureDimensions(picture));    // the picture may lie anywhere in the target
//% if FINE > 1
    let upper = vec2i(round(middle - ${0.5 * FINE}));
    var sum = vec4f(0.0);
    for (var i = 0; i < ${FINE * FINE}; i++) {
        sum += developed_at(upper + vec2i(i % ${FINE}, i / ${FINE}), scattered, behind);
    }
    return sum / ${FINE * FINE}.0;
//% else
    return developed_at(vec2i(middle), scattered, behind);
//% endif
}
//% endif

@fragment
fn develop_fragment(in: Screen) -> @location(0) vec4f {
//% if GLOW
    let scattered = textureSampleLevel(glow, smooth_sampler, in.uv, 0.0).rgb;
//% else
    let scattered = vec3f(0.0);
//% endif
//% if TRANSPARENT
    let behind = vec3f(0.0);
//% else
    let behind = background(in.uv);
//% endif
    let mean = developed(in.uv, scattered, behind);
    var shown = mean.rgb;
//% if TRANSPARENT
    var coverage = mean.a;
//% endif
//% if EDGES
    let edge = edge_at(vec2i(in.uv * vec2f(textureDimensions(picture))));
    shown = mix(shown, develop.edge_color, edge);
//% if TRANSPARENT
    coverage = mix(coverage, 1.0, edge);
//% endif
//% endif
//% if TRANSPARENT
    let straight = with_alpha(shown * vignette(in.uv), coverage);
    let encoded = straight.rgb + dither(floor(in.pixel.xy));
    let alpha = straight.a;
//% else
    let encoded = linear_to_srgb(min(shown * vignette(in.uv), vec3f(1.0))) + dither(floor(in.pixel.xy));
    let alpha = 1.0;
//% endif
//% if ENCODED_BY_TARGET
    return vec4f(srgb_to_linear(encoded), alpha);
//% else
    return vec4f(encoded, alpha);
//% endif
}

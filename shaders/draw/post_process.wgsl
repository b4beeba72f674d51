// From light to what a screen shows: exposure, glow, tone mapping, background, dithering.
// In: the linear premultiplied image, each of its samples, and its glow. Out: colors of the screen.
// Every sample is tone-mapped by itself and the results are averaged: bright outlines stay smooth.
// If TRANSPARENT, no background: colors not multiplied by their alpha, which is the coverage. If ENLARGED, fewer pixels were
// drawn than are shown: what is shown is interpolated between the four nearest. FINE pixels were drawn for each that is
// shown, along each side: 1, or more, of which the mean is shown.
// If SPLIT, display-referred colors are in a texture of their own, premultiplied and encoded. Whatever was drawn over them took
// away from them, and they from the light below, so that light, display and background are shares of each sample that add up
// to 1. They are blended as a screen shows them, and post-processing of light does not change them.
// If LINEAR, light instead of what a screen shows, for a target of floats: with exposure and glow, but without tone mapping, tint,
// vignette and dithering. It is multiplied by its alpha.
//% include "common/fullscreen.wgsl"
//% include "common/color.wgsl"
//% include "common/tone_map.wgsl"

struct PostProcess {            // mirrored by renderer/view_uniforms.py
    background: vec3f,      // linear, as it shall be on the screen
    exposure: f32,
    glow: f32,              // fraction of the light that the lens scatters
    vignette: f32,
    aspect: f32,
    edges: f32,             // how strongly steps in depth are drawn
    edge_color: vec3f,      // linear, as it shall be on the screen
    edge_width: f32,        // pixels
    tint_light: vec3f,      // what white becomes,
    tint: f32,              // of this fraction of the colors
    tint_dark: vec3f,       // and what black becomes
    parallel: f32,          // 1: depth is linear
}

@group(0) @binding(0) var<uniform> post: PostProcess;
//% if BY_SAMPLE
@group(0) @binding(1) var light: texture_multisampled_2d<f32>;
//% else
@group(0) @binding(1) var light: texture_2d<f32>;
//% endif
@group(0) @binding(2) var glow: texture_2d<f32>;
@group(0) @binding(3) var smooth_sampler: sampler;
//% if SPLIT
@group(0) @binding(5) var display: ${"texture_multisampled_2d<f32>" if BY_SAMPLE else "texture_2d<f32>"};
//% endif
//% if EDGES
@group(0) @binding(4) var depths: texture_depth_2d;     // of what is solid, one sample a pixel
//% endif

const SAMPLES = ${4 if BY_SAMPLE else 1};   // of each pixel

fn background(uv: vec2f) -> vec3f {
    let height = 1.0 - uv.y;
    return post.background * mix(0.8, 1.2, smoothstep(0.0, 1.0, height));
}

fn vignette(uv: vec2f) -> f32 {
    let aside = (uv - 0.5) * vec2f(min(post.aspect, 1.6), 1.0);
    return 1.0 - post.vignette * smoothstep(0.25, 1.0, length(aside));
}

// Triangular noise of one step of 8 bits, different in every pixel, against bands in smooth shades.
fn dither(pixel: vec2f) -> f32 {
    let first = fract(52.9829189 * fract(dot(pixel, vec2f(0.06711056, 0.00583715))));
    let second = fract(52.9829189 * fract(dot(pixel + 47.0, vec2f(0.00583715, 0.06711056))));
    return (first + second - 1.0) / 255.0;
}

// What is added to a pixel.
struct Around {
    scattered: vec3f,       // light
    behind: vec3f,          // the background as it is shown, linear
    vignette: f32,          // factor
    dither: f32,
}

// The light of what was drawn, with what the lens scatters over `room` of the sample.
fn with_glow(light: vec3f, around: Around, room: f32) -> vec3f {
//% if GLOW
    return mix(light, around.scattered * room, post.glow);
//% else
    return light;
//% endif
}

// `light`, of which `covered` hides what is behind and `open` does not, in linear light before the vignette.
fn filmed(light: vec3f, covered: f32, open: f32, around: Around) -> vec3f {
//% if LINEAR
    return bounded(light * post.exposure) + around.behind * open;
//% else
    return tinted(tone_map(bounded(light * post.exposure)), covered) + around.behind * open;
//% endif
}

//% if SPLIT
// What one sample shows: finished, in linear light, with how much of it is covered; if TRANSPARENT, encoded and multiplied by
// its alpha, with that. `displayed` is its display-referred color.
fn shown_sample(drawn: vec4f, displayed: vec4f, around: Around) -> vec4f {
    let room = 1.0 - clamp(displayed.a, 0.0, 1.0);
    let covered = clamp(drawn.a, 0.0, room);
    let light = with_glow(drawn.rgb, around, room);
//% if LINEAR
    let shares = displayed.rgb / max(displayed.a, 1e-6);
    let display_light = srgb_to_linear(clamp(shares, vec3f(0.0), vec3f(1.0))) * displayed.a;
    return vec4f(filmed(light, covered, room - covered, around) + display_light, covered + displayed.a);
//% else
    // Light that covers nothing is visible also where all is covered.
    let free = 1.0 - select(0.0, covered / room, room > 1e-3);
    let brightest = max(light.r, max(light.g, light.b)) * post.exposure;
    let fraction = max(max(room, free * min(brightest, 1.0)), 1e-4);
    let noise = select(around.dither, 0.0, displayed.a > 0.0);
    let shown = filmed(light / fraction, covered / fraction, (room - covered) / fraction, around) * around.vignette;
//% if TRANSPARENT
    let straight = with_alpha(shown, covered / fraction);
    return vec4f((straight.rgb + noise) * straight.a * fraction + displayed.rgb, straight.a * fraction + displayed.a);
//% else
    let encoded = (linear_to_srgb(min(shown, vec3f(1.0))) + noise) * fraction + displayed.rgb;
    return vec4f(srgb_to_linear(clamp(encoded, vec3f(0.0), vec3f(1.0))), covered + displayed.a);
//% endif
//% endif
}
//% else
// What one sample shows, in linear light before the vignette, and how much of it is covered.
fn shown_sample(drawn: vec4f, around: Around) -> vec4f {
    let covered = clamp(drawn.a, 0.0, 1.0);
    return vec4f(filmed(with_glow(drawn.rgb, around, 1.0), covered, 1.0 - covered, around), covered);
}
//% endif

//% if EDGES
//% include "common/depth_edges.wgsl"
//% endif

// A color, or its position between what black and white become.
fn tinted(shown: vec3f, covered: f32) -> vec3f {
    let light = clamp(luminance(shown), 0.0, 1.0);
    let shade = post.tint_dark * covered + (post.tint_light - post.tint_dark) * light;
    return mix(shown, shade, post.tint);
}

//% if TRANSPARENT
// What is shown, in linear light, as a color and an alpha for programs that blend encoded colors, as most do. What
// covers is never brighter than its coverage; more is light that covers nothing, such as a glow. It adds the alpha with
// which it is the same on black.
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
//% if ENLARGED and not SPLIT
// What is shown between the four nearest pixels that were drawn, and how much of it is covered. One film for all of their
// samples, the brighter ones counting less, so that bright outlines stay smooth: this is drawn because time is short.
fn tone_mapped(uv: vec2f, around: Around) -> vec4f {
    let size = vec2f(textureDimensions(light));
    let upper = floor(uv * size - 0.5);
    let part = uv * size - 0.5 - upper;
    var sum = vec4f(0.0);
    var weights = 0.0;
    for (var i = 0; i < 4; i++) {
        let offset = vec2i(i & 1, i >> 1u);
        let near = select(1.0 - part, part, offset == vec2i(1));
        let pixel = clamp(vec2i(upper) + offset, vec2i(0), vec2i(size) - 1);
        for (var which = 0; which < SAMPLES; which++) {
            let drawn = textureLoad(light, pixel, which);
            let weight = near.x * near.y / (1.0 + post.exposure * max(drawn.r, max(drawn.g, drawn.b)));
            sum += weight * drawn;
            weights += weight;
        }
    }
    sum /= max(weights, 1e-9);
    return shown_sample(sum, around);
}
//% else
//% if BY_SAMPLE
// Whether the samples of a pixel differ.
fn on_outline(pixel: vec2i) -> bool {
    return differ(light, pixel)${" || differ(display, pixel)" if SPLIT else ""};
}

fn differ(texture: texture_multisampled_2d<f32>, pixel: vec2i) -> bool {
    let first = textureLoad(texture, pixel, 0);
    return any(textureLoad(texture, pixel, 1) != first) || any(textureLoad(texture, pixel, 2) != first)
        || any(textureLoad(texture, pixel, 3) != first);
}

//% endif
fn shown_at(pixel: vec2i, which: i32, around: Around) -> vec4f {
    return shown_sample(textureLoad(light, pixel, which)${", textureLoad(display, pixel, which)" if SPLIT else ""}, around);
}

// What a pixel that was drawn shows: the mean of its samples.
fn tone_mapped_at(pixel: vec2i, around: Around) -> vec4f {
    var shown = shown_at(pixel, 0, around);
//% if BY_SAMPLE
    // A loop without turns is skipped even by adapters that run both sides of every branch.
    let samples = select(1, SAMPLES, on_outline(pixel));
    for (var i = 1; i < samples; i++) { shown += shown_at(pixel, i, around); }
    shown /= f32(samples);
//% endif
    return shown;
}

// The same of a pixel that is shown.
fn tone_mapped(uv: vec2f, around: Around) -> vec4f {
    let middle = uv * vec2f(textureDimensions(light));    // the image may be anywhere in the target
//% if ENLARGED
    let upper = floor(middle - 0.5);
    let part = middle - 0.5 - upper;
    let last = vec2i(textureDimensions(light)) - 1;
    var sum = vec4f(0.0);
    for (var i = 0; i < 4; i++) {
        let offset = vec2i(i & 1, i >> 1u);
        let near = select(1.0 - part, part, offset == vec2i(1));
        sum += near.x * near.y * tone_mapped_at(clamp(vec2i(upper) + offset, vec2i(0), last), around);
    }
    return sum;
//% elif FINE > 1
    let upper = vec2i(round(middle - ${0.5 * FINE}));
    var sum = vec4f(0.0);
    for (var i = 0; i < ${FINE * FINE}; i++) {
        sum += tone_mapped_at(upper + vec2i(i % ${FINE}, i / ${FINE}), around);
    }
    return sum / ${FINE * FINE}.0;
//% else
    return tone_mapped_at(vec2i(middle), around);
//% endif
}
//% endif

fn around_at(in: Screen) -> Around {
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
    return Around(scattered, behind, vignette(in.uv), dither(floor(in.pixel.xy)));
}

// Colors of the screen, of what `tone_mapped` returns.
fn encoded(shown: vec4f, around: Around) -> vec4f {
//% if LINEAR
    return vec4f(shown.rgb, ${"shown.a" if TRANSPARENT else "1.0"});
//% elif SPLIT and TRANSPARENT
    return vec4f(shown.rgb / max(shown.a, 1e-6), shown.a);
//% elif SPLIT
    return vec4f(linear_to_srgb(shown.rgb), 1.0);
//% elif TRANSPARENT
    let straight = with_alpha(shown.rgb * around.vignette, shown.a);
    return vec4f(straight.rgb + around.dither, straight.a);
//% else
    return vec4f(linear_to_srgb(min(shown.rgb * around.vignette, vec3f(1.0))) + around.dither, 1.0);
//% endif
}

fn post_processed(in: Screen) -> vec4f {
    let around = around_at(in);
    var shown = tone_mapped(in.uv, around);
//% if EDGES
    let edge = edge_at(vec2i(in.uv * vec2f(textureDimensions(light))));
    let line = ${"linear_to_srgb(post.edge_color)" if SPLIT and TRANSPARENT and not LINEAR else "post.edge_color"};
    shown = mix(shown, vec4f(line, 1.0), edge);
//% endif
    let out = encoded(shown, around);
//% if ENCODED_BY_TARGET
    return vec4f(srgb_to_linear(out.rgb), out.a);
//% else
    return out;
//% endif
}

@fragment
fn post_process_fragment(in: Screen) -> @location(0) vec4f {
    return post_processed(in);
}

@group(1) @binding(0) var computed: texture_storage_2d<rgba16float, write>;

// The same, for draw/post_process_cover.wgsl.
@compute @workgroup_size(8, 8)
fn post_process_pixels(@builtin(global_invocation_id) id: vec3u) {
    let size = textureDimensions(computed);
    if any(id.xy >= size) { return; }
    let middle = vec2f(id.xy) + 0.5;
    textureStore(computed, id.xy, post_processed(Screen(vec4f(middle, 0.0, 1.0), middle / vec2f(size))));
}

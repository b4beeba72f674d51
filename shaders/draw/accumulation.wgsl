// The mean of the samples of an image, as linear light: one more sample is added to the mean of those before.
// In: the image, each of its samples, and the mean. Out: the new mean. If SPLIT, the same of display-referred colors.
//% include "common/fullscreen.wgsl"

struct Share {          // mirrored by renderer/accumulation.py
    of_sample: f32,     // 1 / number of samples, with this one
    pad0: f32,
    pad1: f32,
    pad2: f32,
}

//% set image = "texture_multisampled_2d<f32>" if BY_SAMPLE else "texture_2d<f32>"
@group(0) @binding(0) var<uniform> share: Share;
@group(0) @binding(1) var light: ${image};
//% if SPLIT
@group(0) @binding(2) var display: ${image};
@group(0) @binding(3) var light_before: texture_2d<f32>;
@group(0) @binding(4) var display_before: texture_2d<f32>;
//% else
@group(0) @binding(2) var light_before: texture_2d<f32>;
//% endif

struct Means {
    @location(0) light: vec4f,
//% if SPLIT
    @location(1) display: vec4f,
//% endif
}

// The mean of the samples of a pixel.
fn resolved(image: ${image}, pixel: vec2i) -> vec4f {
//% if BY_SAMPLE
    return 0.25 * (textureLoad(image, pixel, 0) + textureLoad(image, pixel, 1) + textureLoad(image, pixel, 2)
        + textureLoad(image, pixel, 3));
//% else
    return textureLoad(image, pixel, 0);
//% endif
}

// The first sample replaces whatever was there, also what is not finite.
fn added(before: vec4f, one: vec4f) -> vec4f {
    return select(mix(before, one, share.of_sample), one, share.of_sample >= 1.0);
}

@fragment
fn add_fragment(in: Screen) -> Means {
    let pixel = vec2i(in.pixel.xy);
    var means: Means;
    means.light = added(textureLoad(light_before, pixel, 0), resolved(light, pixel));
//% if SPLIT
    means.display = added(textureLoad(display_before, pixel, 0), resolved(display, pixel));
//% endif
    return means;
}

@fragment
fn copy_fragment(in: Screen) -> @location(0) vec4f {
    return textureLoad(light_before, vec2i(in.pixel.xy), 0);
}

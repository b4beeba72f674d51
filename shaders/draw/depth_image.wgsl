// The depth of opaque objects as an image of one value a pixel: the nearest sample of each pixel.
// In: the depth of an image, reversed: 1 at the near plane, 0 where nothing is. Out: the same, a float.
// FINE pixels were drawn for each that is shown, along each side, or fewer than are shown.
//% include "common/fullscreen.wgsl"

@group(0) @binding(0) var depths: texture_depth_multisampled_2d;

const SAMPLES = 4;

fn nearest_at(pixel: vec2i) -> f32 {
    var nearest = 0.0;
    for (var i = 0; i < SAMPLES; i++) { nearest = max(nearest, textureLoad(depths, pixel, i)); }
    return nearest;
}

@fragment
fn depth_image_fragment(in: Screen) -> @location(0) f32 {
    let upper = vec2i(in.uv * vec2f(textureDimensions(depths)) - ${0.5 * (FINE - 1)});
    var nearest = 0.0;
    for (var i = 0; i < ${FINE * FINE}; i++) {
        nearest = max(nearest, nearest_at(upper + vec2i(i % ${FINE}, i / ${FINE})));
    }
    return nearest;
}

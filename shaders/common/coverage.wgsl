// Which samples of a pixel a fragment covers. Sample positions are the standard ones of Vulkan, Direct3D and
// Metal for 4 samples, relative to the middle of the pixel, y down.

const SAMPLES = array<vec2f, 4>(
    vec2f(-0.125, -0.375), vec2f(0.375, -0.125), vec2f(-0.375, 0.125), vec2f(0.125, 0.375),
);

// Samples with distance < 0, for a distance known in the middle of the pixel with its gradient per pixel.
fn covered_samples(distance: f32, gradient: vec2f) -> u32 {
    var mask = 0u;
    for (var i = 0u; i < 4u; i++) {
        mask |= select(0u, 1u << i, distance + dot(gradient, SAMPLES[i]) < 0.0);
    }
    return mask;
}

// Samples that the clip planes do not cut off. Needs a uniform `view` of common/view.wgsl.
fn unclipped_samples(eye: vec3f) -> u32 {
    let beyond = beyond_clips(eye);
    return covered_samples(beyond, vec2f(dpdx(beyond), dpdy(beyond)));
}

// As many samples as `alpha` asks for, on average over neighboring pixels: transparency that needs no sorting.
fn alpha_samples(alpha: f32, pixel: vec2f) -> u32 {
    let noise = fract(52.9829189 * fract(dot(floor(pixel), vec2f(0.06711056, 0.00583715))));
    let count = u32(clamp(alpha * 4.0 + noise, 0.0, 4.0));
    let turn = u32(noise * 4.0);
    let mask = (1u << count) - 1u;
    return ((mask << turn) | (mask >> (4u - turn))) & 15u;
}

// Whether what is so transparent leaves a hole where there is but one sample: of the shadow map, which is looked at with a
// blur, some of its pixels; of what the eye sees, which has a distance, all of them. Needs `view` too.
fn is_hole(alpha: f32, pixel: vec2f) -> bool {
    let noise = fract(52.9829189 * fract(dot(floor(pixel), vec2f(0.06711056, 0.00583715))));
    return alpha < 1.0 && (view.distance > 0.0 || alpha <= noise);
}

// The fraction of samples, for adapters that make the mask of alpha themselves.
fn coverage(samples: u32) -> f32 {
    return f32(countOneBits(samples)) / 4.0;
}

// The surface of a liquid over what is opaque, with its depth. Its outline, which is known in whole pixels only, is that of
// their coverage smoothed by a quadratic B-spline, for each sample.
// In: distances along the direction of view, 0 where there is no liquid, and its light. Out: the same color, and depth.
//% include "common/view.wgsl"
//% include "common/liquid.wgsl"
//% include "common/coverage.wgsl"
//% include "common/fullscreen.wgsl"

@group(0) @binding(2) var distances: texture_2d<f32>;
@group(0) @binding(3) var colors: texture_2d<f32>;

struct Pixel {
    @location(0) color: vec4f,
    @location(1) display: vec4f,     // the same: common/output.wgsl
    @builtin(frag_depth) depth: f32,
    @builtin(sample_mask) samples: u32,
}

// The weights of the pixels before, at and after a position that is `x` pixels from the middle of one.
fn spline(x: f32) -> vec3f {
    let before = 0.5 - x;
    let after = 0.5 + x;
    return vec3f(0.5 * before * before, 0.75 - x * x, 0.5 * after * after);
}

@fragment
fn cover_fragment(in: Screen) -> Pixel {
    let middle = vec2i(in.pixel.xy);
    let bounds = vec2i(textureDimensions(distances)) - 1;
    var covered = vec4f(0.0);       // of each sample
    var nearest = middle;           // the pixel with liquid of the most weight
    var most = 0.0;
    for (var y = -1; y <= 1; y++) {
        for (var x = -1; x <= 1; x++) {
            let pixel = clamp(middle + vec2i(x, y), vec2i(0), bounds);
            if textureLoad(distances, pixel, 0).x <= 0.0 { continue; }
            for (var i = 0; i < 4; i++) { covered[i] += spline(SAMPLES[i].x)[x + 1] * spline(SAMPLES[i].y)[y + 1]; }
            let weight = 3.0 - f32(x * x + y * y);
            if weight > most {
                most = weight;
                nearest = pixel;
            }
        }
    }
    var samples = 0u;
    for (var i = 0u; i < 4u; i++) { samples |= select(0u, 1u << i, covered[i] >= 0.5); }
    if samples == 0u { discard; }
    let color = textureLoad(colors, nearest, 0);
    let eye = vec3f(0.0, 0.0, -textureLoad(distances, nearest, 0).x);
    return Pixel(color, color, depth_at(eye), samples);
}

// Where the surface of a liquid covers which samples. Its outline, which is known in whole pixels only, is that of their coverage
// smoothed by a quadratic B-spline, for each sample; that of a body of liquid, which is a row of spheres, is smoothed over the size
// of a particle.
// In: distances along the direction of view, 0 where there is no liquid; distances and sizes as they were drawn, and how round the
// surface is. Out: as common/liquid_outline.wgsl reads it.
//% include "common/view.wgsl"
//% include "common/liquid.wgsl"
//% include "common/coverage.wgsl"
//% include "common/liquid_outline.wgsl"

@group(0) @binding(2) var distances: texture_2d<f32>;
@group(0) @binding(3) var fronts: texture_2d<f32>;
@group(0) @binding(4) var behinds: texture_2d<f32>;

const OUTLINE = 1.5;        // sizes over which an outline is smoothed
const SEARCH = 5;            // pixels away to where an outline is looked for
const TAPS = 7.0;           // to either side, at most

// What is found around a pixel.
struct Around {
    covered: vec4f,         // the covered fraction at each sample
    nearest: vec2i,         // the pixel with liquid of the most weight
}

// The weights of the pixels before, at and after a position that is `x` pixels from the middle of one.
fn spline(x: f32) -> vec3f {
    let before = 0.5 - x;
    let after = 0.5 + x;
    return vec3f(0.5 * before * before, 0.75 - x * x, 0.5 * after * after);
}

fn is_liquid(pixel: vec2i) -> bool {
    return textureLoad(distances, pixel, 0).x > 0.0;
}

// Pixels over which the outline near here is smoothed, 0 if there is none; drops stay round.
fn reach_of_outline(middle: vec2i, last: vec2i) -> f32 {
    var reach = 0.0;
    var found = 0;
    for (var i = 0; i < 9; i++) {
        let pixel = clamp(middle + SEARCH * vec2i(i % 3 - 1, i / 3 - 1), vec2i(0), last);
        let distance = textureLoad(distances, pixel, 0).x;
        if distance <= 0.0 { continue; }
        found++;
        let size = textureLoad(fronts, pixel, 0).y / pixel_at(vec3f(0.0, 0.0, -distance));
        reach = max(reach, OUTLINE * size * (1.0 - textureLoad(behinds, pixel, 0).w));
    }
    return select(0.0, reach, found < 9);
}

fn smoothed_over_pixels(middle: vec2i, last: vec2i) -> Around {
    var found = Around(vec4f(0.0), middle);
    var most = 0.0;
    for (var y = -1; y <= 1; y++) {
        for (var x = -1; x <= 1; x++) {
            let pixel = clamp(middle + vec2i(x, y), vec2i(0), last);
            if !is_liquid(pixel) { continue; }
            for (var i = 0; i < 4; i++) { found.covered[i] += spline(SAMPLES[i].x)[x + 1] * spline(SAMPLES[i].y)[y + 1]; }
            let weight = 3.0 - f32(x * x + y * y);
            if weight > most {
                most = weight;
                found.nearest = pixel;
            }
        }
    }
    return found;
}

fn smoothed_over(reach: f32, middle: vec2i, last: vec2i) -> Around {
    var found = Around(vec4f(0.0), middle);
    var whole = vec4f(1e-6);
    var closest = 1e9;
    let stride = ceil(reach / TAPS);
    let taps = i32(reach / stride);
    // The weight at a sample is 1 - away² / reach², of all four at once; they are equally far from the middle.
    let scale = 1.0 / (reach * reach);
    let x = 2.0 * scale * vec4f(SAMPLES[0].x, SAMPLES[1].x, SAMPLES[2].x, SAMPLES[3].x);
    let y = 2.0 * scale * vec4f(SAMPLES[0].y, SAMPLES[1].y, SAMPLES[2].y, SAMPLES[3].y);
    let most = 1.0 - scale * dot(SAMPLES[0], SAMPLES[0]);
    for (var row = -taps; row <= taps; row++) {
        for (var column = -taps; column <= taps; column++) {
            let offset = vec2f(vec2i(column, row)) * stride;
            let away = dot(offset, offset);
            let weight = max(most - scale * away + offset.x * x + offset.y * y, vec4f(0.0));
            let pixel = clamp(middle + vec2i(offset), vec2i(0), last);
            let is_there = is_liquid(pixel);
            whole += weight;
            found.covered += select(vec4f(0.0), weight, is_there);
            if is_there && away < closest {
                closest = away;
                found.nearest = pixel;
            }
        }
    }
    found.covered /= whole;
    return found;
}

@group(1) @binding(0) var outline: texture_storage_2d<rg32float, write>;

fn outline_at(middle: vec2i) -> vec2f {
    let last = vec2i(textureDimensions(distances)) - 1;
    let reach = reach_of_outline(middle, last);
    var found: Around;
    if reach >= 1.5 { found = smoothed_over(reach, middle, last); } else { found = smoothed_over_pixels(middle, last); }
    var samples = 0u;
    for (var i = 0u; i < 4u; i++) { samples |= select(0u, 1u << i, found.covered[i] >= 0.5); }
    return packed_outline(textureLoad(distances, found.nearest, 0).x, samples, found.nearest - middle);
}

@compute @workgroup_size(8, 8)
fn outline_pixels(@builtin(global_invocation_id) id: vec3u) {
    if any(id.xy >= textureDimensions(distances)) { return; }
    textureStore(outline, id.xy, vec4f(outline_at(vec2i(id.xy)), 0.0, 0.0));
}

// One pass of the filter that makes a surface of the spheres of draw/liquid.wgsl, along one axis of the image: distances near
// that of a pixel are averaged, farther ones are moved closer, and nearer ones have no weight (Truong and Yuksel 2018, "A
// Narrow-Range Filter for Screen-Space Fluid Rendering", PACM CGIT 1). The mean is that of a line through them (Cleveland 1979,
// "Robust Locally Weighted Regression", section 2): where there is nothing on one side, a slope stays one up to the outline.
// In: distances along the direction of view, 0 where there is no liquid; those and sizes as they were drawn; STRIDE, pixels
// from one tap to the next at most. Where a radius takes more than TAPS pixels, taps skip some, which
// leaves a pattern of as many pixels; passes with STRIDE = 1 after that take it away (à-trous: Holschneider et al. 1989).
// Without BEHIND also those of the surface behind what is thin, as it was drawn and after this pass: what is the same there is
// not filtered again, and drops before it leave no trace.
// Out: distances.
//% include "common/view.wgsl"
//% include "common/liquid.wgsl"

@group(0) @binding(2) var fronts: texture_2d<f32>;
@group(0) @binding(3) var distances: texture_2d<f32>;
//% if not BEHIND
@group(0) @binding(4) var behinds: texture_2d<f32>;     // and how thin and round the foremost surface is
@group(0) @binding(5) var filtered: texture_2d<f32>;
//% endif

const TAPS = ${TAPS}.0;     // to either side, at most
const STRIDE = ${STRIDE}.0;
const RANGE = 10.0;     // sizes by which distances may differ and still are of the same surface
const FARTHER = 1.0;    // sizes by which what is farther counts as farther
const OUTLINE = 1.0;    // sizes from an outline up to which one side is enough
const LEAST_SPREAD = 1e-4;  // of positions, squared: of fewer there is no line

@group(1) @binding(0) var filtered_distances: texture_storage_2d<r32float, write>;

fn filtered_at(pixel: vec2i) -> f32 {
    let bounds = vec2i(textureDimensions(distances));
    let here = textureLoad(distances, pixel, 0).x;
    if here <= 0.0 { return 0.0; }
    let size = textureLoad(fronts, pixel, 0).y;
    let width = pixel_at(vec3f(0.0, 0.0, -here));
    var reach = style.smoothing * size / width;
    //% if not BEHIND
    let behind = textureLoad(behinds, pixel, 0);
    if behind.x == textureLoad(fronts, pixel, 0).x { return textureLoad(filtered, pixel, 0).x; }
    reach *= 1.0 - behind.w;    // a drop stays round
    //% endif
    let stride = clamp(ceil(reach / TAPS), 1.0, STRIDE);
    let taps = min(floor(reach / stride), TAPS);
    var low = RANGE * size;     // how far behind, and before this pixel, the surface reaches; it grows with what is found
    var high = RANGE * size;
    var weights = vec3f(1.0, 0.0, 0.0);     // sums of the weights, and of them times the position and its square
    var one_sided = -1.0;                   // the weight of what is there on one side only, from the first such on
    var sums = vec2f(0.0);                  // of distances from here, and of them times the position
    for (var i = 1.0; i <= taps; i += 1.0) {
        let along = i / taps;
        let offset = i32(i * stride) * vec2i(${AXIS});
        let sides = array<vec2i, 2>(pixel - offset, pixel + offset);
        if any(sides[0] < vec2i(0)) || any(sides[1] >= bounds) { break; }
        let found = vec2f(textureLoad(distances, sides[0], 0).x, textureLoad(distances, sides[1], 0).x);
        let away = found - here;
        let is_there = (found > vec2f(0.0)) & (away >= vec2f(-high));
        let within = is_there & (away <= vec2f(low));
        let depths = select(vec2f(0.0), away, within);
        low = max(low, max(depths.x, depths.y) + RANGE * size);
        high = max(high, RANGE * size - min(depths.x, depths.y));
        // Spheres at an outline fall away from the line: what has no counterpart is left out where others are enough.
        if one_sided < 0.0 && !all(is_there) { one_sided = clamp(2.0 - i * stride * width / (OUTLINE * size), 0.0, 1.0); }
        let weight = exp(-4.5 * along * along) * select(select(vec2f(0.0), vec2f(one_sided), is_there), vec2f(1.0), all(is_there));
        let counted = weight * select(vec2f(FARTHER * size), away, within);
        weights += vec3f(weight.x + weight.y, along * (weight.y - weight.x), along * along * (weight.x + weight.y));
        sums += vec2f(counted.x + counted.y, along * (counted.y - counted.x));
    }
    let spread = weights.x * weights.z - weights.y * weights.y;
    let line = (weights.z * sums.x - weights.y * sums.y) / max(spread, 1e-20);
    return here + select(0.0, line, spread > LEAST_SPREAD);
}

@compute @workgroup_size(8, 8)
fn filter_pixels(@builtin(global_invocation_id) id: vec3u) {
    if any(id.xy >= textureDimensions(distances)) { return; }
    textureStore(filtered_distances, id.xy, vec4f(filtered_at(vec2i(id.xy)), 0.0, 0.0, 0.0));
}

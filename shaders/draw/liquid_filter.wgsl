// One pass of the filter that makes a surface of the spheres of draw/liquid.wgsl, along one axis of the image: distances near
// that of a pixel are averaged, farther ones are moved closer, and nearer ones have no weight (Truong and Yuksel 2018, "A
// Narrow-Range Filter for Screen-Space Fluid Rendering", PACM CGIT 1).
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

@group(1) @binding(0) var filtered_distances: texture_storage_2d<r32float, write>;

fn filtered_at(pixel: vec2i) -> f32 {
    let bounds = vec2i(textureDimensions(distances));
    let here = textureLoad(distances, pixel, 0).x;
    if here <= 0.0 { return 0.0; }
    let size = textureLoad(fronts, pixel, 0).y;
    var reach = style.smoothing * size / pixel_at(vec3f(0.0, 0.0, -here));
    //% if not BEHIND
    let behind = textureLoad(behinds, pixel, 0);
    if behind.x == textureLoad(fronts, pixel, 0).x { return textureLoad(filtered, pixel, 0).x; }
    reach *= 1.0 - behind.w;    // a drop stays round
    //% endif
    let stride = clamp(ceil(reach / TAPS), 1.0, STRIDE);
    let taps = min(floor(reach / stride), TAPS);
    var low = RANGE * size;     // how far behind, and before this pixel, the surface reaches; it grows with what is found
    var high = RANGE * size;
    var sum = here;
    var weights = 1.0;
    for (var i = 1.0; i <= taps; i += 1.0) {
        let along = i / taps;
        let offset = i32(i * stride) * vec2i(${AXIS});
        let sides = array<vec2i, 2>(pixel - offset, pixel + offset);
        if any(sides[0] < vec2i(0)) || any(sides[1] >= bounds) { break; }
        let found = vec2f(textureLoad(distances, sides[0], 0).x, textureLoad(distances, sides[1], 0).x);
        let away = found - here;
        // Both sides, so that a slope stays one: also beyond an outline, whose steps would show as lines across it.
        if any(found <= vec2f(0.0)) || any(away < vec2f(-high)) { continue; }
        let within = away <= vec2f(low);
        low = max(low, max(select(0.0, away.x, within.x), select(0.0, away.y, within.y)) + RANGE * size);
        high = max(high, RANGE * size - min(away.x, away.y));
        let counted = select(vec2f(FARTHER * size), away, within);
        let weight = exp(-4.5 * along * along);
        sum += weight * (2.0 * here + counted.x + counted.y);
        weights += 2.0 * weight;
    }
    return sum / weights;
}

@compute @workgroup_size(8, 8)
fn filter_pixels(@builtin(global_invocation_id) id: vec3u) {
    if any(id.xy >= textureDimensions(distances)) { return; }
    textureStore(filtered_distances, id.xy, vec4f(filtered_at(vec2i(id.xy)), 0.0, 0.0, 0.0));
}

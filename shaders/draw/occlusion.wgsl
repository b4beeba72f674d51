// Ambient occlusion in screen space, and depth, for every other pixel of an image.
// In: the depth of solid things. Out: the visibility of the sky, 0 to 1, and `relative_depth`.
// In some planes through the line of sight the horizon on either side is searched for; the light between the two has a
// closed form (Jimenez, Wu, Pesce and Jarabo 2016, "Practical Realtime Strategies for Accurate Indirect Occlusion").
//% include "common/view.wgsl"
//% include "common/tiles.wgsl"
//% include "common/columns.wgsl"

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var depths: texture_depth_2d;
@group(0) @binding(2) var found: texture_2d<f32>;
@group(0) @binding(3) var visibility: texture_storage_2d<rgba16float, write>;

const PLANES = ${PLANES}u;
const STEPS = ${STEPS}u;    // to either side
const PI = 3.14159265;
const WIDEST = 160.0;       // pixels that are searched
const NOWHERE = 60.0;       // `relative_depth` on the background
const TILE = 4u;            // pixels a side, each with other directions; `smooth_pixels` takes their mean

// Outside of the image is background.
fn depth_near(pixel: vec2i) -> f32 {
    let last = vec2i(textureDimensions(depths)) - 1;
    let inside = all(pixel >= vec2i(0)) && all(pixel <= last);
    return select(0.0, textureLoad(depths, clamp(pixel, vec2i(0), last), 0), inside);
}

fn eye_near(pixel: vec2i) -> vec3f {
    return unprojected(vec2f(pixel) + 0.5, vec2f(textureDimensions(depths)), max(depth_near(pixel), 1e-12));
}

// The step to the next pixel on the side on which the surface continues.
fn smoother(here: vec3f, before: vec3f, after: vec3f) -> vec3f {
    return select(here - before, after - here, abs(after.z - here.z) < abs(before.z - here.z));
}

// The cosine of the angle between the line of sight and the horizon on one side.
fn horizon(
    eye: vec3f, normal: vec3f, to_eye: vec3f, start: vec2f, step: vec2f, jitter: f32, lowest: f32,
) -> f32 {
    var highest = lowest;
    for (var i = 0u; i < STEPS; i++) {
        let part = (f32(i) + jitter) / f32(STEPS);
        let pixel = start + step * max(part * part, 1.5 / max(length(step), 1e-6));
        // `floor`: a conversion alone would take what is just above the image for row 0, where it may meet the pixel itself
        let offset = eye_near(vec2i(floor(pixel))) - eye;
        let far = length(offset);
        let cosine = dot(offset, to_eye) / max(far, 1e-20);
        // The weight falls off with distance; what is in the plane of the surface, up to rounding, has none.
        let nearby = clamp(2.0 - 2.0 * far / view.occlusion_radius, 0.0, 1.0);
        let counts = select(0.0, nearby, dot(offset, normal) > 0.03 * far);
        highest = max(highest, mix(lowest, cosine, counts));
    }
    return highest;
}

fn searched(at: vec2u) -> vec2f {
    let pixel = vec2i(at) * 2;
    let eye = eye_near(pixel);
    let to_eye = -sight_to(eye);
    let right = smoother(eye, eye_near(pixel - vec2i(1, 0)), eye_near(pixel + vec2i(1, 0)));
    let down = smoother(eye, eye_near(pixel - vec2i(0, 1)), eye_near(pixel + vec2i(0, 1)));
    let normal = normalize(cross(down, right));
    let reach = min(view.occlusion_radius / pixel_at(eye), WIDEST);
    let tile = at % TILE;
    let turn = (f32((tile.x + tile.y) % TILE * TILE + tile.x) + 0.5) / f32(TILE * TILE);
    let jitter = (f32((tile.y + TILE - tile.x) % TILE) + 0.5) / f32(TILE);
    let start = vec2f(pixel) + 0.5;
    var visible = 0.0;
    var most = 0.0;         // what it would be without occluders
    for (var i = 0u; i < PLANES; i++) {
        let angle = PI * (f32(i) + turn) / f32(PLANES);
        let direction = vec2f(cos(angle), sin(angle));
        let flat_direction = vec3f(direction.x, direction.y, 0.0);
        let tangent = normalize(flat_direction - to_eye * dot(flat_direction, to_eye));
        let across = cross(tangent, to_eye);
        let in_plane = normal - across * dot(normal, across);
        let flat_length = max(length(in_plane), 1e-6);
        let lean = sign(dot(in_plane, tangent)) * acos(clamp(dot(in_plane, to_eye) / flat_length, -1.0, 1.0));
        let step = direction * vec2f(1.0, -1.0) * reach;
        let above = horizon(eye, normal, to_eye, start, step, jitter, cos(lean + 0.5 * PI));
        let below = horizon(eye, normal, to_eye, start, -step, jitter, cos(lean - 0.5 * PI));
        let first = lean + min(acos(clamp(above, -1.0, 1.0)) - lean, 0.5 * PI);
        let second = lean + max(-acos(clamp(below, -1.0, 1.0)) - lean, -0.5 * PI);
        visible += flat_length * (arc(first, lean) + arc(second, lean));
        most += flat_length * (arc(lean + 0.5 * PI, lean) + arc(lean - 0.5 * PI, lean));
    }
    return vec2f(clamp(visible / max(most, 1e-6), 0.0, 1.0), relative_depth(eye));
}

// The light between the line of sight and an angle, weighed by the cosine to a normal that leans by `lean`.
fn arc(angle: f32, lean: f32) -> f32 {
    return 0.25 * (-cos(2.0 * angle - lean) + cos(lean) + 2.0 * angle * sin(lean));
}

fn found_at(pixel: vec2i) -> vec2f {
    let last = vec2i(textureDimensions(found)) - 1;
    return textureLoad(found, clamp(pixel, vec2i(0), last), 0).xy;
}

// By how much the depth changes to the next pixel of the same surface, which is inside the image.
fn slope_along(here: f32, pixel: vec2i, direction: vec2i) -> f32 {
    let last = vec2i(textureDimensions(found)) - 1;
    let before = select(here - found_at(pixel - direction).y, 1e30, any(pixel < direction));
    let after = select(found_at(pixel + direction).y - here, 1e30, any(pixel + direction > last));
    return select(before, after, abs(after) < abs(before));
}

// The mean of what is near and in the same plane. Weights fall off linearly to a tile's width, so that all pixels of a tile
// have the same weight in the sum, and no pattern is left.
fn smoothed(pixel: vec2i) -> vec2f {
    let here = found_at(pixel);
    let slope = vec2f(slope_along(here.y, pixel, vec2i(1, 0)), slope_along(here.y, pixel, vec2i(0, 1)));
    var sum = vec2f(0.0);
    for (var y = -3; y <= 3; y++) {
        for (var x = -3; x <= 3; x++) {
            let near = found_at(pixel + vec2i(x, y));
            let step = abs(near.y - here.y - dot(slope, vec2f(f32(x), f32(y))));
            let weight = f32((4 - abs(x)) * (4 - abs(y)));
            sum += vec2f(near.x, 1.0) * weight * max(1.0 - 25.0 * step, 0.0);
        }
    }
    return vec2f(sum.x / max(sum.y, 1e-6), here.y);
}

// Whether there is anything at a pixel; where nothing is, that is written.
fn is_solid_or_none(at: vec2u) -> bool {
    let is_solid = depth_near(vec2i(at) * 2) > 0.0;
    if !is_solid { textureStore(visibility, at, vec4f(1.0, NOWHERE, 0.0, 0.0)); }
    return is_solid;
}

@compute @workgroup_size(8, 8)
fn search_pixels(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    var at = top_of_column(id, groups, 8u);
    let size = textureDimensions(visibility);
    if any(at >= size) { return; }
    let bottom = min(at.y + COLUMN_PIXELS, size.y);
    var is_solid = is_solid_or_none(at);
    loop {
        if is_solid { textureStore(visibility, at, vec4f(searched(at), 0.0, 0.0)); }
        is_solid = false;
        while !is_solid && at.y + 1u < bottom {
            at.y++;
            is_solid = is_solid_or_none(at);
        }
        if !is_solid { break; }
    }
}

@compute @workgroup_size(8, 8)
fn smooth_pixels(@builtin(global_invocation_id) id: vec3u) {
    if any(id.xy >= textureDimensions(visibility)) { return; }
    textureStore(visibility, id.xy, vec4f(smoothed(vec2i(id.xy)), 0.0, 0.0));
}

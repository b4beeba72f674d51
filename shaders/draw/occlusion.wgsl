// The share of the sky that each place sees past what lies near it, and how deep it lies, for every other pixel of a picture.
// In: how deep solid things lie. Out: that share and `deepness`.
// In some planes through the line of sight the highest thing on either side is looked for, and between the two the sky's
// light is known (Jimenez, Wu, Pesce and Jarabo 2016, "Practical Realtime Strategies for Accurate Indirect Occlusion").
//% include "common/fullscreen.wgsl"
//% include "common/view.wgsl"

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var depths: texture_depth_2d;
@group(0) @binding(2) var found: texture_2d<f32>;

const PLANES = ${PLANES}u;
const STEPS = ${STEPS}u;    // to either side
const PI = 3.14159265;
const WIDEST = 160.0;       // pixels that are looked over
const NOWHERE = 60.0;       // `deepness` where there is nothing
const TILE = 4u;            // pixels a side, in each of which other directions are searched; `smooth_fragment` takes their mean

// Beyond the picture there is nothing.
fn depth_near(place: vec2i) -> f32 {
    let last = vec2i(textureDimensions(depths)) - 1;
    let inside = all(place >= vec2i(0)) && all(place <= last);
    return select(0.0, textureLoad(depths, clamp(place, vec2i(0), last), 0), inside);
}

// Where in eye space a pixel of this depth lies.
fn eye_at(place: vec2f, depth: f32) -> vec3f {
    let along = view.eye_to_clip[2].zw;
    let at_eye = view.eye_to_clip[3].zw;
    let z = (at_eye.x - depth * at_eye.y) / (depth * along.y - along.x);
    let size = vec2f(textureDimensions(depths));
    let clip = (place / size * 2.0 - 1.0) * vec2f(1.0, -1.0);
    let wide = select(-z, 1.0, is_parallel());
    return vec3f(clip * wide / vec2f(view.eye_to_clip[0].x, view.eye_to_clip[1].y), z);
}

fn eye_near(place: vec2i) -> vec3f {
    return eye_at(vec2f(place) + 0.5, max(depth_near(place), 1e-12));
}

// The way to the next pixel on that side where the surface goes on.
fn smoother(here: vec3f, before: vec3f, after: vec3f) -> vec3f {
    return select(here - before, after - here, abs(after.z - here.z) < abs(before.z - here.z));
}

// The cosine of the angle above the line of sight of the highest thing on one side, and what is above it.
fn horizon(
    eye: vec3f, normal: vec3f, to_eye: vec3f, start: vec2f, step: vec2f, jitter: f32, lowest: f32,
) -> f32 {
    var highest = lowest;
    for (var i = 0u; i < STEPS; i++) {
        let part = (f32(i) + jitter) / f32(STEPS);
        let place = start + step * max(part * part, 1.5 / max(length(step), 1e-6));
        let way = eye_near(vec2i(place)) - eye;
        let far = length(way);
        let cosine = dot(way, to_eye) / max(far, 1e-20);
        // What is farther away counts less and less; what lies in the surface's own plane, but for rounding, does not.
        let nearby = clamp(2.0 - 2.0 * far / view.occlusion_radius, 0.0, 1.0);
        let counts = select(0.0, nearby, dot(way, normal) > 0.03 * far);
        highest = max(highest, mix(lowest, cosine, counts));
    }
    return highest;
}

@fragment
fn search_fragment(in: Screen) -> @location(0) vec4f {
    let place = vec2i(in.pixel.xy) * 2;
    let depth = depth_near(place);
    if depth <= 0.0 { return vec4f(1.0, NOWHERE, 0.0, 0.0); }
    let eye = eye_near(place);
    let to_eye = -sight_to(eye);
    let right = smoother(eye, eye_near(place - vec2i(1, 0)), eye_near(place + vec2i(1, 0)));
    let down = smoother(eye, eye_near(place - vec2i(0, 1)), eye_near(place + vec2i(0, 1)));
    let normal = normalize(cross(down, right));
    let reach = min(view.occlusion_radius / pixel_at(eye), WIDEST);
    let tile = vec2u(in.pixel.xy) % TILE;
    let turn = (f32((tile.x + tile.y) % TILE * TILE + tile.x) + 0.5) / f32(TILE * TILE);
    let jitter = (f32((tile.y + TILE - tile.x) % TILE) + 0.5) / f32(TILE);
    let start = vec2f(place) + 0.5;
    var open = 0.0;
    var most = 0.0;         // what it would be if nothing stood around
    for (var i = 0u; i < PLANES; i++) {
        let angle = PI * (f32(i) + turn) / f32(PLANES);
        let way = vec2f(cos(angle), sin(angle));
        let flat_way = vec3f(way.x, way.y, 0.0);
        let tangent = normalize(flat_way - to_eye * dot(flat_way, to_eye));
        let across = cross(tangent, to_eye);
        let in_plane = normal - across * dot(normal, across);
        let flat_length = max(length(in_plane), 1e-6);
        let lean = sign(dot(in_plane, tangent)) * acos(clamp(dot(in_plane, to_eye) / flat_length, -1.0, 1.0));
        let step = way * vec2f(1.0, -1.0) * reach;
        let above = horizon(eye, normal, to_eye, start, step, jitter, cos(lean + 0.5 * PI));
        let below = horizon(eye, normal, to_eye, start, -step, jitter, cos(lean - 0.5 * PI));
        let first = lean + min(acos(clamp(above, -1.0, 1.0)) - lean, 0.5 * PI);
        let second = lean + max(-acos(clamp(below, -1.0, 1.0)) - lean, -0.5 * PI);
        open += flat_length * (arc(first, lean) + arc(second, lean));
        most += flat_length * (arc(lean + 0.5 * PI, lean) + arc(lean - 0.5 * PI, lean));
    }
    return vec4f(clamp(open / max(most, 1e-6), 0.0, 1.0), deepness(eye), 0.0, 0.0);
}

// The light between the line of sight and an angle, weighed by the cosine to a normal that leans by `lean`.
fn arc(angle: f32, lean: f32) -> f32 {
    return 0.25 * (-cos(2.0 * angle - lean) + cos(lean) + 2.0 * angle * sin(lean));
}

fn found_at(place: vec2i) -> vec2f {
    let last = vec2i(textureDimensions(found)) - 1;
    return textureLoad(found, clamp(place, vec2i(0), last), 0).xy;
}

// By how much deepness changes to the next pixel of the same surface.
fn slope_along(here: f32, place: vec2i, way: vec2i) -> f32 {
    let before = here - found_at(place - way).y;
    let after = found_at(place + way).y - here;
    return select(before, after, abs(after) < abs(before));
}

// The mean of what is near and in the same plane. Weights fall off linearly to a tile's width, so that all places of a tile
// weigh the same in their sum, and no pattern of theirs is left.
@fragment
fn smooth_fragment(in: Screen) -> @location(0) vec4f {
    let place = vec2i(in.pixel.xy);
    let here = found_at(place);
    let slope = vec2f(slope_along(here.y, place, vec2i(1, 0)), slope_along(here.y, place, vec2i(0, 1)));
    var sum = vec2f(0.0);
    for (var y = -3; y <= 3; y++) {
        for (var x = -3; x <= 3; x++) {
            let beside = found_at(place + vec2i(x, y));
            let step = abs(beside.y - here.y - dot(slope, vec2f(f32(x), f32(y))));
            let share = f32((4 - abs(x)) * (4 - abs(y)));
            sum += vec2f(beside.x, 1.0) * share * max(1.0 - 25.0 * step, 0.0);
        }
    }
    return vec4f(sum.x / max(sum.y, 1e-6), here.y, 0.0, 0.0);
}

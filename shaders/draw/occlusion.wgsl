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
        let nearby = clamp(2.0 - 2.0 * far / view.occlusion_reach, 0.0, 1.0);
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
    let reach = min(view.occlusion_reach / pixel_at(eye), WIDEST);
    let noise = fract(52.9829189 * fract(dot(floor(in.pixel.xy), vec2f(0.06711056, 0.00583715))));
    let jitter = fract(noise * 7.31 + 0.37);
    let start = vec2f(place) + 0.5;
    var open = 0.0;
    var most = 0.0;         // what it would be if nothing stood around
    for (var i = 0u; i < PLANES; i++) {
        let angle = PI * (f32(i) + noise) / f32(PLANES);
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

// The mean of what is near and as deep: each place looked in other directions than its neighbours.
@fragment
fn smooth_fragment(in: Screen) -> @location(0) vec4f {
    let place = vec2i(in.pixel.xy);
    let size = vec2i(textureDimensions(found));
    let here = textureLoad(found, place, 0).xy;
    var sum = vec2f(0.0);
    for (var y = -2; y <= 2; y++) {
        for (var x = -2; x <= 2; x++) {
            let beside = textureLoad(found, clamp(place + vec2i(x, y), vec2i(0), size - 1), 0).xy;
            let weight = exp2(-0.2 * f32(x * x + y * y)) * max(1.0 - abs(beside.y - here.y) * 25.0, 0.0);
            sum += vec2f(beside.x, 1.0) * weight;
        }
    }
    return vec4f(sum.x / max(sum.y, 1e-6), here.y, 0.0, 0.0);
}

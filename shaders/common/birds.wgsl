// The triangles of a bird: a body, a tail, and wings of two parts that beat. Lengths are in halves of the wingspan: x to the right of
// the bird, y up, z backward. Needs nothing.
//% include "common/row_number.wgsl"

struct Wings {
    time: f32,              // seconds
    beat: f32,              // wing beats per second
    amplitude: f32,         // of the wings [rad]
    glide: f32,             // fraction of the time without beats
}

const TURN = 6.28318531;
const LAG = 0.9;            // by which the outer wing follows the inner one [rad]
const PER_GLIDE = 5.0;      // beats, in the mean, from one glide to the next

// Corners of triangles: the body and the tail, then the right wing, whose mirror image is the left one.
const BODY = array<vec3f, 27>(
    vec3f(0.0, 0.02, -0.56), vec3f(0.13, 0.0, -0.12), vec3f(0.0, 0.13, -0.12),
    vec3f(0.0, 0.02, -0.56), vec3f(0.0, 0.13, -0.12), vec3f(-0.13, 0.0, -0.12),
    vec3f(0.0, 0.02, -0.56), vec3f(-0.13, 0.0, -0.12), vec3f(0.0, -0.11, -0.12),
    vec3f(0.0, 0.02, -0.56), vec3f(0.0, -0.11, -0.12), vec3f(0.13, 0.0, -0.12),
    vec3f(0.0, 0.03, 0.48), vec3f(0.0, 0.13, -0.12), vec3f(0.13, 0.0, -0.12),
    vec3f(0.0, 0.03, 0.48), vec3f(-0.13, 0.0, -0.12), vec3f(0.0, 0.13, -0.12),
    vec3f(0.0, 0.03, 0.48), vec3f(0.0, -0.11, -0.12), vec3f(-0.13, 0.0, -0.12),
    vec3f(0.0, 0.03, 0.48), vec3f(0.13, 0.0, -0.12), vec3f(0.0, -0.11, -0.12),
    vec3f(0.0, 0.03, 0.3), vec3f(-0.16, 0.03, 0.78), vec3f(0.16, 0.03, 0.78),
);
// Of the wing: leading and trailing edge at the shoulder, at the wrist, and the tip.
const WING = array<u32, 9>(0u, 2u, 1u, 1u, 2u, 3u, 2u, 4u, 3u);
const BODY_CORNERS = 27u;
const WING_CORNERS = 9u;

// The angles of the inner and the outer wing above the horizontal, and how far the outer one is folded, in a phase.
fn beat_of(row: u32, wings: Wings) -> vec3f {
    let own = row_number(row);
    let beats = wings.time * wings.beat * (0.9 + 0.2 * own) + own * 64.0;
    let cycle = fract(beats / PER_GLIDE + own);
    let rest = smoothstep(1.0 - wings.glide - 0.1, 1.0 - wings.glide + 0.1, cycle) * step(1e-3, wings.glide);
    let swing = wings.amplitude * (1.0 - rest);
    let phase = fract(beats) * TURN;
    let inner = swing * sin(phase) + 0.12;
    return vec3f(inner, inner + 0.7 * swing * sin(phase - LAG) - 0.1, 0.35 * max(cos(phase), 0.0) * min(swing, 1.0));
}

fn wing_corner(number: u32, beat: vec3f) -> vec3f {
    let along = vec3f(cos(beat.x), sin(beat.x), 0.0);
    let wrist = vec3f(0.08, 0.06, -0.1) + 0.44 * along;
    let tip = wrist + 0.5 * (1.0 - beat.z) * vec3f(cos(beat.y), sin(beat.y), 0.3 + beat.z);
    let corners = array<vec3f, 5>(vec3f(0.08, 0.06, -0.24), vec3f(0.08, 0.05, 0.2), wrist + vec3f(0.0, 0.0, -0.22), wrist + vec3f(0.0, 0.0, 0.2), tip);
    return corners[WING[number]];
}

fn bird_corner(number: u32, row: u32, wings: Wings) -> vec3f {
    if number < BODY_CORNERS { return BODY[number]; }
    let is_left = number >= BODY_CORNERS + WING_CORNERS;
    let corner = wing_corner((number - BODY_CORNERS) % WING_CORNERS, beat_of(row, wings));
    return corner * vec3f(select(1.0, -1.0, is_left), 1.0, 1.0);
}

// A vector of the bird in world space: along its direction, upright but for its bank. `up` is that of the world.
fn turned(vector: vec3f, direction: vec3f, bank: f32, up: vec3f) -> vec3f {
    let forward = direction / max(length(direction), 1e-30);
    let aside = cross(forward, up);
    let steep = dot(aside, aside) < 1e-8;
    let level = normalize(select(aside, cross(forward, up.zxy), steep));
    let above = cross(level, forward);
    let right = level * cos(bank) - above * sin(bank);
    return right * vector.x + cross(right, forward) * vector.y - forward * vector.z;
}

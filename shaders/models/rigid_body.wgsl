// Bodies that a medium moves, with the obstacles' arrays of common/obstacle.wgsl: Newton's and Euler's equations, and contacts
// with a box and with each other (common/rigid_contacts.wgsl).
// In: OBSTACLES, their number; FLAT: they move along x and z alone, and turn around y. placed: as models of type obstacle
// place them; blocks: where each begins.
// A frame begins with update. A step of the medium: predict, answer for each solve of its pressure, advance, correct.

//% import "common/obstacle.wgsl" as obstacle
//% import "common/rigid_body.wgsl" as rigid

struct Params {
    dt: f32,
    gravity: f32,
    low: vec3f,   // the box that they stay in
    high: vec3f,
    obstacle_pace: f32,  // what a second of the scene is to one of the medium
    groups: u32,  // workgroups that gave to `sums`
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> placed: array<f32>;
@group(0) @binding(2) var<storage, read> blocks: array<u32>;
@group(0) @binding(3) var<storage, read_write> bodies: array<f32>;
@group(0) @binding(4) var<storage, read_write> placements: array<f32>;   // of each: 12 elements of its last placement
@group(0) @binding(5) var<storage, read_write> predicted: array<vec4f>; // of each: velocity of the center of mass and angular velocity
@group(0) @binding(6) var<storage, read_write> answers: array<vec4f>; // see common/rigid_body.wgsl
@group(0) @binding(7) var<storage, read> sums: array<vec4f>;
@group(0) @binding(8) var<storage, read_write> contacts: array<vec4f>;
@group(0) @binding(9) var<storage, read_write> poses: array<f32>;     // position, quaternion, half edges, force, torque: 16 of each
@group(0) @binding(10) var<storage, read_write> energies: array<vec2f>; // mechanical energy and mass of each that the medium moves

struct Body {
    center: vec3f,
    lightness: f32,   // 1 / mass; 0 of what is placed
    velocity: vec3f,
    friction: f32,
    spin: vec3f,
    turning: mat3x3f, // inverse of the inertia in space
}

//% if FLAT
const ALONG = vec3f(1.0, 0.0, 1.0);   // the axes that bodies move along
const AROUND = vec3f(0.0, 1.0, 0.0);  // and those that they turn around
//% endif

var<workgroup> moving: array<Body, ${OBSTACLES}>;
var<workgroup> partial: array<vec4f, 256>;

${obstacle.functions("bodies")}

${rigid.inertia("bodies")}

fn put(first: u32, value: vec3f) {
    bodies[obstacle_block + first] = value.x;
    bodies[obstacle_block + first + 1u] = value.y;
    bodies[obstacle_block + first + 2u] = value.z;
}

fn is_free() -> bool {
    return bodies[obstacle_block + 35u] == 1.0;
}

// Elements of a header that change as a body moves.
fn is_motion(i: u32) -> bool {
    let is_axis = i >= 8u && i < 19u && i % 4u < 3u;
    return (i >= 1u && i < 4u) || is_axis || (i >= 20u && i < 27u && i != 23u) || (i >= 42u && i < 48u) || i == 35u;
}

// A body begins where it is placed, and goes on from there until its placement changes; all else is as it is placed. What
// another medium moves is placed by that.
@compute @workgroup_size(64)
fn update(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let block = blocks[group.x];
    let is_body = placed[block + 11u] > 0.0 && placed[block + 35u] != 1.0;
    var goes_on = is_body && bodies[block + 35u] == 1.0;
    for (var k = 0u; k < 12u; k += 1u) {
        let i = select(8u + (k / 3u - 1u) * 4u + k % 3u, 1u + k, k < 3u);
        goes_on = goes_on && placements[12u * group.x + k] == placed[block + i];
    }
    storageBarrier();
    for (var i = lane; i < 144u; i += 64u) {
        if !(goes_on && is_motion(i)) {
            bodies[block + i] = placed[block + i];
        }
    }
    storageBarrier();
    if lane == 0u {
        bodies[block + 35u] = select(0.0, 1.0, is_body);
    }
    if lane < 12u {
        let i = select(8u + (lane / 3u - 1u) * 4u + lane % 3u, 1u + lane, lane < 3u);
        placements[12u * group.x + lane] = placed[block + i];
    }
}

// The inverse of its inertia in space.
fn turning() -> mat3x3f {
    //% if FLAT
    return mat3x3f(vec3f(0.0), vec3f(0.0, 1.0 / in_space(inertia())[1].y, 0.0), vec3f(0.0));
    //% else
    return in_space(inverse(inertia()));
    //% endif
}

fn loaded(which: u32, velocity: vec3f, spin: vec3f) -> Body {
    obstacle_block = blocks[which];
    let center = center_of_mass();
    if !is_free() {
        return Body(center, 0.0, velocity, bodies[obstacle_block + 23u], spin, mat3x3f());
    }
    let lightness = 1.0 / bodies[obstacle_block + 11u];
    //% if FLAT
    return Body(center, lightness, ALONG * velocity, bodies[obstacle_block + 23u], AROUND * spin, turning());
    //% else
    return Body(center, lightness, velocity, bodies[obstacle_block + 23u], spin, turning());
    //% endif
}

//% include "common/rigid_contacts.wgsl"

// The header's velocity is that of its position.
fn write_velocity(which: u32) {
    obstacle_block = blocks[which];
    if is_free() {
        let spin = moving[which].spin;
        put(20u, moving[which].velocity - cross(spin, moving[which].center - obstacle_row(1u)));
        put(24u, spin);
    }
}

// Velocities after gravity and contacts, with which the medium meets the bodies.
@compute @workgroup_size(64)
fn predict(@builtin(local_invocation_index) lane: u32) {
    if lane < ${OBSTACLES}u {
        obstacle_block = blocks[lane];
        let fall = select(vec3f(0.0), vec3f(0.0, -params.gravity * params.dt, 0.0), is_free());
        let spin = obstacle_row(24u) * select(params.obstacle_pace, 1.0, is_free());
        let velocity = obstacle_velocity(center_of_mass(), params.obstacle_pace) + fall;
        predicted[2u * lane] = vec4f(velocity, 0.0);
        predicted[2u * lane + 1u] = vec4f(spin, 0.0);
        moving[lane] = loaded(lane, velocity, spin);
    }
    collide(lane);
    if lane < ${OBSTACLES}u {
        write_velocity(lane);
        answers[5u * lane + 4u] = vec4f(moving[lane].center, 0.0);
    }
}

// Force and torque on each obstacle, and what these do to a body; a workgroup for each.
@compute @workgroup_size(128)
fn answer(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let which = group.x;
    var force = vec4f(0.0);
    var torque = vec4f(0.0);
    for (var k = lane; k < params.groups; k += 128u) {
        force += sums[2u * (k * ${OBSTACLES}u + which)];
        torque += sums[2u * (k * ${OBSTACLES}u + which) + 1u];
    }
    partial[lane] = force;
    partial[lane + 128u] = torque;
    for (var half_group = 64u; half_group > 0u; half_group /= 2u) {
        workgroupBarrier();
        if lane < half_group {
            partial[lane] += partial[lane + half_group];
            partial[lane + 128u] += partial[lane + 128u + half_group];
        }
    }
    if lane == 0u {
        let body = loaded(which, vec3f(0.0), vec3f(0.0));
        answers[5u * which] = partial[0];
        answers[5u * which + 1u] = partial[128];
        answers[5u * which + 2u] = partial[0] * body.lightness;
        answers[5u * which + 3u] = vec4f(body.turning * partial[128].xyz, 0.0);
    }
}

// The axes of a body after a turn around `spin` (Rodrigues), at right angles again.
fn turn(spin: vec3f) {
    let angle = length(spin) * params.dt;
    if angle < 1e-12 {
        return;
    }
    let direction = normalize(spin);
    let turned = axes();
    let x = normalize(rotated(turned[0], direction, angle));
    let y = rotated(turned[1], direction, angle);
    let z = normalize(cross(x, y));
    put(8u, x);
    put(12u, cross(z, x));
    put(16u, z);
}

fn rotated(v: vec3f, direction: vec3f, angle: f32) -> vec3f {
    return v * cos(angle) + cross(direction, v) * sin(angle) + direction * dot(direction, v) * (1.0 - cos(angle));
}

// Motion over the step, with the load of the medium. Angular momentum stays as the axes turn.
@compute @workgroup_size(64)
fn advance(@builtin(local_invocation_index) lane: u32) {
    if lane < ${OBSTACLES}u {
        let velocity = predicted[2u * lane].xyz + params.dt * answers[5u * lane + 2u].xyz;
        moving[lane] = loaded(lane, velocity, predicted[2u * lane + 1u].xyz + params.dt * answers[5u * lane + 3u].xyz);
    }
    collide(lane);
    if lane < ${OBSTACLES}u {
        obstacle_block = blocks[lane];
        put(42u, answers[5u * lane].xyz);
        put(45u, answers[5u * lane + 1u].xyz);
        if is_free() {
            let body = moving[lane];
            //% if not FLAT
            let momentum = in_space(inertia()) * body.spin;
            //% endif
            turn(body.spin);
            moving[lane].center = body.center + params.dt * body.velocity;
            put(1u, moving[lane].center - axes() * (obstacle_row(32u) * bodies[obstacle_block + 4u]));
            //% if not FLAT
            moving[lane].spin = turning() * momentum;
            //% endif
            write_velocity(lane);
        }
        answers[5u * lane + 4u] = vec4f(center_of_mass(), 0.0);
    }
}

// Impulses that the medium gave while it was held outside of the bodies.
@compute @workgroup_size(64)
fn correct(@builtin(local_invocation_index) lane: u32) {
    if lane < ${OBSTACLES}u {
        obstacle_block = blocks[lane];
        let velocity = obstacle_velocity(center_of_mass(), 1.0) + answers[5u * lane + 2u].xyz;
        moving[lane] = loaded(lane, velocity, obstacle_row(24u) + answers[5u * lane + 3u].xyz);
        write_velocity(lane);
        put(42u, obstacle_row(42u) + answers[5u * lane].xyz / params.dt);
        put(45u, obstacle_row(45u) + answers[5u * lane + 1u].xyz / params.dt);
    }
}

// Kinetic and potential energy [J], from height 0, and mass [kg]; 0 of what the medium does not move.
@compute @workgroup_size(64)
fn measure(@builtin(local_invocation_index) lane: u32) {
    if lane >= ${OBSTACLES}u {
        return;
    }
    obstacle_block = blocks[lane];
    let mass = bodies[obstacle_block + 11u];
    let velocity = obstacle_velocity(center_of_mass(), 1.0);
    let spin = obstacle_row(24u);
    let moving_energy = 0.5 * (mass * dot(velocity, velocity) + dot(spin, in_space(inertia()) * spin));
    let energy = vec2f(moving_energy + mass * params.gravity * center_of_mass().y, mass);
    energies[lane] = select(vec2f(0.0), energy, is_free());
}

// Position, quaternion (x, y, z, w), half edges, force and torque of each obstacle.
@compute @workgroup_size(64)
fn show(@builtin(local_invocation_index) lane: u32) {
    if lane >= ${OBSTACLES}u {
        return;
    }
    obstacle_block = blocks[lane];
    let m = axes();  // by columns
    let squares = 0.25 * (1.0 + vec4f(m[0].x - m[1].y - m[2].z, m[1].y - m[0].x - m[2].z, m[2].z - m[0].x - m[1].y,
        m[0].x + m[1].y + m[2].z));
    var q = vec4f(m[1].z - m[2].y, m[2].x - m[0].z, m[0].y - m[1].x, 4.0 * squares.w);
    if squares.x > max(squares.w, max(squares.y, squares.z)) {
        q = vec4f(4.0 * squares.x, m[0].y + m[1].x, m[2].x + m[0].z, m[1].z - m[2].y);
    } else if squares.y > max(squares.w, squares.z) {
        q = vec4f(m[0].y + m[1].x, 4.0 * squares.y, m[1].z + m[2].y, m[2].x - m[0].z);
    } else if squares.z > squares.w {
        q = vec4f(m[2].x + m[0].z, m[1].z + m[2].y, 4.0 * squares.z, m[0].y - m[1].x);
    }
    q = normalize(q);
    let position = obstacle_row(1u);
    var half = obstacle_row(5u) * bodies[obstacle_block + 4u];
    let kind = u32(bodies[obstacle_block]);
    if kind == 2u || kind == 3u {  // round: as wide along z as along x, and a sphere as high
        half = vec3f(half.x, select(half.y, half.x, kind == 2u), half.x);
    }
    let force = obstacle_row(42u);
    let torque = obstacle_row(45u);
    //% for k in range(3)
    poses[16u * lane + ${k}u] = position[${k}];
    poses[16u * lane + ${7 + k}u] = half[${k}];
    poses[16u * lane + ${10 + k}u] = force[${k}];
    poses[16u * lane + ${13 + k}u] = torque[${k}];
    //% endfor
    //% for k in range(4)
    poses[16u * lane + ${3 + k}u] = q[${k}];
    //% endfor
}

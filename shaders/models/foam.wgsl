// Spray, foam and bubbles on a fluid of particles: Ihmsen, Akinci, Akinci and Teschner 2012, "Unified Spray, Foam and Air
// Bubbles for Particle-Based Fluids", The Visual Computer 28.
// In: fluid_positions and fluid_velocities (count, 3), the fluid's particles in the order of a neighbor grid whose `starts` is
// an input; FLOOR, whether the corners of the tank's floor are bound; FIELD, "placed" if an obstacle is.
// Retained from step to step: positions (x, y, z, life) and velocities (velocity, kind) of a pool of `capacity` particles.
// Life is 1 to 0, kinds are 0 none, 1 spray, 2 foam, 3 bubble. Out: radii, 0 of what is not there; potentials (trapped air,
// wave crest, kinetic energy, mean number of new particles) of the fluid's particles. Units: meters, seconds.
// app/vertigrad/models/physics/foam.py has the order of the entry points, reference/foam.py the equations.
//% import "common/grid.wgsl" as grid with context
//% import "common/obstacle.wgsl" as obstacles
//% include "common/index.wgsl"
//% include "common/math.wgsl"
//% include "common/philox.wgsl"

struct Params {
    count: u32,              // particles of the fluid
    capacity: u32,
    reach: f32,              // of the weights, two spacings
    dt: f32,
    turn: u32,               // number of the step
    key: vec2u,
    stream: vec2u,
    gravity: f32,
    trapped_air_rate: f32,   // new particles per second, for each of the fluid
    wave_crest_rate: f32,
    trapped_air: vec2f,      // potentials where generation begins, and where it is full
    wave_crest: vec2f,
    energy: vec2f,           // the same of the kinetic energy per mass [m²/s²]
    spray_neighbors: f32,
    bubble_neighbors: f32,
    buoyancy: f32,           // acceleration of bubbles, in units of gravity
    drag: f32,               // rate at which bubbles take on the fluid's velocity [1/s]
    lifetimes: vec3f,        // of spray, foam and bubbles [s]
    radius: f32,
    obstacle_pace: f32,      // seconds of the scene to one of the fluid
    ${grid.fields()}
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> starts: array<u32>;
@group(0) @binding(2) var<storage, read> fluid_positions: array<f32>;
@group(0) @binding(3) var<storage, read> fluid_velocities: array<f32>;
@group(0) @binding(4) var<storage, read_write> positions: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> velocities: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> radii: array<f32>;
@group(0) @binding(7) var<storage, read_write> vacant: array<u32>;       // 1 where the pool has room
@group(0) @binding(8) var<storage, read> free: array<i32>;               // places of the pool with room, `free_count` of them
@group(0) @binding(9) var<storage, read> free_count: array<u32>;
@group(0) @binding(10) var<storage, read_write> new_normals: array<vec4f>;  // toward the outside, and the trapped air
@group(0) @binding(11) var<storage, read> normals: array<vec4f>;
@group(0) @binding(12) var<storage, read_write> potentials: array<vec4f>;
@group(0) @binding(13) var<storage, read_write> emitted: array<u32>;     // new particles of each of the fluid
@group(0) @binding(14) var<storage, read> firsts: array<u32>;            // sum of those before
@group(0) @binding(15) var<storage, read> corners: array<f32>;           // of the floor, (2, 2, 3)
@group(0) @binding(16) var<storage, read> field: array<f32>;

const SURFACE = 0.3;       // length of a normal from which on a particle is at the surface
const AHEAD = 0.6;         // cosine between normal and velocity of a crest (Ihmsen et al. 2012, equation 7)
const MOST = 16u;          // particles that one of the fluid emits in a step
const SHRINKING = 0.25;       // of its life in which a particle shrinks
const FRICTION = 0.5;      // of the velocity along a wall that spray loses there

//% include "common/grid.wgsl"
//% if FIELD == "placed"
${obstacles.functions("field")}
//% endif

fn fluid_position(i: u32) -> vec3f {
    return vec3f(fluid_positions[3u * i], fluid_positions[3u * i + 1u], fluid_positions[3u * i + 2u]);
}

fn fluid_velocity(i: u32) -> vec3f {
    return vec3f(fluid_velocities[3u * i], fluid_velocities[3u * i + 1u], fluid_velocities[3u * i + 2u]);
}

fn direction(v: vec3f) -> vec3f {
    return v / max(length(v), 1e-12);
}

fn clamped(value: f32, range: vec2f) -> f32 {
    return clamp((value - range.x) / max(range.y - range.x, 1e-12), 0.0, 1.0);
}

// Relative velocities that close in on each particle of the fluid, which trap air (equation 2), and its normal: the mean
// direction away from its neighbors.
@compute @workgroup_size(128)
fn survey(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count { return; }
    let here = fluid_position(i);
    let velocity = fluid_velocity(i);
    var air = 0.0;
    var normal = vec3f(0.0);
    var weights = 0.0;
    //% call grid.neighbors("here", "starts")
    let offset = here - fluid_position(k);
    let away = length(offset);
    if away < params.reach && k != i {
        let weight = 1.0 - away / params.reach;
        let along = offset / max(away, 1e-12);
        let relative = velocity - fluid_velocity(k);
        air += (length(relative) - dot(relative, along)) * weight;
        normal += weight * along;
        weights += weight;
    }
    //% endcall
    new_normals[i] = vec4f(normal / max(weights, 1e-12), air);
}

// Curvature of the surface where it is convex and moves ahead (equations 4 to 7).
fn crest(i: u32, here: vec3f, velocity: vec3f) -> f32 {
    let mine = normals[i].xyz;
    if length(mine) < SURFACE || dot(direction(velocity), direction(mine)) < AHEAD { return 0.0; }
    var sum = 0.0;
    //% call grid.neighbors("here", "starts")
    let offset = fluid_position(k) - here;
    let away = length(offset);
    let theirs = normals[k].xyz;
    if away < params.reach && k != i && dot(offset, mine) < 0.0 && length(theirs) >= SURFACE {
        sum += (1.0 - dot(direction(mine), direction(theirs))) * (1.0 - away / params.reach);
    }
    //% endcall
    return sum;
}

// How many particles each of the fluid emits in this step (equation 8): the mean number, rounded up or down by chance.
@compute @workgroup_size(128)
fn count_emitted(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count { return; }
    let velocity = fluid_velocity(i);
    let air = clamped(normals[i].w, params.trapped_air);
    let wave = clamped(crest(i, fluid_position(i), velocity), params.wave_crest);
    let energy = clamped(0.5 * dot(velocity, velocity), params.energy);
    let mean = params.dt * energy * (params.trapped_air_rate * air + params.wave_crest_rate * wave);
    potentials[i] = vec4f(air, wave, energy, mean);
    let chance = philox_uniform(philox(vec4u(i, params.turn, params.stream), params.key)).x;
    emitted[i] = min(u32(clamp(mean, 0.0, f32(MOST)) + chance), MOST);
}

// New particles in a cylinder around the path of the fluid's particle (section 3.2), each at the next free place.
@compute @workgroup_size(128)
fn spawn(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count { return; }
    let velocity = fluid_velocity(i);
    let ahead = direction(velocity);
    let side = direction(cross(ahead, select(vec3f(0.0, 1.0, 0.0), vec3f(1.0, 0.0, 0.0), abs(ahead.y) > 0.7)));
    let other = cross(ahead, side);
    for (var n = 0u; n < emitted[i]; n += 1u) {
        if firsts[i] + n >= free_count[0] { return; }
        let slot = u32(free[firsts[i] + n]);
        let chance = philox_uniform(philox(vec4u(i, params.turn, vec2u(params.stream.x + n + 1u, params.stream.y)), params.key));
        let out = 0.25 * params.reach * sqrt(chance.x);     // the fluid's particle has half a spacing
        let around = out * (cos(6.2831853 * chance.y) * side + sin(6.2831853 * chance.y) * other);
        let position = fluid_position(i) + around + chance.z * params.dt * velocity;
        positions[slot] = vec4f(position, 1.0 - 0.5 * chance.w);
        velocities[slot] = vec4f(velocity + around, 2.0);
        radii[slot] = sized(slot, 2u, 1.0);
    }
}

// The radius of a particle, that of each place of the pool a bit different; what ends shrinks.
fn sized(slot: u32, kind: u32, life: f32) -> f32 {
    let varied = 0.5 + 0.5 * philox_uniform(philox(vec4u(slot, 0u, 0u, 0u), params.key)).x;
    var of_kind = array(0.0, 0.75, 1.0, 0.85);
    return params.radius * varied * of_kind[kind] * smoothstep(0.0, SHRINKING, life);
}

struct Around {
    velocity: vec3f,   // weighted mean of the fluid
    neighbors: f32,
}

fn fluid_around(here: vec3f) -> Around {
    var velocity = vec3f(0.0);
    var weights = 0.0;
    var near = 0.0;
    //% call grid.neighbors("here", "starts")
    let away = length(here - fluid_position(k));
    if away < params.reach {
        let weight = 1.0 - away / params.reach;
        velocity += weight * fluid_velocity(k);
        weights += weight;
        near += 1.0;
    }
    //% endcall
    return Around(velocity / max(weights, 1e-12), near);
}

struct Moved {
    position: vec3f,
    velocity: vec3f,
}

// A particle's position and velocity after a step, by its kind (section 3.3).
fn moved(kind: u32, position: vec3f, velocity: vec3f, around: vec3f) -> Moved {
    var now = around;
    if kind == 1u {
        now = velocity - params.dt * vec3f(0.0, params.gravity, 0.0);
    } else if kind == 3u {
        now = around + (velocity - around) * exp(-params.dt * params.drag)
            + params.dt * vec3f(0.0, params.buoyancy * params.gravity, 0.0);
    }
    return held(position + params.dt * now, now);
}

// Within the walls of the tank and outside of the obstacle: there is no velocity into a wall.
fn held(position: vec3f, velocity: vec3f) -> Moved {
    var moved = Moved(position, velocity);
    //% if FLOOR
    let low = vec3f(corners[0], corners[1], corners[2]);
    let high = vec3f(corners[9], 1e30, corners[11]);
    moved.position = clamp(position, low, high);
    let into = (position - moved.position) * velocity > vec3f(0.0);
    moved.velocity = select(velocity, vec3f(0.0), into) * select(1.0, 1.0 - FRICTION, any(into));
    //% endif
    //% if FIELD == "placed"
    let near = obstacle_nearest(moved.position, 0.0);
    if near.w < 0.0 {
        let normal = obstacle_normal(near.xyz);
        let relative = moved.velocity - obstacle_velocity(near.xyz, params.obstacle_pace);
        moved.position -= near.w * normal;
        moved.velocity -= min(dot(relative, normal), 0.0) * normal;
    }
    //% endif
    return moved;
}

@compute @workgroup_size(128)
fn advance(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.capacity { return; }
    var life = positions[i].w;
    if life > 0.0 {
        let here = positions[i].xyz;
        let around = fluid_around(here);
        var kind = 2u;
        if around.neighbors < params.spray_neighbors {
            kind = 1u;
        } else if around.neighbors > params.bubble_neighbors {
            kind = 3u;
        }
        let after = moved(kind, here, velocities[i].xyz, around.velocity);
        life = max(life - params.dt / params.lifetimes[kind - 1u], 0.0);
        positions[i] = vec4f(after.position, life);
        velocities[i] = vec4f(after.velocity, f32(kind));
        radii[i] = sized(i, kind, life);
    }
    vacant[i] = select(0u, 1u, life <= 0.0);
    if life <= 0.0 {
        velocities[i] = vec4f(0.0);
        radii[i] = 0.0;
    }
}

// Birds that see those near them: separation, alignment and cohesion (Reynolds 1987), with what is urgent first.
// In: sorted_positions and sorted_velocities, the birds in the order of a neighbor grid, whose `starts` and `order` are
//     inputs; PERIODIC, whether what leaves the box comes back on its other side.
// Out: positions, with the number of birds that each sees, and velocities, with their length, a step later; headings, with the
//     bank; hunter and hunter_heading, position and direction of the predator.
// The equations are in the reference, app/vertigrad/models/reference/flock.py.
//% import "common/grid.wgsl" as grid with context
//% include "common/index.wgsl"
//% include "common/math.wgsl"
//% include "common/philox.wgsl"

struct Params {
    count: u32,
    dt: f32,
    turn: u32,                 // number of the step
    key: vec2u,
    stream: vec2u,
    radius: f32,               // how far birds see
    near: f32,                 // the distance for separation
    sight: f32,                // cosine of half the angle that they see
    separation: f32,
    alignment: f32,
    cohesion: f32,
    leveling: f32,
    agility: f32,
    speed_range: vec2f,
    noise: f32,                // of the heading, in a step
    extent: vec3f,             // of the box around the origin
    predator: vec3f,
    predator_heading: vec3f,
    fear: f32,                 // how far from the predator birds flee
    obstacle: vec3f,
    obstacle_radius: f32,
    tool_point: vec3f,
    tool_radius: f32,
    tool_velocity: vec3f,
    attraction: f32,           // above 0 toward the tool, below 0 away from it
    ${grid.fields()}
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> sorted_positions: array<vec4f>;
@group(0) @binding(2) var<storage, read> sorted_velocities: array<vec4f>;
@group(0) @binding(3) var<storage, read> starts: array<u32>;
@group(0) @binding(4) var<storage, read> order: array<u32>;
@group(0) @binding(5) var<storage, read_write> positions: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> velocities: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> headings: array<vec4f>;
@group(0) @binding(8) var<storage, read_write> hunter: array<f32>;
@group(0) @binding(9) var<storage, read_write> hunter_heading: array<f32>;

//% include "common/grid.wgsl"

const ROOM = 0.55;
const GRAVITY = 9.81;
const ROLL = 0.2;              // s

struct Neighborhood {
    count: f32,
    velocity: vec3f,    // sums over visible neighbors
    offset: vec3f,
    separation: vec3f,  // away from those that are too near
}

fn with_length(v: vec3f, length_: f32) -> vec3f {
    return v * (length_ / max(length(v), 1e-12));
}

fn at_most(v: vec3f, most: f32) -> vec3f {
    return v * min(1.0, most / max(length(v), 1e-12));
}

// Adds what the bird at `here`, or its image in a box next to this one, sees.
fn add_neighbor(before: Neighborhood, here: vec3f, heading: vec3f, me: u32) -> Neighborhood {
    var neighborhood = before;
    //% call grid.neighbors("here", "starts")
    let offset = sorted_positions[k].xyz - here;
    let away = length(offset);
    if k != me && away < params.radius && away > 0.0 {
        if away < params.near {
            neighborhood.separation -= offset * ((1.0 - away / params.near) / away);
        }
        if dot(offset, heading) >= params.sight * away {
            neighborhood.count += 1.0;
            neighborhood.velocity += sorted_velocities[k].xyz;
            neighborhood.offset += offset;
        }
    }
    //% endcall
    return neighborhood;
}

fn neighborhood_of(here: vec3f, heading: vec3f, me: u32) -> Neighborhood {
    var neighborhood = Neighborhood(0.0, vec3f(0.0), vec3f(0.0), vec3f(0.0));
    //% if PERIODIC
    for (var image = 0; image < 27; image += 1) {
        let position = here + params.extent * (vec3f(vec3i(image % 3, image / 3 % 3, image / 9)) - 1.0);
        if all(abs(position) < 0.5 * params.extent + params.radius) {
            neighborhood = add_neighbor(neighborhood, position, heading, me);
        }
    }
    return neighborhood;
    //% else
    return add_neighbor(neighborhood, here, heading, me);
    //% endif
}

// Back toward the middle, from a fraction ROOM of the distance to the sides on: with all strength halfway from there.
fn turned_back(here: vec3f) -> vec3f {
    //% if PERIODIC
    return vec3f(0.0);
    //% else
    let beyond = max(length(2.0 * here / params.extent) - ROOM, 0.0) / (1.0 - ROOM);
    return with_length(-here, 2.0 * params.agility * beyond);
    //% endif
}

// Away from the predator.
fn fled(here: vec3f) -> vec3f {
    let offset = here - params.predator;
    let nearness = max(1.0 - length(offset) / max(params.fear, 1e-6), 0.0);
    return with_length(offset, 2.0 * params.agility * nearness);
}

// Sideways past an obstacle that is ahead within a second's flight, and outwards if it is touched.
fn avoided(here: vec3f, velocity: vec3f) -> vec3f {
    let offset = params.obstacle - here;
    let speed = length(velocity);
    let heading = velocity / max(speed, 1e-12);
    let ahead = dot(offset, heading);
    let side = ahead * heading - offset;
    let wide = 1.25 * params.obstacle_radius;
    let gap = length(offset) - params.obstacle_radius;
    let hits = ahead > 0.0 && length(side) < wide && gap < speed;
    let urgency = clamp(1.0 - gap / max(speed, 1e-12), 0.0, 1.0);
    return select(vec3f(0.0), with_length(side, 2.0 * params.agility * urgency), hits && params.obstacle_radius > 0.0);
}

fn attracted(here: vec3f, velocity: vec3f) -> vec3f {
    let offset = params.tool_point - here;
    let nearness = clamp(2.0 - 2.0 * length(offset) / max(params.tool_radius, 1e-6), 0.0, 1.0);
    let toward = with_length(offset, params.agility) + max(sign(params.attraction), 0.0) * (params.tool_velocity - velocity);
    return params.attraction * nearness * toward;
}

fn random_vector(bird: u32) -> vec3f {
    let chance = philox_uniform(philox(vec4u(bird, params.turn, params.stream), params.key));
    return (2.0 * chance.xyz - 1.0) * 1.7320508;
}

@compute @workgroup_size(64)
fn fly(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let me = linear_index(id, num_workgroups, 64u);
    if me >= params.count {
        return;
    }
    if me == 0u {
        for (var i = 0; i < 3; i++) {
            hunter[i] = params.predator[i];
            hunter_heading[i] = params.predator_heading[i];
        }
    }
    let bird = order[me];
    let here = sorted_positions[me].xyz;
    let velocity = sorted_velocities[me].xyz;
    let neighborhood = neighborhood_of(here, with_length(velocity, 1.0), me);
    let inverse_count = 1.0 / max(neighborhood.count, 1.0);
    var social = params.separation * neighborhood.separation + params.cohesion * inverse_count * neighborhood.offset;
    if neighborhood.count > 0.0 {
        social += params.alignment * (inverse_count * neighborhood.velocity - velocity);
    }
    social.y -= params.leveling * velocity.y;
    let urgent = at_most(
        turned_back(here) + fled(here) + avoided(here, velocity) + attracted(here, velocity),
        params.agility,
    );
    let steering = urgent + at_most(social, params.agility - length(urgent));
    var faster = velocity + params.dt * steering;
    let calm = 1.0 - length(urgent) / max(params.agility, 1e-12);  // to turn back, a bird may brake as far as it has to
    let speed = clamp(length(faster), calm * params.speed_range.x, params.speed_range.y);
    faster = with_length(with_length(faster, 1.0) + params.noise * random_vector(bird), speed);
    store(bird, here + params.dt * faster, faster, neighborhood.count);
}

// The bank of a coordinated turn, in which lift is along the bird's own up: its tangent is the acceleration to the right over
// that of gravity. A bird follows it within ROLL.
fn banked(bird: u32, now: vec3f) -> f32 {
    let before = headings[bird];
    let heading = with_length(now, 1.0);
    let right = with_length(vec3f(-heading.z, 0.0, heading.x), 1.0);
    let aside = dot(heading - before.xyz, right) * length(now) / params.dt;
    return mix(before.w, atan2(aside, GRAVITY), 1.0 - exp(-params.dt / ROLL));
}

// Puts a bird where it has flown: into the box if that is periodic, and not into the obstacle.
fn store(bird: u32, position: vec3f, velocity: vec3f, neighbor_count: f32) {
    var here = position;
    var now = velocity;
    //% if PERIODIC
    here -= params.extent * floor(here / params.extent + 0.5);
    //% endif
    let out = here - params.obstacle;
    if length(out) < params.obstacle_radius {
        let normal = with_length(out, 1.0);
        here = params.obstacle + params.obstacle_radius * normal;
        now = with_length(now - min(dot(now, normal), 0.0) * normal + 1e-6 * normal, length(now));
    }
    positions[bird] = vec4f(here, neighbor_count);
    velocities[bird] = vec4f(now, length(now));
    headings[bird] = vec4f(with_length(now, 1.0), banked(bird, now));
}

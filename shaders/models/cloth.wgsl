// One small step of a cloth of point masses: free motion, constraints one color after the other, contacts.
// In: vertices: position and inverse of the area that hangs on it, 0 where it is pinned; velocities; normals.
//     edges: two vertices each; springs: rest length, negative once torn, and stiffnesses for a unit of each of `stiffness`.
//     hinges: three vertices in a row, the two edges between them, and the bits of a stiffness as above.
//     pushes of self-collision; an optional grid of air velocities, and an obstacle.
// Out: vertices and velocities a small step later; between: predicted, where a vertex would be without constraints.
// XPBD with one iteration a step (Macklin, Müller and Chentanez 2016, eq. 18; Macklin et al. 2019, "Small steps in
// physics simulation"): an edge moves its ends by C k h² / (1 + k h² Σw), which for stiff springs is the projection on
// C = 0.
// WIND: whether the grid is there; OBSTACLE: "grid" of distances, "placed" by the model obstacle, or ""; OBSTACLES: how many
// are placed; SELF: whether there are pushes.
// Placed obstacles with a mass are bodies that move (models/rigid_body.wgsl). All vertices that touch a body share it: each meets
// an equal part of its mass and inertia (Tonge, Benevolenski and Voroshilov 2012, "Mass splitting for jitter-free parallel
// rigid body simulation"), so that contacts are solved in parallel and together give no energy.
// The reference implementation is app/vertigrad/models/reference/cloth.py.
//% import "common/field.wgsl" as field
//% import "common/obstacle.wgsl" as obstacles
//% import "common/rigid_body.wgsl" as rigid
//% include "common/index.wgsl"

struct Params {
    count: u32,             // vertices, or constraints of the color
    first: u32,             // constraint of the color
    kind: u32,              // of edges: 0 stretch, 1 shear, 3 stretch of distant vertices, which only pull
    h: f32,                 // small step [s]
    density: f32,           // [kg/m²]
    stiffness: vec3f,       // of stretch: between neighbors, and over one and another number of vertices [N/m]
    shear: f32,             // [N/m]
    bend: f32,              // [N m]
    gravity: f32,           // [m/s²]
    damping: f32,           // [1/s]
    drag: f32,              // density of the air times its coefficient of normal force, halved [kg/m³]
    friction: f32,
    gap: f32,               // distance from obstacles [m]
    ground: f32,            // height of the ground [m]
    wind: vec3f,            // [m/s]
    gust: f32,
    phases: vec3f,          // of the gusts, which the wind carries along
    tool_rate: f32,         // how fast the drag tool imposes its velocity [1/s]; 0: no tool
    tool_point: vec3f,
    tool_radius: f32,
    tool_velocity: vec3f,
    radius: f32,            // of the sphere; 0: none
    center: vec3f,
    wind_offset: u32,
    wind_low: vec3f,        // corner of the grid of air velocities
    obstacle_offset: u32,
    wind_scale: vec3f,      // its cells per meter
    wind_size: vec3i,       // its cells along x, y and z
    wind_strides: vec4i,    // elements from one sample to the next along z, y, x, and from one component to the next
    obstacle_low: vec3f,
    obstacle_scale: vec3f,  // from one of its samples to the next, per meter; they are on the faces of its box too
    obstacle_size: vec3i,
    obstacle_strides: vec3i,
    obstacle_lag: f32,      // seconds that a placed obstacle is before its placement at the end of the sweep,
    substep_lag: f32,       // and from this small step to that end
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> vertices: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> velocities: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> predicted: array<vec4f>;
@group(0) @binding(4) var<storage, read> normals: array<vec4f>;
@group(0) @binding(5) var<storage, read> edges: array<vec2u>;
@group(0) @binding(6) var<storage, read> springs: array<vec4f>;
@group(0) @binding(7) var<storage, read> hinges: array<u32>;
//% if SELF
@group(0) @binding(8) var<storage, read> pushes: array<vec4f>;
//% endif
//% if WIND
@group(0) @binding(9) var<storage, read> wind: array<f32>;
//% endif
//% if OBSTACLE != ""
@group(0) @binding(10) var<storage, read> obstacle: array<f32>;
//% endif
//% if OBSTACLE == "placed"
@group(0) @binding(11) var<storage, read> blocks: array<u32>;  // where each begins in `obstacle`
@group(0) @binding(12) var<storage, read> answers: array<vec4f>;    // see common/rigid_body.wgsl; in w of forces: contacts
@group(0) @binding(13) var<storage, read_write> sums: array<vec4f>;
//% endif

const NO_BODY = ${OBSTACLES}u;
const ALONG = 0.02;  // coefficient of the force along a surface, as a fraction of that across it

//% if WIND
fn wind_sample(cell: vec3i) -> vec3f {
    let at = clamp(cell, vec3i(0), params.wind_size - 1);
    let s = params.wind_strides;
    let first = i32(params.wind_offset) + at.z * s.x + at.y * s.y + at.x * s.z;
    return vec3f(wind[first], wind[first + s.w], wind[first + 2 * s.w]);
}

// Samples are in the middles of cells; beyond the outermost of them the air moves as it does there.
fn wind_field(position: vec3f) -> vec3f {
    let at = clamp((position - params.wind_low) * params.wind_scale - 0.5, vec3f(0.0), vec3f(params.wind_size - 1));
    let cell = vec3i(at);
    let part = at - vec3f(cell);
    let near = mix(
        mix(wind_sample(cell), wind_sample(cell + vec3i(1, 0, 0)), part.x),
        mix(wind_sample(cell + vec3i(0, 1, 0)), wind_sample(cell + vec3i(1, 1, 0)), part.x), part.y);
    let far = mix(
        mix(wind_sample(cell + vec3i(0, 0, 1)), wind_sample(cell + vec3i(1, 0, 1)), part.x),
        mix(wind_sample(cell + vec3i(0, 1, 1)), wind_sample(cell + vec3i(1, 1, 1)), part.x), part.y);
    return mix(near, far, part.z);
}
//% endif

// Gusts are three waves of 4.2, 2.3 and 1.1 m, which move with the mean wind (Taylor's frozen turbulence).
fn air(position: vec3f) -> vec3f {
    let waves = vec3f(
        dot(position, vec3f(1.17, 0.35, 0.86)),
        dot(position, vec3f(-0.62, 1.1, 2.42)),
        dot(position, vec3f(3.6, -2.9, 3.3)),
    );
    let wave = dot(sin(waves - params.phases), vec3f(0.5, 0.3, 0.2));
    var velocity = params.wind * (1.0 + params.gust * wave);
    //% if WIND
    velocity += wind_field(position);
    //% endif
    return velocity;
}

// The fraction of a difference that a force proportional to it takes away in h: implicit, so never more than all of it.
fn taken(rate: f32) -> f32 {
    let part = rate * params.h;
    return part / (1.0 + part);
}

// How firmly the drag tool holds what is at `position`: the fraction of its own motion that it loses in h.
fn held(position: vec3f) -> f32 {
    let near = 1.0 - smoothstep(0.5, 1.0, distance(position, params.tool_point) / params.tool_radius);
    return taken(params.tool_rate * near);
}

@compute @workgroup_size(64)
fn predict(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.count {
        return;
    }
    let vertex = vertices[i];
    var velocity = velocities[i].xyz;
    if vertex.w > 0.0 {
        velocity.y -= params.gravity * params.h;
        let relative_velocity = air(vertex.xyz) - velocity;
        let rate = params.drag / params.density * length(relative_velocity);
        let across = normals[i].xyz * dot(relative_velocity, normals[i].xyz);
        velocity += across * taken(rate) + (relative_velocity - across) * taken(rate * ALONG);
        velocity *= 1.0 - taken(params.damping);
        velocity += (params.tool_velocity - velocity) * held(vertex.xyz);
    }
    let next = vec4f(vertex.xyz + velocity * params.h, vertex.w);
    velocities[i] = vec4f(velocity, velocities[i].w);
    predicted[i] = next;
    vertices[i] = next;
}

// Edges of one color, which share no vertex that can move.
@compute @workgroup_size(64)
fn stretch(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let n = linear_index(id, num_workgroups, 64u);
    if n >= params.count {
        return;
    }
    let spring = springs[params.first + n];
    let ends = edges[params.first + n];
    let a = vertices[ends.x];
    let b = vertices[ends.y];
    let span = a.xyz - b.xyz;
    let far = length(span);
    if spring.x <= 0.0 || a.w + b.w == 0.0 || far == 0.0 || (params.kind == 3u && far <= spring.x) {
        return;
    }
    let stiffness = select(dot(params.stiffness, spring.yzw), params.shear * spring.y, params.kind == 1u);
    let s = stiffness * params.h * params.h / params.density;
    let correction = span * ((far - spring.x) / far * s / (1.0 + s * (a.w + b.w)));
    if a.w > 0.0 {  // edges of one color may share a pinned vertex
        vertices[ends.x] = vec4f(a.xyz - a.w * correction, a.w);
    }
    if b.w > 0.0 {
        vertices[ends.y] = vec4f(b.xyz + b.w * correction, b.w);
    }
}

// Second differences of vertices in a row: the energy of a thin beam, quadratic, so one projection is exact.
@compute @workgroup_size(64)
fn hinge(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let n = linear_index(id, num_workgroups, 64u);
    if n >= params.count {
        return;
    }
    let at = 6u * (params.first + n);
    let a = vertices[hinges[at]];
    let b = vertices[hinges[at + 1u]];
    let c = vertices[hinges[at + 2u]];
    let torn = springs[hinges[at + 3u]].x <= 0.0 || springs[hinges[at + 4u]].x <= 0.0;
    let weight = a.w + 4.0 * b.w + c.w;
    if torn || weight == 0.0 {
        return;
    }
    let s = params.bend * bitcast<f32>(hinges[at + 5u]) * params.h * params.h / params.density;
    let correction = (a.xyz - 2.0 * b.xyz + c.xyz) * (s / (1.0 + s * weight));
    vertices[hinges[at]] = vec4f(a.xyz - a.w * correction, a.w);
    vertices[hinges[at + 1u]] = vec4f(b.xyz + 2.0 * b.w * correction, b.w);
    vertices[hinges[at + 2u]] = vec4f(c.xyz - c.w * correction, c.w);
}

//% if OBSTACLE == "placed"
${obstacles.functions("obstacle")}
${rigid.inertia("obstacle")}
${rigid.numbers("blocks")}
${rigid.loads("sums", "answers", OBSTACLES, 128)}

fn nearest_obstacle(position: vec3f) -> vec4f {
    return obstacle_nearest_at(position, params.obstacle_lag + params.substep_lag, params.h);
}

fn is_body() -> bool {
    return obstacle[obstacle_block + 35u] == 1.0;
}

// What the selected obstacle gives way at `at` [m] for each meter that it pushes a vertex of this mass [kg].
fn give_of_body(at: vec3f, mass: f32) -> mat3x3f {
    if !is_body() {
        return mat3x3f();
    }
    let arm = at - center_of_mass();
    let turning = in_space(inverse(inertia()));
    let split = mass * answers[5u * body_number()].w;  // its part of the body's mass is that much smaller
    let lightness = split / obstacle[obstacle_block + 11u];
    return mat3x3f(
        vec3f(lightness, 0.0, 0.0) + split * cross(turning * cross(arm, vec3f(1.0, 0.0, 0.0)), arm),
        vec3f(0.0, lightness, 0.0) + split * cross(turning * cross(arm, vec3f(0.0, 1.0, 0.0)), arm),
        vec3f(0.0, 0.0, lightness) + split * cross(turning * cross(arm, vec3f(0.0, 0.0, 1.0)), arm),
    );
}
//% elif OBSTACLE == "grid"
${field.functions("obstacle", "params.obstacle_size", "params.obstacle_offset", "params.obstacle_strides.zyx")}
${field.around("obstacle", "params.obstacle_size")}

// Gradient of the trilinear distance in meters, and the distance; far away outside of the box, on whose faces samples are.
fn obstacle_field(position: vec3f) -> vec4f {
    let at = (position - params.obstacle_low) * params.obstacle_scale;
    if any(at < vec3f(0.0)) || any(at > vec3f(params.obstacle_size - 1)) {
        return vec4f(0.0, 1.0, 0.0, 1e9);
    }
    let near = obstacle_around(at);
    return vec4f(near.xyz * params.obstacle_scale, near.w);
}
//% endif

// A position out of the half-space that a surface bounds, with Coulomb's friction against its displacement. What has the
// surface gives way by `give` of a push in the opposite direction; both get the same impulse.
fn pushed_out(position: vec3f, start: vec3f, normal: vec3f, clear: f32, give: mat3x3f) -> vec3f {
    if clear >= 0.0 {
        return position;
    }
    let depth = -clear / (1.0 + dot(give * normal, normal));
    let outside = position + depth * normal;
    let displacement = outside - start + depth * (give * normal);
    let slide = displacement - normal * dot(displacement, normal);
    let size = length(slide);
    let whole = 1.0 / (1.0 + dot(give * slide, slide) / (size * size));
    return outside - slide * select(0.0, min(whole, params.friction * depth / size), size > 0.0);
}

// Where a vertex is without obstacles and the ground.
fn unobstructed(i: u32) -> vec3f {
    let free = predicted[i].xyz;
    var position = vertices[i].xyz;
    //% if SELF
    position += pushes[i].xyz;
    //% endif
    return mix(position, free, held(free - velocities[i].xyz * params.h));  // nor do threads move what the drag tool holds
}

fn outside_sphere(position: vec3f, start: vec3f) -> vec3f {
    let out = position - params.center;
    let far = length(out);
    if params.radius > 0.0 && far > 0.0 {
        return pushed_out(position, start, out / far, far - params.radius - params.gap, mat3x3f());
    }
    return position;
}

//% if OBSTACLE == "placed"
// How many vertices touch each body.
@compute @workgroup_size(128)
fn touch(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = linear_index(id, num_workgroups, 128u);
    var which = NO_BODY;
    if i < params.count && vertices[i].w > 0.0 {
        let start = predicted[i].xyz - velocities[i].xyz * params.h;
        let near = nearest_obstacle(outside_sphere(unobstructed(i), start));
        if near.w < params.gap && is_body() {
            which = body_number();
        }
    }
    let row = group.y * num_workgroups.x + group.x;
    if row * 128u < params.count {
        add_loads(row, lane, which, vec4f(0.0, 0.0, 0.0, 1.0), vec3f(0.0));
    }
}
//% endif

// Contacts; what bodies are pushed by is summed as a force.
@compute @workgroup_size(128)
fn resolve(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = linear_index(id, num_workgroups, 128u);
    var push = Push(vec3f(0.0), vec3f(0.0), NO_BODY);
    if i < params.count && vertices[i].w > 0.0 {
        push = resolved(i);
    }
    //% if OBSTACLE == "placed"
    let row = group.y * num_workgroups.x + group.x;
    if row * 128u < params.count {
        add_loads(row, lane, push.which, vec4f(push.force, 0.0), push.at);
    }
    //% endif
}

// The force [N] with which a vertex pushes an obstacle, where, and which one.
struct Push {
    force: vec3f,
    at: vec3f,
    which: u32,
}

fn resolved(i: u32) -> Push {
    let velocity = velocities[i];
    let free = predicted[i].xyz;
    let start = free - velocity.xyz * params.h;
    var position = outside_sphere(unobstructed(i), start);
    var push = Push(vec3f(0.0), vec3f(0.0), NO_BODY);
    //% if OBSTACLE == "placed"
    let near = nearest_obstacle(position);
    let carried = start + obstacle_velocity(near.xyz, 1.0) * params.h;
    let mass = params.density / vertices[i].w;
    let inside = position;
    position = pushed_out(position, carried, obstacle_normal(near.xyz), near.w - params.gap, give_of_body(near.xyz, mass));
    push = Push((inside - position) * (mass / (params.h * params.h)), near.xyz, body_number());
    //% elif OBSTACLE == "grid"
    let field = obstacle_field(position);
    if dot(field.xyz, field.xyz) > 1e-12 {
        position = pushed_out(position, start, normalize(field.xyz), field.w - params.gap, mat3x3f());
    }
    //% endif
    let above_ground = position.y - params.ground - params.gap;
    position = pushed_out(position, start, vec3f(0.0, 1.0, 0.0), above_ground, mat3x3f());
    // what was added to the free motion, so that rounding of positions is no change of velocity
    velocities[i] = vec4f(velocity.xyz + (position - free) / params.h, velocity.w);
    vertices[i] = vec4f(position, vertices[i].w);
    return push;
}

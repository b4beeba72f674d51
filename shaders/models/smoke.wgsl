// Smoke in air that cannot be compressed: what a step does but for advection (models/smoke_advect.wgsl) and the pressure
// (models/smoke_pressure.wgsl).
// In and out: as in common/air.wgsl; tracers: points carried along, and their age [s]; ball: the sphere's middle and radius,
// for whom draws it. Scratch: spin, curl of the velocity and its length; swirl, acceleration by vorticity confinement.
// In: OBSTACLE, "grid" of signed distances, "placed" by the model obstacle, or ""; OBSTACLES, the number of these where the
//     air moves bodies, else 0. The equations and their sources are in the reference, app/vertigrad/models/reference/smoke.py.
//% import "common/field.wgsl" as field
//% import "common/obstacle.wgsl" as obstacles
//% import "common/air.wgsl" as air with context
//% include "common/air.wgsl"
//% include "common/math.wgsl"
//% include "common/philox.wgsl"
//% set AXES = "xyz"

@group(0) @binding(5) var<storage, read> moved_faces: array<vec4f>;
@group(0) @binding(9) var<storage, read> spin: array<vec4f>;
@group(0) @binding(10) var<storage, read> swirl: array<vec4f>;
@group(0) @binding(11) var<storage, read> pressure: array<f32>;
@group(0) @binding(12) var<storage, read> obstacle: array<f32>;
@group(0) @binding(16) var<storage, read_write> out_scalars: array<f32>;
@group(0) @binding(17) var<storage, read_write> out_solid: array<u32>;
@group(0) @binding(18) var<storage, read_write> tracers: array<vec4f>;
@group(0) @binding(19) var<storage, read_write> ball: array<vec4f>;
//% if OBSTACLES
@group(0) @binding(20) var<storage, read> blocks: array<u32>;           // where the blocks of obstacles begin
@group(0) @binding(21) var<storage, read> answers: array<vec4f>;        // see common/rigid_body.wgsl
@group(0) @binding(22) var<storage, read_write> sums: array<vec4f>;
//% endif

//% if OBSTACLE == "placed"
${obstacles.functions("obstacle")}
//% elif OBSTACLE == "grid"
${field.functions("obstacle", "params.field_size", "0", "vec3i(1, i32(params.field_size.x), i32(params.field_size.x * params.field_size.y))")}
${field.around("obstacle", "params.field_size")}
//% endif
${air.sampled("matter")}

// Where in the scene a position counted in cells is.
fn world(position: vec3f) -> vec3f {
    return params.low + params.edge * position;
}

// 1 within half the radius, 0 from the radius on.
fn fade(position: vec3f, middle: vec3f, radius: f32) -> f32 {
    return clamp(2.0 - 2.0 * distance(position, middle) / max(radius, 1e-6), 0.0, 1.0);
}

// Obstacles -----------------------------------------------------------------------------------------------------------

// Signed distance to the sphere.
fn ball_distance(position: vec3f) -> f32 {
    return distance(position, params.obstacle_center) - params.obstacle_radius;
}

${air.kernel("solidify")}
    ${air.each_cell()}
    let position = vec3f(cell) + 0.5;
    var away = ball_distance(world(position));
    //% if OBSTACLE == "placed"
    away = min(away, obstacle_nearest(world(position), params.obstacle_lag).w);
    //% elif OBSTACLE == "grid"
    let scale = vec3f(params.field_size - 1u) / vec3f(params.size);  // samples are on the faces of the box too
    away = min(away, obstacle_around(position * scale).w);
    //% endif
    out_solid[i] = select(0u, 1u, away < 0.0);
    if i == 0u {
        ball[0] = vec4f(params.obstacle_center, params.obstacle_radius);
    }
}

// Forces ---------------------------------------------------------------------------------------------------------------

${air.kernel("find_spin")}
    ${air.each_cell()}
    //% for axis in range(3)
    let d${AXES[axis]} = (velocity_in(cell + NEXT[${axis}]) - velocity_in(cell - NEXT[${axis}])) / (2.0 * params.edge);
    //% endfor
    let curl = vec3f(dy.z - dz.y, dz.x - dx.z, dx.y - dy.x);
    out_vectors[i] = vec4f(curl, length(curl));
}

fn spin_in(cell: vec3i) -> f32 {
    return spin[cell_index(clamp(cell, vec3i(0), vec3i(params.size) - 1))].w;
}

${air.kernel("find_swirl")}
    ${air.each_cell()}
    let gradient = vec3f(
        spin_in(cell + NEXT[0]) - spin_in(cell - NEXT[0]),
        spin_in(cell + NEXT[1]) - spin_in(cell - NEXT[1]),
        spin_in(cell + NEXT[2]) - spin_in(cell - NEXT[2]),
    ) / (2.0 * params.edge);
    let toward = gradient / (length(gradient) + 1e-3 / params.edge);
    out_vectors[i] = vec4f(params.confinement * params.edge * cross(toward, spin[i].xyz), 0.0);
}

// Density and temperature after a step of combustion and radiation.
fn reacted(before: vec2f) -> vec2f {
    let ignition = params.combustion.y;
    let burning = clamp((before.y - ignition) / (0.25 * ignition + 1e-6), 0.0, 1.0);
    let burnt = params.combustion.x * burning * before.x;
    let hot = before.y + params.combustion.z * burnt;
    let cubed = max(hot, 0.0) * hot * hot;
    return vec2f(before.x - burnt, hot * pow(1.0 + params.combustion.w * cubed, -1.0 / 3.0));
}

${air.kernel("emit_matter")}
    ${air.each_cell()}
    let position = world(vec3f(cell) + 0.5);
    let source = fade(position, params.source_center, params.source_radius);
    let tool = params.emit * fade(position, params.tool_point, params.tool_radius);
    let value = max(reacted(moved_matter[i]) * params.retained, max(source, tool) * params.source_matter);
    out_matter[i] = select(value, vec2f(0.0), is_solid(cell));
}

// Whether no air goes through the lower face of a cell along an axis.
fn is_blocked(face: vec3i, axis: i32) -> bool {
    let below = face - NEXT[axis];
    if face[axis] == 0 {
        return (params.open_low[axis] == 0u) | is_solid(face);
    }
    if face[axis] == i32(params.size[axis]) {
        return (params.open_high[axis] == 0u) | is_solid(below);
    }
    return is_solid(face) || is_solid(below);
}

//% for axis in range(3)
fn pushed_${AXES[axis]}(face: vec3i, i: u32) -> f32 {
    let above = min(face, vec3i(params.size) - 1);
    let below = max(face - NEXT[${axis}], vec3i(0));
    var force = 0.5 * (swirl[cell_index(above)].${AXES[axis]} + swirl[cell_index(below)].${AXES[axis]});
    let position = world(vec3f(face) + 0.5 - 0.5 * vec3f(NEXT[${axis}]));
    //% if axis == 1
    let held = 0.5 * (matter[cell_index(above)] + matter[cell_index(below)]);
    force += params.buoyancy * held.y - params.weight * held.x;
    //% endif
    var speed = moved_faces[i].${AXES[axis]} + params.dt * force;
    //% if axis == 1
    let source = fade(position, params.source_center, params.source_radius);
    speed = select(speed, max(speed, params.jet * source), params.jet * source > 0.0);
    //% endif
    let tool = params.drag * fade(position, params.tool_point, params.tool_radius);
    speed += tool * (params.tool_velocity.${AXES[axis]} - speed);
    return clamp(speed, -params.top_speed, params.top_speed);
}

//% endfor
//% if OBSTACLE == "placed"
// The velocity along an axis of a blocked face: that of the obstacle, if it is what blocks it.
fn driven(face: vec3i, axis: i32) -> f32 {
    let position = world(vec3f(face) + 0.5 - 0.5 * vec3f(NEXT[axis]));
    let near = obstacle_nearest(position, params.obstacle_lag);
    let border = face[axis] == 0 || face[axis] == i32(params.size[axis]);
    if border || near.w > ball_distance(position) {
        return 0.0;
    }
    return clamp(obstacle_velocity(near.xyz, 1.0)[axis], -params.top_speed, params.top_speed);
}

//% endif
${air.kernel("push")}
    ${air.each_face()}
    var value = vec4f(0.0);
    //% for axis in range(3)
    if all(face < vec3i(params.size) + NEXT[${axis}]) && !is_blocked(face, ${axis}) {
        value[${axis}] = pushed_${AXES[axis]}(face, i);
    }
    //% if OBSTACLE == "placed"
    if all(face < vec3i(params.size) + NEXT[${axis}]) && is_blocked(face, ${axis}) {
        value[${axis}] = driven(face, ${axis});
    }
    //% endif
    //% endfor
    out_faces[i] = value;
}

// Incompressibility ----------------------------------------------------------------------------------------------------

${air.kernel("diverge")}
    ${air.each_cell()}
    let here = faces[face_index(cell)];
    var sum = 0.0;
    //% for axis in range(3)
    sum += faces[face_index(cell + NEXT[${axis}])].${AXES[axis]} - here.${AXES[axis]};
    //% endfor
    out_scalars[i] = select(sum, 0.0, is_solid(cell));
}

//% for axis in range(3)
// How much the pressure grows over a face. Outside it is 0, on the face itself, half a cell away.
fn rise_${AXES[axis]}(face: vec3i) -> f32 {
    if face[${axis}] == 0 {
        return 2.0 * pressure[cell_index(face)];
    }
    let below = pressure[cell_index(face - NEXT[${axis}])];
    if face[${axis}] == i32(params.size[${axis}]) {
        return -2.0 * below;
    }
    return pressure[cell_index(face)] - below;
}

//% endfor
${air.kernel("project")}
    ${air.each_face()}
    var value = out_faces[i];
    //% for axis in range(3)
    if all(face < vec3i(params.size) + NEXT[${axis}]) && !is_blocked(face, ${axis}) {
        value[${axis}] -= rise_${AXES[axis]}(face);
    }
    //% endfor
    out_faces[i] = value;
}

//% if OBSTACLES
//% include "common/smoke_bodies.wgsl"

//% endif
// Whether a face is within an obstacle: solid on both sides.
fn is_buried(face: vec3i, axis: i32) -> bool {
    let below = face - NEXT[axis];
    return inside(face) && inside(below) && is_solid(face) && is_solid(below);
}

//% for axis in range(3)
// The mean velocity of the faces around a buried one that air goes through.
fn slipping_${AXES[axis]}(face: vec3i) -> f32 {
    var total = vec2f(0.0);
    //% for other in range(3)
    for (var side = -1; side <= 1; side += 2) {
        let near = face + side * NEXT[${other}];
        if all(near >= vec3i(0)) && all(near < vec3i(params.size) + NEXT[${axis}]) && !is_blocked(near, ${axis}) {
            total += vec2f(out_faces[face_index(near)].${AXES[axis]}, 1.0);
        }
    }
    //% endfor
    return total.x / max(total.y, 1.0);
}

//% endfor
// Air slips along obstacles: the outermost faces within them get the velocity of the air next to them, for those who
// sample between faces.
${air.kernel("slip")}
    ${air.each_face()}
    //% for axis in range(3)
    if all(face < vec3i(params.size) + NEXT[${axis}]) && is_buried(face, ${axis}) {
        out_faces[i][${axis}] = slipping_${AXES[axis]}(face);
    }
    //% endfor
}

${air.kernel("center")}
    ${air.each_cell()}
    let here = faces[face_index(cell)];
    //% for axis in range(3)
    out_scalars[3u * i + ${axis}u] = 0.5 * (here.${AXES[axis]} + faces[face_index(cell + NEXT[${axis}])].${AXES[axis]});
    //% endfor
}

// Tracers --------------------------------------------------------------------------------------------------------------

// A point in the ball of the source.
fn born(chance: vec4f) -> vec3f {
    let radius = params.source_radius * pow(chance.x, 1.0 / 3.0);
    let height = 2.0 * chance.y - 1.0;
    let across = sqrt(max(1.0 - height * height, 0.0));
    let angle = 6.283185307 * chance.z;
    return params.source_center + radius * vec3f(across * precise_cos(angle), height, across * precise_sin(angle));
}

// Carries each tracer along; one that is old, has left or has met an obstacle begins anew, after a while.
${air.kernel("drift")}
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    let old = tracers[i];
    let age = old.w + params.dt;
    var position = (old.xyz - params.low) / params.edge;
    if age > 0.0 {
        position = traced(position, faces_at(position), params.dt / params.edge);
    }
    let cell = vec3i(floor(position));
    let begins = params.turn == 0u;
    let is_over = begins | (age > params.life);     // no branch of a uniform alone: see docs/decisions/0074
    if is_over || !inside(cell) || is_solid(clamp(cell, vec3i(0), vec3i(params.size) - 1)) {
        let chance = philox_uniform(philox(vec4u(i, params.turn, params.stream), params.key));
        tracers[i] = vec4f(born(chance), select(-0.2, -1.0, begins) * params.life * chance.w);
        out_scalars[i] = 0.0;
        return;
    }
    tracers[i] = vec4f(world(position), age);
    out_scalars[i] = matter_at(position).value.y;
}

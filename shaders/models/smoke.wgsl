// Smoke in air that cannot be compressed: what a step does but for the pressure (models/smoke_pressure.wgsl).
// In and out: faces, velocities through the cells' faces [m/s]; matter, density and temperature above the surroundings [K]
// of each cell; velocity in the middle of each cell. tracers: points carried along, and their age [s]. ball: the sphere's
// middle and radius, for whom draws it.
// Scratch: guess_* after the first half of an advection, moved_* after it; spin, curl of the velocity and its length; swirl,
// acceleration by vorticity confinement; totals, sums of what `tally` finds; solid, 1 where there is no air; rhs, what flows out of each cell [m/s].
// In: OBSTACLE, whether a grid of signed distances is given. The equations and their sources are in the twin,
// app/vertigrad/models/physics/smoke_twin.py.
//% import "common/staggered.wgsl" as staggered
//% import "common/field.wgsl" as field
//% include "common/index.wgsl"
//% include "common/math.wgsl"
//% include "common/philox.wgsl"

struct Params {
    size: vec3u,               // cells along x, y, z
    edge: f32,                 // of a cell [m]
    low: vec3f,                // corner of the box [m]
    dt: f32,
    open_low: vec3u,           // 1 where the side of the box lets air through
    turn: u32,                 // number of the step
    open_high: vec3u,
    top_speed: f32,
    obstacle_place: vec3f,     // of the sphere
    obstacle_radius: f32,
    source_place: vec3f,
    source_radius: f32,
    source_matter: vec2f,      // density, and temperature
    jet: f32,
    weight: f32,
    lift: f32,
    confinement: f32,
    spread: f32,               // diffusivity times the time of a sweep over the square of the edge
    kept: vec2f,               // share of density, and of temperature, that is left after a step
    key: vec2u,
    touch_point: vec3f,
    touch_radius: f32,
    touch_velocity: vec3f,
    drag: f32,                 // share of the way to the hand's velocity that is gone in a step
    stream: vec2u,             // of the tracers' random numbers
    emit: f32,
    life: f32,
    count: u32,                // tracers
    field_size: vec3u,         // cells of the signed distances
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> faces: array<vec4f>;
@group(0) @binding(2) var<storage, read> matter: array<vec2f>;
@group(0) @binding(3) var<storage, read> guess_faces: array<vec4f>;
@group(0) @binding(4) var<storage, read> guess_matter: array<vec2f>;
@group(0) @binding(5) var<storage, read> moved_faces: array<vec4f>;
@group(0) @binding(6) var<storage, read> moved_matter: array<vec2f>;
@group(0) @binding(7) var<storage, read> solid: array<u32>;
@group(0) @binding(8) var<storage, read> velocity: array<f32>;
@group(0) @binding(9) var<storage, read> spin: array<vec4f>;
@group(0) @binding(10) var<storage, read> swirl: array<vec4f>;
@group(0) @binding(11) var<storage, read> pressure: array<f32>;
@group(0) @binding(12) var<storage, read> obstacle: array<f32>;
@group(0) @binding(13) var<storage, read_write> out_faces: array<vec4f>;
@group(0) @binding(14) var<storage, read_write> out_matter: array<vec2f>;
@group(0) @binding(15) var<storage, read_write> out_vectors: array<vec4f>;
@group(0) @binding(16) var<storage, read_write> out_numbers: array<f32>;
@group(0) @binding(17) var<storage, read_write> out_solid: array<u32>;
@group(0) @binding(18) var<storage, read_write> tracers: array<vec4f>;
@group(0) @binding(20) var<storage, read> totals: array<vec4f>;
@group(0) @binding(19) var<storage, read_write> ball: array<vec4f>;

//% include "common/staggered.wgsl"
${staggered.velocities("faces")}
${staggered.velocities("guess_faces")}
//% if OBSTACLE
${field.functions("obstacle", "params.field_size", "0", "vec3i(1, i32(params.field_size.x), i32(params.field_size.x * params.field_size.y))")}
//% endif

//% macro each_cell()
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.size.x * params.size.y * params.size.z {
        return;
    }
    let cell = cell_of(i, params.size);
//%- endmacro
//% macro each_face()
    let i = linear_index(id, num_workgroups, 128u);
    let rows = params.size + 1u;
    if i >= rows.x * rows.y * rows.z {
        return;
    }
    let face = cell_of(i, rows);
//%- endmacro
//% macro kernel(name)
@compute @workgroup_size(128)
fn ${name}(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
//%- endmacro
//% set AXES = "xyz"

fn is_solid(cell: vec3i) -> bool {
    return solid[cell_index(cell)] != 0u;
}

// Where in the scene a place counted in cells is.
fn world(place: vec3f) -> vec3f {
    return params.low + params.edge * place;
}

// 1 within half the radius, 0 from the radius on.
fn fade(place: vec3f, middle: vec3f, radius: f32) -> f32 {
    return clamp(2.0 - 2.0 * distance(place, middle) / max(radius, 1e-6), 0.0, 1.0);
}

// Where the air at a place was (`courant` below 0) or will be: the midpoint rule. `wind` is its velocity there, `courant`
// time over the edge.
fn traced(place: vec3f, wind: vec3f, courant: f32) -> vec3f {
    return place + courant * faces_at(place + 0.5 * courant * wind);
}

fn velocity_in(cell: vec3i) -> vec3f {
    let at = 3u * cell_index(clamp(cell, vec3i(0), vec3i(params.size) - 1));
    return vec3f(velocity[at], velocity[at + 1u], velocity[at + 2u]);
}

//% for axis in range(3)
// The velocity on the middle of a face: that of the face, and the means of the cells on both sides.
fn wind_${AXES[axis]}(face: vec3i, i: u32) -> vec3f {
    var wind = 0.5 * (velocity_in(face) + velocity_in(face - NEXT[${axis}]));
    wind.${AXES[axis]} = faces[i].${AXES[axis]};
    return wind;
}

//% endfor
// Whether a place lies beyond a side that lets air through.
fn has_left(place: vec3f) -> bool {
    let below = (place < vec3f(0.0)) & (params.open_low != vec3u(0u));
    let above = (place > vec3f(params.size)) & (params.open_high != vec3u(0u));
    return any(below | above);
}

// Obstacles -----------------------------------------------------------------------------------------------------------

${kernel("solidify")}
    ${each_cell()}
    let place = vec3f(cell) + 0.5;
    var away = distance(world(place), params.obstacle_place) - params.obstacle_radius;
    //% if OBSTACLE
    let scale = vec3f(params.field_size) / vec3f(params.size);
    away = min(away, obstacle_between(place * scale - 0.5));
    //% endif
    out_solid[i] = select(0u, 1u, away < 0.0);
    if i == 0u {
        ball[0] = vec4f(params.obstacle_place, params.obstacle_radius);
    }
}

// Advection ------------------------------------------------------------------------------------------------------------

struct Sample {
    value: vec2f,
    least: vec2f,
    most: vec2f,
}

//% for source in ("matter", "guess_matter")
// Density and temperature at a place, trilinear over the cells that hold air, and their range among those.
fn ${source}_at(place: vec3f) -> Sample {
    let found = corner(place, vec3f(0.5), params.size);
    var total = vec3f(0.0);
    var least = vec2f(3e38);
    var most = vec2f(-3e38);
    for (var k = 0; k < 8; k += 1) {
        let cell = found.low + corner_offset(k);
        if !is_solid(cell) {
            let here = ${source}[cell_index(cell)];
            total += corner_weight(found.part, corner_offset(k)) * vec3f(here, 1.0);
            least = min(least, here);
            most = max(most, here);
        }
    }
    if !(total.z > 0.0) {
        return Sample(vec2f(0.0), vec2f(0.0), vec2f(0.0));
    }
    return Sample(total.xy / total.z, least, most);
}

//% endfor
${kernel("predict_matter")}
    ${each_cell()}
    let from_ = traced(vec3f(cell) + 0.5, velocity_in(cell), -params.dt / params.edge);
    if is_solid(cell) || has_left(from_) {
        out_matter[i] = vec2f(0.0);
    } else {
        out_matter[i] = matter_at(from_).value;
    }
}

// What carrying forth and back has changed is made good by half, within the values that were around.
${kernel("correct_matter")}
    ${each_cell()}
    let middle = vec3f(cell) + 0.5;
    let from_ = traced(middle, velocity_in(cell), -params.dt / params.edge);
    let to = traced(middle, velocity_in(cell), params.dt / params.edge);
    let guess = guess_matter[i];
    if is_solid(cell) || has_left(from_) || has_left(to) {
        out_matter[i] = guess;
    } else {
        let around = matter_at(from_);
        out_matter[i] = clamp(guess + 0.5 * (matter[i] - guess_matter_at(to).value), around.least, around.most);
    }
}

// What each cell is to have of density and temperature, had it lost only what flows out of the box, and what it has.
${kernel("tally")}
    ${each_cell()}
    var away = 0.0;
    let low = faces[face_index(cell)];
    //% for axis in range(3)
    if cell[${axis}] == 0 {
        away += max(-low[${axis}], 0.0);
    }
    if cell[${axis}] == i32(params.size[${axis}]) - 1 {
        away += max(faces[face_index(cell + NEXT[${axis}])][${axis}], 0.0);
    }
    //% endfor
    let left = max(1.0 - away * params.dt / params.edge, 0.0);
    out_vectors[i] = vec4f(left * matter[i], moved_matter[i]);
}

// What advection gained or lost in all is taken from or given to all in proportion.
${kernel("make_good")}
    ${each_cell()}
    let sums = totals[0];
    let share = select(vec2f(1.0), clamp(sums.xy / sums.zw, vec2f(0.5), vec2f(2.0)), sums.zw > vec2f(1e-20));
    out_matter[i] *= share;
}

${kernel("predict_faces")}
    ${each_face()}
    var value = vec4f(0.0);
    //% for axis in range(3)
    if all(face < vec3i(params.size) + NEXT[${axis}]) {
        let place = vec3f(face) + 0.5 - 0.5 * vec3f(NEXT[${axis}]);
        value[${axis}] = faces_${AXES[axis]}(traced(place, wind_${AXES[axis]}(face, i), -params.dt / params.edge));
    }
    //% endfor
    out_faces[i] = value;
}

//% for axis in range(3)
fn corrected_${AXES[axis]}(face: vec3i, i: u32) -> f32 {
    let place = vec3f(face) + 0.5 - 0.5 * vec3f(NEXT[${axis}]);
    let wind = wind_${AXES[axis]}(face, i);
    let from_ = traced(place, wind, -params.dt / params.edge);
    let to = traced(place, wind, params.dt / params.edge);
    let guess = guess_faces[i].${AXES[axis]};
    if has_left(from_) || has_left(to) {
        return guess;
    }
    let found = face_corner(${axis}, from_);
    var least = 3e38;
    var most = -3e38;
    for (var k = 0; k < 8; k += 1) {
        let here = faces[face_index(found.low + corner_offset(k))].${AXES[axis]};
        least = min(least, here);
        most = max(most, here);
    }
    return clamp(guess + 0.5 * (faces[i].${AXES[axis]} - guess_faces_${AXES[axis]}(to)), least, most);
}

//% endfor
${kernel("correct_faces")}
    ${each_face()}
    var value = vec4f(0.0);
    //% for axis in range(3)
    if all(face < vec3i(params.size) + NEXT[${axis}]) {
        value[${axis}] = corrected_${AXES[axis]}(face, i);
    }
    //% endfor
    out_faces[i] = value;
}

// One sweep of diffusion; nothing goes through walls or out of the box.
${kernel("diffuse")}
    ${each_cell()}
    let here = moved_matter[i];
    var gain = vec2f(0.0);
    if !is_solid(cell) {
        //% for axis in range(3)
        for (var side = -1; side <= 1; side += 2) {
            let other = cell + side * NEXT[${axis}];
            if inside(other) && !is_solid(other) {
                gain += moved_matter[cell_index(other)] - here;
            }
        }
        //% endfor
    }
    out_matter[i] = here + params.spread * gain;
}

// Forces ---------------------------------------------------------------------------------------------------------------

${kernel("find_spin")}
    ${each_cell()}
    //% for axis in range(3)
    let d${AXES[axis]} = (velocity_in(cell + NEXT[${axis}]) - velocity_in(cell - NEXT[${axis}])) / (2.0 * params.edge);
    //% endfor
    let curl = vec3f(dy.z - dz.y, dz.x - dx.z, dx.y - dy.x);
    out_vectors[i] = vec4f(curl, length(curl));
}

fn spin_in(cell: vec3i) -> f32 {
    return spin[cell_index(clamp(cell, vec3i(0), vec3i(params.size) - 1))].w;
}

${kernel("find_swirl")}
    ${each_cell()}
    let slope = vec3f(
        spin_in(cell + NEXT[0]) - spin_in(cell - NEXT[0]),
        spin_in(cell + NEXT[1]) - spin_in(cell - NEXT[1]),
        spin_in(cell + NEXT[2]) - spin_in(cell - NEXT[2]),
    ) / (2.0 * params.edge);
    let toward = slope / (length(slope) + 1e-3 / params.edge);
    out_vectors[i] = vec4f(params.confinement * params.edge * cross(toward, spin[i].xyz), 0.0);
}

${kernel("emit_matter")}
    ${each_cell()}
    let place = world(vec3f(cell) + 0.5);
    let source = fade(place, params.source_place, params.source_radius);
    let hand = params.emit * fade(place, params.touch_point, params.touch_radius);
    let value = max(moved_matter[i] * params.kept, max(source, hand) * params.source_matter);
    out_matter[i] = select(value, vec2f(0.0), is_solid(cell));
}

// Whether no air goes through the lower face of a cell along an axis.
fn is_blocked(face: vec3i, axis: i32) -> bool {
    let below = face - NEXT[axis];
    if face[axis] == 0 {
        return params.open_low[axis] == 0u || is_solid(face);
    }
    if face[axis] == i32(params.size[axis]) {
        return params.open_high[axis] == 0u || is_solid(below);
    }
    return is_solid(face) || is_solid(below);
}

//% for axis in range(3)
fn pushed_${AXES[axis]}(face: vec3i, i: u32) -> f32 {
    let above = min(face, vec3i(params.size) - 1);
    let below = max(face - NEXT[${axis}], vec3i(0));
    var force = 0.5 * (swirl[cell_index(above)].${AXES[axis]} + swirl[cell_index(below)].${AXES[axis]});
    let place = world(vec3f(face) + 0.5 - 0.5 * vec3f(NEXT[${axis}]));
    //% if axis == 1
    let held = 0.5 * (matter[cell_index(above)] + matter[cell_index(below)]);
    force += params.lift * held.y - params.weight * held.x;
    //% endif
    var speed = moved_faces[i].${AXES[axis]} + params.dt * force;
    //% if axis == 1
    let source = fade(place, params.source_place, params.source_radius);
    speed = select(speed, max(speed, params.jet * source), params.jet * source > 0.0);
    //% endif
    let hand = params.drag * fade(place, params.touch_point, params.touch_radius);
    speed += hand * (params.touch_velocity.${AXES[axis]} - speed);
    return clamp(speed, -params.top_speed, params.top_speed);
}

//% endfor
${kernel("push")}
    ${each_face()}
    var value = vec4f(0.0);
    //% for axis in range(3)
    if all(face < vec3i(params.size) + NEXT[${axis}]) && !is_blocked(face, ${axis}) {
        value[${axis}] = pushed_${AXES[axis]}(face, i);
    }
    //% endfor
    out_faces[i] = value;
}

// Incompressibility ----------------------------------------------------------------------------------------------------

${kernel("diverge")}
    ${each_cell()}
    let here = faces[face_index(cell)];
    var sum = 0.0;
    //% for axis in range(3)
    sum += faces[face_index(cell + NEXT[${axis}])].${AXES[axis]} - here.${AXES[axis]};
    //% endfor
    out_numbers[i] = select(sum, 0.0, is_solid(cell));
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
${kernel("project")}
    ${each_face()}
    var value = out_faces[i];
    //% for axis in range(3)
    if all(face < vec3i(params.size) + NEXT[${axis}]) && !is_blocked(face, ${axis}) {
        value[${axis}] -= rise_${AXES[axis]}(face);
    }
    //% endfor
    out_faces[i] = value;
}

// Whether a face lies within an obstacle: solid on both sides.
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
// Air slips along obstacles: the outermost faces within them are given the velocity of the air beside them, for those who
// sample between faces.
${kernel("slip")}
    ${each_face()}
    //% for axis in range(3)
    if all(face < vec3i(params.size) + NEXT[${axis}]) && is_buried(face, ${axis}) {
        out_faces[i][${axis}] = slipping_${AXES[axis]}(face);
    }
    //% endfor
}

${kernel("centre")}
    ${each_cell()}
    let here = faces[face_index(cell)];
    //% for axis in range(3)
    out_numbers[3u * i + ${axis}u] = 0.5 * (here.${AXES[axis]} + faces[face_index(cell + NEXT[${axis}])].${AXES[axis]});
    //% endfor
}

// Tracers --------------------------------------------------------------------------------------------------------------

// A point in the ball of the source.
fn born(chance: vec4f) -> vec3f {
    let radius = params.source_radius * pow(chance.x, 1.0 / 3.0);
    let height = 2.0 * chance.y - 1.0;
    let across = sqrt(max(1.0 - height * height, 0.0));
    let angle = 6.283185307 * chance.z;
    return params.source_place + radius * vec3f(across * precise_cos(angle), height, across * precise_sin(angle));
}

// Carries each tracer along; one that is old, has left or has met an obstacle begins anew, after a while.
${kernel("drift")}
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    let old = tracers[i];
    let age = old.w + params.dt;
    var place = (old.xyz - params.low) / params.edge;
    if age > 0.0 {
        place = traced(place, faces_at(place), params.dt / params.edge);
    }
    let cell = vec3i(floor(place));
    let begins = params.turn == 0u;
    if begins || age > params.life || !inside(cell) || is_solid(clamp(cell, vec3i(0), vec3i(params.size) - 1)) {
        let chance = philox_uniform(philox(vec4u(i, params.turn, params.stream), params.key));
        tracers[i] = vec4f(born(chance), select(-0.2, -1.0, begins) * params.life * chance.w);
        out_numbers[i] = 0.0;
        return;
    }
    tracers[i] = vec4f(world(place), age);
    out_numbers[i] = matter_at(place).value.y;
}

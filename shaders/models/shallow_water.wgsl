// Water that is shallow over a bed (Saint-Venant), by finite volumes: second order in space and, in two stages, in time.
// In: bed (rows, columns) by strides, elevations [m]; before, the water as depth [m] and discharge [m²/s] along columns
//     and rows; clock: the step [s], and the time still to go. EDGES: "walls" or "open".
// Out: after, a stage later (advance; in its second stage, SECOND, with sources, friction and the tool); rate [1/s], how
//      fast waves cross a cell (pace); clock (wind, tick); depth and speed, color and the surfaces that are drawn (show).
// The reference implementation is app/vertigrad/models/reference/shallow_water.py.
//% include "common/index.wgsl"

struct Params {
    rows: u32,
    columns: u32,
    cell: f32,          // edge [m]
    datum: f32,         // elevation from which others are counted [m]
    gravity: f32,
    dry: f32,           // depth below which water is at rest [m]
    manning: f32,       // [s/m^(1/3)]
    rain: f32,          // [m/s]
    spring: vec4f,      // position in cells, radius in cells, and water in its middle [m/s]
    tool: vec4f,        // the same of the tool
    drag: vec3f,        // velocity of the tool [m/s], and how fast water takes it on [1/s]
    cfl: f32,         // of the longest stable step
    time: f32,          // to go in this physical step [s]
    level: vec2f,       // of the water at first, on both sides of the dam [m]
    dam: f32,           // column
    edge: f32,          // of a cell in the scene
    height: f32,        // of a meter in the scene
    film: f32,          // depth from which on water is visible [m]
    deep: f32,          // depth of the darkest color [m]
    foam: f32,          // speed of the lightest [m/s]
    bed_offset: u32,
    bed_strides: vec2i,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> bed: array<f32>;
@group(0) @binding(2) var<storage, read> before: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> after: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> clock: array<f32>;
@group(0) @binding(5) var<storage, read> timing: array<f32>;
@group(0) @binding(6) var<storage, read_write> rate: array<f32>;
@group(0) @binding(7) var<storage, read> fastest: array<f32>;
@group(0) @binding(8) var<storage, read_write> depth_speed: array<vec2f>;
@group(0) @binding(9) var<storage, read_write> color: array<vec4f>;
@group(0) @binding(10) var<storage, read_write> position: array<f32>;
@group(0) @binding(11) var<storage, read_write> ground: array<f32>;

// Of a cell, or of a point in it: depth, velocity along and across the axis in question, and the level of the surface.
struct Water {
    depth: f32,
    along: f32,
    across: f32,
    level: f32,
}

fn bed_at(at: vec2i) -> f32 {
    let index = i32(params.bed_offset) + at.y * params.bed_strides.x + at.x * params.bed_strides.y;
    return bed[u32(index)] - params.datum;
}

fn number(at: vec2i) -> u32 {
    return u32(at.y) * params.columns + u32(at.x);
}

fn inside(at: vec2i) -> bool {
    return all(at >= vec2i(0)) && at.x < i32(params.columns) && at.y < i32(params.rows);
}

// Velocity where depth may vanish (Kurganov & Petrova 2007, equation 2.17).
fn velocity(state: vec4f) -> vec2f {
    let h2 = state.x * state.x;
    let least = params.dry * params.dry;
    return select(vec2f(0.0), 1.41421356 * state.x * state.yz / sqrt(h2 * h2 + max(h2 * h2, least * least)), h2 > 0.0);
}

// The water in a cell, along an axis; beyond the border a mirror of it, or the cell itself.
fn water(cell: vec2i, axis: vec2i) -> Water {
    let size = vec2i(i32(params.columns), i32(params.rows));
    //% if EDGES == "walls"
    let at = select(select(cell, 2 * size - 1 - cell, cell >= size), -1 - cell, cell < vec2i(0));
    //% else
    let at = clamp(cell, vec2i(0), size - 1);
    //% endif
    let state = before[number(at)];
    let u = velocity(state);
    // no faster than the step allows: films of the second stage have velocities that nobody asked when it was chosen
    let most = max(params.cfl * params.cell / timing[0] - sqrt(params.gravity * state.x), 0.0);
    var along = clamp(dot(u, vec2f(axis)), -most, most);
    //% if EDGES == "walls"
    along = select(-along, along, inside(cell));
    //% endif
    return Water(state.x, along, dot(u, vec2f(axis.yx)), state.x + bed_at(at));
}

fn slope(before_: f32, here: f32, after_: f32) -> f32 {
    let a = here - before_;
    let b = after_ - here;
    return select(0.0, select(b, a, abs(a) < abs(b)), a * b > 0.0);
}

// The water of `here` at its side towards `side` (1 or -1), from those before and after it; level where one is dry.
fn reconstructed(a: Water, here: Water, b: Water, side: f32) -> Water {
    if min(a.depth, min(here.depth, b.depth)) <= params.dry {
        return here;
    }
    let half = 0.5 * side;
    return Water(
        here.depth + half * slope(a.depth, here.depth, b.depth),
        here.along + half * slope(a.along, here.along, b.along),
        here.across + half * slope(a.across, here.across, b.across),
        here.level + half * slope(a.level, here.level, b.level),
    );
}

// What crosses a face: depth, and momentum across; momentum along as either side feels it, over its own pressure.
struct Flux {
    depth: f32,
    before_: f32,
    after_: f32,
    across: f32,
}

// Hydrostatic reconstruction (Audusse et al. 2004, equations 2.9 to 2.15) with the flux of Harten, Lax & van Leer. The
// pressures of both sides are taken out of it beforehand, so that water at rest gives an exact zero.
fn crossing(a: Water, b: Water) -> Flux {
    let g = params.gravity;
    let top = max(a.level - a.depth, b.level - b.depth);
    let h = max(vec2f(a.level, b.level) - top, vec2f(0.0));
    let c = sqrt(g * h);
    let u = vec2f(a.along, b.along);
    let low = min(min(u.x - c.x, u.y - c.y), 0.0);
    let high = max(max(u.x + c.x, u.y + c.y), 0.0);
    let spread = high - low;
    if max(h.x, h.y) <= 0.0 || spread <= 0.0 {
        return Flux(0.0, 0.0, 0.0, 0.0);
    }
    let q = h * u;
    let mass = (high * q.x - low * q.y + low * high * (h.y - h.x)) / spread;
    let carried = (high * q.x * u.x - low * q.y * u.y + low * high * (q.y - q.x)) / spread;
    let pressed = 0.5 * g * (h.x - h.y) * (h.x + h.y) / spread;
    return Flux(mass, carried + low * pressed, carried + high * pressed, mass * select(b.across, a.across, mass > 0.0));
}

// The change per second of depth and of momentum along and across, by the two faces of an axis.
fn change(at: vec2i, axis: vec2i) -> vec3f {
    let a2 = water(at - 2 * axis, axis);
    let a = water(at - axis, axis);
    let here = water(at, axis);
    let b = water(at + axis, axis);
    let b2 = water(at + 2 * axis, axis);
    let low = reconstructed(a, here, b, -1.0);
    let high = reconstructed(a, here, b, 1.0);
    let enters = crossing(reconstructed(a2, a, here, 1.0), low);
    let leaves = crossing(high, reconstructed(here, b, b2, -1.0));
    // what is left of the pressures and of the bed's push within the cell: the slope of the surface
    let push = 0.5 * params.gravity * (low.depth + high.depth) * (high.level - low.level);
    return vec3f(
        enters.depth - leaves.depth,
        enters.after_ - leaves.before_ - push,
        enters.across - leaves.across,
    ) / params.cell;
}

fn stream_of(at: vec2i) -> vec3f {
    let x = change(at, vec2i(1, 0));
    let y = change(at, vec2i(0, 1));
    return vec3f(x.x + y.x, x.y + y.z, x.z + y.y);
}

fn cell_of(index: u32) -> vec2i {
    return vec2i(i32(index % params.columns), i32(index / params.columns));
}

// 1 in the middle of a spot (position, radius), falling to 0 at its rim.
fn within(spot: vec4f, at: vec2i) -> f32 {
    let away = vec2f(at) - spot.xy;
    let near = max(1.0 - dot(away, away) / (spot.z * spot.z), 0.0);
    return near * near;
}

@compute @workgroup_size(128)
fn advance(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.rows * params.columns {
        return;
    }
    let dt = timing[0];
    if dt <= 0.0 {
        return;  // nothing is left of the physical step, and `between` is not read
    }
    let at = cell_of(i);
    let here = before[i];
    var next = here.xyz + dt * stream_of(at);
    //% if SECOND
    next = 0.5 * (after[i].xyz + next);
    let poured = params.rain + params.spring.w * within(params.spring, at) + params.tool.w * within(params.tool, at);
    next.x = max(next.x, 0.0) + dt * poured;
    let u = velocity(vec4f(next, 0.0));
    // friction by Manning's formula and the drag of the tool, both implicit: neither turns the water round
    let rubs = params.gravity * params.manning * params.manning * length(u)
        / pow(max(next.x, params.dry), 4.0 / 3.0);
    let drag_rate = params.drag.z * within(params.tool, at);
    let slowed = (u + dt * drag_rate * params.drag.xy) / (1.0 + dt * (rubs + drag_rate));
    after[i] = vec4f(next.x, next.x * slowed, 0.0);
    //% else
    next.x = max(next.x, 0.0);
    after[i] = vec4f(next, 0.0);
    //% endif
}

// How many cells a second are crossed by waves along either axis.
@compute @workgroup_size(128)
fn pace(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.rows * params.columns {
        return;
    }
    let state = before[i];
    let u = abs(velocity(state));
    rate[i] = (max(u.x, u.y) + sqrt(params.gravity * state.x)) / params.cell;
}

// A physical step begins.
@compute @workgroup_size(1)
fn wind() {
    clock[0] = 0.0;
    clock[1] = params.time;
}

// The next step: the rest of the time in equal parts, each as long as is stable.
@compute @workgroup_size(1)
fn tick() {
    let rest = clock[1];
    let parts = max(ceil(rest * fastest[0] / params.cfl), 1.0);
    clock[0] = select(rest / parts, 0.0, rest <= 0.0);
    clock[1] = select(rest - rest / parts, 0.0, parts <= 1.0);
}

// Water that is level on each side of the dam.
@compute @workgroup_size(128)
fn begin(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.rows * params.columns {
        return;
    }
    let at = cell_of(i);
    let level = select(params.level.y, params.level.x, f32(at.x) < params.dam) - params.datum;
    after[i] = vec4f(max(level - bed_at(at), 0.0), 0.0, 0.0, 0.0);
}

// Where there is no water, the water level of neighbors continues below the ground, so that the shore is where they meet.
fn drawn_level(at: vec2i, depth: f32) -> f32 {
    let ground_ = bed_at(at);
    if depth > params.film {
        return ground_ + depth;
    }
    var sum = 0.0;
    var count = 0.0;
    for (var k = 0; k < 9; k += 1) {
        let neighbor = at + vec2i(k % 3 - 1, k / 3 - 1);
        if inside(neighbor) {
            let there = before[number(neighbor)].x;
            if there > params.film {
                sum += bed_at(neighbor) + there;
                count += 1.0;
            }
        }
    }
    let hidden = ground_ - 0.02 * params.cell;
    return select(hidden, min(sum / max(count, 1.0), hidden), count > 0.0);
}

@compute @workgroup_size(128)
fn show(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.rows * params.columns {
        return;
    }
    let at = cell_of(i);
    let state = before[i];
    let fast = length(velocity(state));
    depth_speed[i] = vec2f(state.x, fast);
    let clear = exp(-3.0 * state.x / params.deep);
    let water_ = mix(vec3f(0.035, 0.17, 0.33), vec3f(0.28, 0.62, 0.70), clear);
    let white = smoothstep(0.35, 1.0, fast / params.foam);
    color[i] = vec4f(mix(water_, vec3f(0.90, 0.95, 0.97), 0.75 * white), 1.0);
    let middle = 0.5 * vec2f(f32(params.columns - 1u), f32(params.rows - 1u));
    let flat_ = (vec2f(at) - middle) * params.edge;
    let levels = vec2f(drawn_level(at, state.x), bed_at(at)) * params.height;
    for (var k = 0u; k < 3u; k += 1u) {
        position[3u * i + k] = vec3f(flat_.x, levels.x, flat_.y)[k];
        ground[3u * i + k] = vec3f(flat_.x, levels.y, flat_.y)[k];
    }
}

// Dye in a chaotic mixer, the blinking vortex (Aref 1984): in a round vessel of radius 1 one of two stirrers turns, then the
// other. A stirrer at b and its image beyond the wall, at 1/b, move points along circles. Either half of a period is regular;
// together they are chaotic, unless the period is short.

struct Fields { count: u32, posts: u32, dt: f32, time: f32, strength: f32, offset: f32, period: f32, drop: f32 }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read_write> position: array<f32>;    // of dye [vessel radii]
@group(0) @binding(2) var<storage, read_write> dye: array<f32>;         // 0 or 1: the drop that it came from
@group(0) @binding(3) var<storage, read_write> stirrers: array<f32>;
@group(0) @binding(4) var<storage, read_write> turning: array<f32>;     // 1: this stirrer turns
@group(0) @binding(5) var<storage, read_write> wall: array<f32>;

const TURN = 6.2831853;
const CORE = 1e-3;          // square of the radius of a stirrer's core
const LONGEST = 0.01;       // step [s]

fn side_at(time: f32) -> f32 { return select(-1.0, 1.0, fract(time / fields.period) < 0.5); }

fn swirl(at: vec2f, center: f32) -> vec2f {
    let away = at - vec2f(center, 0.0);
    return fields.strength * vec2f(-away.y, away.x) / (dot(away, away) + CORE);
}

fn velocity(at: vec2f, time: f32) -> vec2f {
    let b = side_at(time) * fields.offset;
    return swirl(at, b) - swirl(at, 1.0 / b);
}

// Midpoint rule.
fn moved(from_: vec2f, time: f32, dt: f32) -> vec2f {
    let middle = from_ + 0.5 * dt * velocity(from_, time);
    return from_ + dt * velocity(middle, time);
}

// Two numbers in [0, 1) of a row: the R2 sequence (Roberts 2018), which covers a square evenly.
fn even(row: u32) -> vec2f { return fract(0.5 + f32(row) * vec2f(0.7548776662, 0.5698402910)); }

@compute @workgroup_size(64)
fn pour(@builtin(global_invocation_id) id: vec3u) {
    let row = id.x;
    if row >= fields.count { return; }
    let second = row % 2u;
    let random = even(row / 2u);
    let away = fields.drop * sqrt(random.x) * vec2f(cos(TURN * random.y), sin(TURN * random.y));
    let at = away + select(vec2f(0.1, -0.55), vec2f(-0.1, 0.55), second == 1u);
    position[3u * row] = at.x;
    position[3u * row + 1u] = 0.02 * f32(second);
    position[3u * row + 2u] = at.y;
    dye[row] = f32(second);
}

@compute @workgroup_size(64)
fn enclose(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= fields.posts { return; }
    let angle = TURN * f32(id.x) / f32(fields.posts - 1u);
    wall[3u * id.x] = cos(angle);
    wall[3u * id.x + 1u] = 0.0;
    wall[3u * id.x + 2u] = sin(angle);
}

@compute @workgroup_size(64)
fn stir(@builtin(global_invocation_id) id: vec3u) {
    let row = id.x;
    if row < 2u {
        let side = 1.0 - 2.0 * f32(row);
        stirrers[3u * row] = side * fields.offset;
        stirrers[3u * row + 1u] = 0.03;
        turning[row] = select(0.0, 1.0, side == side_at(fields.time));
    }
    if row >= fields.count { return; }
    var at = vec2f(position[3u * row], position[3u * row + 2u]);
    let steps = max(u32(ceil(fields.dt / LONGEST)), 1u);
    let dt = fields.dt / f32(steps);
    for (var step = 0u; step < steps; step++) { at = moved(at, fields.time + f32(step) * dt, dt); }
    let radius = length(at);
    at *= min(1.0, 0.999 / max(radius, 1e-9));  // the wall, where rounding goes beyond
    position[3u * row] = at.x;
    position[3u * row + 2u] = at.y;
}

// A free-surface fluid of equal particles, incompressible by an implicit pressure: Ihmsen et al. 2014, "Implicit
// Incompressible SPH", with the pressure warm-started and relaxed without leaving the particles' positions of the step's start.
// Walls have no particles. They add to the density what layers of fluid would, mirrored in them, by a function of the distance
// alone (the idea of Koschier & Bender 2017, "Density Maps"), and push along its gradient: what pressure does to the velocities
// is the transpose of what these do to the density, at walls too, so that it makes no energy.
//
// Rows are stored cell by cell while a step lasts. Out and in: positions (x, y, z, density), velocities (velocity, speed),
// pressures. In between, in the order of the grid, what the entry points below describe. The list of row i is near[k * count
// + i], k < found[i]; one more than MOST is counted, but not kept. Units: meters, seconds; `sorted_pressures` is pressure
// over (density at rest * relative density²) [m²/s²]. app/vertigrad/models/physics/fluid.py has the order of the entry
// points, fluid_reference.py the reference.
// In: MOST, neighbors stored for each particle; FIELD, see common/fluid_walls.wgsl.
// OBSTACLES, the number of those that models place: they move as bodies by models/rigid_body.wgsl, and pressure pushes them.
//% import "common/grid.wgsl" as grid with context
//% import "common/rigid_body.wgsl" as rigid
//% include "common/index.wgsl"

struct Params {
    count: u32,
    spacing: f32,      // of particles at rest; the kernel reaches twice as far
    dt: f32,
    gravity: f32,
    viscosity: f32,    // kinematic viscosity [m²/s], the numerical one included
    density: f32,      // at rest [kg/m³]
    density_correction: f32,  // fraction of the excess density that a step corrects
    chebyshev_weight: f32,    // of an iteration of the pressure solve; 1: plain Jacobi
    warm: f32,         // fraction of the last step's pressure that is begun with
    tolerance: f32,    // mean error of the relative density at which the pressure solve ends
    iteration: u32,    // of the pressure solve, the last one that has been recorded
    measured: u32,     // 1 in iterations whose error is summed
    tank_low: vec3f,
    tank_high: vec3f,
    shape: u32,        // of the body in the tank: 0 none, 1 box, 2 ball, 3 pillar
    body_center: vec3f,
    body_half: vec3f,
    tool_point: vec3f,       // drag tool: position, velocity, radius, and drag rate [1/s]
    tool_velocity: vec3f,
    tool_reach: f32,
    tool_drag_rate: f32,
    obstacle_lag: f32,   // seconds that a placed obstacle is before its placement
    obstacle_pace: f32,  // seconds of the scene to one of the fluid
    //% if FIELD == "grid"
    field_low: vec3f,
    field_spacing: f32,
    field_size: vec3u,
    field_offset: u32,
    //% endif
    ${grid.fields()}
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> starts: array<u32>;
@group(0) @binding(3) var<storage, read_write> positions: array<vec4f>;  // retained from step to step, as `velocities` and `pressures` are
@group(0) @binding(4) var<storage, read_write> velocities: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> pressures: array<f32>;
@group(0) @binding(6) var<storage, read> sorted_positions: array<vec4f>;  // in the order of the grid: positions, and
@group(0) @binding(7) var<storage, read> sorted_velocities: array<vec4f>;  // velocities, or what else is treated as a velocity
@group(0) @binding(8) var<storage, read> sorted_pressures: array<f32>;
@group(0) @binding(9) var<storage, read> near: array<u32>;
@group(0) @binding(10) var<storage, read> found: array<u32>;
@group(0) @binding(11) var<storage, read> walls: array<vec4f>;  // gradient of the fraction of walls, and the diagonal of the solve
@group(0) @binding(12) var<storage, read> field: array<f32>;
@group(0) @binding(13) var<storage, read_write> new_positions: array<vec4f>;  // the same, by the entry points that write them
@group(0) @binding(14) var<storage, read_write> new_velocities: array<vec4f>;
@group(0) @binding(15) var<storage, read_write> new_pressures: array<f32>;
@group(0) @binding(16) var<storage, read_write> new_near: array<u32>;
@group(0) @binding(17) var<storage, read_write> new_found: array<u32>;
@group(0) @binding(18) var<storage, read_write> new_walls: array<vec4f>;
// Relative density, from `predict` on what it will be beyond 1 without pressure; and `sorted_pressures` an iteration ago.
@group(0) @binding(19) var<storage, read_write> excess: array<vec2f>;
@group(0) @binding(20) var<storage, read_write> total: array<atomic<u32>>;  // error of an iteration, summed in units of 1 / TOTAL
@group(0) @binding(21) var<storage, read_write> going: array<u32>;  // 1 until the solve has converged; and the same if a body is moved
@group(0) @binding(22) var<storage, read_write> solved: array<f32>;  // mean error, and iterations taken
@group(0) @binding(23) var<storage, read_write> mechanical: array<f32>;  // pressure as force per area [Pa]

//% if FIELD == "placed"
@group(0) @binding(24) var<storage, read> blocks: array<u32>;          // where each obstacle begins in `field`
@group(0) @binding(25) var<storage, read> solids: array<vec4f>;        // of `walls`, what the nearest obstacle adds, and its number
@group(0) @binding(26) var<storage, read_write> new_solids: array<vec4f>;
@group(0) @binding(27) var<storage, read> near_solids: array<u32>;     // whether a workgroup has particles near an obstacle
@group(0) @binding(28) var<storage, read_write> new_near_solids: array<atomic<u32>>;
@group(0) @binding(29) var<storage, read> answers: array<vec4f>;       // of obstacles to pressure, see common/rigid_body.wgsl
@group(0) @binding(30) var<storage, read_write> sums: array<vec4f>;
${rigid.answers("answers")}
${rigid.loads("sums", "answers", OBSTACLES, 128)}
//% endif

const PI = 3.14159265359;
const RELAXED = 0.5;       // Ihmsen et al. 2014, section 3.2
const MARGIN = 0.1;        // in spacings, the minimal distance of a particle from walls
const STIFFEST = 0.1;      // least diagonal times spacing²: what is almost alone is not pushed far
const FASTEST = 2.0;       // spacings that nothing moves farther than in a step
const MOST_ERROR = 0.015625;  // of a particle's relative density that counts in the mean: so sums of integers do not overflow
const ERROR = 1073741824.0;   // integers of a workgroup's sum to a unit of relative density
const TOTAL = 2147483648.0;   // integers of the sum over all particles, if each had the largest error

var<workgroup> error: atomic<u32>;

//% include "common/grid.wgsl"

// Volume of a particle times the cubic spline (Monaghan 1992) with smoothing length `spacing`; `q` is a distance over it.
fn weight(q: f32) -> f32 {
    let outer = max(2.0 - q, 0.0);
    return select(0.25 * outer * outer * outer, 1.0 - q * q * (1.5 - 0.75 * q), q < 1.0) / PI;
}

// The derivative of that along an offset, for the particle at its end.
fn kernel_gradient(offset: vec3f) -> vec3f {
    let q = length(offset) / params.spacing;
    let outer = max(2.0 - q, 0.0);
    let steep = select(-0.75 * outer * outer / max(q, 1e-6), 2.25 * q - 3.0, q < 1.0);
    return offset * (steep / (PI * params.spacing * params.spacing));
}

//% include "common/fluid_walls.wgsl"

// Rows into the order of the grid, so that neighbors are close together.
@compute @workgroup_size(128)
fn gather(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    let row = order[i];
    new_positions[i] = positions[row];
    new_velocities[i] = velocities[row];
    new_pressures[i] = params.warm * pressures[row];
    //% if FIELD == "placed"
    if i % 128u == 0u {
        atomicStore(&new_near_solids[i / 128u], 0u);
    }
    //% endif
    excess[i].y = new_pressures[i];
}

// Who is near, how dense it is here, and how the density answers to pressure.
@compute @workgroup_size(128)
fn meet(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    let me = sorted_positions[i].xyz;
    var met = 0u;
    var dense = 0.0;
    var sum = vec3f(0.0);
    var squares = 0.0;
    //% call grid.neighbors("me", "starts")
    let offset = me - sorted_positions[k].xyz;
    let far2 = dot(offset, offset);
    if far2 < 4.0 * params.spacing * params.spacing && k != i {
        if met < ${MOST}u {
            new_near[met * params.count + i] = k;
            let steep = kernel_gradient(offset);
            dense += weight(sqrt(far2) / params.spacing);
            sum += steep;
            squares += dot(steep, steep);
        }
        met += 1u;
    }
    //% endcall
    new_found[i] = met;
    let wall = walled(me);
    let diagonal = dot(sum + wall.gradient, sum + wall.gradient) + squares;
    //% if FIELD == "placed"
    let which = select(${OBSTACLES}u, nearest_body(me), any(wall.body != vec3f(0.0)));
    new_solids[i] = vec4f(wall.body, f32(which));
    if which < ${OBSTACLES}u {
        atomicStore(&new_near_solids[i / 128u], 1u);
    }
    //% endif
    new_walls[i] = vec4f(wall.gradient, max(diagonal, STIFFEST / (params.spacing * params.spacing)));
    excess[i].x = dense + weight(0.0) + wall.fraction;
}

// All but pressure acts, and the relative density is stored with the velocity: gravity, viscosity (Morris et al. 1997,
// equation 22) and the drag tool.
@compute @workgroup_size(128)
fn push(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    let me = sorted_positions[i].xyz;
    let velocity = sorted_velocities[i].xyz;
    let soft = 0.01 * params.spacing * params.spacing;
    var shear = vec3f(0.0);
    for (var k = 0u; k < min(found[i], ${MOST}u); k += 1u) {
        let j = near[k * params.count + i];
        let offset = me - sorted_positions[j].xyz;
        shear += (velocity - sorted_velocities[j].xyz) * (dot(kernel_gradient(offset), offset) / (dot(offset, offset) + soft));
    }
    let acceleration = 2.0 * params.viscosity * shear - vec3f(0.0, params.gravity, 0.0);
    let away = (me - params.tool_point) / params.tool_reach;
    let grip = max(1.0 - dot(away, away), 0.0);
    let fraction = 1.0 - exp(-params.dt * params.tool_drag_rate * grip * grip);
    let pushed = mix(velocity + params.dt * acceleration, params.tool_velocity, fraction);
    new_velocities[i] = vec4f(pushed, excess[i].x);
}

// Rate at which the relative density grows if particles move with `sorted_velocities`.
fn gathering(i: u32) -> f32 {
    let me = sorted_positions[i].xyz;
    let velocity = sorted_velocities[i].xyz;
    var rate = dot(velocity, walls[i].xyz);
    for (var k = 0u; k < min(found[i], ${MOST}u); k += 1u) {
        let j = near[k * params.count + i];
        rate += dot(velocity - sorted_velocities[j].xyz, kernel_gradient(me - sorted_positions[j].xyz));
    }
    return rate;
}

// What of that rate a solid takes away that moves along.
fn driven(i: u32) -> f32 {
    //% if FIELD == "placed"
    return dot(moving(sorted_positions[i].xyz), solids[i].xyz);
    //% else
    return 0.0;
    //% endif
}

// Density beyond that at rest after the step, if there were no pressure. Of what is too much already only a fraction counts:
// taken away at once it would leave the particles with the speed at which it was, and the fluid would never come to rest.
@compute @workgroup_size(128)
fn predict(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i == 0u {
        going[0] = 1u;
        //% if FIELD == "placed"
        var are_moved = false;
        for (var k = 0u; k < ${OBSTACLES}u; k += 1u) {
            are_moved |= field[blocks[k] + 35u] == 1.0;
        }
        going[1] = u32(are_moved);
        //% endif
    }
    if i >= params.count {
        return;
    }
    let now = excess[i].x - 1.0;
    excess[i].x = now * select(params.density_correction, 1.0, now < 0.0) + params.dt * (gathering(i) - driven(i));
}

fn pressed(i: u32) -> vec3f {
    let me = sorted_positions[i].xyz;
    let mine = sorted_pressures[i];
    var sum = -mine * walls[i].xyz;
    for (var k = 0u; k < min(found[i], ${MOST}u); k += 1u) {
        let j = near[k * params.count + i];
        sum -= (mine + sorted_pressures[j]) * kernel_gradient(me - sorted_positions[j].xyz);
    }
    return sum;
}

//% if FIELD == "placed"
// What pressure does to each obstacle, of the particles of a workgroup.
fn load_obstacles(row: u32, lane: u32, i: u32) {
    if row * 128u >= params.count {
        return;
    }
    if near_solids[row] == 0u {
        if lane < 2u * ${OBSTACLES}u {
            sums[2u * ${OBSTACLES}u * row + lane] = vec4f(0.0);
        }
        return;
    }
    let mass = params.density * params.spacing * params.spacing * params.spacing;
    let k = min(i, params.count - 1u);
    let which = select(${OBSTACLES}u, u32(solids[k].w), i < params.count);
    let steep = mass * solids[k].xyz;
    add_loads(row, lane, which, vec4f(steep * sorted_pressures[k], 2.0 * length(steep)), sorted_positions[k].xyz);
}

//% endif
// Acceleration by pressure, and what that does to obstacles if they are moved. Iterations that are left when the solve has converged
// do nothing: a dispatch whose size the GPU reads takes longer, since wgpu checks it. Each dispatch takes time, also if it does nothing.
@compute @workgroup_size(128)
fn accelerate(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = linear_index(id, num_workgroups, 128u);
    if i < params.count && going[0] == 1u {
        new_velocities[i] = vec4f(pressed(i), 0.0);
    }
    //% if FIELD == "placed"
    if going[1] == 1u {
        load_obstacles(group.y * num_workgroups.x + group.x, lane, i);
    }
    //% endif
}

// What of that an obstacle takes away that pressure moves, and what this adds to the diagonal: a bound of what all particles
// at the obstacle do to this one by it, so that the iterations converge for a light body, too.
fn yielded(i: u32) -> vec2f {
    //% if FIELD == "placed"
    let which = u32(solids[i].w);
    if which < ${OBSTACLES}u {
        let rate = dot(rigid_acceleration(which, sorted_positions[i].xyz), solids[i].xyz);
        return vec2f(rate, length(solids[i].xyz) * answers[5u * which + 2u].w);
    }
    //% endif
    return vec2f(0.0);
}

// The error that a pressure leaves in the relative density: where there is none, missing fluid is none.
fn relaxed(i: u32) -> f32 {
    let dt2 = params.dt * params.dt;
    let body = yielded(i);
    let left = excess[i].x + dt2 * (gathering(i) - body.x);
    let now = new_pressures[i];
    let aim = now + RELAXED * left / (dt2 * (walls[i].w + body.y));
    new_pressures[i] = max(excess[i].y + params.chebyshev_weight * (aim - excess[i].y), 0.0);
    excess[i].y = now;
    return select(max(left, 0.0), abs(left), now > 0.0);
}

// An iteration of the relaxed Jacobi method for the pressure that leaves no excess, accelerated by Chebyshev's weights (Golub
// & Varga 1961; Wang 2015, equation 6); pressure never pulls.
@compute @workgroup_size(128)
fn relax(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = linear_index(id, num_workgroups, 128u);
    if lane == 0u {
        atomicStore(&error, 0u);
    }
    workgroupBarrier();
    if i < params.count && going[0] == 1u {
        let left = relaxed(i);
        if params.measured == 1u {
            atomicAdd(&error, u32(min(left, MOST_ERROR) * ERROR));
        }
    }
    workgroupBarrier();
    if lane == 0u && params.measured == 1u {
        atomicAdd(&total[0], u32(f32(atomicLoad(&error)) * (TOTAL / (ERROR * MOST_ERROR)) / f32(params.count)));
    }
}

// Whether the pressure solve has converged: then its other iterations do nothing.
@compute @workgroup_size(1)
fn judge() {
    let sum = atomicExchange(&total[0], 0u);
    if going[0] == 0u {
        return;
    }
    solved[0] = f32(sum) * (MOST_ERROR / TOTAL);
    solved[1] = f32(params.iteration);
    if solved[0] < params.tolerance {
        going[0] = 0u;
        going[1] = 0u;
    }
}

//% if FIELD == "placed"
// What the pressure of the last iteration does to each obstacle, also if it is not moved.
@compute @workgroup_size(128)
fn load(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    load_obstacles(group.y * num_workgroups.x + group.x, lane, linear_index(id, num_workgroups, 128u));
}
//% endif

// Velocity and position at the end of the step, held within the tank and outside of bodies.
@compute @workgroup_size(128)
fn finish(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = linear_index(id, num_workgroups, 128u);
    var lost = vec3f(0.0);
    if i < params.count {
        lost = finished(i);
    }
    //% if FIELD == "placed"
    let row = group.y * num_workgroups.x + group.x;
    if row * 128u < params.count {
        let mass = params.density * params.spacing * params.spacing * params.spacing;
        let at = positions[min(i, params.count - 1u)].xyz;
        var which = ${OBSTACLES}u;
        if any(lost != vec3f(0.0)) {
            which = nearest_body(at);
        }
        add_loads(row, lane, which, vec4f(mass * lost, 0.0), at);
    }
    //% endif
}

// The same of a particle; the velocity that it loses to the nearest body.
fn finished(i: u32) -> vec3f {
    var lost = vec3f(0.0);
    var velocity = sorted_velocities[i].xyz + params.dt * pressed(i);
    velocity *= min(1.0, FASTEST * params.spacing / max(params.dt * length(velocity), 1e-30));
    var position = sorted_positions[i].xyz + params.dt * velocity;
    let margin = MARGIN * params.spacing;
    let distance = solid(position);
    if distance < margin {
        let normal = outwards(position);
        position += (margin - distance) * normal;
        lost = min(dot(velocity - moving(position), normal), 0.0) * normal;
        velocity -= lost;
    }
    let held = clamp(position, params.tank_low + margin, params.tank_high - margin);
    velocity = select(velocity, vec3f(0.0), (position - held) * velocity > vec3f(0.0));
    positions[i] = vec4f(held, params.density * sorted_velocities[i].w);
    velocities[i] = vec4f(velocity, length(velocity));
    pressures[i] = sorted_pressures[i];
    return lost;
}

// Pressure as force per area: a third of the trace of the stress that forces between particles and from walls carry (Irving &
// Kirkwood 1950), which holds where a pressure of the solve alternates from particle to particle.
@compute @workgroup_size(128)
fn measure(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    let me = sorted_positions[i].xyz;
    let mine = sorted_pressures[i];
    var sum = mine * walled(me).virial;
    for (var k = 0u; k < min(found[i], ${MOST}u); k += 1u) {
        let j = near[k * params.count + i];
        let offset = me - sorted_positions[j].xyz;
        sum -= 0.5 * (mine + sorted_pressures[j]) * dot(kernel_gradient(offset), offset);
    }
    mechanical[i] = params.density * sum / 3.0;
}

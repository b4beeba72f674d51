// What the entry points of a fluid's step share: uniforms, arrays, the smoothing kernel, walls, and the acceleration by pressure.
//
// Rows are stored cell by cell while a step lasts. Out and in: positions (x, y, z, density), velocities (velocity, speed),
// pressures. In between, in the order of the grid, what the entry points describe. The list of row i is near[k * count + i],
// k < found[i]; one more than MOST is counted, but not kept. Units: meters, seconds; `sorted_pressures` is pressure over
// (density at rest * relative density²) [m²/s²].
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
${rigid.numbers("blocks")}
${rigid.loads("sums", "answers", OBSTACLES, 128)}
//% endif

const PI = 3.14159265359;

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

// Acceleration by the pressures of the particles and of walls.
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

// A free-surface fluid of equal particles, incompressible by an implicit pressure: Ihmsen et al. 2014, "Implicit
// Incompressible SPH", with the pressure warm-started and relaxed without leaving the particles' positions of the step's start.
// Walls have no particles. They add to the density what layers of fluid would, mirrored in them, by a function of the distance
// alone (the idea of Koschier & Bender 2017, "Density Maps"), and push along its gradient: what pressure does to the velocities
// is the transpose of what these do to the density, at walls too, so that it makes no energy.
//
// A step begins with gather, meet and push, solves for the pressure (models/fluid_pressure.wgsl), and ends with finish;
// app/vertigrad/models/physics/fluid.py has the order, app/vertigrad/models/reference/fluid.py the reference.
// In and out: as in common/fluid.wgsl.
//% import "common/grid.wgsl" as grid with context
//% include "common/fluid.wgsl"

const MARGIN = 0.1;        // in spacings, the minimal distance of a particle from walls
const STIFFEST = 0.1;      // least diagonal times spacing²: what is almost alone is not pushed far
const FASTEST = 2.0;       // spacings that nothing moves farther than in a step

//% include "common/grid.wgsl"

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

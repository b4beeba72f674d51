// The implicit pressure of models/fluid.wgsl: predict what the density would be without one, then iterations of accelerate and
// relax until judge ends them; load what it does to obstacles; measure it as force per area.
// In and out: as in common/fluid.wgsl.
//% include "common/fluid.wgsl"

const RELAXED = 0.5;       // Ihmsen et al. 2014, section 3.2
const MOST_ERROR = 0.015625;  // of a particle's relative density that counts in the mean: so sums of integers do not overflow
const ERROR = 1073741824.0;   // integers of a workgroup's sum to a unit of relative density
const TOTAL = 2147483648.0;   // integers of the sum over all particles, if each had the largest error

var<workgroup> error: atomic<u32>;

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

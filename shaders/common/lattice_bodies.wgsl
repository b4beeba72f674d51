// Bodies that the flow of models/lattice_boltzmann.wgsl moves in its plane: momentum exchange (Ladd 1994) with that of the cells
// which a body covers and leaves (Aidun, Lu & Ding 1998), so that fluid and body together lose none.
// In: OBSTACLES, their number; what streams into a cell, with its `link` (common/lattice_streaming.wgsl).
// A step: load, answer, carry; then stream, with the velocities that bodies have after it. Lengths are cells, times steps;
// a plane's axes are x and z of the scene.

//% import "common/rigid_body.wgsl" as rigid
//% set MOVES = range(1, 9)
const OTHER_WALL = ${OBSTACLES}u;       // in `owner`: a wall that is no obstacle's
const FLUID = ${OBSTACLES + 1}u;
const COVERED = 1.0;  // from the surface of a body: cells farther away are not covered by its motion, but as it is put there

${rigid.inertia("placed")}
${rigid.numbers("blocks")}
${rigid.answers("answers")}

var<workgroup> touched: atomic<u32>;    // bits of the bodies that cells of the workgroup meet
var<workgroup> meets: u32;
var<workgroup> partial: array<vec4f, 384>;

// How a cell moves as a body turns by one radian per step.
fn turned(arm: vec2f) -> vec2f {
    return vec2f(arm.y, -arm.x);
}

// From the center of mass of a body to a cell.
fn arm_of(which: u32, cell: u32) -> vec2f {
    let at = in_scene(f32(cell / params.columns), f32(cell % params.columns));
    return (at - answers[5u * which + 4u].xyz).xz / params.edge;
}

// Adds up `partial`, in three parts of 128.
fn add_up(lane: u32) {
    for (var half_group = 64u; half_group > 0u; half_group /= 2u) {
        workgroupBarrier();
        if lane < half_group {
            //% for part in range(3)
            partial[lane + ${128 * part}u] += partial[lane + half_group + ${128 * part}u];
            //% endfor
        }
    }
}

// Of each workgroup and obstacle, in three rows: force along x and z, torque, 0; and how much less these are for each
// velocity of the wall: xx, zz, and by turning; xz, and x and z by turning.
@compute @workgroup_size(128)
fn load(
    @builtin(workgroup_id) workgroup: vec3u, @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = workgroup.y * num_workgroups.x + workgroup.x;
    let cells = params.rows * params.columns;
    if 128u * group >= cells {
        return;
    }
    let thread = 128u * group + lane;
    let exists = thread < cells;
    let cell = min(thread, cells - 1u);
    let row = i32(cell / params.columns);
    let column = i32(cell) - row * i32(params.columns);
    let here = owner[cell];
    let since = met[cell];
    let is_near = abs(distance[cell]) < COVERED;
    let is_covered = here < OTHER_WALL && since == FLUID && is_near;
    let is_left = here == FLUID && since < OTHER_WALL && is_near;
    //% for k in MOVES
    var by_${k} = NO_LINK;
    //% endfor
    var gone = vec2f(0.0);   // momentum of the cell
    var changes = FLUID;     // of what the cell was, or is
    if exists {
        met[cell] = here;
        if here == FLUID {
            //% for k in MOVES
            link = NO_LINK;
            let came_${k} = streamed_${k}(row, column, cell);
            by_${k} = link;
            by_${k}.thrown = -(population(${OPPOSITE[k]}u, cell) + came_${k});
            //% endfor
        }
        if is_covered || is_left {
            //% for k in MOVES
            gone += population(${k}u, cell) * vec2f(${C[k][0]}, ${C[k][1]});
            //% endfor
            gone = select(-gone, gone, is_covered);
            changes = select(since, here, is_covered);
        }
    }
    if lane == 0u {
        atomicStore(&touched, 0u);
    }
    workgroupBarrier();
    var bits = select(0u, 1u << min(changes, 31u), changes < OTHER_WALL);
    //% for k in MOVES
    bits |= select(0u, 1u << min(by_${k}.owner, 31u), by_${k}.owner < OTHER_WALL);
    //% endfor
    atomicOr(&touched, bits);
    workgroupBarrier();
    if lane == 0u {
        meets = atomicLoad(&touched);
    }
    let all_met = workgroupUniformLoad(&meets);
    let first = 3u * ${OBSTACLES}u * group;
    if lane < ${OBSTACLES}u && (all_met & (1u << lane)) == 0u {
        //% for part in range(3)
        sums[first + 3u * lane + ${part}u] = vec4f(0.0);
        //% endfor
    }
    for (var left = all_met; left != 0u; left &= left - 1u) {
        let which = firstTrailingBit(left);
        let along = select(vec2f(0.0), gone, changes == which);
        var force = vec3f(along, dot(along, turned(arm_of(which, cell))));
        var straight = vec3f(0.0);
        var mixed = vec3f(0.0);
        //% for k in MOVES
        if by_${k}.owner == which {
            let c = vec2f(${C[k][0]}, ${C[k][1]});
            let lever = vec3f(c, dot(c, turned(arm_of(which, by_${k}.cell))));
            force += by_${k}.thrown * lever;
            straight += by_${k}.slope * lever * lever;
            mixed += by_${k}.slope * lever.xxy * lever.yzz;
        }
        //% endfor
        partial[lane] = vec4f(force, 0.0);
        partial[lane + 128u] = vec4f(straight, 0.0);
        partial[lane + 256u] = vec4f(mixed, 0.0);
        add_up(lane);
        if lane == 0u {
            //% for part in range(3)
            sums[first + 3u * which + ${part}u] = partial[${128 * part}];
            //% endfor
        }
        workgroupBarrier();
    }
}

// How high the fluid is that meets a body: as the body, or, for a sphere, as a cylinder of its volume [m].
fn depth() -> f32 {
    let half = obstacle_row(5u) * placed[obstacle_block + 4u];
    return select(2.0 * half.y, 4.0 / 3.0 * half.x, u32(placed[obstacle_block]) == 2u);
}

// What the loads do to each obstacle; a workgroup for each. As forces depend on the velocity after the step, and light bodies
// follow them at once, that velocity is solved for.
@compute @workgroup_size(128)
fn answer(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let which = group.x;
    //% for part in range(3)
    var sum_${part} = vec4f(0.0);
    //% endfor
    for (var k = lane; k < params.groups; k += 128u) {
        //% for part in range(3)
        sum_${part} += sums[3u * (k * ${OBSTACLES}u + which) + ${part}u];
        //% endfor
    }
    //% for part in range(3)
    partial[lane + ${128 * part}u] = sum_${part};
    //% endfor
    add_up(lane);
    if lane > 0u {
        return;
    }
    obstacle_block = blocks[which];
    var force = partial[0].xyz;
    let straight = partial[128].xyz;
    let mixed = partial[256].xyz;
    let slope = mat3x3f(
        vec3f(straight.x, mixed.x, mixed.y), vec3f(mixed.x, straight.y, mixed.z), vec3f(mixed.y, mixed.z, straight.z),
    );
    let layer = params.fluid_density * depth() * params.edge * params.edge;  // mass of the fluid in a cell [kg]
    var change = vec3f(0.0);
    if placed[obstacle_block + 35u] == 1.0 {
        let mass = placed[obstacle_block + 11u] / layer;
        let turning = in_space(inertia())[1].y / (layer * params.edge * params.edge);
        change = inverse(mat3x3f(mass, 0.0, 0.0, 0.0, mass, 0.0, 0.0, 0.0, turning) + slope) * force;
        force -= slope * change;
    }
    let pace = 1.0 / params.dt;
    let newton = layer * params.edge * pace * pace;
    answers[5u * which] = newton * vec4f(force.x, 0.0, force.y, 0.0);
    answers[5u * which + 1u] = newton * params.edge * vec4f(0.0, force.z, 0.0, 0.0);
    answers[5u * which + 2u] = params.edge * pace * pace * vec4f(change.x, 0.0, change.y, 0.0);
    answers[5u * which + 3u] = pace * pace * vec4f(0.0, change.z, 0.0, 0.0);
}

// Cells of bodies have the velocity that these have after the step.
@compute @workgroup_size(128)
fn carry(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let cell = linear_index(id, num_workgroups, 128u);
    if cell >= params.rows * params.columns || owner[cell] >= OTHER_WALL {
        return;
    }
    let which = owner[cell];
    obstacle_block = blocks[which];
    if placed[obstacle_block + 35u] == 1.0 {
        let at = in_scene(f32(cell / params.columns), f32(cell % params.columns));
        let velocity = obstacle_velocity(at, 1.0) + params.dt * rigid_acceleration(which, at);
        wall_velocity[cell] = velocity.xz * (params.dt / params.edge);
    }
}

// The step of models/mpm.wgsl on its grid: velocities after gravity, the tool, obstacles and walls.
// In: OBSTACLE, "grid" of signed distances, "placed" by the model obstacle, or ""; OBSTACLES, the number of those that are placed.

//% import "common/field.wgsl" as field
//% import "common/obstacle.wgsl" as obstacles
//% import "common/rigid_body.wgsl" as rigid

// Velocity at a solid with this outward normal: it may leave, and slides with Coulomb's friction.
fn stopped(velocity: vec3f, normal: vec3f) -> vec3f {
    let inward = dot(velocity, normal);
    if inward >= 0.0 {
        return velocity;
    }
    let along = velocity - normal * inward;
    return along * max(0.0, 1.0 + params.friction * inward / max(length(along), 1e-20));
}

//% if OBSTACLE == "placed"
${obstacles.functions("obstacle")}
${rigid.numbers("body_blocks")}
${rigid.loads("sums_of_bodies", "answers", OBSTACLES, 256)}
//% elif OBSTACLE == "grid"
${field.functions("obstacle", "params.obstacle_size", "0", "vec3i(1, i32(params.obstacle_size.x), i32(params.obstacle_size.x * params.obstacle_size.y))")}
${field.around("obstacle", "params.obstacle_size")}

// The slope of the distance along x, y and z, and the distance; far away outside of the grid.
fn obstacle_near(position: vec3f) -> vec4f {
    let at = (position - params.obstacle_low) / params.obstacle_cell;
    if any(at < vec3f(0.0)) || any(at > vec3f(params.obstacle_size - 1u)) {
        return vec4f(0.0, 1.0, 0.0, 1e9);
    }
    return obstacle_around(at);
}
//% endif

// Velocities of the nodes, with gravity, the drag tool, obstacles and walls; the sums are set to 0. What the matter loses to
// each obstacle is summed as a force.
@compute @workgroup_size(256)
fn move_grid(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = linear_index(id, num_workgroups, 256u);
    var lost = vec3f(0.0);
    if row < params.size.x * params.size.y * params.size.z {
        lost = moved_node(row);
    }
    //% if OBSTACLE == "placed"
    let groups = group.y * num_workgroups.x + group.x;
    if groups * 256u < params.size.x * params.size.y * params.size.z {
        let at = params.low + vec3f(node_at(row)) * params.cell;
        var which = ${OBSTACLES}u;
        if any(lost != vec3f(0.0)) {
            which = nearest_body(at);
        }
        add_loads(groups, lane, which, vec4f(lost / params.dt, 0.0), at);
    }
    //% endif
}

//% if OBSTACLE == "placed"
// The number of the obstacle that is nearest.
fn nearest_body(at: vec3f) -> u32 {
    _ = obstacle_nearest(at, params.obstacle_lag);
    return body_number();
}
//% endif

fn node_at(row: u32) -> vec3u {
    return vec3u(row % params.size.x, row / params.size.x % params.size.y, row / (params.size.x * params.size.y));
}

// The same of a node; the momentum [kg m/s] that it loses to obstacles.
fn moved_node(row: u32) -> vec3f {
    let sum = totals[row];
    if all(sum == vec4i(0)) {
        nodes[row] = vec4f(0.0);
        return vec3f(0.0);
    }
    var lost = vec3f(0.0);
    totals[row] = vec4i(0);
    let at = node_at(row);
    let position = params.low + vec3f(at) * params.cell;
    let pace = params.cell / params.dt;
    let mass = f32(sum.w);
    var velocity = vec3f(0.0);
    if sum.w > 0 {  // what is lighter than half a grain has none
        velocity = clamp(vec3f(sum.xyz) / mass, vec3f(-1.0), vec3f(1.0)) * pace;
    }
    velocity.y -= params.gravity * params.dt;
    let reach = 1.0 - length(position - params.tool_point) / params.tool_radius;
    if reach > 0.0 {
        velocity = mix(velocity, params.tool_velocity, params.tool_coupling * min(2.0 * reach, 1.0));
    }
    let out = position - params.ball.xyz;
    let far = length(out);
    if far < params.ball.w {
        velocity = stopped(velocity, out / max(far, 1e-20));
    }
    //% if OBSTACLE == "placed"
    let near = obstacle_nearest(position, params.obstacle_lag);
    if near.w < 0.5 * params.cell {  // what stops matter is half a cell behind the first nodes, on average
        let moving = obstacle_velocity(near.xyz, params.obstacle_pace);
        let after = moving + stopped(velocity - moving, obstacle_normal(near.xyz));
        lost = (velocity - after) * mass * (params.unit / params.grain);
        velocity = after;
    }
    //% elif OBSTACLE == "grid"
    let solid = obstacle_near(position);
    if solid.w < 0.0 {
        velocity = stopped(velocity, solid.xyz / max(length(solid.xyz), 1e-20));
    }
    //% endif
    //% for axis, normal in (("x", "1.0, 0.0, 0.0"), ("y", "0.0, 1.0, 0.0"), ("z", "0.0, 0.0, 1.0"))
    if at.${axis} <= WALL {
        velocity = stopped(velocity, vec3f(${normal}));
    } else if at.${axis} >= WALL + params.cells.${axis} {
        velocity = stopped(velocity, -vec3f(${normal}));
    }
    //% endfor
    nodes[row] = vec4f(velocity, mass * (params.unit / params.grain));
    return lost;
}

// Bodies that the air of models/smoke.wgsl moves: by its pressure on the faces of cells, as much as the air next to them loses,
// and by what the air weighs that they displace, whose pressure at rest the air is computed without.
// In: OBSTACLES, their number. Include this for load.

//% import "common/rigid_body.wgsl" as rigid

const AIR = ${AIR};  // density [kg/m³]
const NOTHING = ${OBSTACLES}u;

${rigid.numbers("blocks")}
${rigid.loads("sums", "answers", OBSTACLES, 128)}

// The obstacle that is nearest to a position, unless the sphere is nearer.
fn nearest_body(position: vec3f) -> u32 {
    let near = obstacle_nearest(position, params.obstacle_lag);
    if near.w > ball_distance(position) {
        return NOTHING;
    }
    return body_number();
}

// Whether a face has air on one side, and is an obstacle's on the other.
fn is_surface(face: vec3i, axis: i32) -> bool {
    let below = face - NEXT[axis];
    return inside(face) && inside(below) && is_solid(face) != is_solid(below);
}

// For the faces along each axis, and for cells: what acts on the obstacle there. The bound that is summed with forces is the
// mass of the air that a body displaces, relative to its own.
@compute @workgroup_size(128)
fn load(
    @builtin(workgroup_id) workgroup: vec3u, @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let group = workgroup.y * num_workgroups.x + workgroup.x;
    let rows = params.size + 1u;
    if 128u * group >= rows.x * rows.y * rows.z {
        return;
    }
    let i = 128u * group + lane;
    let exists = i < rows.x * rows.y * rows.z;
    let face = cell_of(select(0u, i, exists), rows);
    let mass = AIR * params.edge * params.edge * params.edge;
    //% for axis in range(3)
    {
        let position = world(vec3f(face) + 0.5 - 0.5 * vec3f(NEXT[${axis}]));
        var which = NOTHING;
        var force = vec4f(0.0);
        if exists && is_surface(face, ${axis}) {
            let below = face - NEXT[${axis}];
            which = nearest_body(position);
            force[${axis}] = mass / params.dt * select(-pressure[cell_index(face)], pressure[cell_index(below)], is_solid(face));
        }
        add_loads(4u * group + ${axis}u, lane, which, force, position);
    }
    //% endfor
    let middle = world(vec3f(face) + 0.5);
    var which = NOTHING;
    var force = vec4f(0.0);
    if exists && inside(face) && is_solid(clamp(face, vec3i(0), vec3i(params.size) - 1)) {
        which = nearest_body(middle);
        let own = obstacle[obstacle_block + 11u];
        force = mass * vec4f(0.0, params.gravity, 0.0, select(0.0, 1.0 / max(own, 1e-20), own > 0.0));
    }
    add_loads(4u * group + 3u, lane, which, force, middle);
}

// What media need of the obstacles that they move: their inertia, how they answer to a load, and sums of the loads of a workgroup.
// Import for the macros. A row of `answers` for each obstacle, five vec4, as models/rigid_body.wgsl has them: force [N], and
// a bound of what it does to itself; torque [N m]; acceleration; angular acceleration; center of mass.

// inertia: of the body that the functions of common/obstacle.wgsl are about.
//% macro inertia(name)
// The transposed of a body's axes: from its own to those of space.
fn axes() -> mat3x3f {
    return mat3x3f(obstacle_row(8u), obstacle_row(12u), obstacle_row(16u));
}

fn center_of_mass() -> vec3f {
    return obstacle_row(1u) + axes() * (obstacle_row(32u) * ${name}[obstacle_block + 4u]);
}

fn inertia() -> mat3x3f {
    let first = obstacle_row(36u);
    let second = obstacle_row(39u);
    return mat3x3f(
        vec3f(first.x, second.x, second.y), vec3f(second.x, first.y, second.z), vec3f(second.y, second.z, first.z),
    );
}

fn inverse(m: mat3x3f) -> mat3x3f {
    let x = cross(m[1], m[2]);
    let rows = mat3x3f(x, cross(m[2], m[0]), cross(m[0], m[1]));
    return transpose(rows) * (1.0 / dot(m[0], x));
}

fn in_space(own: mat3x3f) -> mat3x3f {
    let turned = axes();
    return turned * own * transpose(turned);
}
//% endmacro

// body_number: of the obstacle that they are about, by where each begins.
//% macro numbers(blocks)
fn body_number() -> u32 {
    var which = 0u;
    while ${blocks}[which] != obstacle_block {
        which += 1u;
    }
    return which;
}
//% endmacro

// rigid_acceleration: of obstacle number `which` at a position, by its load.
//% macro answers(name)
fn rigid_acceleration(which: u32, at: vec3f) -> vec3f {
    let row = 5u * which;
    return ${name}[row + 2u].xyz + cross(${name}[row + 3u].xyz, at - ${name}[row + 4u].xyz);
}
//%- endmacro

// add_loads: into `sums`, a row of two vec4 for each obstacle and workgroup, what the invocations of a workgroup give to each
// obstacle, in an order that does not change. To be called by all of them. A load is a force and, in w, the bound; `which` OBSTACLES
// and more is none.
//% macro loads(sums, answers, obstacles, workgroup)
var<workgroup> loads: array<vec4f, ${workgroup}>;
var<workgroup> load_arms: array<vec4f, ${workgroup}>;  // where it acts, and on which

fn add_loads(group: u32, lane: u32, which: u32, load: vec4f, at: vec3f) {
    loads[lane] = load;
    load_arms[lane] = vec4f(at, f32(which));
    workgroupBarrier();
    // Each obstacle has so many invocations; each adds up every so many-th load.
    const PARTS = ${8 if obstacles <= 16 else 4}u;
    let mine = lane % ${obstacles}u;
    let part = lane / ${obstacles}u;
    let pivot = ${answers}[5u * mine + 4u].xyz;
    var force = vec4f(0.0);
    var torque = vec3f(0.0);
    for (var k = part; k < select(0u, ${workgroup}u, part < PARTS); k += PARTS) {
        if load_arms[k].w == f32(mine) {
            force += loads[k];
            torque += cross(load_arms[k].xyz - pivot, loads[k].xyz);
        }
    }
    workgroupBarrier();
    loads[lane] = force;
    load_arms[lane] = vec4f(torque, 0.0);
    workgroupBarrier();
    if part == 0u {
        for (var k = 1u; k < PARTS; k += 1u) {
            force += loads[lane + k * ${obstacles}u];
            torque += load_arms[lane + k * ${obstacles}u].xyz;
        }
        let row = 2u * (group * ${obstacles}u + lane);
        ${sums}[row] = force;
        ${sums}[row + 1u] = vec4f(torque, 0.0);
    }
    workgroupBarrier();
}
//%- endmacro

// The material point method with moving least squares (MLS-MPM: Hu et al. 2018) and affine velocities (APIC: Jiang et al.
// 2015), quadratic B-splines, in three dimensions. A step is: list, order (a running sum in between), to_grid, move_grid,
// to_particles.
// In: WORKGROUP, invocations for a block of 4 by 4 by 4 cells; OBSTACLE and OBSTACLES, see common/mpm_grid.wgsl;
//     HARDEST, DENSEST, LOOSEST, see common/matter.wgsl.
//     particles: two vec4 a particle, position and a number for its shade, velocity and speed. affine: the velocity's gradient,
//     strains: the elastic deformation; both by columns in three vec4 each, and in the fourth of the first strain what
//     common/matter.wgsl remembers.
// Out: the same, a step later; nodes, the velocity and mass of each node of the grid.
//
// Particles add to the grid in integers, together all that they have, so that order does not matter and a run gives
// the same bits each time. The unit of mass is params.unit, of velocity a cell a step; a number is a share
// 1 / params.grain of that. What a particle gives is held to its mass times one cell a step, so nothing overflows while a
// node has less than 2^31 / params.grain units of mass.
// The reference implementation is app/vertigrad/models/reference/mpm.py.

const WALL = 3u;  // cells between the grid's rim and the walls
const SIDE = 6u;  // nodes along an edge of what the particles of a block reach
const TILE = 216u;

struct Params {
    count: u32,
    cell: f32,
    size: vec3u,  // nodes
    dt: f32,
    blocks: vec3u,
    gravity: f32,
    low: vec3f,  // position of the first node
    volume: f32,  // of a particle at rest
    cells: vec3u,  // between the walls
    unit: f32,  // kg
    mass: vec4f,  // of a particle of each kind, in units
    mu: vec4f,  // of water: its viscosity [Pa s]
    lambda: vec4f,  // of water: its bulk modulus
    grain: f32,
    hardening: f32,
    compression: f32,
    stretch: f32,
    ball: vec4f,  // center and radius of an obstacle
    slope: f32,  // of the sand's cone
    tip: f32,    // of the cone: a logarithmic strain of the volume
    friction: f32,  // at walls and obstacles
    tool_coupling: f32,  // part of its velocity that matter at the tool takes on in a step
    tool_radius: f32,
    tool_point: vec3f,
    obstacle_cell: f32,
    tool_velocity: vec3f,
    foam: f32,  // speed at which water is white
    obstacle_low: vec3f,
    obstacle_size: vec3u,
    obstacle_lag: f32,  // seconds that a placed obstacle is before its placement
    obstacle_pace: f32,  // seconds of the scene to one of the matter
    water: vec3f,
    jelly: vec3f,
    snow: vec3f,
    sand: vec3f,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> particles: array<vec4f>;
@group(0) @binding(2) var<storage, read> materials: array<u32>;
@group(0) @binding(3) var<storage, read_write> counts: array<atomic<u32>>;  // particles of each block, and 0
@group(0) @binding(4) var<storage, read_write> slots: array<vec2u>;  // of a particle: its block, and its number there
@group(0) @binding(5) var<storage, read> starts: array<u32>;
@group(0) @binding(6) var<storage, read> listed_slots: array<vec2u>;  // slots, where they are only read
@group(0) @binding(7) var<storage, read_write> order: array<u32>;
@group(0) @binding(8) var<storage, read> ordered: array<u32>;
@group(0) @binding(9) var<storage, read> gradients: array<vec4f>;  // affine, where it is only read
@group(0) @binding(10) var<storage, read_write> strains: array<vec4f>;
@group(0) @binding(11) var<storage, read_write> sums: array<atomic<i32>>;  // momentum and mass of each node
@group(0) @binding(12) var<storage, read_write> totals: array<vec4i>;  // sums, which are only read
@group(0) @binding(13) var<storage, read_write> nodes: array<vec4f>;
@group(0) @binding(14) var<storage, read> moved: array<vec4f>;  // nodes, where they are only read
@group(0) @binding(15) var<storage, read_write> new_particles: array<vec4f>;  // particles, where they are written
@group(0) @binding(16) var<storage, read_write> affine: array<vec4f>;
@group(0) @binding(17) var<storage, read> strained: array<vec4f>;
@group(0) @binding(18) var<storage, read_write> energies: array<vec4f>;
@group(0) @binding(19) var<storage, read_write> momenta: array<vec4f>;
@group(0) @binding(20) var<storage, read_write> colors: array<f32>;
@group(0) @binding(21) var<storage, read> obstacle: array<f32>;
//% if OBSTACLE == "placed"
@group(0) @binding(22) var<storage, read> body_blocks: array<u32>;  // where each obstacle begins there, see common/rigid_body.wgsl
@group(0) @binding(23) var<storage, read> answers: array<vec4f>;
@group(0) @binding(24) var<storage, read_write> sums_of_bodies: array<vec4f>;
//% endif

//% include "common/svd3.wgsl"
//% include "common/matter.wgsl"
//% include "common/index.wgsl"
//% include "common/mpm_nodes.wgsl"

var<workgroup> gathered: array<atomic<i32>, 864>;  // momentum along x, y, z and mass, each of TILE nodes
var<workgroup> spread: array<vec3f, 216>;

@compute @workgroup_size(256)
fn list(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 256u);
    if i >= params.count {
        return;
    }
    let block = row_of(first_node(on_grid(particles[2u * i].xyz)) / 4u, params.blocks);
    slots[i] = vec2u(block, atomicAdd(&counts[block], 1u));
}

// Particles of a block, contiguous. In what order they are there depends on the run, and nothing depends on the order.
@compute @workgroup_size(256)
fn put_in_order(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 256u);
    if i < params.count {
        order[starts[listed_slots[i].x] + listed_slots[i].y] = i;
    }
}

fn matter_of(columns: array<vec4f, 3>) -> Matter {
    return Matter(mat3x3f(columns[0].xyz, columns[1].xyz, columns[2].xyz), columns[0].w);
}

fn add_at(node: u32, whole: vec4i) {
    atomicAdd(&gathered[node], whole.x);
    atomicAdd(&gathered[node + TILE], whole.y);
    atomicAdd(&gathered[node + 2u * TILE], whole.z);
    atomicAdd(&gathered[node + 3u * TILE], whole.w);
}

// Strain and stress of each particle, and what it gives to the 27 nodes around it.
@compute @workgroup_size(${WORKGROUP})
fn to_grid(@builtin(workgroup_id) block: vec3u, @builtin(local_invocation_index) lane: u32) {
    let bucket = row_of(block, params.blocks);
    let first = starts[bucket];
    let end = starts[bucket + 1u];
    if first == end {
        return;
    }
    for (var t = lane; t < 4u * TILE; t += ${WORKGROUP}u) {
        atomicStore(&gathered[t], 0);
    }
    if lane == 0u {
        atomicStore(&counts[bucket], 0u);  // for the next step
    }
    workgroupBarrier();
    let pace = params.dt / params.cell;
    for (var k = first + lane; k < end; k += ${WORKGROUP}u) {
        let i = ordered[k];
        let kind = materials[i];
        let gradient = mat3x3f(gradients[3u * i].xyz, gradients[3u * i + 1u].xyz, gradients[3u * i + 2u].xyz);
        let before = matter_of(array(strains[3u * i], strains[3u * i + 1u], strains[3u * i + 2u]));
        let now = loaded(kind, before, gradient);
        strains[3u * i] = vec4f(now.matter.elastic[0], now.matter.memory);
        if kind != WATER {
            strains[3u * i + 1u] = vec4f(now.matter.elastic[1], 0.0);
            strains[3u * i + 2u] = vec4f(now.matter.elastic[2], 0.0);
        }
        let position = on_grid(particles[2u * i].xyz);
        let base = first_node(position);
        let offset = position - vec3f(base);
        let mass = params.mass[kind];
        let force = 4.0 * params.dt * params.volume / (params.unit * params.cell * params.cell);
        let bend = (mass * gradient - force * now.stress) * params.dt;
        let carried = particles[2u * i + 1u].xyz * (mass * pace) - bend * offset;
        let w = weights(offset);
        let corner = tile_row(base - block * 4u);
        var exchanged = vec3f(0.0);
        var rounded = vec4i(0);
        //% for z in range(3)
        //% for y in range(3)
        //% for x in range(3)
        {
            let weight = w[${x}].x * w[${y}].y * w[${z}].z * params.grain;
            let momentum = clamp(carried + bend * vec3f(${x}.0, ${y}.0, ${z}.0), vec3f(-mass), vec3f(mass)) * weight;
            exchanged += momentum;
            //% if (x, y, z) != (1, 1, 1)
            let whole = vec4i(vec3i(round(momentum)), i32(round(mass * weight)));
            rounded += whole;
            add_at(corner + ${x + 6 * (y + 6 * z)}u, whole);
            //% endif
        }
        //% endfor
        //% endfor
        //% endfor
        // The middle node takes what rounding left over: far nodes get so little that rounding would lose it in one direction.
        let exact = vec4i(vec3i(round(exchanged)), i32(round(mass * params.grain)));
        add_at(corner + ${1 + 6 * (1 + 6)}u, exact - rounded);
    }
    workgroupBarrier();
    for (var t = lane; t < 4u * TILE; t += ${WORKGROUP}u) {
        let value = atomicLoad(&gathered[(t & 3u) * TILE + t / 4u]);
        if value != 0 {
            atomicAdd(&sums[4u * row_of(node_of_tile(block, t / 4u), params.size) + (t & 3u)], value);
        }
    }
}

//% include "common/mpm_grid.wgsl"

// Velocity and its gradient from the nodes around; positions at the end of the step, at most a cell inside a wall.
@compute @workgroup_size(${WORKGROUP})
fn to_particles(@builtin(workgroup_id) block: vec3u, @builtin(local_invocation_index) lane: u32) {
    let bucket = row_of(block, params.blocks);
    let first = starts[bucket];
    let end = starts[bucket + 1u];
    if first == end {
        return;
    }
    for (var t = lane; t < TILE; t += ${WORKGROUP}u) {
        let at = node_of_tile(block, t);
        if all(at < params.size) {
            spread[t] = moved[row_of(at, params.size)].xyz;
        }
    }
    workgroupBarrier();
    for (var k = first + lane; k < end; k += ${WORKGROUP}u) {
        let i = ordered[k];
        let before = new_particles[2u * i];
        let position = on_grid(before.xyz);
        let base = first_node(position);
        let offset = position - vec3f(base);
        let w = weights(offset);
        let corner = tile_row(base - block * 4u);
        var velocity = vec3f(0.0);
        var along_x = vec3f(0.0);
        var along_y = vec3f(0.0);
        var along_z = vec3f(0.0);
        //% for z in range(3)
        //% for y in range(3)
        //% for x in range(3)
        {
            let weighted = spread[corner + ${x + 6 * (y + 6 * z)}u] * (w[${x}].x * w[${y}].y * w[${z}].z);
            velocity += weighted;
            along_x += weighted * (${x}.0 - offset.x);
            along_y += weighted * (${y}.0 - offset.y);
            along_z += weighted * (${z}.0 - offset.z);
        }
        //% endfor
        //% endfor
        //% endfor
        let scale = 4.0 / params.cell;
        affine[3u * i] = vec4f(along_x * scale, 0.0);
        affine[3u * i + 1u] = vec4f(along_y * scale, 0.0);
        affine[3u * i + 2u] = vec4f(along_z * scale, 0.0);
        let least = params.low + f32(WALL - 1u) * params.cell;
        let most = params.low + vec3f(params.cells + WALL + 1u) * params.cell;
        new_particles[2u * i] = vec4f(clamp(before.xyz + params.dt * velocity, least, most), before.w);
        new_particles[2u * i + 1u] = vec4f(velocity, length(velocity));
    }
}

// Kinetic, elastic and potential energy and mass of each particle; momentum and speed.
@compute @workgroup_size(256)
fn measure(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 256u);
    if i >= params.count {
        return;
    }
    let kind = materials[i];
    let before = matter_of(array(strained[3u * i], strained[3u * i + 1u], strained[3u * i + 2u]));
    let now = loaded(kind, before, mat3x3f());
    let mass = params.mass[kind] * params.unit;
    let velocity = particles[2u * i + 1u];
    let height = particles[2u * i].y;
    energies[i] = vec4f(
        0.5 * mass * velocity.w * velocity.w, now.energy * params.volume, mass * params.gravity * height, mass
    );
    momenta[i] = vec4f(velocity.xyz * mass, velocity.w);
}

// Colors (sRGB): each particle a little lighter or darker, fast water white, and snow darker where it is packed.
@compute @workgroup_size(256)
fn paint(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 256u);
    if i >= params.count {
        return;
    }
    let kind = materials[i];
    let shade = particles[2u * i].w;
    var color = select(select(params.water, params.jelly, kind == JELLY), params.snow, kind == SNOW);
    color = select(color, params.sand, kind == SAND) * (1.0 + select(0.1, 0.4, kind == SAND) * (shade - 0.5));
    if kind == WATER {
        let white = smoothstep(0.5 * params.foam, 1.5 * params.foam, particles[2u * i + 1u].w);
        color = mix(color, vec3f(0.93, 0.97, 1.0), 0.75 * white);
    }
    if kind == SNOW {
        color *= mix(0.82, 1.0, clamp(strained[3u * i].w, 0.0, 1.0));
    }
    color = clamp(color, vec3f(0.0), vec3f(1.0));
    colors[3u * i] = color.x;
    colors[3u * i + 1u] = color.y;
    colors[3u * i + 2u] = color.z;
}

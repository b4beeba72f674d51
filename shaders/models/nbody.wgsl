// Gravitating bodies, every pair, softened; leapfrog in kick-drift-kick form with one force evaluation a step.
// In: TILE, bodies read into workgroup memory at a time, which is also the workgroup's size; UNROLL, of those, how many
//     the inner loop takes at once; EACH, bodies whose force or energy one invocation adds up.
//     bodies: position and mass; velocities: velocity and speed; accelerations of the last evaluation.
// Out: the same, half a step (drift) or a whole step (drift, then kick) later; energies of each body (energy).
// Force: a_i = sum_j m_j (x_j - x_i) / (|x_j - x_i|^2 + softening^2)^(3/2), G = 1 (Aarseth 1963).
// The drag tool is one more body, of the mass tool_mass and with a softening of its own; 0 where there is none.
// The reference implementation is app/vertigrad/models/reference/gravity.py.

struct Params {
    count: u32,
    first_workgroup: u32,  // of a part, where a long dispatch is split
    softening: f32,
    dt: f32,
    tool_point: vec3f,
    tool_mass: f32,
    tool_softening: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> bodies: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> velocities: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> accelerations: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> drifting: array<vec4f>;
@group(0) @binding(5) var<storage, read> moving: array<vec4f>;  // the velocities, where they are only read
@group(0) @binding(6) var<storage, read_write> energies: array<vec2f>;

var<workgroup> tile: array<vec4f, ${TILE}>;

// Pull of one body on a point, added to the sum.
fn add_attraction(sum: vec3f, here: vec3f, body: vec4f, softening2: f32) -> vec3f {
    let offset = body.xyz - here;
    let inverse = inverseSqrt(fma(offset.x, offset.x, fma(offset.y, offset.y, fma(offset.z, offset.z, softening2))));
    return fma(offset, vec3f(body.w * inverse * inverse * inverse), sum);
}

fn loaded(at: u32) -> vec4f {
    return select(vec4f(0.0), bodies[min(at, params.count - 1u)], at < params.count);
}

// Velocity to the middle of the step, position to its end.
@compute @workgroup_size(${TILE})
fn drift(@builtin(global_invocation_id) id: vec3u) {
    let i = id.x + params.first_workgroup * ${TILE}u;
    if i >= params.count {
        return;
    }
    let velocity = velocities[i].xyz + accelerations[i].xyz * (0.5 * params.dt);
    velocities[i] = vec4f(velocity, length(velocity));
    drifting[i] = vec4f(drifting[i].xyz + velocity * params.dt, drifting[i].w);
}

// Acceleration where the bodies are now; velocity to the end of the step.
@compute @workgroup_size(${TILE})
fn kick(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let mine = (group.x + params.first_workgroup) * ${TILE * EACH}u + lane;
    let softening2 = params.softening * params.softening;
    //% for i in range(EACH)
    let here${i} = loaded(mine + ${i * TILE}u).xyz;
    var sum${i} = vec3f(0.0);
    //% endfor
    for (var first = 0u; first < params.count; first += ${TILE}u) {
        tile[lane] = loaded(first + lane);
        workgroupBarrier();
        for (var j = 0u; j < ${TILE}u; j += ${UNROLL}u) {
            //% for k in range(UNROLL)
            let body${k} = tile[j + ${k}u];
            //% for i in range(EACH)
            sum${i} = add_attraction(sum${i}, here${i}, body${k}, softening2);
            //% endfor
            //% endfor
        }
        workgroupBarrier();
    }
    let tool = vec4f(params.tool_point, params.tool_mass);
    //% for i in range(EACH)
    sum${i} = add_attraction(sum${i}, here${i}, tool, params.tool_softening * params.tool_softening);
    store(mine + ${i * TILE}u, sum${i});
    //% endfor
}

fn store(i: u32, acceleration: vec3f) {
    if i < params.count {
        accelerations[i] = vec4f(acceleration, 0.0);
        let velocity = velocities[i].xyz + acceleration * (0.5 * params.dt);
        velocities[i] = vec4f(velocity, length(velocity));
    }
}

// Kinetic energy and half the potential energy with all others, so that sums over bodies are the system's.
@compute @workgroup_size(${TILE})
fn energy(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let mine = (group.x + params.first_workgroup) * ${TILE * EACH}u + lane;
    let softening2 = params.softening * params.softening;
    //% for i in range(EACH)
    let me${i} = loaded(mine + ${i * TILE}u);
    var potential${i} = 0.0;
    //% endfor
    for (var first = 0u; first < params.count; first += ${TILE}u) {
        tile[lane] = loaded(first + lane);
        workgroupBarrier();
        for (var j = 0u; j < ${TILE}u; j += ${UNROLL}u) {
            //% for k in range(UNROLL)
            let body${k} = tile[j + ${k}u];
            let number${k} = first + j + ${k}u;
            //% for i in range(EACH)
            potential${i} -= select(attracted(me${i}.xyz, body${k}, softening2), 0.0, number${k} == mine + ${i * TILE}u);
            //% endfor
            //% endfor
        }
        workgroupBarrier();
    }
    //% for i in range(EACH)
    write_energy(mine + ${i * TILE}u, me${i}.w, potential${i});
    //% endfor
}

// Depth of one body's potential at a point.
fn attracted(here: vec3f, body: vec4f, softening2: f32) -> f32 {
    let offset = body.xyz - here;
    return body.w * inverseSqrt(dot(offset, offset) + softening2);
}

fn write_energy(i: u32, mass: f32, potential: f32) {
    if i < params.count {
        let speed = moving[i].w;
        energies[i] = 0.5 * mass * vec2f(speed * speed, potential);
    }
}

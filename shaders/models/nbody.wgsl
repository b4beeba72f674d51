// Gravitating bodies, every pair, softened; leapfrog in kick-drift-kick form with one force evaluation a step.
// In: TILE, bodies read into workgroup memory at a time, which is also the workgroup's size; UNROLL, pairs worked on at once.
//     bodies: position and mass; velocities: velocity and speed; accelerations of the last evaluation.
// Out: the same, half a step (drift) or a whole step (drift, then kick) later; energies of each body (energy).
// Force: a_i = sum_j m_j (x_j - x_i) / (|x_j - x_i|^2 + softening^2)^(3/2), G = 1 (Aarseth 1963).
// The twin is app/vertigrad/models/physics/gravity_twin.py.

struct Params {
    count: u32,
    softening: f32,
    dt: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> bodies: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> velocities: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> accelerations: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> drifting: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> energies: array<vec2f>;

var<workgroup> tile: array<vec4f, ${TILE}>;

// Pull of one body on a point, added to the sum: xyz is the acceleration.
fn pulled(sum: vec3f, here: vec3f, body: vec4f, softening2: f32) -> vec3f {
    let offset = body.xyz - here;
    let inverse = inverseSqrt(dot(offset, offset) + softening2);
    return sum + offset * (body.w * inverse * inverse * inverse);
}

fn loaded(at: u32) -> vec4f {
    return select(vec4f(0.0), bodies[min(at, params.count - 1u)], at < params.count);
}

// Velocity to the middle of the step, position to its end.
@compute @workgroup_size(${TILE})
fn drift(@builtin(global_invocation_id) id: vec3u) {
    let i = id.x;
    if i >= params.count {
        return;
    }
    let velocity = velocities[i].xyz + accelerations[i].xyz * (0.5 * params.dt);
    velocities[i] = vec4f(velocity, length(velocity));
    drifting[i] = vec4f(drifting[i].xyz + velocity * params.dt, drifting[i].w);
}

// Acceleration where the bodies are now; velocity to the end of the step.
@compute @workgroup_size(${TILE})
fn kick(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
    let here = loaded(id.x).xyz;
    let softening2 = params.softening * params.softening;
    var sum = vec3f(0.0);
    for (var first = 0u; first < params.count; first += ${TILE}u) {
        tile[lane] = loaded(first + lane);
        workgroupBarrier();
        for (var j = 0u; j < ${TILE}u; j += ${UNROLL}u) {
            //% for k in range(UNROLL)
            sum = pulled(sum, here, tile[j + ${k}u], softening2);
            //% endfor
        }
        workgroupBarrier();
    }
    if id.x < params.count {
        accelerations[id.x] = vec4f(sum, 0.0);
        let velocity = velocities[id.x].xyz + sum * (0.5 * params.dt);
        velocities[id.x] = vec4f(velocity, length(velocity));
    }
}

// Kinetic energy and half the potential energy with all others, so that sums over bodies are the system's.
@compute @workgroup_size(${TILE})
fn energy(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
    let me = loaded(id.x);
    let softening2 = params.softening * params.softening;
    var potential = 0.0;
    for (var first = 0u; first < params.count; first += ${TILE}u) {
        tile[lane] = loaded(first + lane);
        workgroupBarrier();
        for (var j = 0u; j < ${TILE}u; j += 1u) {
            let offset = tile[j].xyz - me.xyz;
            let others = select(tile[j].w, 0.0, first + j == id.x);
            potential -= others * inverseSqrt(dot(offset, offset) + softening2);
        }
        workgroupBarrier();
    }
    if id.x < params.count {
        let speed = velocities[id.x].w;
        energies[id.x] = 0.5 * me.w * vec2f(speed * speed, potential);
    }
}

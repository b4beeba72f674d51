// A wind whose eddies turn and drift: the curl of a noise, so that it has no sources (Bridson, Hourihan and Nordenstam
// 2007, "Curl-noise for procedural fluid flow"). The noise is Perlin's with gradients that rotate (Perlin and Neyret
// 2001, "Flow noise"), one for each component of the potential, on a lattice of SIDE cells that repeats.
// In: axes (3 SIDE³, 8): two unit vectors across each other, the turn at which a gradient starts, and how fast it
//     turns.
// Between: gradients (3 SIDE³, 4) as they are now; potential (nz + 2, ny + 2, nx + 2, 4) in the middles of cells, with
//     one more around.
// Out: velocities (nz, ny, nx, 3), speeds (nz, ny, nx); divergences between neighboring cells, without their sign.
// The reference implementation is app/vertigrad/models/reference/wind.py.
//% include "common/index.wgsl"

struct Params {
    size: vec3u,            // cells along x, y and z
    octaves: u32,
    low: vec3f,             // corner of the box [m]
    cell: f32,              // edge of a cell [m]
    drift: vec3f,           // how far the wind has carried the noise [m]
    eddy: f32,              // edge of the lattice's cells, of the first octave [m]
    mean: vec3f,            // [m/s]
    strength: f32,          // of the potential for an eddy of 1 m [m/s]
    turn: f32,              // 0 to 1
    bounded: u32,           // 1: no air passes through the bottom of the box
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> axes: array<f32>;
@group(0) @binding(2) var<storage, read_write> turned: array<vec4f>;
@group(0) @binding(3) var<storage, read> gradients: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> potential: array<vec4f>;
@group(0) @binding(5) var<storage, read> field: array<vec4f>;           // the potential, where it is read
@group(0) @binding(6) var<storage, read_write> velocities: array<f32>;
@group(0) @binding(7) var<storage, read_write> speeds: array<f32>;
@group(0) @binding(8) var<storage, read> moving: array<f32>;            // the velocities, where they are read
@group(0) @binding(9) var<storage, read_write> divergences: array<f32>;

const SIDE = ${SIDE}u;
const LATTICE = ${SIDE * SIDE * SIDE}u;
const GAIN = 0.79370053;    // of speeds from octave to octave, 2^(-1/3): Kolmogorov's cascade

@compute @workgroup_size(64)
fn spin(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= 3u * LATTICE {
        return;
    }
    let at = 8u * i;
    let whole = axes[at + 3u] + axes[at + 7u] * params.turn;
    let angle = 6.2831853 * fract(whole);
    let one = vec3f(axes[at], axes[at + 1u], axes[at + 2u]);
    let other = vec3f(axes[at + 4u], axes[at + 5u], axes[at + 6u]);
    turned[i] = vec4f(one * cos(angle) + other * sin(angle), 0.0);
}

// Noise at a position counted in cells of the lattice, `first` the lattice of the component.
fn noise(position: vec3f, first: u32) -> f32 {
    let floor_ = floor(position);
    let p = position - floor_;
    let near = vec3u(vec3i(floor_)) & vec3u(SIDE - 1u);
    let far = (near + 1u) & vec3u(SIDE - 1u);
    let weight = p * p * p * (p * (p * 6.0 - 15.0) + 10.0);
    var sum = 0.0;
    for (var k = 0u; k < 8u; k += 1u) {
        let ahead = vec3<bool>(vec3u(k, k >> 1u, k >> 2u) & vec3u(1u));
        let corner = select(near, far, ahead);
        let weights = select(1.0 - weight, weight, ahead);
        let gradient = gradients[first + (corner.z * SIDE + corner.y) * SIDE + corner.x].xyz;
        sum += weights.x * weights.y * weights.z * dot(gradient, p - vec3f(ahead));
    }
    return sum;
}

// Rises smoothly from 0 at 0 to 1 at 1, odd (Bridson et al. 2007).
fn ramp(x: f32) -> f32 {
    let r = clamp(x, -1.0, 1.0);
    let r2 = r * r;
    return r * (1.875 - r2 * (1.25 - 0.375 * r2));
}

@compute @workgroup_size(64)
fn raise(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    let padded = params.size + 2u;
    if i >= padded.x * padded.y * padded.z {
        return;
    }
    let cell = vec3u(i % padded.x, i / padded.x % padded.y, i / (padded.x * padded.y));
    let position = params.low + (vec3f(cell) - 0.5) * params.cell;
    var sum = vec3f(0.0);
    var size = 1.0;
    var gain = 1.0;
    for (var octave = 0u; octave < params.octaves; octave += 1u) {
        let at = (position - params.drift) / (params.eddy * size) + f32(octave) * vec3f(5.3, 1.7, 9.1);
        sum += gain * size * vec3f(noise(at, 0u), noise(at, LATTICE), noise(at, 2u * LATTICE));
        size *= 0.5;
        gain *= GAIN;
    }
    if params.bounded == 1u {
        let height = ramp((position.y - params.low.y) / params.eddy);
        sum *= vec3f(height, 1.0, height);
    }
    potential[i] = vec4f(params.strength * params.eddy * sum, 0.0);
}

@compute @workgroup_size(64)
fn curl(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.size.x * params.size.y * params.size.z {
        return;
    }
    let cell = vec3u(i % params.size.x, i / params.size.x % params.size.y, i / (params.size.x * params.size.y));
    let row = params.size.x + 2u;
    let layer = row * (params.size.y + 2u);
    let at = (cell.z + 1u) * layer + (cell.y + 1u) * row + cell.x + 1u;
    let along_x = field[at + 1u].xyz - field[at - 1u].xyz;
    let along_y = field[at + row].xyz - field[at - row].xyz;
    let along_z = field[at + layer].xyz - field[at - layer].xyz;
    let turning = vec3f(along_y.z - along_z.y, along_z.x - along_x.z, along_x.y - along_y.x);
    let velocity = params.mean + turning * (0.5 / params.cell);
    velocities[3u * i] = velocity.x;
    velocities[3u * i + 1u] = velocity.y;
    velocities[3u * i + 2u] = velocity.z;
    speeds[i] = length(velocity);
}

// By the same central differences; 0 at the border, where they would need what is beyond.
@compute @workgroup_size(64)
fn diverge(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.size.x * params.size.y * params.size.z {
        return;
    }
    let cell = vec3u(i % params.size.x, i / params.size.x % params.size.y, i / (params.size.x * params.size.y));
    var sum = 0.0;
    if all(cell > vec3u(0u)) && all(cell + 1u < params.size) {
        let row = 3u * params.size.x;
        let layer = row * params.size.y;
        sum = moving[3u * i + 3u] - moving[3u * i - 3u];
        sum += moving[3u * i + row + 1u] - moving[3u * i - row + 1u];
        sum += moving[3u * i + layer + 2u] - moving[3u * i - layer + 2u];
    }
    divergences[i] = abs(sum) * (0.5 / params.cell);
}

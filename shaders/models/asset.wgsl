// Animation, skinning and morphing of an asset: from the keys of a clip to vertices that are drawn, by the glTF 2.0 specification
// (sections 3.7 and 3.11, Appendix C). The tables are those of app/vertigrad/models/data/assets/content.py, the reference
// implementation is app/vertigrad/models/reference/asset.py.
//   rest:    the pose of every node, and the weights of morph targets, as they are without a clip
//   animate: what the channels of the clip give at a time, over those
//   compose: matrices of the palette: of a joint or a node, through its parents, times the inverse bind matrix
//   deform:  vertices, with the deltas of morph targets, moved by the matrices of their joints
//   shine:   lights at their nodes
//% include "common/index.wgsl"

struct Params {
    time: f32,              // in the clip [s]
    first_channel: u32,
    channel_count: u32,
    pose_size: u32,
    palette_size: u32,
    vertex_count: u32,
    light_count: u32,
    light_scale: f32,       // of candela: the square of that of lengths
    length_scale: f32,
}

struct Part {               // content.Part
    palette: u32,
    sets: u32,
    influences: u32,
    first: u32,
    count: u32,
    deltas: u32,
    targets: u32,
    weights: u32,
}

struct Channel {            // content.Channel
    target_: u32,
    width: u32,
    interpolation: u32,     // 0 step, 1 linear, 2 cubic spline
    rotates: u32,
    first_key: u32,
    keys: u32,
    first_value: u32,
    pad: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> at_rest: array<f32>;
@group(0) @binding(2) var<storage, read_write> pose: array<f32>;
@group(0) @binding(3) var<storage, read> channels: array<u32>;
@group(0) @binding(4) var<storage, read> keys: array<f32>;
@group(0) @binding(5) var<storage, read> values: array<f32>;
@group(0) @binding(6) var<storage, read> parents: array<u32>;
@group(0) @binding(7) var<storage, read> fixed: array<f32>;
@group(0) @binding(8) var<storage, read> nodes: array<u32>;
@group(0) @binding(9) var<storage, read> binds: array<f32>;
@group(0) @binding(10) var<storage, read_write> palette: array<f32>;
@group(0) @binding(11) var<storage, read> base: array<f32>;
@group(0) @binding(12) var<storage, read> part_of: array<u32>;
@group(0) @binding(13) var<storage, read> parts: array<u32>;
@group(0) @binding(14) var<storage, read> influences: array<u32>;
@group(0) @binding(15) var<storage, read> deltas: array<f32>;
@group(0) @binding(16) var<storage, read_write> vertices: array<f32>;
@group(0) @binding(17) var<storage, read> sources: array<f32>;
@group(0) @binding(18) var<storage, read_write> lights: array<f32>;

const NONE = 0xffffffffu;
const CUBIC = 2u;
const VERTEX = 10u;         // floats

// An affine transformation: the columns of a 3x4 matrix.
struct Affine {
    turn: mat3x3f,
    shift: vec3f,
}

fn product(one: Affine, other: Affine) -> Affine {
    return Affine(one.turn * other.turn, one.turn * other.shift + one.shift);
}

// From twelve numbers, row by row.
fn from_rows(a: vec4f, b: vec4f, c: vec4f) -> Affine {
    return Affine(transpose(mat3x3f(a.xyz, b.xyz, c.xyz)), vec3f(a.w, b.w, c.w));
}

@compute @workgroup_size(64)
fn rest(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i < params.pose_size { pose[i] = at_rest[i]; }
}

fn channel(i: u32) -> Channel {
    let at = 8u * i;
    return Channel(
        channels[at], channels[at + 1u], channels[at + 2u], channels[at + 3u],
        channels[at + 4u], channels[at + 5u], channels[at + 6u], 0u,
    );
}

// The last key that is not after the time; the one before the last at most.
fn key_before(c: Channel) -> u32 {
    var low = 0u;
    var high = max(c.keys, 2u) - 1u;
    while high - low > 1u {
        let middle = (low + high) / 2u;
        if keys[c.first_key + middle] <= params.time { low = middle; } else { high = middle; }
    }
    return low;
}

fn value(c: Channel, key: u32, which: u32, component: u32) -> f32 {
    let each = select(1u, 3u, c.interpolation == CUBIC);
    return values[c.first_value + (key * each + which) * c.width + component];
}

fn hermite(c: Channel, key: u32, component: u32, span: f32, t: f32) -> f32 {
    let t2 = t * t;
    let t3 = t2 * t;
    return (2.0 * t3 - 3.0 * t2 + 1.0) * value(c, key, 1u, component)
        + (t3 - 2.0 * t2 + t) * span * value(c, key, 2u, component)
        + (3.0 * t2 - 2.0 * t3) * value(c, key + 1u, 1u, component)
        + (t3 - t2) * span * value(c, key + 1u, 0u, component);
}

fn slerp(one: vec4f, to: vec4f, t: f32) -> vec4f {
    let cosine = dot(one, to);
    let other = select(to, -to, cosine < 0.0);
    if abs(cosine) > 0.9995 { return mix(one, other, t); }
    let angle = acos(abs(cosine));
    return (sin((1.0 - t) * angle) * one + sin(t * angle) * other) / sin(angle);
}

fn rotation_of(c: Channel, key: u32) -> vec4f {
    return vec4f(value(c, key, 0u, 0u), value(c, key, 0u, 1u), value(c, key, 0u, 2u), value(c, key, 0u, 3u));
}

@compute @workgroup_size(64)
fn animate(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.channel_count { return; }
    let c = channel(params.first_channel + i);
    let key = key_before(c);
    let next = min(key + 1u, c.keys - 1u);
    let start = keys[c.first_key + key];
    let span = keys[c.first_key + next] - start;
    let t = select(0.0, clamp((params.time - start) / max(span, 1e-30), 0.0, 1.0), span > 0.0);
    let middle = select(0u, 1u, c.interpolation == CUBIC);
    if c.rotates == 1u && c.interpolation == 1u && next > key {
        let found = normalize(slerp(rotation_of(c, key), rotation_of(c, next), t));
        for (var component = 0u; component < 4u; component++) { pose[c.target_ + component] = found[component]; }
        return;
    }
    var sum = 0.0;
    for (var component = 0u; component < c.width; component++) {
        var found = value(c, key, middle, component);
        if next > key && c.interpolation == CUBIC {
            found = hermite(c, key, component, span, t);
        } else if next > key {
            let other = value(c, next, 0u, component);
            found = select(select(found, other, t >= 1.0), mix(found, other, t), c.interpolation == 1u);
        }
        sum += found * found;
        pose[c.target_ + component] = found;
    }
    if c.rotates == 1u && c.interpolation == CUBIC && next > key {
        let scale = inverseSqrt(max(sum, 1e-30));
        for (var component = 0u; component < 4u; component++) { pose[c.target_ + component] *= scale; }
    }
}

fn fixed_of(node: u32) -> Affine {
    let at = 12u * node;
    return from_rows(
        vec4f(fixed[at], fixed[at + 1u], fixed[at + 2u], fixed[at + 3u]),
        vec4f(fixed[at + 4u], fixed[at + 5u], fixed[at + 6u], fixed[at + 7u]),
        vec4f(fixed[at + 8u], fixed[at + 9u], fixed[at + 10u], fixed[at + 11u]),
    );
}

// The matrix of a node's pose: translation, rotation, scale.
fn posed(node: u32) -> Affine {
    let at = 10u * node;
    let x = pose[at + 3u];
    let y = pose[at + 4u];
    let z = pose[at + 5u];
    let w = pose[at + 6u];
    let turn = mat3x3f(
        vec3f(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)) * pose[at + 7u],
        vec3f(2.0 * (x * y - z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + x * w)) * pose[at + 8u],
        vec3f(2.0 * (x * z + y * w), 2.0 * (y * z - x * w), 1.0 - 2.0 * (x * x + y * y)) * pose[at + 9u],
    );
    return Affine(turn, vec3f(pose[at], pose[at + 1u], pose[at + 2u]));
}

@compute @workgroup_size(64)
fn compose(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.palette_size { return; }
    var at = 12u * i;
    var found = from_rows(
        vec4f(binds[at], binds[at + 1u], binds[at + 2u], binds[at + 3u]),
        vec4f(binds[at + 4u], binds[at + 5u], binds[at + 6u], binds[at + 7u]),
        vec4f(binds[at + 8u], binds[at + 9u], binds[at + 10u], binds[at + 11u]),
    );
    for (var node = nodes[i]; node != NONE; node = parents[node]) {
        found = product(product(fixed_of(node), posed(node)), found);
    }
    let turn = transpose(found.turn);
    for (var row = 0u; row < 3u; row++) {
        palette[at + 4u * row] = turn[row].x;
        palette[at + 4u * row + 1u] = turn[row].y;
        palette[at + 4u * row + 2u] = turn[row].z;
        palette[at + 4u * row + 3u] = found.shift[row];
    }
}

fn matrix(entry: u32) -> Affine {
    let at = 12u * entry;
    return from_rows(
        vec4f(palette[at], palette[at + 1u], palette[at + 2u], palette[at + 3u]),
        vec4f(palette[at + 4u], palette[at + 5u], palette[at + 6u], palette[at + 7u]),
        vec4f(palette[at + 8u], palette[at + 9u], palette[at + 10u], palette[at + 11u]),
    );
}

// The matrix of a vertex of a part: of its node, or the sum of its joints' by their weights.
fn matrix_of(part: Part, vertex: u32) -> Affine {
    if part.sets == 0u { return matrix(part.palette); }
    var turn = mat3x3f();
    var shift = vec3f(0.0);
    for (var four = 0u; four < part.sets; four++) {
        let at = part.influences + 8u * (vertex * part.sets + four);
        for (var k = 0u; k < 4u; k++) {
            let weight = bitcast<f32>(influences[at + 4u + k]);
            if weight == 0.0 { continue; }
            let joint = matrix(part.palette + influences[at + k]);
            turn += weight * joint.turn;
            shift += weight * joint.shift;
        }
    }
    return Affine(turn, shift);
}

fn base_vector(at: u32) -> vec3f {
    return vec3f(base[at], base[at + 1u], base[at + 2u]);
}

fn delta_vector(at: u32) -> vec3f {
    return vec3f(deltas[at], deltas[at + 1u], deltas[at + 2u]);
}

fn unit(v: vec3f) -> vec3f {
    let longest = max(max(abs(v.x), abs(v.y)), abs(v.z));
    let scaled = v / max(longest, 1e-30);       // the square of a short one would be 0
    return select(vec3f(0.0), normalize(scaled), longest > 1e-30);
}

fn store_vector(at: u32, v: vec3f) {
    vertices[at] = v.x;
    vertices[at + 1u] = v.y;
    vertices[at + 2u] = v.z;
}

@compute @workgroup_size(64)
fn deform(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.vertex_count { return; }
    let p = 8u * part_of[i];
    let part = Part(
        parts[p], parts[p + 1u], parts[p + 2u], parts[p + 3u], parts[p + 4u], parts[p + 5u], parts[p + 6u], parts[p + 7u],
    );
    let own = i - part.first;
    let at = VERTEX * i;
    var position = base_vector(at);
    var normal = base_vector(at + 3u);
    var tangent = base_vector(at + 6u);
    for (var morph = 0u; morph < part.targets; morph++) {
        let weight = pose[part.weights + morph];
        if weight == 0.0 { continue; }
        let from_ = 9u * (part.deltas + morph * part.count + own);
        position += weight * delta_vector(from_);
        normal += weight * delta_vector(from_ + 3u);
        tangent += weight * delta_vector(from_ + 6u);
    }
    let m = matrix_of(part, own);
    // Normals are moved by the inverse transpose, which is that of the cofactors up to its length.
    let cofactors = mat3x3f(cross(m.turn[1], m.turn[2]), cross(m.turn[2], m.turn[0]), cross(m.turn[0], m.turn[1]));
    let side = select(1.0, -1.0, dot(m.turn[0], cofactors[0]) < 0.0);
    store_vector(at, m.turn * position + m.shift);
    store_vector(at + 3u, unit(cofactors * normal) * side);
    store_vector(at + 6u, unit(m.turn * tangent));
    vertices[at + 9u] = base[at + 9u] * side;
}

// Out of content.Light: what common/asset_light.wgsl reads.
@compute @workgroup_size(64)
fn shine(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.light_count { return; }
    let from_ = 8u * i;
    let m = matrix(u32(sources[from_ + 7u]));
    let direction = unit(-m.turn[2]);
    let kind = sources[from_ + 6u];
    let scale = select(params.light_scale, 1.0, kind == 0.0);
    let at = 16u * i;
    for (var k = 0u; k < 3u; k++) {
        lights[at + k] = m.shift[k];
        lights[at + 4u + k] = direction[k];
        lights[at + 8u + k] = sources[from_ + k] * scale;
    }
    lights[at + 3u] = kind;
    lights[at + 7u] = sources[from_ + 3u] * params.length_scale;
    lights[at + 11u] = sources[from_ + 4u];
    lights[at + 12u] = sources[from_ + 5u];
    lights[at + 13u] = 0.0;
    lights[at + 14u] = 0.0;
    lights[at + 15u] = 0.0;
}

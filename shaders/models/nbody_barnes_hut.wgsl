// Gravity through a tree: bodies along Hilbert's curve, nodes with second moments, a walk without a stack; and leapfrog.
// In: LEAF, bodies of a leaf; GROUP, bodies that walk together, a workgroup. app/vertigrad/models/physics/barnes_hut_tree.py says
//     what a tree is, and in which order these run. bodies: position and mass.
// A node is three rows of nodes: center of mass and the farthest corner's distance from it; mass and moments xx, yy, zz;
// moments xy, xz, yz about that center. Its box is two rows of boxes, low and high.
// Out: keys (assign_keys), nodes and boxes (gather, merge), accelerations and velocities (kick), positions (drift), energies.
// The reference implementation is app/vertigrad/models/reference/gravity.py: all pairs.
//% include "common/hilbert.wgsl"
//% include "common/index.wgsl"

struct Params {
    count: u32,
    first_workgroup: u32,  // of a part, where a long dispatch is split
    softening: f32,
    theta: f32,
    dt: f32,
    tool_point: vec3f,
    tool_mass: f32,
    tool_softening: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> bodies: array<vec4f>;
@group(0) @binding(2) var<storage, read> center: array<f32>;
@group(0) @binding(3) var<storage, read> spread: array<f32>;
@group(0) @binding(4) var<storage, read_write> keys: array<u32>;
@group(0) @binding(5) var<storage, read> sorted: array<vec4f>;
@group(0) @binding(6) var<storage, read> order: array<u32>;
@group(0) @binding(7) var<storage, read> level: array<u32>;
@group(0) @binding(8) var<storage, read> links: array<vec2u>;
@group(0) @binding(9) var<storage, read_write> nodes: array<vec4f>;
@group(0) @binding(10) var<storage, read_write> boxes: array<vec4f>;
@group(0) @binding(11) var<storage, read> tree: array<vec4f>;  // nodes and boxes, where they are only read
@group(0) @binding(12) var<storage, read> bounds: array<vec4f>;
@group(0) @binding(13) var<storage, read_write> velocities: array<vec4f>;
@group(0) @binding(14) var<storage, read_write> accelerations: array<vec4f>;
@group(0) @binding(15) var<storage, read_write> drifting: array<vec4f>;
@group(0) @binding(16) var<storage, read> moving: array<vec4f>;  // the velocities, where they are only read
@group(0) @binding(17) var<storage, read_write> energies: array<vec2f>;

const NOT_A_LEAF = 0xffffffffu;

// Space is drawn together towards its far ends, so that a few bodies far away leave cells fine where most are.
@compute @workgroup_size(128)
fn assign_keys(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    let scale = max(max(spread[0], spread[1]), max(spread[2], 1e-30));
    let away = (bodies[i].xyz - vec3f(center[0], center[1], center[2])) / scale;
    let scaled = away / (1.0 + abs(away));
    keys[i] = hilbert(vec3u(clamp(512.0 * (scaled + 1.0), vec3f(0.0), vec3f(1023.0))));
}

// What bodies or nodes make together, about their common center of mass.
struct Sum {
    center: vec3f,
    mass: f32,
    squares: vec3f,  // second moments xx, yy, zz
    products: vec3f,  // xy, xz, yz
    low: vec3f,
    high: vec3f,
}

fn shifted(sum: Sum, mass: f32, offset: vec3f, squares: vec3f, products: vec3f) -> Sum {
    var more = sum;
    more.squares += squares + mass * offset * offset;
    more.products += products + mass * vec3f(offset.x * offset.y, offset.x * offset.z, offset.y * offset.z);
    return more;
}

fn store(number: u32, sum: Sum) {
    let corner = max(sum.center - sum.low, sum.high - sum.center);
    // a trifle more, so that rounding lets no group take a node as a whole that contains it, however large theta is
    nodes[3u * number] = vec4f(sum.center, 1.000002 * length(corner));
    nodes[3u * number + 1u] = vec4f(sum.mass, sum.squares);
    nodes[3u * number + 2u] = vec4f(sum.products, 0.0);
    boxes[2u * number] = vec4f(sum.low, 0.0);
    boxes[2u * number + 1u] = vec4f(sum.high, 0.0);
}

// The center of mass; of what has none, the middle of its box.
fn centered(sum: Sum) -> Sum {
    var result = sum;
    result.center = select(sum.center / sum.mass, 0.5 * (sum.low + sum.high), sum.mass == 0.0);
    result.center = clamp(result.center, sum.low, sum.high);
    return result;
}

fn empty_sum() -> Sum {
    return Sum(vec3f(0.0), 0.0, vec3f(0.0), vec3f(0.0), vec3f(3.0e38), vec3f(-3.0e38));
}

@compute @workgroup_size(128)
fn gather(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let leaf = linear_index(id, num_workgroups, 128u);
    let first = ${LEAF}u * leaf;
    if first >= params.count {
        return;
    }
    let end = min(first + ${LEAF}u, params.count);
    var sum = empty_sum();
    for (var i = first; i < end; i += 1u) {
        let body = sorted[i];
        sum.mass += body.w;
        sum.center += body.w * body.xyz;
        sum.low = min(sum.low, body.xyz);
        sum.high = max(sum.high, body.xyz);
    }
    sum = centered(sum);
    for (var i = first; i < end; i += 1u) {
        sum = shifted(sum, sorted[i].w, sorted[i].xyz - sum.center, vec3f(0.0), vec3f(0.0));
    }
    store(level[leaf], sum);
}

@compute @workgroup_size(64)
fn merge(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.count {
        return;
    }
    let number = level[i];
    let end = links[number].x;
    var sum = empty_sum();
    for (var child = number + 1u; child < end; child = links[child].x) {
        let mass = nodes[3u * child + 1u].x;
        sum.mass += mass;
        sum.center += mass * nodes[3u * child].xyz;
        sum.low = min(sum.low, boxes[2u * child].xyz);
        sum.high = max(sum.high, boxes[2u * child + 1u].xyz);
    }
    sum = centered(sum);
    for (var child = number + 1u; child < end; child = links[child].x) {
        let inner = nodes[3u * child + 1u];
        sum = shifted(sum, inner.x, nodes[3u * child].xyz - sum.center, inner.yzw, nodes[3u * child + 2u].xyz);
    }
    store(number, sum);
}

// Pull of one body on a point, added to the sum.
fn add_attraction(sum: vec3f, here: vec3f, body: vec4f, softening2: f32) -> vec3f {
    let offset = body.xyz - here;
    let inverse = inverseSqrt(fma(offset.x, offset.x, fma(offset.y, offset.y, fma(offset.z, offset.z, softening2))));
    return fma(offset, vec3f(body.w * inverse * inverse * inverse), sum);
}

// Pull of a node: the gradient of m/R + (3 d·S d / R⁵ − tr S / R³) / 2, d from it to the point, R² = d² + softening².
fn pulled_from_afar(sum: vec3f, offset: vec3f, mass: f32, squares: vec3f, products: vec3f, softening2: f32) -> vec3f {
    let inverse2 = 1.0 / (dot(offset, offset) + softening2);
    let inverse = sqrt(inverse2);
    let inverse3 = inverse2 * inverse;
    let turned = squares * offset + vec3f(
        products.x * offset.y + products.y * offset.z,
        products.x * offset.x + products.z * offset.z,
        products.y * offset.x + products.z * offset.y,
    );
    let trace = squares.x + squares.y + squares.z;
    let along = -mass + inverse2 * (1.5 * trace - 7.5 * dot(offset, turned) * inverse2);
    return sum + inverse3 * (along * offset + (3.0 * inverse2) * turned);
}

fn potential_from_afar(offset: vec3f, mass: f32, squares: vec3f, products: vec3f, softening2: f32) -> f32 {
    let inverse2 = 1.0 / (dot(offset, offset) + softening2);
    let crossed = vec3f(offset.x * offset.y, offset.x * offset.z, offset.y * offset.z);
    let moment = dot(squares, offset * offset) + 2.0 * dot(products, crossed);
    let trace = squares.x + squares.y + squares.z;
    return sqrt(inverse2) * (mass + 0.5 * inverse2 * (3.0 * moment * inverse2 - trace));
}

struct Box {
    low: vec3f,
    high: vec3f,
}

// Around the bodies of a group.
fn group_box(group: u32) -> Box {
    var box = Box(vec3f(3.0e38), vec3f(-3.0e38));
    let leaves = (params.count + ${LEAF - 1}u) / ${LEAF}u;
    let first = group * ${GROUP // LEAF}u;
    for (var leaf = first; leaf < min(first + ${GROUP // LEAF}u, leaves); leaf += 1u) {
        box.low = min(box.low, bounds[2u * level[leaf]].xyz);
        box.high = max(box.high, bounds[2u * level[leaf] + 1u].xyz);
    }
    return box;
}

// Whether a node may be taken as a whole by all in the box.
fn is_far(node: vec4f, box: Box, theta2: f32) -> bool {
    let away = max(max(box.low - node.xyz, node.xyz - box.high), vec3f(0.0));
    return node.w * node.w < theta2 * dot(away, away);
}

// Acceleration where the bodies are now; velocity half a step further.
@compute @workgroup_size(${GROUP})
fn kick(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
    let group = id.x + params.first_workgroup;
    let mine = group * ${GROUP}u + lane;
    let here = sorted[min(mine, params.count - 1u)].xyz;
    let box = group_box(group);
    let softening2 = params.softening * params.softening;
    let theta2 = params.theta * params.theta;
    let end = links[0].x;
    var sum = vec3f(0.0);
    for (var at = 0u; at < end;) {
        let node = tree[3u * at];
        let link = links[at];
        if is_far(node, box, theta2) {
            let moments = tree[3u * at + 1u];
            sum = pulled_from_afar(sum, here - node.xyz, moments.x, moments.yzw, tree[3u * at + 2u].xyz, softening2);
            at = link.x;
        } else if link.y == NOT_A_LEAF {
            at += 1u;
        } else {
            for (var j = link.y; j < min(link.y + ${LEAF}u, params.count); j += 1u) {
                sum = add_attraction(sum, here, sorted[j], softening2);
            }
            at = link.x;
        }
    }
    sum = add_attraction(sum, here, vec4f(params.tool_point, params.tool_mass), params.tool_softening * params.tool_softening);
    if mine < params.count {
        let i = order[mine];
        accelerations[i] = vec4f(sum, 0.0);
        let velocity = velocities[i].xyz + sum * (0.5 * params.dt);
        velocities[i] = vec4f(velocity, length(velocity));
    }
}

// Kinetic energy and half the potential energy with all others, so that sums over bodies are the system's.
@compute @workgroup_size(${GROUP})
fn energy(@builtin(workgroup_id) id: vec3u, @builtin(local_invocation_index) lane: u32) {
    let group = id.x + params.first_workgroup;
    let mine = group * ${GROUP}u + lane;
    let me = sorted[min(mine, params.count - 1u)];
    let box = group_box(group);
    let softening2 = params.softening * params.softening;
    let theta2 = params.theta * params.theta;
    let end = links[0].x;
    var sum = 0.0;
    for (var at = 0u; at < end;) {
        let node = tree[3u * at];
        let link = links[at];
        if is_far(node, box, theta2) {
            let moments = tree[3u * at + 1u];
            sum += potential_from_afar(me.xyz - node.xyz, moments.x, moments.yzw, tree[3u * at + 2u].xyz, softening2);
            at = link.x;
        } else if link.y == NOT_A_LEAF {
            at += 1u;
        } else {
            for (var j = link.y; j < min(link.y + ${LEAF}u, params.count); j += 1u) {
                let offset = sorted[j].xyz - me.xyz;
                sum += select(sorted[j].w, 0.0, j == mine) * inverseSqrt(dot(offset, offset) + softening2);
            }
            at = link.x;
        }
    }
    if mine < params.count {
        let i = order[mine];
        let speed = moving[i].w;
        energies[i] = 0.5 * me.w * vec2f(speed * speed, -sum);
    }
}

// Velocity to the middle of the step, position to its end.
@compute @workgroup_size(128)
fn drift(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    let velocity = velocities[i].xyz + accelerations[i].xyz * (0.5 * params.dt);
    velocities[i] = vec4f(velocity, length(velocity));
    drifting[i] = vec4f(drifting[i].xyz + velocity * params.dt, drifting[i].w);
}

// A sand castle as signed distances on a grid, and how its grains and the water that knocks it down are drawn.

struct Fields { columns: u32, layers: u32, rows: u32, width: f32, height: f32, depth: f32 }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read_write> distance: array<f32>;    // [m] at the nodes of the castle's box

fn box(at: vec3f, half: vec3f) -> f32 {
    let q = abs(at) - half;
    return length(max(q, vec3f(0.0))) + min(max(q.x, max(q.y, q.z)), 0.0);
}

// An upright cylinder that is `slope` narrower for each meter above its foot.
fn tower(at: vec3f, radius: f32, height: f32, slope: f32) -> f32 {
    let side = length(at.xz) - radius + slope * at.y;
    return max(max(side, at.y - height), -at.y);
}

fn cone(at: vec3f, radius: f32, height: f32) -> f32 {
    return max((length(at.xz) - radius * (1.0 - at.y / height)) * height / length(vec2f(height, radius)), -at.y);
}

// A tower with a roof, or with battlements all around.
fn keep(at: vec3f, radius: f32, height: f32) -> f32 {
    return min(tower(at, radius, height, 0.12), cone(at - vec3f(0.0, height, 0.0), 0.95 * radius, 1.7 * radius));
}

fn battlements(along: f32) -> f32 { return 0.035 * step(0.5, fract(along / 0.11 + 0.25)); }

fn wall(at: vec3f, half: f32, height: f32) -> f32 {
    return box(at - vec3f(0.0, 0.5 * height, 0.0), vec3f(half, 0.5 * (height + battlements(at.x)), 0.045));
}

fn castle(at: vec3f) -> f32 {
    let near = vec3f(abs(at.x), at.y, abs(at.z));  // symmetric, but for gate and keep
    var d = tower(at, 0.52, 0.05, 1.2);
    let up = at - vec3f(0.0, 0.04, 0.0);
    d = min(d, keep(vec3f(near.x - 0.3, up.y, near.z - 0.3), 0.095, 0.24));
    d = min(d, wall(vec3f(up.x, up.y, near.z - 0.3), 0.26, 0.15));
    d = min(d, wall(vec3f(up.z, up.y, near.x - 0.3), 0.26, 0.15));
    d = min(d, box(up - vec3f(0.0, 0.12, 0.0), vec3f(0.14, 0.12, 0.14)));
    d = min(d, tower(up - vec3f(0.0, 0.2, 0.0), 0.115, 0.14, 0.1));
    d = min(d, cone(up - vec3f(0.0, 0.34, 0.0), 0.115, 0.17));
    let gate = vec3f(up.x, up.y, at.z - 0.3);
    let arch = max(length(vec2f(gate.x, max(gate.y - 0.06, 0.0))) - 0.05, abs(gate.z) - 0.1);
    return max(d, -arch);
}

@compute @workgroup_size(4, 4, 4)
fn build(@builtin(global_invocation_id) id: vec3u) {
    let nodes = vec3u(fields.columns, fields.layers, fields.rows);
    if any(id >= nodes) { return; }
    let unit = vec3f(id) / vec3f(nodes - 1u) - vec3f(0.5, 0.0, 0.5);
    distance[(id.z * nodes.y + id.y) * nodes.x + id.x] = castle(unit * vec3f(fields.width, fields.height, fields.depth));
}

// A car as a field that is negative inside, on a grid with colors; and the walls of its middle plane. Up is +z.

struct Fields { columns: u32, layers: u32, rows: u32, air_columns: u32, air_rows: u32 }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read_write> car: array<f32>;         // (rows, layers, columns)
@group(0) @binding(2) var<storage, read_write> paint: array<f32>;       // sRGB at the same nodes
@group(0) @binding(3) var<storage, read_write> wall: array<f32>;        // (air rows, air columns): 1 inside the car
@group(0) @binding(4) var<storage, read_write> ground: array<f32>;
@group(0) @binding(5) var<storage, read_write> ground_normal: array<f32>;

const LOW = vec3f(-1.05, -0.34, -0.6);      // of the car's grid
const HIGH = vec3f(0.35, 0.34, -0.15);
const MIDDLE = vec3f(-0.35, 0.0, -0.6);     // of the car, on the ground
const AXLE = vec2f(0.395, 0.088);
const TUNNEL = 3.0;                         // its length
const RED = vec3f(0.72, 0.07, 0.06);
const GLASS = vec3f(0.05, 0.06, 0.075);
const SILL = vec3f(0.07, 0.07, 0.075);
const LAMP = vec3f(0.95, 0.96, 0.98);
const TIRE = vec3f(0.06, 0.06, 0.06);
const RIM = vec3f(0.72, 0.73, 0.75);

// The smaller of two, rounded off where they meet within `k` (Quilez 2013, polynomial smooth minimum).
fn joined(a: f32, b: f32, k: f32) -> f32 {
    let h = max(k - abs(a - b), 0.0) / k;
    return min(a, b) - 0.25 * k * h * h;
}

// A superellipsoid: about the distance near its surface.
fn shell(at: vec3f, half: vec3f, power: vec3f) -> f32 {
    let q = pow(abs(at) / half, power);
    return (pow(q.x + q.y + q.z, 0.4) - 1.0) * min(half.x, min(half.y, half.z));
}

fn wheel(at: vec3f, radius: f32, inner: f32) -> f32 {
    let round = length(vec2f(abs(at.x) - AXLE.x, at.z - AXLE.y)) - radius;
    return max(round, max(inner - abs(at.y), abs(at.y) - 0.262));
}

fn chassis(at: vec3f) -> f32 {
    let lift = 0.152 + 0.018 * at.x - 0.02 * at.x * at.x;
    let body = shell(at - vec3f(0.0, 0.0, lift), vec3f(0.625, 0.27, 0.092), vec3f(3.6, 4.0, 2.6));
    let roof = shell(at - vec3f(0.1, 0.0, 0.17), vec3f(0.43, 0.205 - 0.1 * max(at.z - 0.2, 0.0), 0.185), vec3f(2.6, 3.0, 2.2));
    let arches = wheel(at, 0.108, 0.15);
    return max(joined(body, roof, 0.05), -max(arches, 0.15 - abs(at.y)));
}

fn field(at: vec3f) -> f32 { return min(chassis(at), wheel(at, 0.088, 0.165)); }

// 1 inside of an edge, 0 outside, and in between over about a node.
fn mask(inside: f32) -> f32 { return smoothstep(-0.008, 0.008, inside); }

fn painted(at: vec3f) -> vec3f {
    let side = abs(at.y);
    let up = at.z - 0.232;
    let pane = min(min(up, 0.09 - up), 0.36 - 0.75 * up - abs(at.x - 0.105));
    let panes = min(min(pane, abs(at.x - 0.13) - 0.012), side - 0.13);
    let screen = min(min(up, 0.098 - up), min(0.15 - side, max(-0.1 - at.x, at.x - 0.3)));
    let lamp = min(-0.53 - at.x, 1.0 - length(vec2f((side - 0.185) / 0.045, (at.z - 0.162) / 0.022)));
    var tint = mix(RED, GLASS, mask(max(panes, screen)));
    tint = mix(tint, SILL, mask(0.085 - at.z));
    tint = mix(tint, LAMP, mask(lamp));
    let hub = length(vec2f(abs(at.x) - AXLE.x, at.z - AXLE.y));
    let is_wheel = side > 0.15 && wheel(at, 0.088, 0.165) < chassis(at) + 0.003;
    return select(tint, mix(TIRE, RIM, mask(0.055 - hub)), is_wheel);
}

@compute @workgroup_size(4, 4, 4)
fn build(@builtin(global_invocation_id) id: vec3u) {
    let nodes = vec3u(fields.columns, fields.layers, fields.rows);
    if any(id >= nodes) { return; }
    let at = mix(LOW, HIGH, vec3f(id) / vec3f(nodes - 1u)) - MIDDLE;
    let node = (id.z * nodes.y + id.y) * nodes.x + id.x;
    car[node] = field(at);
    let tint = painted(at);
    for (var k = 0u; k < 3u; k++) { paint[3u * node + k] = tint[k]; }
}

@compute @workgroup_size(8, 8)
fn section(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= fields.air_columns || id.y >= fields.air_rows { return; }
    let edge = TUNNEL / f32(fields.air_columns);
    let at = (vec2f(id.xy) - 0.5 * vec2f(f32(fields.air_columns - 1u), f32(fields.air_rows - 1u))) * edge;
    let inside = field(vec3f(at.x, 0.0, at.y) - MIDDLE) < 0.0;
    wall[id.y * fields.air_columns + id.x] = select(0.0, 1.0, inside);
    if all(id.xy == vec2u(0u)) {
        ground[2] = MIDDLE.z;
        ground_normal[2] = 1.0;
    }
}

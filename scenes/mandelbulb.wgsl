// The Mandelbulb on a grid: how far each node is outside, and where its orbit came closest to the origin.
// White and Nylander 2009: z -> z^n + c in spherical coordinates. Hart, Sandin and Kauffman 1989, "Ray Tracing Deterministic
// 3-D Fractals": the distance is at least |z| log|z| / (2 |z'|).

struct Fields { nodes: u32, power: f32, iterations: u32, extent: f32 }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read_write> distance: array<f32>;    // to the surface, negative inside [1]
@group(0) @binding(2) var<storage, read_write> trap: array<f32>;        // least distance of the orbit to the origin [1]

const ESCAPED = 2.0;

@compute @workgroup_size(4, 4, 4)
fn sample_bulb(@builtin(global_invocation_id) id: vec3u) {
    if any(id >= vec3u(fields.nodes)) { return; }
    let edge = 2.0 * fields.extent / f32(fields.nodes - 1u);
    let c = vec3f(id) * edge - fields.extent;
    var z = c;
    var derivative = 1.0;
    var radius = length(z);
    var nearest = radius;
    for (var turn = 0u; turn < fields.iterations && radius < ESCAPED; turn++) {
        // Up is y, so that the eight lobes stand upright.
        let polar = fields.power * acos(clamp(z.y / max(radius, 1e-9), -1.0, 1.0));
        let azimuth = fields.power * atan2(z.z, z.x);
        derivative = fields.power * pow(radius, fields.power - 1.0) * derivative + 1.0;
        z = pow(radius, fields.power) * vec3f(sin(polar) * cos(azimuth), cos(polar), sin(polar) * sin(azimuth)) + c;
        radius = length(z);
        nearest = min(nearest, radius);
    }
    let node = (id.z * fields.nodes + id.y) * fields.nodes + id.x;
    let outside = 0.5 * log(max(radius, 1e-9)) * radius / derivative;
    distance[node] = select(-0.5 * edge, max(outside, 0.0), radius >= ESCAPED) - 0.25 * edge;
    trap[node] = nearest;
}

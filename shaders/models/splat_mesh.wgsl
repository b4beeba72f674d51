// Gaussian splats on the triangles of a mesh. A triangle is divided into `subdivisions`² that are alike; each gets a splat with its
// middle and with the covariance of its area, so that together they have the first two moments of the surface.
// In: positions and unit normals of vertices, rows of three, and three vertices for each triangle.
// Out: position, scale, rotation (x, y, z, w), opacity and color of each splat, those of a triangle one after the other.
// A front that runs along `wave_vector` lifts splats off the surface, and then lowers them.
// The reference implementation is in app/vertigrad/models/data/splat_mesh.py.
//% include "common/index.wgsl"
//% include "common/color.wgsl"

struct Params {
    count: u32,             // splats
    subdivisions: u32,
    size_factor: f32,       // factor of the standard deviations in the plane
    elongation: f32,        // and of the longer one next to that
    thickness: f32,         // standard deviation across
    opacity: f32,
    wave_height: f32,       // how far the front takes splats off the surface
    phase: f32,             // of the front, in turns
    wave_vector: vec3f,     // turns for each unit of length
    color_variation: f32,   // how much colors differ from splat to splat
    sun: vec3f,             // toward the light, of unit length
    vertices_offset: u32,
    light: vec3f,           // linear colors of what faces the sun, and of what faces away
    vertices_strides: u32,    // elements from one vertex to the next
    dark: vec3f,
    normals_offset: u32,
    normals_strides: u32,
    index_offset: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> vertices: array<f32>;
@group(0) @binding(2) var<storage, read> normals: array<f32>;
@group(0) @binding(3) var<storage, read> index: array<u32>;
@group(0) @binding(4) var<storage, read_write> position: array<f32>;
@group(0) @binding(5) var<storage, read_write> scale: array<f32>;
@group(0) @binding(6) var<storage, read_write> rotation: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> opacity: array<f32>;
@group(0) @binding(8) var<storage, read_write> color: array<f32>;

fn position_of(vertex: u32) -> vec3f {
    let at = params.vertices_offset + vertex * params.vertices_strides;
    return vec3f(vertices[at], vertices[at + 1u], vertices[at + 2u]);
}

fn normal_of(vertex: u32) -> vec3f {
    let at = params.normals_offset + vertex * params.normals_strides;
    return vec3f(normals[at], normals[at + 1u], normals[at + 2u]);
}

// The fractions of the second and the third corner in the middle of a part: rows of upright parts with upside-down ones
// between them, the first row along the edge from the first corner to the second.
fn middle_of(part: u32) -> vec2f {
    let n = params.subdivisions;
    // Row r begins at part r (2n - r).
    let back = n * n - 1u - part;
    var above = u32(sqrt(f32(back)));
    above -= select(0u, 1u, above * above > back);
    above += select(0u, 1u, (above + 1u) * (above + 1u) <= back);
    let row = n - 1u - above;
    let along = part - row * (2u * n - row);
    let column = along / 2u;
    let third = select(1.0, 2.0, (along & 1u) == 1u) / 3.0;
    return (vec2f(f32(column), f32(row)) + third) / f32(n);
}

// A quaternion x, y, z, w that turns the axes to three that are across each other (Shepperd 1978).
fn turned_to(x: vec3f, y: vec3f, z: vec3f) -> vec4f {
    let trace = x.x + y.y + z.z;
    var found = vec4f(y.z - z.y, z.x - x.z, x.y - y.x, 1.0 + trace);
    if trace < 0.0 {
        if x.x >= y.y && x.x >= z.z {
            found = vec4f(1.0 + x.x - y.y - z.z, x.y + y.x, z.x + x.z, y.z - z.y);
        } else if y.y >= z.z {
            found = vec4f(x.y + y.x, 1.0 + y.y - x.x - z.z, y.z + z.y, z.x - x.z);
        } else {
            found = vec4f(z.x + x.z, y.z + z.y, 1.0 + z.z - x.x - y.y, x.y - y.x);
        }
    }
    return normalize(found);
}

// From 0 to 1, another for each splat and each of three numbers.
fn chance(i: u32) -> vec3f {
    let mixed = (vec3u(i) * vec3u(747796405u, 2891336453u, 1181783497u)) ^ vec3u(0x9e3779b9u, 0x7f4a7c15u, 0x85ebca6bu);
    let once = (mixed ^ (mixed >> vec3u(15u))) * 0x2c1b3c6du;
    let twice = (once ^ (once >> vec3u(12u))) * 0x297a2d39u;
    return vec3f((twice ^ (twice >> vec3u(15u))) >> vec3u(8u)) / 16777216.0;
}

fn write(i: u32, center: vec3f, size: vec3f, tint: vec3f) {
    for (var axis = 0u; axis < 3u; axis++) {
        position[3u * i + axis] = center[axis];
        scale[3u * i + axis] = size[axis];
        color[3u * i + axis] = tint[axis];
    }
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.count { return; }
    let first = params.index_offset + 3u * (i / (params.subdivisions * params.subdivisions));
    let corners = vec3u(index[first], index[first + 1u], index[first + 2u]);
    let fractions = middle_of(i % (params.subdivisions * params.subdivisions));
    let start = position_of(corners.x);
    let one = position_of(corners.y) - start;
    let other = position_of(corners.z) - start;
    let middle = start + fractions.x * one + fractions.y * other;
    let shades = mix(mix(normal_of(corners.x), normal_of(corners.y), fractions.x), normal_of(corners.z), fractions.y);

    // The covariance of a triangle's area is (2 uu + 2 vv - uv - vu) / 36 of its edges; here in its own plane.
    let across = normalize(cross(one, other));
    let x = normalize(one);
    let y = cross(across, x);
    let u = vec2f(length(one), 0.0);
    let v = vec2f(dot(other, x), dot(other, y));
    let xx = (2.0 * u.x * u.x + 2.0 * v.x * v.x - 2.0 * u.x * v.x) / 36.0;
    let xy = (2.0 * v.x * v.y - u.x * v.y) / 36.0;
    let yy = 2.0 * v.y * v.y / 36.0;
    let half_difference = 0.5 * (xx - yy);
    let spread = sqrt(half_difference * half_difference + xy * xy);
    let found = select(vec2f(xy, spread - half_difference), vec2f(spread + half_difference, xy), half_difference >= 0.0);
    let along = select(vec2f(1.0, 0.0), normalize(found), dot(found, found) > 1e-30);
    let longer = x * along.x + y * along.y;
    let own = chance(i);

    // The front: 0 but for a part of each turn.
    let turn = fract(dot(params.wave_vector, middle) - params.phase);
    let lifts = select(0.0, own.x, params.wave_height != 0.0);
    let raised = smoothstep(0.55, 0.8, turn) * (1.0 - smoothstep(0.8, 1.0, turn)) * lifts;
    let deviations = sqrt(max(0.5 * (xx + yy) + vec2f(spread, -spread), vec2f(0.0))) * params.size_factor / f32(params.subdivisions);
    let size = vec3f(deviations.x * params.elongation, deviations.y, params.thickness) * (1.0 - 0.6 * raised);
    rotation[i] = turned_to(longer, cross(across, longer), across);
    opacity[i] = params.opacity * (1.0 - 0.7 * raised);

    let facing = 0.5 + 0.5 * dot(normalize(shades), params.sun);
    let tint = own.y - 0.5 + 0.25 * (own - 0.5);    // more in brightness than in hue
    let light = mix(params.dark, params.light, facing * facing * facing) * (1.0 + params.color_variation * tint);
    write(i, middle + normalize(shades) * (params.wave_height * raised), size, clamp(linear_to_srgb(light), vec3f(0.0), vec3f(1.0)));
}

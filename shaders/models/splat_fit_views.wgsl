// Pictures of a mesh from cameras around it, and what of them a step of learning is shown.
// In: cameras, three rows for each: right, down and forward, each with minus the camera's position along it; positions and
//     unit normals of vertices, index, three of them for each triangle.
// Out, cover: nearest, for each sample of the view's image the triangle in front: in the higher bits how near it is, in
//     the lower ones its number; it begins as 0. SAMPLES x SAMPLES samples make a pixel.
// Out, shade: images (views, side, side), linear color times alpha, and alpha. No color depends on the view direction.
// Out, choose: composited (side, side), sRGB: one of the images over a background.
// Triangles are cut by the ray through a sample (Möller and Trumbore 1997, by three volumes), without a projection.
//% include "common/index.wgsl"
//% include "common/color.wgsl"

struct Params {
    side: u32,          // pixels along each side
    faces: u32,
    number_bits: u32,   // of the lower bits of `nearest`
    view: u32,
    focal: f32,         // [pixels]
    near: f32,          // the depths between which triangles are
    far: f32,
    bands: f32,         // of color around the vertical axis
    light: vec3f,       // linear colors of the bands
    dark: vec3f,
    background: vec3f,  // linear
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> cameras: array<vec4f>;
@group(0) @binding(2) var<storage, read> positions: array<f32>;
@group(0) @binding(3) var<storage, read> normals: array<f32>;
@group(0) @binding(4) var<storage, read> index: array<u32>;
@group(0) @binding(5) var<storage, read_write> nearest: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read_write> images: array<vec4f>;
@group(0) @binding(7) var<storage, read> shown: array<vec4f>;
@group(0) @binding(8) var<storage, read_write> composited: array<f32>;

const SUN = vec3f(0.43, 0.77, 0.47);    // toward it, of unit length

fn vector_of(vertex: u32) -> vec3f {
    return vec3f(positions[3u * vertex], positions[3u * vertex + 1u], positions[3u * vertex + 2u]);
}

fn normal_of(vertex: u32) -> vec3f {
    return vec3f(normals[3u * vertex], normals[3u * vertex + 1u], normals[3u * vertex + 2u]);
}

fn corners_of(face: u32) -> vec3u {
    return vec3u(index[3u * face], index[3u * face + 1u], index[3u * face + 2u]);
}

// A position in view space: right, down, forward.
fn to_view(position: vec3f) -> vec3f {
    let rows = 3u * params.view;
    let at = vec4f(position, 1.0);
    return vec3f(dot(cameras[rows], at), dot(cameras[rows + 1u], at), dot(cameras[rows + 2u], at));
}

// How much of each corner there is where a ray cuts the plane of a triangle, but for a factor: of one sign inside.
fn barycentric(a: vec3f, b: vec3f, c: vec3f, ray: vec3f) -> vec3f {
    return vec3f(dot(ray, cross(b, c)), dot(ray, cross(c, a)), dot(ray, cross(a, b)));
}

fn ray_of(sample: vec2u) -> vec3f {
    let middle = 0.5 * f32(params.side);
    return vec3f(((vec2f(sample) + 0.5) / ${SAMPLES}.0 - middle) / params.focal, 1.0);
}

@compute @workgroup_size(64)
fn cover(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let face = linear_index(id, num_workgroups, 64u);
    if face >= params.faces { return; }
    let corners = corners_of(face);
    let a = to_view(vector_of(corners.x));
    let b = to_view(vector_of(corners.y));
    let c = to_view(vector_of(corners.z));
    let lowest = min(min(a.xy / a.z, b.xy / b.z), c.xy / c.z);
    let highest = max(max(a.xy / a.z, b.xy / b.z), c.xy / c.z);
    let across = f32(${SAMPLES}u * params.side);
    let scale = params.focal * ${SAMPLES}.0;
    let first = vec2u(clamp(floor(lowest * scale + 0.5 * across), vec2f(0.0), vec2f(across)));
    let end = vec2u(clamp(ceil(highest * scale + 0.5 * across), vec2f(0.0), vec2f(across)));
    let levels = 0xffffffffu >> params.number_bits;
    for (var y = first.y; y < end.y; y++) {
        for (var x = first.x; x < end.x; x++) {
            let weights = barycentric(a, b, c, ray_of(vec2u(x, y)));
            if !(all(weights >= vec3f(0.0)) || all(weights <= vec3f(0.0))) { continue; }
            let total = weights.x + weights.y + weights.z;
            if total == 0.0 { continue; }
            let depth = dot(weights, vec3f(a.z, b.z, c.z)) / total;
            let behind = clamp((depth - params.near) / (params.far - params.near), 0.0, 1.0);
            let level = levels - min(u32(behind * f32(levels)), levels - 1u);
            atomicMax(&nearest[y * ${SAMPLES}u * params.side + x], (level << params.number_bits) | face);
        }
    }
}

// Bands around the vertical axis, lit by a sun and a sky.
fn light_from(position: vec3f, normal: vec3f) -> vec3f {
    let wave = sin(params.bands * atan2(position.z, position.x) + 2.0 * position.y);
    let own = mix(params.dark, params.light, smoothstep(-0.25, 0.25, wave));
    return own * (0.28 + 0.22 * normal.y + 0.75 * max(dot(normal, SUN), 0.0));
}

@compute @workgroup_size(64)
fn shade(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let pixel = linear_index(id, num_workgroups, 64u);
    if pixel >= params.side * params.side { return; }
    let corner = ${SAMPLES}u * vec2u(pixel % params.side, pixel / params.side);
    var sum = vec4f(0.0);
    for (var i = 0u; i < ${SAMPLES * SAMPLES}u; i++) {
        let at = corner + vec2u(i % ${SAMPLES}u, i / ${SAMPLES}u);
        let found = atomicLoad(&nearest[at.y * ${SAMPLES}u * params.side + at.x]);
        if found == 0u { continue; }
        let corners = corners_of(found & ((1u << params.number_bits) - 1u));
        let a = vector_of(corners.x);
        let b = vector_of(corners.y);
        let c = vector_of(corners.z);
        var weights = barycentric(to_view(a), to_view(b), to_view(c), ray_of(at));
        weights /= weights.x + weights.y + weights.z;
        let normal = weights.x * normal_of(corners.x) + weights.y * normal_of(corners.y) + weights.z * normal_of(corners.z);
        sum += vec4f(light_from(weights.x * a + weights.y * b + weights.z * c, normalize(normal)), 1.0);
    }
    images[params.view * params.side * params.side + pixel] = sum / ${SAMPLES * SAMPLES}.0;
}

@compute @workgroup_size(64)
fn choose(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let pixel = linear_index(id, num_workgroups, 64u);
    if pixel >= params.side * params.side { return; }
    let light = shown[params.view * params.side * params.side + pixel];
    let encoded = linear_to_srgb(light.rgb + (1.0 - light.a) * params.background);
    composited[3u * pixel] = encoded.x;
    composited[3u * pixel + 1u] = encoded.y;
    composited[3u * pixel + 2u] = encoded.z;
}

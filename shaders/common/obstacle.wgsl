// An obstacle as the model `obstacle` places it: distance, normal and velocity at a position. Import for the macro.
// Its array begins with a header, mirrored by app/vertigrad/models/reference/obstacle.py: kind (0 none, 1 box, 2 sphere,
// 3 cylinder, 4 grid of distances, 5 heights), position; scale, half the edges of its box; its axes as three rows of four;
// velocity and angular velocity in rows of four; samples along x, y, z. After the header come the samples, x fastest.

//% import "common/field.wgsl" as field

//% macro functions(name)
${field.functions(name, "obstacle_samples()", "32", "vec3i(1, i32(obstacle_samples().x), i32(obstacle_samples().x * obstacle_samples().y))")}

fn obstacle_row(first: u32) -> vec3f {
    return vec3f(${name}[first], ${name}[first + 1u], ${name}[first + 2u]);
}

fn obstacle_samples() -> vec3u {
    return vec3u(obstacle_row(28u));
}

// A position in the obstacle's own axes, before its scale.
fn obstacle_local(at: vec3f) -> vec3f {
    let away = at - obstacle_row(1u);
    return vec3f(dot(away, obstacle_row(8u)), dot(away, obstacle_row(12u)), dot(away, obstacle_row(16u))) / ${name}[4];
}

fn obstacle_box(outside: vec3f) -> f32 {
    return length(max(outside, vec3f(0.0))) + min(max(outside.x, max(outside.y, outside.z)), 0.0);
}

// Signed distance in its own axes. Beyond a grid, the nearest value and the distance to it; below heights all is solid.
fn obstacle_shape(at: vec3f) -> f32 {
    let kind = u32(${name}[0]);
    let half = obstacle_row(5u);
    if kind == 1u {
        return obstacle_box(abs(at) - half);
    } else if kind == 2u {
        return length(at) - half.x;
    } else if kind == 3u {
        let around = vec3f(length(at.xz) - half.x, abs(at.y) - half.y, -1e9);
        return obstacle_box(around);
    } else if kind == 4u {
        let held = clamp(at, -half, half);
        return ${name}_between((held / half + 1.0) * 0.5 * vec3f(obstacle_samples() - 1u)) + length(at - held);
    } else if kind == 5u {
        let last = vec3f(obstacle_samples() - 1u);
        let here = vec3f((clamp(at.x / half.x, -1.0, 1.0) + 1.0) * 0.5 * last.x, 0.0, (clamp(at.z / half.z, -1.0, 1.0) + 1.0) * 0.5 * last.z);
        let slope = vec2f(
            (${name}_between(here + vec3f(0.5, 0.0, 0.0)) - ${name}_between(here - vec3f(0.5, 0.0, 0.0))) * 0.5 * last.x / half.x,
            (${name}_between(here + vec3f(0.0, 0.0, 0.5)) - ${name}_between(here - vec3f(0.0, 0.0, 0.5))) * 0.5 * last.z / half.z,
        );
        let above = (at.y - ${name}_between(here)) / sqrt(1.0 + dot(slope, slope));
        return obstacle_box(vec3f(abs(at.x) - half.x, above, abs(at.z) - half.z));
    }
    return 1e9;
}

// Signed distance [m] at a position of the scene.
fn obstacle_distance(at: vec3f) -> f32 {
    return obstacle_shape(obstacle_local(at)) * ${name}[4];
}

// The unit vector along which that distance grows, by four points around.
fn obstacle_normal(at: vec3f) -> vec3f {
    let local = obstacle_local(at);
    let half = obstacle_row(5u);
    let e = 0.01 * max(half.x, max(half.y, half.z));
    let sum = vec3f(1.0, 1.0, 1.0) * obstacle_shape(local + e)
        + vec3f(1.0, -1.0, -1.0) * obstacle_shape(local + vec3f(e, -e, -e))
        + vec3f(-1.0, 1.0, -1.0) * obstacle_shape(local + vec3f(-e, e, -e))
        + vec3f(-1.0, -1.0, 1.0) * obstacle_shape(local + vec3f(-e, -e, e));
    let long = length(sum);
    if !(long > 1e-12) {
        return vec3f(0.0, 1.0, 0.0);
    }
    return (sum.x * obstacle_row(8u) + sum.y * obstacle_row(12u) + sum.z * obstacle_row(16u)) / long;
}

// Where a position is for an obstacle that is `lag` seconds before its placement.
fn obstacle_before(at: vec3f, lag: f32) -> vec3f {
    return at + obstacle_velocity(at) * lag;
}

// Velocity [m/s] of the obstacle there.
fn obstacle_velocity(at: vec3f) -> vec3f {
    return obstacle_row(20u) + cross(obstacle_row(24u), at - obstacle_row(1u));
}
//%- endmacro

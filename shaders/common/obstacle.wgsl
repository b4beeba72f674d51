// Obstacles as the model `obstacle` places them: distance, normal and velocity at a position. Import for the macro.
// An array has one block after the other, each a header and then samples, x fastest. The header, mirrored by
// app/vertigrad/models/reference/obstacle.py: kind (0 none, 1 box, 2 sphere, 3 cylinder, 4 grid of distances, 5 heights),
// position; scale, half the edges of its box; its axes as three rows of four, with mass (0: it is placed), radius and number
// of its contact points in the fourth; velocity, friction; angular velocity, 0; samples along x, y, z, and how far the next
// block is, 0 for the last. From 32 on: center of mass in its axes, and 1 if a medium moves it; inertia (xx, yy, zz, xy, xz,
// yz); force and torque of the medium; contact points in its axes.

//% import "common/field.wgsl" as field

//% macro functions(name)
var<private> obstacle_block: u32;  // where the block begins that the functions are about

${field.functions(name, "obstacle_samples()", "obstacle_block + 144u", "vec3i(1, i32(obstacle_samples().x), i32(obstacle_samples().x * obstacle_samples().y))")}

fn obstacle_row(first: u32) -> vec3f {
    return vec3f(${name}[obstacle_block + first], ${name}[obstacle_block + first + 1u], ${name}[obstacle_block + first + 2u]);
}

fn obstacle_samples() -> vec3u {
    return vec3u(obstacle_row(28u));
}

// A position in the obstacle's own axes, before its scale.
fn obstacle_local(at: vec3f) -> vec3f {
    let away = at - obstacle_row(1u);
    return vec3f(dot(away, obstacle_row(8u)), dot(away, obstacle_row(12u)), dot(away, obstacle_row(16u))) / ${name}[obstacle_block + 4u];
}

fn obstacle_box(outside: vec3f) -> f32 {
    return length(max(outside, vec3f(0.0))) + min(max(outside.x, max(outside.y, outside.z)), 0.0);
}

// Signed distance in its own axes. Beyond a grid, the nearest value and the distance to it; below heights all is solid.
fn obstacle_shape(at: vec3f) -> f32 {
    let kind = u32(${name}[obstacle_block + 0u]);
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
    return obstacle_shape(obstacle_local(at)) * ${name}[obstacle_block + 4u];
}

// Corners of a tetrahedron.
fn obstacle_corner(k: u32) -> vec3f {
    return select(vec3f(-1.0), vec3f(1.0), vec3<bool>(k < 2u, k == 0u || k == 2u, k == 0u || k == 3u));
}

// The unit vector along which that distance grows, by four points around.
fn obstacle_normal(at: vec3f) -> vec3f {
    let local = obstacle_local(at);
    let half = obstacle_row(5u);
    let e = 0.01 * max(half.x, max(half.y, half.z));
    var sum = vec3f(0.0);
    for (var k = 0u; k < 4u; k += 1u) {  // a loop: drivers inline what it calls, once
        let corner = obstacle_corner(k);
        sum += corner * obstacle_shape(local + e * corner);
    }
    let long = length(sum);
    if !(long > 1e-12) {
        return vec3f(0.0, 1.0, 0.0);
    }
    return (sum.x * obstacle_row(8u) + sum.y * obstacle_row(12u) + sum.z * obstacle_row(16u)) / long;
}

// Velocity [m/s] of the obstacle there; `pace` is what a second of the scene is to one of the medium.
fn obstacle_velocity(at: vec3f, pace: f32) -> vec3f {
    let velocity = obstacle_row(20u) + cross(obstacle_row(24u), at - obstacle_row(1u));
    return velocity * select(pace, 1.0, ${name}[obstacle_block + 35u] == 1.0);
}

// Select the nearest obstacle. Returns where a position is for it, and the distance. What is placed is `lag` seconds before its
// placement, and what a medium moves `ahead` seconds after where it is.
fn obstacle_nearest_at(at: vec3f, lag: f32, ahead: f32) -> vec4f {
    var nearest = vec4f(at, 1e9);
    var block = 0u;
    obstacle_block = 0u;
    for (var next = 1u; next > 0u; obstacle_block += next) {
        next = u32(${name}[obstacle_block + 31u]);
        let late = select(lag, -ahead, ${name}[obstacle_block + 35u] == 1.0);
        let earlier = at + obstacle_velocity(at, 1.0) * late;
        let far = obstacle_distance(earlier);
        if far < nearest.w {
            nearest = vec4f(earlier, far);
            block = obstacle_block;
        }
    }
    obstacle_block = block;
    return nearest;
}

// The same, with bodies where they are.
fn obstacle_nearest(at: vec3f, lag: f32) -> vec4f {
    return obstacle_nearest_at(at, lag, 0.0);
}
//%- endmacro

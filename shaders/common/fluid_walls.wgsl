// What the walls of a tank, a body in it and a grid of distances add to the densities of particles.
// Include for walled, solid, moving and outwards. In: FIELD, "grid" of distances, "placed" by the model obstacle, or ""; the
// uniforms of common/fluid.wgsl.

//% import "common/field.wgsl" as grids
//% import "common/obstacle.wgsl" as obstacles

// What a layer of particles `q` spacings away adds to the relative density, as if smeared over its plane; and its derivative.
fn layer(q: f32) -> vec2f {
    let outer = max(2.0 - q, 0.0);
    let far = outer * outer * outer * vec2f(outer * (0.25 - 0.1 * outer), 0.5 * outer - 1.0);
    let close = vec2f(0.7 + q * q * (q * q * (0.75 - 0.3 * q) - 1.0), q * (q * q * (3.0 - 1.5 * q) - 2.0));
    return select(far, close, q < 1.0);
}

// What a wall `q` spacings away adds to the relative density, being a mirror of such layers; and the derivative of that along q.
fn beyond(q: f32) -> vec2f {
    return (layer(2.0 * q) + layer(2.0 * q + 1.0)) * vec2f(1.0, 2.0);
}

// Signed distance from the body in the tank.
fn standing(at: vec3f) -> f32 {
    let away = at - params.body_center;
    let outside = abs(away) - params.body_half;
    let around = vec2f(length(away.xz) - params.body_half.x, outside.y);
    var distance = 1e9;
    if params.shape == 1u {
        distance = length(max(outside, vec3f(0.0))) + min(max(outside.x, max(outside.y, outside.z)), 0.0);
    } else if params.shape == 2u {
        distance = length(away) - params.body_half.x;
    } else if params.shape == 3u {
        distance = length(max(around, vec2f(0.0))) + min(max(around.x, around.y), 0.0);
    }
    return distance;
}

// Signed distance from the body in the tank, and from the obstacle.
fn solid(at: vec3f) -> f32 {
    //% if FIELD == "placed"
    return min(standing(at), obstacle_nearest(at, params.obstacle_lag).w);
    //% elif FIELD == "grid"
    return min(standing(at), sampled(at));
    //% else
    return standing(at);
    //% endif
}

// Velocity of the nearest solid.
fn moving(at: vec3f) -> vec3f {
    //% if FIELD == "placed"
    let near = obstacle_nearest(at, params.obstacle_lag);
    return select(vec3f(0.0), obstacle_velocity(near.xyz, params.obstacle_pace), near.w < standing(at));
    //% else
    return vec3f(0.0);
    //% endif
}

//% if FIELD == "placed"
${obstacles.functions("field")}
//% elif FIELD == "grid"
${grids.functions("field", "params.field_size", "params.field_offset", "vec3i(1, i32(params.field_size.x), i32(params.field_size.x * params.field_size.y))")}
${grids.around("field", "params.field_size")}

// The grid between its samples; outside of it, the nearest value and the distance to it.
fn sampled(at: vec3f) -> f32 {
    let free = (at - params.field_low) / params.field_spacing;
    let position = clamp(free, vec3f(0.0), vec3f(params.field_size - 1u));
    return field_around(position).w + length(free - position) * params.field_spacing;
}
//% endif

// The direction in which that distance grows, by four points around.
fn outwards(at: vec3f) -> vec3f {
    let e = 0.25 * params.spacing;
    var sum = vec3f(0.0);
    for (var k = 0u; k < 4u; k += 1u) {  // a loop: drivers inline what it calls, once
        let corner = select(vec3f(-1.0), vec3f(1.0), vec3<bool>(k < 2u, k == 0u || k == 2u, k == 0u || k == 3u));
        sum += corner * solid(at + e * corner);
    }
    let long = length(sum);
    return select(vec3f(0.0, 1.0, 0.0), sum / long, long > 1e-12);
}

//% if FIELD == "placed"
// The number of the obstacle that is nearest; OBSTACLES if it is farther than the kernel reaches.
fn nearest_body(at: vec3f) -> u32 {
    if obstacle_nearest(at, params.obstacle_lag).w > 2.0 * params.spacing {
        return ${OBSTACLES}u;
    }
    return body_number();
}
//% endif

struct Walled {
    gradient: vec3f,  // [1/m]
    body: vec3f,      // what of it is not the tank's
    fraction: f32,    // of the kernel that walls take up
    virial: f32,      // Σ −gradient of each wall times the distance to it: what its force adds to the trace of the stress
}

// What walls do to the density at a point. Walls at right angles overlap as independent fractions do.
fn walled(at: vec3f) -> Walled {
    var free = 1.0;
    var steep = vec3f(0.0);
    var body_steep = vec3f(0.0);
    var virial = 0.0;
    for (var axis = 0u; axis < 3u; axis += 1u) {
        let away = max(vec2f(at[axis] - params.tank_low[axis], params.tank_high[axis] - at[axis]) / params.spacing, vec2f(0.0));
        let low = beyond(away.x);
        let high = beyond(away.y);
        free *= (1.0 - low.x) * (1.0 - high.x);
        let slopes = vec2f(low.y / (1.0 - low.x), high.y / (1.0 - high.x));
        steep[axis] += slopes.x - slopes.y;
        virial -= dot(slopes, away);
    }
    let distance = solid(at) / params.spacing;
    if distance < 2.0 {
        let body = beyond(max(distance, 0.0));
        free *= 1.0 - body.x;
        let slope = body.y / (1.0 - body.x);
        body_steep = slope * outwards(at);
        steep += body_steep;
        virial -= slope * max(distance, 0.0);
    }
    return Walled(steep * (free / params.spacing), body_steep * (free / params.spacing), 1.0 - free, virial * free);
}

// The area lights of a path tracer, and small spheres for the points, spots and suns of assets: where rays meet them, and samples of them. They stand in no light's way, as in the renderer. Needs
// common/trace_scene.wgsl and PI.

struct Lamp {               // rows of path_trace/lamps.py, in `tables`
    center: vec3f,
    kind: f32,              // 0: rectangle, 1: disc, 2: sphere, 3: a small sphere of an asset
    right: vec3f,           // half the width; of a sphere its radius
    area: f32,
    above: vec3f,           // half the height; cross(right, above) is where it shines to; of kind 3 the direction of its cone
    visible: f32,           // 1: the eye sees it
    radiance: vec3f,
    range: f32,             // of kind 3: how far it shines, 0: everywhere,
    cone: vec2f,            // and the cosines of the angles within which it does, fully and at all
}

fn lamp_at(number: u32) -> Lamp {
    let at = params.lamps + 18u * number;
    return Lamp(
        lamp_row(at), tables[at + 3u], lamp_row(at + 4u), tables[at + 7u], lamp_row(at + 8u), tables[at + 11u],
        lamp_row(at + 12u), tables[at + 15u], vec2f(tables[at + 16u], tables[at + 17u]),
    );
}

// Its radiance toward a position (KHR_lights_punctual, as in common/asset_light.wgsl).
fn lamp_light(lamp: Lamp, origin: vec3f) -> vec3f {
    if lamp.kind < 2.5 { return lamp.radiance; }
    let away = origin - lamp.center;
    let distance = max(length(away), 1e-18);
    let part = distance / max(lamp.range, 1e-18);
    let window = select(1.0, clamp(1.0 - part * part * part * part, 0.0, 1.0), lamp.range > 0.0);
    let cone = clamp((dot(away, lamp.above) / distance - lamp.cone.y) / max(lamp.cone.x - lamp.cone.y, 1e-3), 0.0, 1.0);
    return lamp.radiance * (window * cone * cone);
}

fn lamp_row(at: u32) -> vec3f {
    return vec3f(tables[at], tables[at + 1u], tables[at + 2u]);
}

// How far away a ray meets the side that shines, or FAR.
fn meet_lamp(lamp: Lamp, origin: vec3f, direction: vec3f) -> f32 {
    let away = lamp.center - origin;
    if lamp.kind > 1.5 {
        let along = dot(away, direction);
        let aside = away - along * direction;
        let squared = dot(lamp.right, lamp.right);
        let inside = squared - dot(aside, aside);
        return select(FAR, along - sqrt(max(inside, 0.0)), inside > 0.0 && along > 0.0 && dot(away, away) > squared);
    }
    let normal = cross(lamp.right, lamp.above);
    let against = dot(normal, direction);
    let distance = dot(normal, away) / select(against, -1e-30, against > -1e-30);
    if against >= 0.0 || !(distance > 0.0) { return FAR; }
    let at = distance * direction - away;
    let across = vec2f(dot(at, lamp.right) / dot(lamp.right, lamp.right), dot(at, lamp.above) / dot(lamp.above, lamp.above));
    let reach = select(length(across), max(abs(across.x), abs(across.y)), lamp.kind < 0.5);
    return select(FAR, distance, reach <= 1.0);
}

// 1 - the cosine of half the angle in which a sphere is seen.
fn cone_of(lamp: Lamp, origin: vec3f) -> f32 {
    let away = lamp.center - origin;
    let squared = min(dot(lamp.right, lamp.right) / max(dot(away, away), 1e-30), 1.0);
    return squared / (1.0 + sqrt(1.0 - squared));
}

// How densely directions of `lamp_direction` are around this one, per steradian, which meets it at `distance`.
fn lamp_density(lamp: Lamp, origin: vec3f, direction: vec3f, distance: f32) -> f32 {
    if lamp.kind > 1.5 { return 1.0 / (2.0 * PI * max(cone_of(lamp, origin), 1e-30)); }
    let cosine = -dot(normalize(cross(lamp.right, lamp.above)), direction);
    return distance * distance / (max(cosine, 1e-9) * lamp.area);
}

fn lamp_direction(lamp: Lamp, origin: vec3f, random_: vec2f) -> vec3f {
    if lamp.kind > 1.5 {
        let fall = 0.99999 * random_.x * cone_of(lamp, origin);
        let sine = sqrt(fall * (2.0 - fall));
        let angle = 2.0 * PI * random_.y;
        return turned(vec3f(sine * cos(angle), sine * sin(angle), 1.0 - fall), normalize(lamp.center - origin));
    }
    var at = 0.99999 * (2.0 * random_ - 1.0);
    if lamp.kind > 0.5 {
        let angle = 2.0 * PI * random_.y;
        at = 0.99999 * sqrt(random_.x) * vec2f(cos(angle), sin(angle));
    }
    return normalize(lamp.center + at.x * lamp.right + at.y * lamp.above - origin);
}

// How much light it may throw on a position, roughly.
fn lamp_weight(lamp: Lamp, origin: vec3f) -> f32 {
    let away = origin - lamp.center;
    let is_lit = lamp.kind > 1.5 || dot(cross(lamp.right, lamp.above), away) > 0.0;
    let radiance = lamp_light(lamp, origin);
    let light = max(radiance.r, max(radiance.g, radiance.b)) * lamp.area;
    return select(0.0, light / (dot(away, away) + 0.1 * lamp.area), is_lit);
}

// A lamp by a random number, each as often as its weight says, and how often; NONE if none shines here.
struct Choice {
    number: u32,
    part: f32,
}

fn chosen_lamp(origin: vec3f, random_: f32) -> Choice {
    let total = lamp_weights(origin);
    var choice = Choice(NONE, 0.0);
    var passed = 0.0;
    for (var i = 0u; i < params.lamp_count; i++) {
        let weight = lamp_weight(lamp_at(i), origin);
        if weight > 0.0 && (passed <= random_ * total || choice.number == NONE) { choice = Choice(i, weight / total); }
        passed += weight;
    }
    return choice;
}

fn lamp_weights(origin: vec3f) -> f32 {
    var total = 0.0;
    for (var i = 0u; i < params.lamp_count; i++) { total += lamp_weight(lamp_at(i), origin); }
    return total;
}

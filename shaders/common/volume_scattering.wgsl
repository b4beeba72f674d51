// Light that a volume scatters toward the eye: of sun, sky and area lights, as far as it gets there (draw/volume_light.wgsl).
// Include for scattered, phase_of and phase_of_lamps, after what draw/volume.wgsl declares.

const SUNNY = 0.85;         // of the sun's light that comes back from what is white and thick, from all directions

// What reaches a point: of sun and sky the fraction, and the light of area lights, of which a white matt surface would have as much.
struct Reached {
    open: vec2f,
    lamps: vec3f,
}

fn reached(world: vec3f) -> Reached {
    let size = vec3i(style.light_size);
    let relative = (world - style.low) / (style.high - style.low);
    let position = clamp(relative * vec3f(size) - 0.5, vec3f(0.0), vec3f(size - 1));
    let low = vec3i(position);
    let part = position - vec3f(low);
    let count = size.x * size.y * size.z;
    var sum = Reached(vec2f(0.0), vec3f(0.0));
    for (var corner = 0; corner < 8; corner++) {
        let offset = vec3i(corner & 1, (corner >> 1) & 1, corner >> 2);
        let cell = min(low + offset, size - 1);
        let weights = select(1.0 - part, part, offset == vec3i(1));
        let weight = weights.x * weights.y * weights.z;
        let at = (cell.z * size.y + cell.y) * size.x + cell.x;
        sum.open += weight * light[at];
        if (view.light_count > 0u) & (weight >= 0.0) { sum.lamps += weight * vec3f(light[count + at], light[2 * count + at].x); }
    }
    return sum;
}

// Light scattered toward the eye by what is white, for each unit that it takes away.
fn scattered(world: vec3f, eye: vec3f, phase: f32, lamp_phase: f32, overhead: vec3f) -> vec3f {
    var open = vec2f(sun_in_air(eye), 1.0);
    var lamps = vec3f(0.0);
    if ((style.shadow > 0.0) | (view.light_count > 0u)) & (abs(world.x) < 1e30) {
        let found = reached(world);
        open *= mix(vec2f(1.0), found.open, style.shadow);
        lamps = found.lamps;
    }
    return SUNNY * (view.sun * (phase * open.x) + lamps * lamp_phase) + overhead * open.y;
}

// How much is scattered from a direction, of which `cosine` is that to the line of sight; 1 if it is the same in all (Henyey and
// Greenstein 1941).
fn phase_of(cosine: f32) -> f32 {
    let g = style.anisotropy;
    return (1.0 - g * g) / pow(1.0 + g * g - 2.0 * g * cosine, 1.5);
}

// The same of the area lights together, as they shine on a position of eye space.
fn phase_of_lamps(eye: vec3f, sight: vec3f) -> f32 {
    var sum = vec2f(0.0, 1e-30);
    let count = select(0u, view.light_count, dot(eye, eye) < 1e30);    // a position matters in name only: see common/shadows.wgsl
    for (var i = 0u; i < count; i++) {
        let lamp = view.lights[i];
        let away = lamp.center - eye;
        let area = dot(lamp.right, lamp.right) + dot(lamp.above, lamp.above);
        let weight = dot(lamp.radiance, vec3f(1.0)) * area / (dot(away, away) + area);
        sum += weight * vec2f(phase_of(dot(sight, normalize(away))), 1.0);
    }
    return sum.x / sum.y;
}

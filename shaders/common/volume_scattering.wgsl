// Light that a volume scatters toward the eye: of sun, sky and area lights, as far as it gets there (draw/volume_light.wgsl).
// Include for scattered, phase_of and phase_of_lamps, after what draw/volume.wgsl declares.

const SUNNY = 0.85;         // of the sun's light that comes back from what is white and thick, from all directions
const NEAR_CELLS = 1.5;     // of the grid of light: so far toward the sun depths are found from the density itself, where it is opaque
const NEAR_STEPS = 3;       // in so many steps
const OPAQUE = 1.0;         // the optical depth of that length, with the extinction of its beginning

// The way of light to a point: optical depths toward the sun and the sky, and the light of area lights, of which a white matt surface
// would have as much.
struct Reached {
    depths: vec2f,
    lamps: vec3f,
}

// From the grid of light.
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
        sum.depths += weight * light[at];
        if (view.light_count > 0u) & (weight >= 0.0) { sum.lamps += weight * vec3f(light[count + at], light[2 * count + at].x); }
    }
    return sum;
}

// The optical depth toward the sun. Where what is opaque begins, cells of the grid before it and behind it are bright and dark: stripes,
// unless the way through it is followed.
fn depth_toward_sun(world: vec3f, extinction: f32, coarse: f32) -> f32 {
    let cell = (style.high - style.low) / vec3f(style.light_size);
    let near = NEAR_CELLS * min(cell.x, min(cell.y, cell.z));
    if !(extinction * near > OPAQUE) { return coarse; }
    let sun = turned_to_world(view.sun_direction);
    let leaves = (select(style.low, style.high, sun > vec3f(0.0)) - world) / select(sun, vec3f(1e-9), abs(sun) < vec3f(1e-9));
    let length = min(near, max(min(leaves.x, min(leaves.y, leaves.z)), 0.0));
    let range = select(style.density_range, density_extent[0], style.auto_density > 0.0);
    var sum = 0.0;
    for (var i = 0; i < NEAR_STEPS; i++) {
        sum += extinction_at(world + sun * (length * (f32(i) + 0.5) / f32(NEAR_STEPS)), range);
    }
    return sum * length / f32(NEAR_STEPS) + reached(world + sun * length).depths.x;
}

// The fractions of the light of sun and sky that get through. What is scattered several times gets farther than what comes straight; the
// sky comes from all sides.
fn let_through(depths: vec2f) -> vec2f {
    let straight = 0.65 * exp(-depths.x) + 0.35 * exp(-0.25 * depths.x);
    let around = 0.6 * exp(-0.5 * depths.y) + 0.4 * exp(-0.12 * depths.y);
    return vec2f(straight, around);
}

// Light scattered toward the eye by what is white of an extinction, for each unit that it takes away.
fn scattered(world: vec3f, extinction: f32, eye: vec3f, phase: f32, lamp_phase: f32, overhead: vec3f) -> vec3f {
    var open = vec2f(sun_in_air(eye) * sun_through_volumes(eye), 1.0);    // the map is without this volume
    var lamps = vec3f(0.0);
    if ((style.shadow > 0.0) | (view.light_count > 0u)) & (abs(world.x) < 1e30) {
        let found = reached(world);
        let depths = vec2f(depth_toward_sun(world, extinction, found.depths.x), found.depths.y);
        open *= mix(vec2f(1.0), let_through(depths), style.shadow);
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

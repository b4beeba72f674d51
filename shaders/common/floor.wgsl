// A floor ruled at round distances: lines of a finer rule come in as the eye comes closer. Drawn by draw/floor.wgsl and
// common/trace_floor.wgsl. Needs common/ticks.wgsl.

const CLOSEST = 9.0;        // pixels between the finest lines
const FINE = 0.11;          // how strong they are, and
const COARSE = 0.24;        // every tenth
const AXIS = 0.40;          // and those through the origin
const FLOOR_SHADE = 0.42;   // how dark it is in a shadow, of what is behind it

// How much lines cover at a position, where a pixel is `per_pixel` wide. They are `width` pixels wide, and their edges `soft`.
fn floor_rule(position: vec2f, per_pixel: vec2f, width: f32, soft: f32) -> f32 {
    // The finest rule whose lines are far enough apart here, and how much of it is there already.
    let finest = log2(CLOSEST * length(per_pixel)) * 0.30103;
    let exponent = i32(ceil(finest));
    let fresh = f32(exponent) - finest;
    let fine = position / power_of_ten(exponent);
    let step = per_pixel / power_of_ten(exponent);
    let first = rule_cover(fine, step, width, soft) * FINE * fresh;
    let second = rule_cover(fine * 0.1, step * 0.1, width, soft) * mix(FINE, COARSE, fresh);
    let third = rule_cover(fine * 0.01, step * 0.01, width, soft) * COARSE;
    let through = line_cover(abs(position) / per_pixel, width, soft);
    return max(max(first, second), max(third, max(through.x, through.y) * AXIS));
}

// How much lines at integers cover; `per_pixel` is in units of the rule.
fn rule_cover(position: vec2f, per_pixel: vec2f, width: f32, soft: f32) -> f32 {
    let away = abs(fract(position - 0.5) - 0.5) / max(per_pixel, vec2f(1e-9));
    let line = line_cover(away, width, soft) * (1.0 - smoothstep(vec2f(0.15), vec2f(0.45), per_pixel));
    return max(line.x, line.y);
}

// The same of lines that are so many pixels away.
fn line_cover(away: vec2f, width: f32, soft: f32) -> vec2f {
    return clamp((0.5 * width - away) / soft + 0.5, vec2f(0.0), vec2f(1.0));
}

// It fades out far from the middle of a box of this size.
fn floor_fade(world: vec3f, middle: vec3f, size: f32, up: vec3f) -> f32 {
    return 1.0 - smoothstep(0.4, 2.2, distance(world, middle - up * dot(middle - world, up)) / size);
}

// And where it is seen edge-on; `slope` is the sine of the angle between line of sight and floor.
fn floor_steep(slope: f32) -> f32 {
    return smoothstep(0.0, 0.12, slope);
}

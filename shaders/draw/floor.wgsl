// A floor ruled at round distances, without an end: for each pixel the position where its line of sight meets it. Lines of a
// finer rule come in as the eye comes closer. In: the box around everything, above it. Out: linear premultiplied
// color, and depth.
//% include "common/view.wgsl"
//% include "common/lighting.wgsl"
//% include "common/shadows.wgsl"
//% include "common/ticks.wgsl"
//% include "common/overlay.wgsl"
//% include "common/axes_bounds.wgsl"

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> overlay: Overlay;
@group(0) @binding(2) var<storage, read> bounds: array<vec4f>;

struct Ground {
    @location(0) color: vec4f,
    @location(1) display: vec4f,     // the same: common/output.wgsl
    @builtin(frag_depth) depth: f32,
}

const CLOSEST = 9.0;        // pixels between the finest lines
const FINE = 0.11;          // how strong they are, and
const COARSE = 0.24;        // every tenth
const AXIS = 0.40;          // and those through the origin
const SHADE = 0.42;         // how dark it is in a shadow, of what is behind it

@vertex
fn floor_vertex(@builtin(vertex_index) index: u32) -> @builtin(position) vec4f {
    return vec4f(vec2f(f32((index << 1u) & 2u), f32(index & 2u)) * 2.0 - 1.0, 0.5, 1.0);
}

// Where a line of sight meets the floor.
struct Meeting {
    eye: vec3f,
    world: vec3f,
    position: vec2f,       // on the floor
    far: f32,           // from where the line starts, in units of its depth
    slope: f32,         // sine of the angle between line and floor
}

// Derivatives between neighboring pixels are computed this sight too: a rasterizer that cuts the triangle that covers
// the image into several has none along the cuts.
fn meeting(pixel: vec2f, up: vec3f) -> Meeting {
    let corner = (2.0 * pixel / overlay.viewport - 1.0) * vec2f(1.0, -1.0);
    let across = across_at(corner);
    let eye = select(vec3f(0.0), vec3f(across, 0.0), is_parallel());
    let sight = select(vec3f(across, -1.0), vec3f(0.0, 0.0, -1.0), is_parallel());
    let start = turned_to_world(eye - view.world_to_eye[3].xyz);
    let along = turned_to_world(sight);
    let rise = dot(along, up);
    let far = (floor_height(up) - dot(start, up)) / select(rise, 1e-12, abs(rise) < 1e-12);
    let world = start + along * far;
    return Meeting(eye + sight * far, world, select(world.xz, world.xy, up.z > 0.5), far, abs(rise) / length(along));
}

fn floor_height(up: vec3f) -> f32 {
    let high = bounds_high();
    let low = bounds_low();
    let span = high - low;
    let under = dot(low, up) - 2e-3 * max(span.x, max(span.y, span.z));
    return select(under, overlay.floor_height, overlay.own_floor > 0.0);
}

// How much of a pixel, `per_pixel` wide in units of the rule, lines at integers cover.
fn covered(position: vec2f, per_pixel: vec2f, width: f32) -> vec2f {
    let away = abs(fract(position - 0.5) - 0.5) / max(per_pixel, vec2f(1e-9));
    let line = clamp(vec2f(0.5 * width + 0.5) - away, vec2f(0.0), vec2f(1.0));
    return line * (1.0 - smoothstep(vec2f(0.15), vec2f(0.45), per_pixel));
}

fn both(lines: vec2f) -> f32 {
    return max(lines.x, lines.y);
}

@fragment
fn floor_fragment(@builtin(position) at: vec4f) -> Ground {
    let up = round(turned_to_world(view.up));
    let pixel = at.xy / view.scale;     // of those that are shown
    let here = meeting(pixel, up);
    if !(-here.eye.z > view.near) & !is_parallel() { discard; }
    let position = here.position;
    let right = abs(meeting(pixel + vec2f(1.0, 0.0), up).position - position);
    let below = abs(meeting(pixel + vec2f(0.0, 1.0), up).position - position);
    let per_pixel = max(right + below, vec2f(1e-12));

    // The finest rule whose lines are far enough apart here, and how much of it is there already.
    let finest = log2(CLOSEST * length(per_pixel)) * 0.30103;
    let exponent = i32(ceil(finest));
    let fresh = f32(exponent) - finest;
    let width = max(overlay.unit, 1.0 / view.scale.y);
    let fine = position / power_of_ten(exponent);
    let fine_step = per_pixel / power_of_ten(exponent);
    let first = both(covered(fine, fine_step, width)) * FINE * fresh;
    let second = both(covered(fine * 0.1, fine_step * 0.1, width)) * mix(FINE, COARSE, fresh);
    let third = both(covered(fine * 0.01, fine_step * 0.01, width)) * COARSE;
    let through = clamp(0.5 * width + 0.5 - abs(position) / per_pixel, vec2f(0.0), vec2f(1.0));
    let cover = max(max(first, second), max(third, both(through) * AXIS));

    let middle = 0.5 * (bounds_low() + bounds_high());
    let size = max(length(bounds_high() - bounds_low()), overlay.distance);
    let fade = 1.0 - smoothstep(0.4, 2.2, distance(here.world, middle - up * dot(middle - here.world, up)) / size);
    let steep = smoothstep(0.0, 0.12, here.slope);
    let alpha = cover * fade * steep;
    let shade = SHADE * (1.0 - sun_open(here.eye, view.up, pixel)) * fade * (1.0 - alpha);
    if !(alpha + shade > 0.002) { discard; }
    let color = vec4f(vec3f(overlay.light) * alpha, alpha + shade);
    return Ground(color, color, depth_at(here.eye));
}

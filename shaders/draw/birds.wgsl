// Birds, an instance of 15 triangles for each row, computed from the vertex index: a body, a tail, and wings of two
// parts that beat. In: the attributes of each row, each from its own vertex buffer. Out: linear color. A row that is not finite
// is not drawn. With PICKING the same is drawn as the indices of the rows.
// Lengths are in halves of the wingspan: x to the right of the bird, y up, z backward.
//% import "common/attributes.wgsl" as attributes
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% include "common/lighting.wgsl"
//% include "common/coverage.wgsl"
//% include "common/finite.wgsl"
//% include "common/row_number.wgsl"
//% if PICKING
//% include "common/pick_pixel.wgsl"
//% else
//% include "common/triangles.wgsl"
//% endif

struct Style {              // packed by name in renderer/layers/birds.py
    color: vec4f,           // linear; where no color is bound
    range: vec2f,           // values at the two ends of the colormap
    metallic: f32,
    roughness: f32,
    size: f32,              // half the wingspan in world units; a factor where sizes are bound
    bank: f32,              // roll to the right [rad]; a factor where it is bound
    beat: f32,              // wing beats per second
    amplitude: f32,         // of the wings [rad]
    glide: f32,             // fraction of the time without beats
    auto_range: f32,        // 1: the colormap's ends are the extent of the colors instead of `range`
}

struct Row {
    @location(0) position: ${POSITION},
//% if COLOR
    @location(1) color: ${COLOR},
//% endif
//% if SIZE
    @location(2) size: ${SIZE},
//% endif
//% if COLORMAPPED
    @location(3) extent: vec2f,
//% endif
    @location(4) direction: ${DIRECTION},
//% if BANK
    @location(5) bank: ${BANK},
//% endif
}

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) eye: vec3f,
    @location(1) @interpolate(flat) color: vec4f,
//% if PICKING
    @location(2) @interpolate(flat) row: u32,
//% endif
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> style: Style;
//% if COLORMAPPED
@group(0) @binding(2) var colormap: texture_2d<f32>;
@group(0) @binding(3) var smooth_sampler: sampler;
//% endif

const NOWHERE = vec4f(0.0, 0.0, -1.0, 1.0);     // outside the clip volume
const TURN = 6.28318531;
const LAG = 0.9;            // by which the outer wing follows the inner one [rad]
const PER_GLIDE = 5.0;      // beats, in the mean, from one glide to the next

// Corners of triangles: the body and the tail, then the right wing, whose mirror image is the left one.
const BODY = array<vec3f, 27>(
    vec3f(0.0, 0.02, -0.56), vec3f(0.13, 0.0, -0.12), vec3f(0.0, 0.13, -0.12),
    vec3f(0.0, 0.02, -0.56), vec3f(0.0, 0.13, -0.12), vec3f(-0.13, 0.0, -0.12),
    vec3f(0.0, 0.02, -0.56), vec3f(-0.13, 0.0, -0.12), vec3f(0.0, -0.11, -0.12),
    vec3f(0.0, 0.02, -0.56), vec3f(0.0, -0.11, -0.12), vec3f(0.13, 0.0, -0.12),
    vec3f(0.0, 0.03, 0.48), vec3f(0.0, 0.13, -0.12), vec3f(0.13, 0.0, -0.12),
    vec3f(0.0, 0.03, 0.48), vec3f(-0.13, 0.0, -0.12), vec3f(0.0, 0.13, -0.12),
    vec3f(0.0, 0.03, 0.48), vec3f(0.0, -0.11, -0.12), vec3f(-0.13, 0.0, -0.12),
    vec3f(0.0, 0.03, 0.48), vec3f(0.13, 0.0, -0.12), vec3f(0.0, -0.11, -0.12),
    vec3f(0.0, 0.03, 0.3), vec3f(-0.16, 0.03, 0.78), vec3f(0.16, 0.03, 0.78),
);
// Of the wing: leading and trailing edge at the shoulder, at the wrist, and the tip.
const WING = array<u32, 9>(0u, 2u, 1u, 1u, 2u, 3u, 2u, 4u, 3u);
const BODY_CORNERS = 27u;
const WING_CORNERS = 9u;

${attributes.color("row", "Row", COLOR_COMPONENTS, COLORMAPPED)}

// The angles of the inner and the outer wing above the horizontal, and how far the outer one is folded, in a phase.
fn beat_of(row: u32) -> vec3f {
    let own = row_number(row);
    let beats = view.time * style.beat * (0.9 + 0.2 * own) + own * 64.0;
    let cycle = fract(beats / PER_GLIDE + own);
    let rest = smoothstep(1.0 - style.glide - 0.1, 1.0 - style.glide + 0.1, cycle) * step(1e-3, style.glide);
    let swing = style.amplitude * (1.0 - rest);
    let phase = fract(beats) * TURN;
    let inner = swing * sin(phase) + 0.12;
    return vec3f(inner, inner + 0.7 * swing * sin(phase - LAG) - 0.1, 0.35 * max(cos(phase), 0.0) * min(swing, 1.0));
}

fn wing_corner(number: u32, beat: vec3f) -> vec3f {
    let along = vec3f(cos(beat.x), sin(beat.x), 0.0);
    let wrist = vec3f(0.08, 0.06, -0.1) + 0.44 * along;
    let tip = wrist + 0.5 * (1.0 - beat.z) * vec3f(cos(beat.y), sin(beat.y), 0.3 + beat.z);
    let corners = array<vec3f, 5>(vec3f(0.08, 0.06, -0.24), vec3f(0.08, 0.05, 0.2), wrist + vec3f(0.0, 0.0, -0.22), wrist + vec3f(0.0, 0.0, 0.2), tip);
    return corners[WING[number]];
}

fn bird_corner(number: u32, row: u32) -> vec3f {
    if number < BODY_CORNERS { return BODY[number]; }
    let is_left = number >= BODY_CORNERS + WING_CORNERS;
    let corner = wing_corner((number - BODY_CORNERS) % WING_CORNERS, beat_of(row));
    return corner * vec3f(select(1.0, -1.0, is_left), 1.0, 1.0);
}

// A vector of the bird in world space: along its direction, upright but for its bank. Above is the world's up.
fn turned(vector: vec3f, direction: vec3f, bank: f32) -> vec3f {
    let up = (vec4f(view.up, 0.0) * view.world_to_eye).xyz;
    let forward = direction / max(length(direction), 1e-30);
    let aside = cross(forward, up);
    let steep = dot(aside, aside) < 1e-8;
    let level = normalize(select(aside, cross(forward, up.zxy), steep));
    let above = cross(level, forward);
    let right = level * cos(bank) - above * sin(bank);
    return right * vector.x + cross(right, forward) * vector.y - forward * vector.z;
}

@vertex
fn bird_vertex(@builtin(vertex_index) number: u32, @builtin(instance_index) index: u32, row: Row) -> Corner {
    var out: Corner;
    let center = vec3f(row.position);
    let direction = vec3f(row.direction);
//% if SIZE
    let size = style.size * f32(row.size);
//% else
    let size = style.size;
//% endif
//% if BANK
    let bank = style.bank * f32(row.bank);
//% else
    let bank = style.bank;
//% endif
    let drawn = all_finite(center) && all_finite(direction) && is_finite(size) && is_finite(bank);
    let corner = turned(bird_corner(number, index) * size, direction, bank);
    out.eye = (view.world_to_eye * vec4f(center + corner, 1.0)).xyz;
    out.clip = select(NOWHERE, view.eye_to_clip * vec4f(out.eye, 1.0), drawn);
    out.color = row_color(row);
//% if PICKING
    out.row = index;
//% endif
    return out;
}

//% if PICKING
@fragment
fn bird_fragment(in: Corner) -> PickPixel {
    if in.color.a < LEAST_ALPHA { discard; }
    return picked_row(in.row, in.eye);
}
//% else
@fragment
fn bird_fragment(in: Corner) -> Pixel {
    return shaded(in.eye, vec3f(0.0), in.color, in.clip.xy);
}

@fragment
fn bird_clear(in: Corner) -> Clear {
    return shaded_clear(in.eye, vec3f(0.0), in.color, in.clip.xy);
}

@fragment
fn bird_depth(in: Corner) {
    if no_depth(in.eye, in.color.a, in.clip.xy) { discard; }
}
//% endif

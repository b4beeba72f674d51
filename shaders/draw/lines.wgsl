// Lines with a width in pixels, round at their ends and joints. One quad on the screen for each piece; every fragment
// knows how far it is from the piece. In: the attributes of each row, each from its own vertex buffer. Out: color; of trails it is
// premultiplied and blends over, without ends between pieces, so that they fade evenly.
// Of lines an instance is a piece, from a row to the next. With TRAILS it is a row, and its pieces go back through a ring
// of past positions (renderer/layers/trails.py). A piece with an end that is not finite is not drawn.
// With PICKING the same is drawn as the indices of the rows.
// Lines may also be tubes: with a width in world units, lit, and throwing shadows. `line_*` draws what is at least one pixel
// wide and solid, `thin_*` blends the rest over it, so that what becomes ever thinner fades away.
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% include "common/coverage.wgsl"
//% include "common/finite.wgsl"
//% if not PICKING
//% include "common/output.wgsl"
//% include "common/unlit.wgsl"
//% endif
//% if PICKING
//% include "common/pick_pixel.wgsl"
//% elif not TRAILS
//% include "common/lighting.wgsl"
//% include "common/shadows.wgsl"
//% endif

struct Style {              // packed by name in renderer/layers/lines.py
    color: vec4f,           // linear; where no color is bound
    range: vec2f,           // values at the two ends of the colormap
    auto_range: f32,        // 1: the colormap's ends are the extent of the colors instead of `range`
    brightness: f32,
    width: f32,             // pixels; a factor where widths are bound
//% if TRAILS
    fade: f32,              // how much of their light is gone at the end
    taper: f32,             // and of their width
//% else
    tube: f32,              // 1: widths are in world units, and sun and sky give the light
    roughness: f32,         // of tubes
//% endif
    rows: u32,              // of lines: rows of each; of trails: rows in all
    head: u32,              // of trails: the latest slot of the ring,
    slots: u32,             // how many it has,
    filled: u32,            // and how many of them are used
    pad0: u32,
}

struct Row {
    @location(0) position: ${POSITION},
//% if COLOR
    @location(1) color: ${COLOR},
//% endif
//% if WIDTH
    @location(2) width: ${WIDTH},
//% endif
//% if COLORMAPPED
    @location(3) extent: vec2f,
//% endif
//% if not TRAILS
    @location(4) position_end: ${POSITION},
//% if COLOR
    @location(5) color_end: ${COLOR},
//% endif
//% if WIDTH
    @location(6) width_end: ${WIDTH},
//% endif
//% endif
}

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) @interpolate(linear) pixel: vec2f,     // on the screen, in pixels from its middle, y up
    @location(1) @interpolate(flat) ends: vec4f,        // where the two ends are there
    @location(2) @interpolate(flat) widths: vec4f,      // pixels at the two ends, then the fraction of light at both
    @location(3) @interpolate(flat) first: vec4f,       // the color at the one end; or scalar and range
    @location(4) @interpolate(flat) last: vec4f,
//% if PICKING or not TRAILS
    @location(5) @interpolate(flat) first_eye: vec3f,
    @location(6) @interpolate(flat) last_eye: vec3f,
//% endif
//% if PICKING
    @location(7) @interpolate(flat) row: u32,
//% endif
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> style: Style;
//% if TRAILS
@group(0) @binding(2) var<storage, read> ring: array<f32>;
//% endif
//% if COLORMAPPED
@group(0) @binding(${3 if TRAILS else 2}) var colormap: texture_2d<f32>;
@group(0) @binding(${4 if TRAILS else 3}) var smooth_sampler: sampler;
//% endif

const NOWHERE = vec4f(0.0, 0.0, -1.0, 1.0);     // outside the clip volume
const THINNEST = 1.0;       // pixels; what is thinner is as wide, and lets through the more
const FULL = 0.98;          // of that width: what is as wide but for a rounding is not thin

//% macro color_of(row)
//% if COLORMAPPED
vec4f(f32(${row}), 0.0, 0.0, 0.0)
//%- elif COLOR_COMPONENTS == 4
vec4f(srgb_to_linear(vec3f(${row}.rgb)), f32(${row}.a))
//%- elif COLOR
vec4f(srgb_to_linear(vec3f(${row})), 1.0)
//%- else
style.color
//%- endif
//%- endmacro
//% if TRAILS
// Where a row was so many slots ago.
fn past_position(row: u32, ago: u32) -> vec3f {
    let slot = (style.head + style.slots - ago) % style.slots;
    let at = 3u * (slot * style.rows + row);
    return vec3f(ring[at], ring[at + 1u], ring[at + 2u]);
}

//% endif
fn to_eye_space(world: vec3f) -> vec3f {
    return (view.world_to_eye * vec4f(world, 1.0)).xyz;
}

// The end `a` of a piece, or where the piece comes through the near plane.
fn clipped_end(a: vec3f, b: vec3f) -> vec3f {
    let depth_range = a.z - b.z;
    let part = clamp((a.z + view.near * 1.001) / select(1.0, depth_range, depth_range != 0.0), 0.0, 1.0);
    return select(a, mix(a, b, part), a.z > -view.near * 1.001 && !is_parallel());
}

// Width of a pixel at `eye`, in world units; about that of a texel in the shadow map, which has no such width.
fn pixel_of(eye: vec3f) -> f32 {
    return select(pixel_at(eye), 2e-3 / view.eye_to_clip[0][0], view.distance == 0.0);
}

fn on_screen(eye: vec3f) -> vec2f {
    return eye.xy / pixel_of(eye);
}

fn corner_of(number: u32, instance: u32, row: Row) -> Corner {
    var out: Corner;
//% if TRAILS
    let ago = number / 6u;
    var start = past_position(instance, ago);
    var end = past_position(instance, ago + 1u);
    var drawn = ago + 1u < style.filled;
    let age = vec2f(f32(ago), f32(ago + 1u)) / f32(max(style.slots, 2u) - 1u);
    let light = 1.0 - style.fade * age;
    var widths = view.scale.y * style.width * (1.0 - style.taper * age);
    out.first = ${color_of("row.color")};
    out.last = out.first;
//% if WIDTH
    widths *= f32(row.width);
//% endif
//% else
    let start = vec3f(row.position);
    let end = vec3f(row.position_end);
    var drawn = (instance + 1u) % style.rows != 0u;
    let light = vec2f(1.0);
    var widths = vec2f(style.width);
    out.first = ${color_of("row.color")};
    out.last = ${color_of("row.color_end")};
//% if WIDTH
    widths *= vec2f(f32(row.width), f32(row.width_end));
//% endif
//% endif
//% if COLORMAPPED
    let range = select(style.range, row.extent, style.auto_range > 0.0);
    out.first = vec4f(out.first.x, range, 0.0);
//% endif
    drawn = drawn && all_finite(start) && all_finite(end) && is_finite(widths.x) && is_finite(widths.y);
    let a = to_eye_space(start);
    let b = to_eye_space(end);
    let clipped_a = clipped_end(a, b);
    let clipped_b = clipped_end(b, a);
    drawn = drawn && (is_parallel() || min(a.z, b.z) < -view.near * 1.001);
//% if TRAILS
    drawn = drawn && beyond_clips(0.5 * (a + b)) <= 0.0;    // pieces are short
//% endif
    let pixel_a = on_screen(clipped_a);
    let pixel_b = on_screen(clipped_b);
//% if not TRAILS
    widths /= select(vec2f(1.0 / view.scale.y), vec2f(pixel_of(clipped_a), pixel_of(clipped_b)), style.tube > 0.0);
//% endif
    let shown = max(widths, vec2f(THINNEST));
    out.ends = vec4f(pixel_a, pixel_b);
    out.widths = vec4f(shown, light * clamp(widths / shown, vec2f(0.0), vec2f(1.0)));

    let corner = array<u32, 6>(0u, 1u, 2u, 2u, 1u, 3u)[number % 6u];
    let piece = pixel_b - pixel_a;
    let length = length(piece);
    let along = select(vec2f(1.0, 0.0), piece / length, length > 0.0);
    let side = select(-1.0, 1.0, (corner & 1u) == 1u);
    let at_end = corner >= 2u;
    let reach = 0.5 * max(shown.x, shown.y) + 1.0;
    let offset = reach * (select(-along, along, at_end) + side * vec2f(-along.y, along.x));
    let eye = select(clipped_a, clipped_b, at_end);
    let moved = eye + vec3f(offset * pixel_of(eye), 0.0);
    out.pixel = select(pixel_a, pixel_b, at_end) + offset;
    out.clip = select(NOWHERE, view.eye_to_clip * vec4f(moved, 1.0), drawn);
//% if PICKING or not TRAILS
    out.first_eye = clipped_a;
    out.last_eye = clipped_b;
//% endif
//% if PICKING
    out.row = instance;
//% endif
    return out;
}

@vertex
fn line_vertex(@builtin(vertex_index) number: u32, @builtin(instance_index) instance: u32, row: Row) -> Corner {
    return corner_of(number, instance, row);
}
//% if not TRAILS

@vertex
fn thin_vertex(@builtin(vertex_index) number: u32, @builtin(instance_index) instance: u32, row: Row) -> Corner {
    var out = corner_of(number, instance, row);
    out.clip = select(out.clip, NOWHERE, min(out.widths.z, out.widths.w) >= FULL);
    return out;
}
//% endif

//% include "common/line_fragments.wgsl"

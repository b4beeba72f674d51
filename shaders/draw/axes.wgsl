// Ticks and tick labels of the axes, the scale bar, and all texts: each tick and each glyph is a quad.
// In: the box, as draw/axes_bounds.wgsl computes it. Out: colors of the screen.
//% include "common/view.wgsl"
//% include "common/overlay_text.wgsl"
//% include "common/ticks.wgsl"
//% include "common/axes_bounds.wgsl"

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> overlay: Overlay;
@group(0) @binding(2) var<storage, read> glyphs: array<Glyph>;
@group(0) @binding(3) var atlas: texture_2d<f32>;
@group(0) @binding(4) var<storage, read> bounds: array<vec4f>;

struct GlyphInstance {            // of a text: one instance each; mirrored by renderer/annotations/overlay.py
    @location(0) glyph: vec4f,     // its row in `glyphs`; pixels from the start of the text; the text's width; kind of text
    @location(1) position: vec4f,      // in pixels or in world space; which axis or bar
}

const SYMBOLS = 18;
const PER_TICK = u32(SYMBOLS + 1);
const TICK = 5.0;           // length of a tick, and
const GAP = 5.0;            // from there to its number
const NEAREST = vec2f(3.0, 1.5);    // ems between label_size, across and up; of closer ones some are left out

// The outward direction on the image at an edge: across it, away from the middle of the box.
fn outward(axis: u32, ends: vec2u) -> vec2f {
    let low = bounds_low();
    let high = bounds_high();
    let first = project(position_in_bounds(axis, low[axis], ends)).xy;
    let last = project(position_in_bounds(axis, high[axis], ends)).xy;
    let along = last - first;
    let away = 0.5 * (first + last) - project(0.5 * (low + high)).xy;
    let across = vec2f(-along.y, along.x);
    let size = length(across);
    if !(size > 1e-3) { return vec2f(0.0, 1.0); }
    return across / size * select(-1.0, 1.0, dot(across, away) >= 0.0);
}

fn projected_edge(axis: u32, ends: vec2u) -> vec2f {
    let first = project(position_in_bounds(axis, bounds_low()[axis], ends));
    let last = project(position_in_bounds(axis, bounds_high()[axis], ends));
    return select(vec2f(0.0), last.xy - first.xy, first.z * last.z > 0.0);
}

// Of how many ticks one has a number: 0 if there is no room for any.
fn label_interval(axis: u32, ends: vec2u, ticks: Ticks) -> i32 {
    let step = projected_edge(axis, ends) / max(f32(ticks.count - 1), 1.0);
    let size = length(step);
    let needed = dot(abs(step), NEAREST) * overlay.em / max(size, 1e-6);
    if !(size > 1.0) { return 0; }      // viewed from its end
    if size >= needed { return 1; }
    if 2.0 * size >= needed { return 2; }
    return select(0, 5, 5.0 * size >= needed);
}

// The middle of something `size` pixels large next to a position, `gap` pixels away in a direction.
fn offset_center(position: vec2f, direction: vec2f, gap: f32, size: vec2f) -> vec2f {
    return position + direction * (gap + 0.5 * dot(abs(direction), size));
}

@vertex
fn axes_vertex(@builtin(vertex_index) corner: u32, @builtin(instance_index) instance: u32) -> OverlayVertex {
    let axis = instance / (PER_TICK * u32(MOST_TICKS));
    let i = i32(instance / PER_TICK % u32(MOST_TICKS));
    let symbol = i32(instance % PER_TICK) - 1;
    let ticks = axis_ticks(axis);
    if i >= ticks.count || !(bounds[1].w > 0.0 || overlay.own_low * overlay.own_high > 0.0) { return hidden_vertex(); }
    let ends = labeled_edge(axis);
    let interval = label_interval(axis, ends, ticks);
    let anchor = project(position_in_bounds(axis, tick_value(ticks, i), ends));
    if anchor.z < 1.0 || interval == 0 { return hidden_vertex(); }
    let direction = outward(axis, ends);
    if symbol < 0 { return tick_mark(anchor.xy, direction, corner); }
    let number = tick_number(ticks, i);
    if symbol >= written_length(number) || abs(ticks.first + i) % interval != 0 { return hidden_vertex(); }
    let size = vec2f(written_width(number), CAPITAL * overlay.em);
    let middle = offset_center(anchor.xy, direction, (TICK + GAP) * overlay.unit, size);
    let pen = round(middle + vec2f(-0.5, 0.5) * size) + vec2f(pen_after(number, symbol), 0.0);
    return glyph_quad(symbol_at(number, symbol), corner, pen, 1.0);
}

fn tick_mark(position: vec2f, direction: vec2f, corner: u32) -> OverlayVertex {
    let corner_offset = quad_corner(corner);
    let aside = vec2f(-direction.y, direction.x) * (corner_offset.y - 0.5) * max(overlay.unit, 1.0) * 1.2;
    return OverlayVertex(clip_position(position + direction * corner_offset.x * TICK * overlay.unit + aside), corner_offset, FILLED, 0.55, vec2f(0.0));
}

// The scale bar: a line with two feet as long as a round number of world units, at the camera's target.
struct Scale {
    number: Number,
    pixels: f32,
}

// The corner, below 4, matters in name only: see common/shadows.wgsl.
fn scale_of(corner: u32) -> Scale {
    let pixel = view.pixel * select(overlay.distance, 1.0, is_parallel() | (corner > 3u));
    let most = overlay.scale.z * pixel;
    let exponent = decade(most);
    let leading = most / power_of_ten(exponent);
    let mantissa = select(select(1, 2, leading >= 2.0), 5, leading >= 5.0);
    let power = select(0, exponent, exponent < -3 || exponent > 5);
    let shift = exponent - power;
    return Scale(Number(u32(mantissa), false, max(-shift, 0), max(shift, 0), power), value_of(mantissa, exponent) / pixel);
}

@vertex
fn scale_vertex(@builtin(vertex_index) corner: u32, @builtin(instance_index) instance: u32) -> OverlayVertex {
    let scale = scale_of(corner);
    let low = overlay.scale.xy;
    let thick = max(round(1.5 * overlay.unit), 1.0);
    let foot = round(5.0 * overlay.unit);
    let right = low.x + max(round(scale.pixels), 1.0);
    if instance == 0u { return rectangle(vec2f(low.x, low.y - thick), vec2f(right, low.y), corner, FILLED, 0.9); }
    if instance < 3u {
        let x = select(low.x, right - thick, instance == 2u);
        return rectangle(vec2f(x, low.y - thick - foot), vec2f(x + thick, low.y - thick), corner, FILLED, 0.9);
    }
    let symbol = i32(instance) - 3;
    if symbol >= written_length(scale.number) { return hidden_vertex(); }
    let pen = scale_pen(scale, right) + vec2f(pen_after(scale.number, symbol), 0.0);
    return glyph_quad(symbol_at(scale.number, symbol), corner, pen, 1.0);
}

// Number and unit stand over the middle of the bar.
fn scale_pen(scale: Scale, right: f32) -> vec2f {
    let width = written_width(scale.number) + overlay.scale.w;
    return round(vec2f(0.5 * (overlay.scale.x + right - width), overlay.scale.y - 5.0 * overlay.unit - 0.35 * overlay.em));
}

// Texts: 0 begins at a pixel; 1 is the name of an axis; 2 the unit of the scale bar; 3 stands at a position in the world.
@vertex
fn text_vertex(@builtin(vertex_index) corner: u32, text: GlyphInstance) -> OverlayVertex {
    let size = vec2f(text.glyph.z, CAPITAL * overlay.em);
    var start = text.position.xy;
    var strength = 1.0;
    if text.glyph.w == 1.0 {
        start = axis_name_at(u32(text.position.w), size);
        strength = f32(start.x > -1e6);
    } else if text.glyph.w == 2.0 {
        let scale = scale_of(corner);
        start = scale_pen(scale, overlay.scale.x + max(round(scale.pixels), 1.0)) + vec2f(written_width(scale.number), 0.0);
    } else if text.glyph.w == 3.0 {
        let anchor = project(text.position.xyz);
        start = anchor.xy - vec2f(0.5 * size.x, 9.0 * overlay.unit);
        strength = anchor.z;
    }
    if strength == 0.0 { return hidden_vertex(); }
    return glyph_quad(u32(text.glyph.x), corner, round(start) + vec2f(text.glyph.y, 0.0), strength);
}

// Where the name of an axis begins: beyond its tick labels, at its middle.
fn axis_name_at(axis: u32, size: vec2f) -> vec2f {
    let ticks = axis_ticks(axis);
    let ends = labeled_edge(axis);
    let middle = 0.5 * (bounds_low()[axis] + bounds_high()[axis]);
    let anchor = project(position_in_bounds(axis, middle, ends));
    if ticks.count == 0 || anchor.z < 1.0 || length(projected_edge(axis, ends)) < 3.0 * overlay.em { return vec2f(-1e9); }
    var widest = 0.0;
    for (var i = 0; i < ticks.count; i++) { widest = max(widest, written_width(tick_number(ticks, i))); }
    let direction = outward(axis, ends);
    let label_size = dot(abs(direction), vec2f(widest, CAPITAL * overlay.em));
    let gap = (TICK + 2.0 * GAP) * overlay.unit + label_size;
    let start = offset_center(anchor.xy, direction, gap, size) + vec2f(-0.5, 0.5) * size;
    let fits = all(start >= vec2f(0.0, size.y)) & (start.x + size.x <= overlay.viewport.x);
    return select(above_edge(axis, ends, size), start, fits || abs(up_along(axis)) < 0.5);
}

// Where a name begins that stands over the upper end of an upright edge.
fn above_edge(axis: u32, ends: vec2u, size: vec2f) -> vec2f {
    let low = project(position_in_bounds(axis, bounds_low()[axis], ends)).xy;
    let high = project(position_in_bounds(axis, bounds_high()[axis], ends)).xy;
    let left_top = select(high, low, low.y < high.y) - vec2f(0.5 * size.x, overlay.em);
    return clamp(left_top, vec2f(0.5 * overlay.em), max(overlay.viewport - size - 0.5 * overlay.em, vec2f(0.0)));
}

@fragment
fn overlay_fragment(mark: OverlayVertex) -> @location(0) vec4f {
    return on_target(overlay_color(mark));
}

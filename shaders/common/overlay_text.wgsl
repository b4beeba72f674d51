// Glyphs and lines over the finished image. In: the uniform `overlay` of common/overlay.wgsl, `glyphs` and `atlas`. Positions are pixels from the
// upper left corner of the image, y down. Glyphs are aligned to whole pixels, so that they are as sharp as they were drawn.
//% include "common/color.wgsl"
//% include "common/overlay.wgsl"

struct Glyph {
    coordinate: vec2f,           // texel of its upper left corner in the atlas
    size: vec2f,            // texels, pixels
    bearing: vec2f,         // from the pen, on the baseline, to the upper left corner
    advance: f32,
    pad0: f32,
}

struct OverlayVertex {               // a corner of something drawn
    @builtin(position) clip: vec4f,
    @location(0) coordinate: vec2f,                      // in the atlas, or within a bar
    @location(1) @interpolate(flat) kind: u32,      // one of those below
    @location(2) @interpolate(flat) strength: f32,
    @location(3) @interpolate(flat) size: vec2f,    // pixels
}

const HIDDEN = vec4f(0.0, 0.0, -1.0, 1.0);
const GLYPH = 1u;
const FILLED = 2u;
const COLORS = 3u;
const PLATE = 4u;
const CAPITAL = 0.71;       // height of digits and capitals, in ems

fn quad_corner(corner: u32) -> vec2f {
    return vec2f(f32(corner & 1u), f32(corner >> 1u));
}

fn clip_position(pixel: vec2f) -> vec4f {
    return vec4f(vec2f(2.0, -2.0) * pixel / overlay.viewport + vec2f(-1.0, 1.0), 0.5, 1.0);
}

fn hidden_vertex() -> OverlayVertex {
    return OverlayVertex(HIDDEN, vec2f(0.0), 0u, 0.0, vec2f(0.0));
}

fn glyph_quad(which: u32, corner: u32, pen: vec2f, strength: f32) -> OverlayVertex {
    let glyph = glyphs[which];
    let corner_offset = quad_corner(corner);
    let left_top = round(pen) + glyph.bearing;
    return OverlayVertex(clip_position(left_top + corner_offset * glyph.size), glyph.coordinate + corner_offset * glyph.size, GLYPH, strength, glyph.size);
}

fn rectangle(low: vec2f, high: vec2f, corner: u32, kind: u32, strength: f32) -> OverlayVertex {
    let corner_offset = quad_corner(corner);
    return OverlayVertex(clip_position(mix(low, high, corner_offset)), corner_offset, kind, strength, high - low);
}

// So much of a color, as a screen shows it, as a premultiplied color of the target.
fn tinted(color: vec4f, cover: f32) -> vec4f {
    let alpha = color.a * cover;
//% if ENCODED_BY_TARGET
    return vec4f(srgb_to_linear(color.rgb) * alpha, alpha);
//% else
    return vec4f(color.rgb * alpha, alpha);
//% endif
}

fn overlay_color(mark: OverlayVertex) -> vec4f {
    if mark.kind == PLATE { discard; }
    if mark.kind == FILLED { return tinted(overlay.ink, mark.strength); }
    return tinted(overlay.ink, textureLoad(atlas, vec2i(floor(mark.coordinate)), 0).r * mark.strength);
}

// Drawn before all letters, so that none covers its neighbor.
@fragment
fn halo_fragment(mark: OverlayVertex) -> @location(0) vec4f {
    if mark.kind == PLATE { return tinted(overlay.plate, plate_cover(mark)); }
    if mark.kind != GLYPH { discard; }
    return tinted(overlay.halo, textureLoad(atlas, vec2i(floor(mark.coordinate)), 0).g * mark.strength);
}

// A rounded rectangle.
fn plate_cover(mark: OverlayVertex) -> f32 {
    let radius = 0.6 * overlay.em;
    let away = abs(mark.coordinate - 0.5) * mark.size - 0.5 * mark.size + radius;
    return clamp(radius + 0.5 - length(max(away, vec2f(0.0))), 0.0, 1.0);
}

// As the target stores it: where it has no background, the color is not multiplied by its alpha.
fn on_target(color: vec4f) -> vec4f {
//% if TRANSPARENT
    if color.a < 0.02 { discard; }
    return vec4f(color.rgb / color.a, color.a);
//% else
    return color;
//% endif
}

// How far the pen goes for the first `count` symbols of a number.
fn pen_after(number: Number, count: i32) -> f32 {
    var pen = 0.0;
    for (var i = 0; i < count; i++) { pen += glyphs[symbol_at(number, i)].advance; }
    return pen;
}

fn written_width(number: Number) -> f32 {
    return pen_after(number, written_length(number));
}

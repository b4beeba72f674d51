// A color bar: the colormap from its low end below to its high end above, with ticks at round values. Instances are quads:
// a plate behind all of it, a rim, the bar, then for each tick its mark and the symbols of its number. In: the two ends, from
// the scene or as the GPU found them a moment ago, so that a bar is never behind its image. Out: colors of the screen.
//% include "common/view.wgsl"
//% include "common/overlay_text.wgsl"
//% include "common/ticks.wgsl"

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> overlay: Overlay;
@group(0) @binding(2) var<storage, read> glyphs: array<Glyph>;
@group(0) @binding(3) var atlas: texture_2d<f32>;
@group(0) @binding(4) var colormap: texture_2d<f32>;
@group(0) @binding(5) var smooth_sampler: sampler;
@group(0) @binding(6) var<storage, read> extent: array<vec2f>;

const SYMBOLS = 18;             // of a number, at most
const PER_TICK = SYMBOLS + 1;
const PER_BAR = ${PER_BAR}u;    // 3 and PER_TICK for each tick

fn ends_of(bar: Bar) -> vec2f {
    return select(bar.range, extent[0], bar.auto_range > 0.0);
}

// Numbers are two to four ems apart; where that leaves hardly any, closer.
fn bar_ticks(ends: vec2f, height: f32) -> Ticks {
    let wide = ticks_of(ends.x, ends.y, height / (2.4 * overlay.em));
    let close = ticks_of(ends.x, ends.y, height / (1.2 * overlay.em));
    if wide.count < 3 && f32(close.count) <= 1.0 + height / (1.4 * overlay.em) { return close; }
    return wide;
}

fn height_of(ticks: Ticks, i: i32, bar: Bar) -> f32 {
    let ends = ends_of(bar);
    let span = ends.y - ends.x;
    let fraction = select(0.5, (tick_value(ticks, i) - ends.x) / span, abs(span) > 1e-30 && ticks.count > 1);
    return clamp(fraction, 0.0, 1.0);
}

@vertex
fn bar_vertex(@builtin(vertex_index) corner: u32, @builtin(instance_index) instance: u32) -> OverlayVertex {
    let bar = overlay.bars[instance / PER_BAR];
    let number = i32(instance % PER_BAR);
    let low = bar.rectangle.xy;
    let high = bar.rectangle.xy + bar.rectangle.zw;
    let around = round(0.8 * overlay.em);
    let title = vec2f(0.0, round(2.0 * overlay.em));
    if number == 0 {
        return rectangle(low - title - around, vec2f(low.x + bar.total_width, high.y) + around, corner, PLATE, 1.0);
    }
    if number == 1 { return rectangle(low - 1.0, high + 1.0, corner, FILLED, 0.35); }
    if number == 2 { return rectangle(low, high, corner, COLORS, 1.0); }
    let ends = ends_of(bar);
    let ticks = bar_ticks(ends, bar.rectangle.w);
    let i = (number - 3) / PER_TICK;
    let symbol = (number - 3) % PER_TICK - 1;
    if i >= ticks.count { return hidden_vertex(); }
    let y = round(high.y - height_of(ticks, i, bar) * (bar.rectangle.w - 1.0) - 0.5);
    if symbol < 0 {
        let thick = max(round(overlay.unit), 1.0);
        let top = y - floor(0.5 * (thick - 1.0));
        return rectangle(vec2f(high.x + 1.0, top), vec2f(high.x + 1.0 + 4.0 * overlay.unit, top + thick), corner, FILLED, 0.6);
    }
    let written = tick_number(ticks, i);
    if symbol >= written_length(written) { return hidden_vertex(); }
    let pen = vec2f(high.x + 8.0 * overlay.unit + pen_after(written, symbol), y + 0.5 + 0.5 * CAPITAL * overlay.em);
    return glyph_quad(symbol_at(written, symbol), corner, pen, 1.0);
}

@fragment
fn bar_fragment(mark: OverlayVertex) -> @location(0) vec4f {
    if mark.kind != COLORS { return on_target(overlay_color(mark)); }
    let texels = f32(textureDimensions(colormap).x);
    let x = colormap_coordinate(1.0 - mark.coordinate.y, vec2f(0.0, 1.0), texels);
    let light = textureSampleLevel(colormap, smooth_sampler, vec2f(x, 0.5), 0.0).rgb;
//% if ENCODED_BY_TARGET
    return vec4f(light, 1.0);
//% else
    return vec4f(linear_to_srgb(light), 1.0);
//% endif
}

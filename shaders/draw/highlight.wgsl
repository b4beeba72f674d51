// Marks over the finished image: a ring around one row and lines along the edges of its cell, or dots at selected rows.
// In: the row's position, and its size if it has one, or whether it is selected; or the two ends of an edge. Out: premultiplied colors of the screen.
//% include "common/view.wgsl"
//% include "common/color.wgsl"

struct Mark {               // mirrored by renderer/highlight.py
    viewport: vec2f,        // pixels
    unit: f32,              // width of the ring's line in pixels
    size: f32,              // radius in world units; a factor where sizes are bound
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> mark: Mark;

const NOWHERE = vec4f(0.0, 0.0, -1.0, 1.0);
const SMALLEST = 7.0;       // radius of a ring, in units
const GAP = 4.0;            // between a sphere and its ring
const HALO = 1.5;           // dark, on both sides of a line, for an image as bright as the line
const LIGHT = vec3f(1.0);
const DARK = vec4f(0.02, 0.03, 0.05, 0.6);
const DOT = 1.5;            // radius in units
const EDGE = vec3f(1.0, 0.72, 0.38);

fn to_eye(position: vec3f) -> vec3f {
    return (view.world_to_eye * vec4f(position, 1.0)).xyz;
}

// Where a position in eye space is on the image, in pixels from its middle, y up.
fn on_image(eye: vec3f) -> vec2f {
    let clip = view.eye_to_clip * vec4f(eye, 1.0);
    return 0.5 * mark.viewport * clip.xy / clip.w;
}

fn at_pixel(offset: vec2f) -> vec4f {
    return vec4f(2.0 * offset / mark.viewport, 0.5, 1.0);
}

// The color of a line of half the width `half_width`, `away` pixels from its middle.
fn line(away: f32, half_width: f32, color: vec3f) -> vec4f {
    let inside = clamp(half_width + 0.5 - away, 0.0, 1.0);
    let dark = DARK.a * clamp(half_width + HALO * mark.unit + 0.5 - away, 0.0, 1.0) * (1.0 - inside);
//% if ENCODED_BY_TARGET
    return vec4f(srgb_to_linear(color) * inside + srgb_to_linear(DARK.rgb) * dark, inside + dark);
//% else
    return vec4f(color * inside + DARK.rgb * dark, inside + dark);
//% endif
}

struct Row {
    @location(0) position: ${POSITION},
//% if SIZE
    @location(1) size: ${SIZE},
//% endif
}

struct Ring {
    @builtin(position) clip: vec4f,
    @location(0) offset: vec2f,                      // pixels from the middle of the ring
    @location(1) @interpolate(flat) radius: f32,    // pixels
}

@vertex
fn ring_vertex(@builtin(vertex_index) corner: u32, row: Row) -> Ring {
    var out: Ring;
    out.clip = NOWHERE;
    let eye = to_eye(vec3f(row.position));
    if !(-eye.z > view.near) { return out; }        // NaN fails too
    var size = mark.size;
//% if SIZE
    size *= f32(row.size);
//% endif
    let size_in_pixels = size / pixel_at(eye);
    out.radius = max(select(0.0, size_in_pixels, size_in_pixels < 1e5) + GAP * mark.unit, SMALLEST * mark.unit);
    let reach = out.radius + (2.0 + HALO) * mark.unit;
    out.offset = (vec2f(f32(corner & 1u), f32(corner >> 1u)) * 2.0 - 1.0) * reach;
    out.clip = at_pixel(on_image(eye) + out.offset);
    return out;
}

@fragment
fn ring_fragment(in: Ring) -> @location(0) vec4f {
    return line(abs(length(in.offset) - in.radius), 0.8 * mark.unit, LIGHT);
}

struct Dot {
    @location(0) position: ${POSITION},
    @location(1) selected: u32,
}

struct DotCorner {
    @builtin(position) clip: vec4f,
    @location(0) offset: vec2f,                      // pixels from the middle
}

@vertex
fn dots_vertex(@builtin(vertex_index) corner: u32, dot: Dot) -> DotCorner {
    var out: DotCorner;
    out.clip = NOWHERE;
    let eye = to_eye(vec3f(dot.position));
    if dot.selected == 0u || !(-eye.z > view.near) || beyond_clips(eye) > 0.0 { return out; }
    out.offset = (vec2f(f32(corner & 1u), f32(corner >> 1u)) * 2.0 - 1.0) * (DOT * mark.unit + 0.5);
    out.clip = at_pixel(on_image(eye) + out.offset);
    return out;
}

@fragment
fn dots_fragment(in: DotCorner) -> @location(0) vec4f {
    let inside = 0.9 * clamp(DOT * mark.unit + 0.5 - length(in.offset), 0.0, 1.0);
//% if ENCODED_BY_TARGET
    return vec4f(srgb_to_linear(EDGE) * inside, inside);
//% else
    return vec4f(EDGE * inside, inside);
//% endif
}

struct Ends {
    @location(0) first: ${POSITION},
    @location(1) second: ${POSITION},
}

struct Edge {
    @builtin(position) clip: vec4f,
    @location(0) along: f32,                        // pixels from the first end
    @location(1) aside: f32,
    @location(2) @interpolate(flat) length: f32,
}

@vertex
fn edge_vertex(@builtin(vertex_index) corner: u32, ends: Ends) -> Edge {
    var out: Edge;
    out.clip = NOWHERE;
    let first = to_eye(vec3f(ends.first));
    let second = to_eye(vec3f(ends.second));
    if !(-first.z > view.near && -second.z > view.near) { return out; }
    let from_ = on_image(first);
    let edge = on_image(second) - from_;
    out.length = length(edge);
    if !(out.length > 0.0) { return out; }
    let forward = edge / out.length;
    let reach = (2.0 + HALO) * mark.unit;
    out.along = select(-reach, out.length + reach, (corner & 1u) == 1u);
    out.aside = select(-reach, reach, corner > 1u);
    out.clip = at_pixel(from_ + forward * out.along + vec2f(-forward.y, forward.x) * out.aside);
    return out;
}

@fragment
fn edge_fragment(in: Edge) -> @location(0) vec4f {
    let beyond = max(max(-in.along, in.along - in.length), 0.0);
    return line(length(vec2f(in.aside, beyond)), 0.5 * mark.unit, EDGE);
}

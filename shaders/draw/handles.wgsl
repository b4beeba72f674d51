// The arrows by which a point is moved, over the finished image: plain in front of surfaces, faint behind them.
// In: the point and the tips of the arrows, computed on the CPU; the depth of the image. Along a line the
//     depth of clip space changes evenly over the image, so it is mixed here.
// Out: premultiplied colors of the screen.
// SAMPLES: of the image's depth; 0: it cannot be read, and all is drawn as if in front.
//% include "common/color.wgsl"

struct Handles {                // mirrored by renderer/handles.py
    ends: array<vec4f, 4>,      // the point, then the tips: pixels from the upper left of the image, depth, 0
    tints: array<vec4f, 3>,     // colors of the axes as the screen shows them, and whether the arrow is lit
    lit: vec4f,                 // whether the planes across x, y and z are lit, and the middle
    order: vec4u,               // axes, the farthest tip first
    viewport: vec2f,            // pixels
    unit: f32,                  // pixels of a line of width 1
    reach: f32,                 // length of an arrow across the view, in pixels
    low: vec2f,                 // the part of the image that is drawn
    high: vec2f,
}

@group(0) @binding(0) var<uniform> handles: Handles;
//% if SAMPLES
@group(0) @binding(1) var depth: texture_depth_multisampled_2d;
//% endif

const SHAFT = 1.4;              // half the width; all in units
const HEAD = vec2f(14.0, 5.6);  // length of a head, and half its width
const MIDDLE = 5.0;             // radius
const GAP = 9.0;                // from the point to where arrows begin
const HALO = 1.3;               // dark, around everything, for a bright image
const DARK = vec4f(0.02, 0.03, 0.05, 0.45);
const SQUARE = vec2f(0.24, 0.52);  // of a plane, in lengths of its two arrows; mirrored by panels/gizmo.py
const FAINT = 0.3;              // of what is behind
const SAME = 1e-4;              // fraction of the depth by which a surface does not hide what is in it

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) pixel: vec2f,  // pixels from the upper left of the image
}

@vertex
fn handles_vertex(@builtin(vertex_index) corner: u32) -> Corner {
    let pixel = mix(handles.low, handles.high, vec2f(f32(corner & 1u), f32(corner >> 1u)));
    let clip = vec2f(2.0, -2.0) * pixel / handles.viewport + vec2f(-1.0, 1.0);
    return Corner(vec4f(clip, 0.5, 1.0), pixel);
}

// How plainly something at `z` is drawn: the fraction of a pixel in which it is in front of the image. What is `lit` is
// halfway plain even where it is hidden.
fn in_front(pixel: vec2f, z: f32, lit: f32) -> f32 {
//% if SAMPLES
    let size = vec2f(textureDimensions(depth));
    let at = vec2i(clamp(pixel / handles.viewport * size, vec2f(0.0), size - 1.0));
    var fraction = 0.0;
    for (var s = 0; s < ${SAMPLES}; s += 1) {
        fraction += select(0.0, 1.0 / ${SAMPLES}.0, textureLoad(depth, at, s) <= z * (1.0 + SAME));
    }
    return max(fraction, 0.5 * lit);
//% else
    return 1.0;
//% endif
}

// One shape over what is there: `away` pixels outside of it, of a color and an alpha.
fn over(below: vec4f, away: f32, color: vec3f, alpha: f32, plain: f32) -> vec4f {
    let covered = clamp(0.5 - away, 0.0, 1.0);
    let inside = covered * alpha;
    let dark = DARK.a * alpha * clamp(0.5 + HALO * handles.unit - away, 0.0, 1.0) * (1.0 - covered);
    let opacity = mix(FAINT, 1.0, plain);
//% if ENCODED_BY_TARGET
    let mixed = srgb_to_linear(color) * inside + srgb_to_linear(DARK.rgb) * dark;
//% else
    let mixed = color * inside + DARK.rgb * dark;
//% endif
    return below * (1.0 - opacity * (inside + dark)) + opacity * vec4f(mixed, inside + dark);
}

fn turned(vector: vec2f) -> vec2f {
    return vec2f(-vector.y, vector.x);
}

fn arrow(below: vec4f, pixel: vec2f, axis: u32) -> vec4f {
    let middle = handles.ends[0];
    let tip = handles.ends[axis + 1u];
    let shaft = tip.xy - middle.xy;
    let length = max(length(shaft), 1e-3);
    let along = dot(pixel - middle.xy, shaft) / length;
    let across = abs(dot(pixel - middle.xy, turned(shaft))) / length;
    let head = min(HEAD.x * handles.unit, 0.6 * length);
    let from_shaft = max(across - SHAFT * handles.unit, max(GAP * handles.unit - along, along - length + 0.5 * head));
    let edge = normalize(vec2f(HEAD.y * handles.unit, head));  // across the slope of the head
    let slope = dot(vec2f(along - length, across), edge);
    let away = min(from_shaft, max(slope, length - head - along));
    let z = mix(middle.z, tip.z, clamp(along / length, 0.0, 1.0));
    let tint = handles.tints[axis];
    let shown = smoothstep(0.12, 0.3, length / handles.reach);
    return over(below, away, mix(tint.rgb, vec3f(1.0), 0.55 * tint.a), shown, in_front(pixel, z, tint.a));
}

fn plane(below: vec4f, pixel: vec2f, axis: u32) -> vec4f {
    let middle = handles.ends[0];
    let one = handles.ends[(axis + 1u) % 3u + 1u];
    let other = handles.ends[(axis + 2u) % 3u + 1u];
    let p = one.xy - middle.xy;
    let q = other.xy - middle.xy;
    let area = p.x * q.y - p.y * q.x;
    let shown = smoothstep(0.1, 0.3, abs(area) / (handles.reach * handles.reach));
    let safe = select(area, 1.0, abs(area) < 1e-3);
    let off = pixel - middle.xy;
    let at = vec2f(off.x * q.y - off.y * q.x, p.x * off.y - p.y * off.x) / safe;
    let beyond = max(SQUARE.x - at, at - SQUARE.y) * abs(area) / vec2f(max(length(q), 1e-3), max(length(p), 1e-3));
    let z = middle.z + at.x * (one.z - middle.z) + at.y * (other.z - middle.z);
    let lit = handles.lit[axis];
    let alpha = shown * mix(0.5, 0.9, lit);
    return over(below, max(beyond.x, beyond.y), handles.tints[axis].rgb, alpha, in_front(pixel, z, lit));
}

@fragment
fn handles_fragment(in: Corner) -> @location(0) vec4f {
    var color = vec4f(0.0);
    for (var k = 0u; k < 3u; k += 1u) {
        color = plane(color, in.pixel, handles.order[k]);
    }
    for (var k = 0u; k < 3u; k += 1u) {
        color = arrow(color, in.pixel, handles.order[k]);
    }
    let middle = handles.ends[0];
    let away = distance(in.pixel, middle.xy) - MIDDLE * handles.unit;
    let shade = mix(0.82, 1.0, handles.lit.w);
    return over(color, away, vec3f(shade), 1.0, in_front(in.pixel, middle.z, handles.lit.w));
}

// Flat marks for points, with one color each: discs that face the eye, soft sprites that blend over what is there, or single
// pixels. In: the attributes of each point, each from its own vertex buffer. Out: premultiplied color.
// SHAPE is "disc", "sprite" or "pixel". With SOFT sprites are drawn into one sample per pixel, and hidden by the part of four
// samples that is nearer. With PICKING the same is drawn as the indices of the rows.
//% import "common/attributes.wgsl" as attributes
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% include "common/coverage.wgsl"
//% include "common/finite.wgsl"
//% if PICKING
//% include "common/pick_pixel.wgsl"
//% else
//% include "common/output.wgsl"
//% include "common/unlit.wgsl"
//% endif

struct Style {              // packed by name in renderer/layers/marks.py
    color: vec4f,           // linear; where no color is bound
    range: vec2f,           // values at the two ends of the colormap
    auto_range: f32,        // 1: the colormap's ends are the extent of the colors instead of `range`
    size: f32,              // radius; a factor where sizes are bound
    in_pixels: f32,         // 1: radii are in pixels, 0: in world units
    brightness: f32,
    glow: f32,              // of sprites; 1: light that hides nothing, 0: what hides as much as it shows
    hardness: f32,          // of sprites; 0: fades from its middle on, 1: only near its rim
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
}

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) @interpolate(linear) offset: vec2f,     // from the middle, in pixels
    @location(1) @interpolate(flat) radius: f32,        // in pixels
    @location(2) @interpolate(flat) color: vec4f,
    @location(3) @interpolate(flat) center: vec3f,
//% if PICKING
    @location(4) @interpolate(flat) row: u32,
//% endif
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> style: Style;
//% if SOFT
@group(0) @binding(2) var solid_depth: texture_depth_multisampled_2d;
//% endif
//% if COLORMAPPED
@group(0) @binding(${3 if SOFT else 2}) var colormap: texture_2d<f32>;
@group(0) @binding(${4 if SOFT else 3}) var smooth_sampler: sampler;
//% endif

const NOWHERE = vec4f(0.0, 0.0, -1.0, 1.0);     // outside the clip volume
const SMALLEST = 0.5;       // radius in pixels; what is smaller lets through the more

${attributes.color("row", "Row", COLOR_COMPONENTS, COLORMAPPED)}

@vertex
fn mark_vertex(
    @builtin(vertex_index) corner: u32,
//% if PICKING
    @builtin(instance_index) number: u32,
//% endif
    row: Row,
) -> Corner {
    var out: Corner;
    let world = vec3f(row.position);
    let center = (view.world_to_eye * vec4f(world, 1.0)).xyz;
    out.center = center;
    out.color = row_color(row);
//% if PICKING
    out.row = number;
//% endif
//% if SHAPE == "pixel"
    let sound = all_finite(world);
    let moved = center;
//% else
//% if SIZE
    let size = style.size * f32(row.size);
//% else
    let size = style.size;
//% endif
    let sound = all_finite(world) && is_finite(size) && size > 0.0;
    let exact_radius = size / select(pixel_at(center), 1.0 / view.scale.y, style.in_pixels > 0.0);
    out.radius = max(exact_radius, SMALLEST);
    out.color.a *= min(exact_radius * exact_radius / (SMALLEST * SMALLEST), 1.0);
    out.offset = (vec2f(f32(corner & 1u), f32(corner >> 1u)) * 2.0 - 1.0) * (out.radius + 1.0);
    let moved = center + vec3f(out.offset * pixel_at(center), 0.0);
//% endif
    let drawn = sound && -center.z > view.near && beyond_clips(center) <= 0.0;
    out.clip = select(NOWHERE, view.eye_to_clip * vec4f(moved, 1.0), drawn);
    return out;
}

// How far a fragment is outside, in pixels.
fn outside(in: Corner) -> f32 {
//% if SHAPE == "pixel"
    return -1.0;
//% else
    return length(in.offset) - in.radius;
//% endif
}

//% if PICKING
@fragment
fn mark_fragment(in: Corner) -> PickPixel {
    if outside(in) >= 0.0 || in.color.a < LEAST_ALPHA { discard; }
    return picked_row(in.row, in.center);
}
//% elif SHAPE == "sprite"
// The part of a pixel's samples in which what is solid is behind `clip`, where that is not tested.
fn visible_part(clip: vec4f) -> f32 {
//% if SOFT
    var part = 0.0;
    for (var i = 0; i < 4; i++) { part += select(0.0, 0.25, clip.z > textureLoad(solid_depth, vec2i(clip.xy), i)); }
    return part;
//% else
    return 1.0;
//% endif
}

@fragment
fn mark_fragment(in: Corner) -> Output {
    let fraction = clamp(length(in.offset) / in.radius, 0.0, 1.0);
    let inner = style.hardness * max(1.0 - 1.0 / in.radius, 0.0);
    let rest = 1.0 - smoothstep(inner, 1.0, fraction);
    let alpha = clamp(in.color.a, 0.0, 1.0) * rest * rest * visible_part(in.clip);
    return output(vec4f(unlit(in.color.rgb), 1.0 - style.glow) * alpha);
}
//% else
//% include "common/pixel.wgsl"

@fragment
fn mark_fragment(in: Corner) -> Pixel {
    let away = max(length(in.offset), 1e-6);
    var samples = covered_samples(outside(in), in.offset / away * vec2f(1.0, -1.0));
    if in.color.a < 1.0 { samples &= alpha_samples(in.color.a, in.clip.xy); }
    if samples == 0u { discard; }
    return solid_pixel(unlit(in.color.rgb), samples);
}
//% endif

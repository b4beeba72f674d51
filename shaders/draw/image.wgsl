// An image on a rectangle, in the world or on the screen, read from a tensor of any layout. In: the pixels of a tensor (rows,
// columns) or (rows, columns, channels), as 32-bit words. Out: the color of common/unlit.wgsl, premultiplied. Pixels that are not
// finite are not drawn, or magenta where MARKED: of CHANNELS 1 and DTYPE "f32", unless they are TRANSPARENT. DTYPE is "f32",
// "f16" or "u8" (0 to 255 for 0 to 1), CHANNELS 1, 3 or 4.
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% include "common/finite.wgsl"
//% include "common/output.wgsl"
//% if PICKING
//% include "common/pick_pixel.wgsl"
//% endif
//% include "common/unlit.wgsl"

struct Style {              // packed by name in renderer/layers/image.py
    origin: vec3f,          // the upper left corner, in the world
    first: u32,             // element of the upper left pixel in what is bound
    right: vec3f,           // along the upper edge
    component: i32,         // elements from one channel to the next
    down: vec3f,            // along the left edge
    opacity: f32,
    size: vec2u,            // columns and rows
    strides: vec2i,         // elements from one column to the next, and from one row to the next
    range: vec2f,           // values at the two ends of the colormap
    auto_range: f32,
    brightness: f32,
    screen_fraction: f32,             // on the screen: of the image that it fills, and where
    margin: f32,            // of its height
    anchor: vec2f,          // -1 to 1 along x and y
    smooth_: f32,           // 1: between pixels, 0: the nearest pixel
    placement: f32,             // 0: in the world, 1: on the screen before everything, 2: behind everything
    pad0: vec2f,
}

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) pixel: vec2f,      // counted in pixels from the upper left corner
    @location(1) eye: vec3f,
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> style: Style;
@group(0) @binding(2) var<storage, read> pixels: array<u32>;
//% if CHANNELS == 1
@group(0) @binding(3) var<storage, read> extent: array<vec2f>;
@group(0) @binding(4) var colormap: texture_2d<f32>;
@group(0) @binding(5) var smooth_sampler: sampler;
//% endif

const FARTHEST = 1e-30;     // depth, just in front of the background
//% if MARKED
const TRANSPARENT = 0x7fc06a90u;            // mirrored in renderer/layers/image.py
const NOT_FINITE = vec3f(1.0, 0.0, 1.0);    // linear
//% endif

fn element(at: u32) -> f32 {
//% if DTYPE == "f32"
    return bitcast<f32>(pixels[at]);
//% elif DTYPE == "f16"
    return unpack2x16float(pixels[at / 2u])[at % 2u];
//% else
    return unpack4x8unorm(pixels[at / 4u])[at % 4u];
//% endif
}

// Linear, premultiplied; 0 where it is not finite.
fn pixel_at_cell(cell: vec2i) -> vec4f {
    let at = clamp(cell, vec2i(0), vec2i(style.size) - 1) * style.strides;
    let first = i32(style.first) + at.x + at.y;
    let value = element(u32(first));
//% if CHANNELS == 1
    return vec4f(value, 0.0, 0.0, select(0.0, 1.0, is_finite(value)));
//% else
    let color = vec3f(value, element(u32(first + style.component)), element(u32(first + 2 * style.component)));
//% if CHANNELS == 4
    let alpha = element(u32(first + 3 * style.component));
//% else
    let alpha = 1.0;
//% endif
    let sound = all_finite(color) && is_finite(alpha);
    let light = srgb_to_linear(max(color, vec3f(0.0)));
    return select(vec4f(0.0), vec4f(light, 1.0) * clamp(alpha, 0.0, 1.0), sound);
//% endif
}

// What is visible at a pixel; of one channel the number, and a weight that is 0 where it is not finite.
fn sampled(pixel: vec2f) -> vec4f {
    let low = floor(pixel - 0.5);
    let part = pixel - 0.5 - low;
    let cell = vec2i(low);
    let upper = mix(pixel_at_cell(cell), pixel_at_cell(cell + vec2i(1, 0)), part.x);
    let lower = mix(pixel_at_cell(cell + vec2i(0, 1)), pixel_at_cell(cell + vec2i(1, 1)), part.x);
    return mix(upper, lower, part.y);
}

fn shown(pixel: vec2f) -> vec4f {
    let nearest = pixel_at_cell(vec2i(floor(pixel)));
    var found = nearest;
    if style.smooth_ > 0.0 { found = sampled(pixel); }
//% if CHANNELS == 1
    // Judged by its bits: a number mixed with a NaN is one.
    let sound = is_finite(found.x) && is_finite(nearest.x);
    let range = select(style.range, extent[0], style.auto_range > 0.0);
    let x = colormap_coordinate(select(range.x, found.x, sound), range, f32(textureDimensions(colormap).x));
    let color = textureSampleLevel(colormap, smooth_sampler, vec2f(x, 0.5), 0.0);
//% if MARKED
    let at = clamp(vec2i(floor(pixel)), vec2i(0), vec2i(style.size) - 1) * style.strides;
    let is_marked = !is_finite(nearest.x) && pixels[u32(i32(style.first) + at.x + at.y)] != TRANSPARENT;
    if is_marked { return vec4f(NOT_FINITE, 1.0); }
//% endif
    return select(vec4f(0.0), vec4f(color.rgb, 1.0), sound);
//% else
    return found;
//% endif
}

// A corner of the rectangle on the screen, in clip space.
fn on_screen(corner: vec2f) -> vec2f {
    let aspect = view.eye_to_clip[1][1] / view.eye_to_clip[0][0];
    let own = f32(style.size.x) / f32(style.size.y);
    let half = style.screen_fraction * vec2f(min(own / aspect, 1.0), min(aspect / own, 1.0));
    let room = max(1.0 - half - 2.0 * style.margin * vec2f(1.0 / aspect, 1.0), vec2f(0.0));
    return style.anchor * room + (corner * 2.0 - 1.0) * vec2f(1.0, -1.0) * half;
}

@vertex
fn image_vertex(@builtin(vertex_index) number: u32) -> Corner {
    let corner = vec2f(f32(number & 1u), f32(number >> 1u));
    let world = style.origin + corner.x * style.right + corner.y * style.down;
    let eye = (view.world_to_eye * vec4f(world, 1.0)).xyz;
    let depth = select(1.0, FARTHEST, style.placement > 1.0);
    let clip = select(view.eye_to_clip * vec4f(eye, 1.0), vec4f(on_screen(corner), depth, 1.0), style.placement > 0.0);
    return Corner(clip, corner * vec2f(style.size), eye);
}

//% if PICKING
@fragment
fn image_fragment(in: Corner) -> PickPixel {
    let cell = clamp(vec2i(floor(in.pixel)), vec2i(0), vec2i(style.size) - 1);
    if shown(in.pixel).a * style.opacity < LEAST_ALPHA { discard; }
    return picked_row(u32(cell.y) * style.size.x + u32(cell.x), in.eye);
}
//% else
@fragment
fn image_fragment(in: Corner) -> Output {
    let color = shown(in.pixel);
    if color.a <= 0.0 || (style.placement == 0.0 && beyond_clips(in.eye) > 0.0) { discard; }
    let straight = unlit(color.rgb / color.a);
    return output(vec4f(straight, 1.0) * (color.a * style.opacity));
}
//% endif

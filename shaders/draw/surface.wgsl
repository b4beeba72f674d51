// A surface of triangles, lit on both sides. In: the attributes of each vertex, each from its own vertex buffer, and
// an index buffer. Out: linear colour.
//% include "common/view.wgsl"
//% include "common/colour.wgsl"
//% include "common/lighting.wgsl"
//% include "common/coverage.wgsl"

struct Style {              // mirrored by renderer/layers/surface.py
    color: vec4f,           // linear; where no color is bound
    range: vec2f,           // values at the two ends of the colormap
    metallic: f32,
    roughness: f32,
    contours: f32,          // step between contour lines in units of the color's scalar, or of height; 0: none
    contour_strength: f32,
    contour_width: f32,     // pixels
    auto_range: f32,        // 1: the colormap's ends are the extent of the colors instead of `range`
    height: vec3f,          // the direction in which height is measured, in world space
    pad0: f32,
}

struct Vertex {
    @location(0) position: ${POSITION},
//% if COLOR
    @location(1) color: ${COLOR},
//% endif
//% if NORMAL
    @location(2) normal: ${NORMAL},
//% endif
//% if COLORMAPPED
    @location(3) extent: vec2f,
//% endif
}

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) eye: vec3f,
    @location(1) value: f32,        // the color's scalar, or the height
//% if COLORMAPPED
    @location(2) @interpolate(flat) range: vec2f,
//% elif COLOR
    @location(2) color: vec4f,
//% endif
//% if NORMAL
    @location(3) normal: vec3f,     // in eye space
//% endif
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> style: Style;
//% if COLORMAPPED
@group(0) @binding(2) var colormap: texture_2d<f32>;
@group(0) @binding(3) var smooth_sampler: sampler;
//% endif

@vertex
fn surface_vertex(vertex: Vertex) -> Corner {
    var out: Corner;
    let position = vec3f(vertex.position);
    out.eye = (view.world_to_eye * vec4f(position, 1.0)).xyz;
    out.clip = view.eye_to_clip * vec4f(out.eye, 1.0);
//% if COLORMAPPED
    out.value = f32(vertex.color);
    out.range = select(style.range, vertex.extent, style.auto_range > 0.0);
//% else
    out.value = dot(position, style.height);
//% endif
//% if COLOR and COLOR_COMPONENTS == 4
    out.color = vec4f(srgb_to_linear(vec3f(vertex.color.rgb)), f32(vertex.color.a));
//% elif COLOR and not COLORMAPPED
    out.color = vec4f(srgb_to_linear(vec3f(vertex.color)), 1.0);
//% endif
//% if NORMAL
    out.normal = (view.world_to_eye * vec4f(vec3f(vertex.normal), 0.0)).xyz;
//% endif
    return out;
}

fn surface_color(in: Corner) -> vec4f {
//% if COLORMAPPED
    let x = colormap_coordinate(in.value, in.range, f32(textureDimensions(colormap).x));
    return textureSampleLevel(colormap, smooth_sampler, vec2f(x, 0.5), 0.0);
//% elif COLOR
    return in.color;
//% else
    return style.color;
//% endif
}

// How much of the pixel a contour line covers, 0 to 1; lines closer than a few pixels fade out.
fn contour(value: f32) -> f32 {
    let steps = value / style.contours;
    let per_pixel = max(fwidth(steps), 1e-12);
    let pixels_away = abs(fract(steps - 0.5) - 0.5) / per_pixel;
    let line = clamp(0.5 * style.contour_width + 0.5 - pixels_away, 0.0, 1.0);
    return line * (1.0 - smoothstep(0.1, 0.35, per_pixel * style.contour_width));
}

// The normal on the side that is seen. Turned round only if triangle and normal agree on that: near the outline a smooth
// normal may lean away from the eye, and a triangle of a few pixels, seen edge-on, does not know its own side.
fn seen_side(normal: vec3f, flat_normal: vec3f, to_eye: vec3f) -> vec3f {
    let behind = dot(normal, flat_normal) < -0.3 && dot(normal, to_eye) < 0.0;
    return select(normal, -normal, behind);
}

struct Pixel {
    @location(0) color: vec4f,
//% if SAMPLE_MASK
    @builtin(sample_mask) samples: u32,
//% endif
}

@fragment
fn surface_fragment(in: Corner) -> Pixel {
    let to_eye = -sight_to(in.eye);
    var flat_normal = normalize(cross(dpdx(in.eye), dpdy(in.eye)));
    flat_normal *= select(-1.0, 1.0, dot(flat_normal, to_eye) >= 0.0);
//% if NORMAL
    let smooth_normal = normalize(in.normal);
    let normal = select(flat_normal, seen_side(smooth_normal, flat_normal, to_eye), dot(in.normal, in.normal) > 1e-20);
//% else
    let normal = flat_normal;
//% endif

    let color = surface_color(in);
    var base = color.rgb;
    if style.contours > 0.0 {
        base *= 1.0 - style.contour_strength * contour(in.value);
    }
    var out: Pixel;
    var samples = 15u;
    if color.a < 1.0 { samples = alpha_samples(color.a, in.clip.xy); }
    let light = lit(Material(base, style.metallic, style.roughness), normal, to_eye);
    out.color = vec4f(bounded(light), 1.0);
//% if SAMPLE_MASK
    out.samples = samples;
//% else
    out.color.a = share(samples);
//% endif
    return out;
}

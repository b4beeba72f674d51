// A surface of triangles, lit on both sides. In: the attributes of each vertex, each from its own vertex buffer, and
// an index buffer. Out: linear color.
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% include "common/lighting.wgsl"
//% include "common/coverage.wgsl"
//% include "common/contours.wgsl"
//% include "common/triangles.wgsl"

struct Style {              // packed by name in renderer/layers/surface.py
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

fn surface_normal(in: Corner) -> vec3f {
//% if NORMAL
    return in.normal;
//% else
    return vec3f(0.0);
//% endif
}

@fragment
fn surface_fragment(in: Corner) -> Pixel {
    return shaded(in.eye, surface_normal(in), with_contours(surface_color(in), in.value), in.clip);
}

@fragment
fn surface_clear(in: Corner) -> Clear {
    return shaded_clear(in.eye, surface_normal(in), with_contours(surface_color(in), in.value), in.clip.xy);
}

@fragment
fn surface_depth(in: Corner) {
    if no_depth(in.eye, surface_color(in).a, in.clip.xy) { discard; }
}

// What draws points as spheres and spots has in common: their appearance, how large and how bright they are.
// Needs a struct `Point` with a `position`, and with `color`, `size` and `extent` where those are bound; COLOR and SIZE are
// their types, empty if they are constants. Include common/view.wgsl, common/color.wgsl,
// common/lighting.wgsl and common/spheres.wgsl before.
//% import "common/attributes.wgsl" as attributes

struct Style {              // packed by name in renderer/layers/points.py
    color: vec4f,           // linear; where no color is bound
    range: vec2f,           // values at the two ends of the colormap
    size: f32,              // radius in world units; a factor where sizes are bound
    min_pixels: f32,        // of the screen
    metallic: f32,
    roughness: f32,
    emissive: f32,          // 0: lit by sun and sky; 1: shines by itself
    brightness: f32,        // radiance of what shines
    size_variation: f32,    // the most by which radii and colors of rows differ, relative to them
    color_variation: f32,
    auto_range: f32,        // 1: the colormap's ends are the extent of the colors instead of `range`
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> style: Style;
//% if COLORMAPPED
@group(0) @binding(2) var colormap: texture_2d<f32>;
@group(0) @binding(3) var smooth_sampler: sampler;
//% endif

//% include "common/row_number.wgsl"

${attributes.color("point", "Point", COLOR_COMPONENTS, COLORMAPPED)}

// From -1 to 1, one number for the size and one for the color of a row.
fn variation(row: u32) -> vec2f {
    return 2.0 * vec2f(row_number(2u * row), row_number(2u * row + 1u)) - 1.0;
}

fn point_radius(point: Point, row: u32) -> f32 {
    let radius = style.size * (1.0 + style.size_variation * variation(row).x);
//% if SIZE
    return radius * f32(point.size);
//% else
    return radius;
//% endif
}

fn varied_color(point: Point, row: u32) -> vec4f {
    let color = point_color(point);
    return vec4f(color.rgb * (1.0 + style.color_variation * variation(row).y), color.a);
}

fn eye_position(point: Point) -> vec3f {
    return (view.world_to_eye * vec4f(vec3f(point.position), 1.0)).xyz;
}

// The fraction of the screen's pixels, along each side, that are drawn; what is drawn more finely has the same widths in drawn
// pixels.
fn coarseness() -> f32 {
    return min(view.scale.y, 1.0);
}

// The radius from which on spheres are drawn as such, in drawn pixels: a smaller one than 1 would flicker where fewer pixels
// are drawn than are shown.
fn least_pixels() -> f32 {
    return min(style.min_pixels, max(style.min_pixels * coarseness(), 1.0));
}

// Whether a point is drawn as a sphere. Written so that a NaN, a sphere behind the eye and one around the eye all fail.
fn is_sphere(center: vec3f, radius: f32) -> bool {
    return -center.z > view.near && radius >= least_pixels() * pixel_at(center) && outline_reach(center, radius) > 0.0;
}

// A sphere that is too small to be visible as one: a soft spot with the light of its true area.
struct Spot {
    light: vec4f,       // premultiplied, in its middle; it falls to the rim as (1 - x²)²
    reach: f32,         // radius in world units; 0: there is none
}

fn spot_of(point: Point, row: u32, center: vec3f, radius: f32) -> Spot {
    let pixel = pixel_at(center);
    let is_visible = -center.z > view.near && radius < least_pixels() * pixel && radius > 1e-3 * pixel
        && beyond_clips(center) <= 0.0;
    // As wide on the screen at any quality, but wide enough for the resolution of the pixels, and for the sphere's light: the
    // profile sums to a third of its square's reach.
    let least = max((style.min_pixels + 1.0) * coarseness(), 1.0);
    let reach = max(least * pixel, sqrt(3.0) * radius);
    let color = varied_color(point, row);
    let alpha = 3.0 * radius * radius / (reach * reach) * color.a;
    let to_eye = -sight_to(center);
    let glow = color.rgb * style.brightness * (0.45 + 0.55 * 2.0 / 3.0);
//% if PICKING is defined and PICKING
    let light = vec3f(1.0);     // frames of rows have no lighting: what counts is whether there is any
//% else
    let light = bounded(mix(lit_ball(color.rgb, to_eye, center), glow, style.emissive));
//% endif
    return Spot(clamp(alpha, 0.0, 1.0) * vec4f(light, 1.0 - style.emissive), select(0.0, reach, is_visible));
}

// Points as lit spheres. One instance a point, four corners of a quad each, made from the vertex index.
// In: the attributes of each point, each from its own vertex buffer. Out: linear premultiplied colour, and depth.
// `solid_*` draws spheres of at least `min_pixels` radius: every fragment meets the sphere with its ray, so outline
// and depth are those of a true sphere in perspective. `distant_*` draws the smaller ones as soft spots that carry
// the light of the sphere's true area, so that they fade with distance and never flicker.
//% include "common/view.wgsl"
//% include "common/colour.wgsl"
//% include "common/lighting.wgsl"
//% include "common/coverage.wgsl"

struct Style {              // mirrored by renderer/layers/points.py
    color: vec4f,           // linear; where no color is bound
    range: vec2f,           // values at the two ends of the colormap
    size: f32,              // radius in world units; a factor where sizes are bound
    min_pixels: f32,
    metallic: f32,
    roughness: f32,
    emissive: f32,          // 0: lit by sun and sky; 1: shines by itself
    brightness: f32,        // radiance of what shines
    auto_range: f32,        // 1: the colormap's ends are the extent of the colors instead of `range`
}

struct Point {
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
    @location(0) eye: vec3f,                        // on the quad, in eye space
    @location(1) @interpolate(flat) centre: vec3f,
    @location(2) @interpolate(flat) radius: f32,
    @location(3) @interpolate(flat) color: vec4f,
}

struct Spot {
    @builtin(position) clip: vec4f,
    @location(0) place: vec2f,                      // -1 to 1 across the quad
    @location(1) @interpolate(flat) light: vec4f,   // premultiplied
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> style: Style;
//% if COLORMAPPED
@group(0) @binding(2) var colormap: texture_2d<f32>;
@group(0) @binding(3) var smooth_sampler: sampler;
//% endif

fn point_color(point: Point) -> vec4f {
//% if COLORMAPPED
    let range = select(style.range, point.extent, style.auto_range > 0.0);
    let x = colormap_coordinate(f32(point.color), range, f32(textureDimensions(colormap).x));
    return textureSampleLevel(colormap, smooth_sampler, vec2f(x, 0.5), 0.0);
//% elif COLOR and COLOR_COMPONENTS == 4
    return vec4f(srgb_to_linear(vec3f(point.color.rgb)), f32(point.color.a));
//% elif COLOR
    return vec4f(srgb_to_linear(vec3f(point.color)), 1.0);
//% else
    return style.color;
//% endif
}

fn point_radius(point: Point) -> f32 {
//% if SIZE
    return style.size * f32(point.size);
//% else
    return style.size;
//% endif
}

fn eye_position(point: Point) -> vec3f {
    return (view.world_to_eye * vec4f(vec3f(point.position), 1.0)).xyz;
}

// A quad across the line of sight to `centre`, which reaches `reach` from it.
fn quad_corner(corner: u32, centre: vec3f, reach: f32) -> vec3f {
    let sight = normalize(centre);
    let right = normalize(vec3f(-sight.z, 0.0, sight.x));
    let above = cross(right, sight);
    let place = quad_place(corner) * reach;
    return centre + right * place.x + above * place.y;
}

fn quad_place(corner: u32) -> vec2f {
    return vec2f(f32(corner & 1u), f32(corner >> 1u)) * 2.0 - 1.0;
}

const NOWHERE = vec4f(0.0, 0.0, -1.0, 1.0);     // outside the clip volume

@vertex
fn solid_vertex(@builtin(vertex_index) corner: u32, point: Point) -> Corner {
    var out: Corner;
    let centre = eye_position(point);
    let radius = point_radius(point);
    let pixel = view.pixel * -centre.z;
    let distance2 = dot(centre, centre);
    out.clip = NOWHERE;
    // Written so that a NaN, a sphere behind the eye and one around the eye all fail.
    if !(-centre.z > view.near && radius >= style.min_pixels * pixel && distance2 > radius * radius) {
        return out;
    }
    // The cone that touches the sphere is wider than the sphere where the quad stands.
    let reach = radius * sqrt(distance2 / (distance2 - radius * radius)) + pixel;
    out.eye = quad_corner(corner, centre, reach);
    out.clip = view.eye_to_clip * vec4f(out.eye, 1.0);
    out.centre = centre;
    out.radius = radius;
    out.color = point_color(point);
    return out;
}

struct Pixel {
    @location(0) color: vec4f,
    @builtin(frag_depth) depth: f32,
//% if SAMPLE_MASK
    @builtin(sample_mask) samples: u32,
//% endif
}

@fragment
fn solid_fragment(in: Corner) -> Pixel {
    let sight = normalize(in.eye);
    let along = dot(in.centre, sight);
    let aside = in.centre - sight * along;      // from the ray's nearest point to the centre
    let miss = length(aside);
    let depth_inside = sqrt(max(in.radius * in.radius - miss * miss, 0.0));
    let hit = sight * (along - depth_inside);
    let normal = normalize(hit - in.centre);

    // Moving one pixel on moves the ray, at the sphere's distance, by this much.
    let scale = along / length(in.eye);
    let outward = aside / max(miss, 1e-20);
    let gradient = -scale * vec2f(dot(outward, dpdx(in.eye)), dot(outward, dpdy(in.eye)));

    var out: Pixel;
    var samples = covered_samples(miss - in.radius, gradient);
    if in.color.a < 1.0 { samples &= alpha_samples(in.color.a, in.clip.xy); }
    if samples == 0u { discard; }
    out.color = vec4f(bounded(sphere_light(in.color.rgb, normal, -sight)), 1.0);
//% if SAMPLE_MASK
    out.samples = samples;
//% else
    out.color.a = share(samples);
//% endif
    out.depth = depth_at(hit, view.near);
    return out;
}

fn sphere_light(base: vec3f, normal: vec3f, to_eye: vec3f) -> vec3f {
    // A glowing ball is darker toward its rim, like a star, which keeps it round to the eye.
    let glow = base * style.brightness * (0.45 + 0.55 * dot(normal, to_eye));
    if style.emissive >= 1.0 { return glow; }
    let material = Material(base, style.metallic, style.roughness);
    return mix(lit(material, normal, to_eye), glow, style.emissive);
}

@vertex
fn distant_vertex(@builtin(vertex_index) corner: u32, point: Point) -> Spot {
    var out: Spot;
    let centre = eye_position(point);
    let radius = point_radius(point);
    let pixel = view.pixel * -centre.z;
    out.clip = NOWHERE;
    if !(-centre.z > view.near && radius < style.min_pixels * pixel && radius > 1e-3 * pixel) {
        return out;
    }
    let reach = (style.min_pixels + 1.0) * pixel;
    let color = point_color(point);
    // The spot's profile (1 - x²)² sums to a third of its square's reach: this keeps the sphere's light.
    let alpha = 3.0 * radius * radius / (reach * reach) * color.a;
    let to_eye = -normalize(centre);
    let glow = color.rgb * style.brightness * (0.45 + 0.55 * 2.0 / 3.0);
    let light = bounded(mix(lit_ball(color.rgb, to_eye), glow, style.emissive));
    out.light = clamp(alpha, 0.0, 1.0) * vec4f(light, 1.0 - style.emissive);
    out.place = quad_place(corner);
    out.clip = view.eye_to_clip * vec4f(quad_corner(corner, centre, reach), 1.0);
    return out;
}

@fragment
fn distant_fragment(in: Spot) -> @location(0) vec4f {
    let fall = max(1.0 - dot(in.place, in.place), 0.0);
    return in.light * (fall * fall);
}

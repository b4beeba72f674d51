// The rows of Gaussian splats: their attributes, what of them a view shows, and their ellipses on the screen.
// In: `FIRST`, the binding of positions; SCALE, ROTATION, OPACITY, COLOR and HARMONICS, the components of those that are
// bound, or 0, which have the bindings that follow. With SHADOWED they are in the shadows of common/shadows.wgsl.
// TONE_MAP is the layer's own. Needs common/view.wgsl, common/color.wgsl and common/finite.wgsl.
// Kerbl, Kopanas, Leimkühler and Drettakis 2023, "3D Gaussian Splatting for Real-Time Radiance Field Rendering";
// the projection of the covariance: Zwicker, Pfister, van Baar and Gross 2001, "EWA volume splatting", eq. 31.
//% if SHADOWED
//% include "common/lighting.wgsl"
//% include "common/shadows.wgsl"
//% endif
//% include "common/displayed.wgsl"
//% set BOUND = [("scales", SCALE), ("rotations", ROTATION), ("opacities", OPACITY), ("colors", COLOR), ("harmonics", HARMONICS)]
//% set AFTER = FIRST + 1 + (BOUND | selectattr(1) | list | length)

struct Style {              // packed by name in renderer/layers/splats.py
    color: vec4f,           // linear; where no color is bound
    scale: vec3f,           // standard deviations along a splat's own axes; a factor where scales are bound
    opacity: f32,           // a factor where opacities are bound
    range: vec2f,           // values at the two ends of the colormap
    auto_range: f32,
    brightness: f32,
    arrays: array<vec4u, 3>,// first element and elements from row to row: of positions, scales; rotations, opacities; colors, harmonics
    blur: f32,              // variance that each splat gets on the screen [pixels²]
    antialiased: f32,       // 1: opacity is lowered where a splat is blurred, so that its total light stays the same
    min_opacity: f32,
    rows: u32,
    crop_low: vec3f,        // corners of the box in which centers of splats are drawn
    shadow: f32,            // how dark its shadow is
    crop_high: vec3f,
    pad1: f32,
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> style: Style;
@group(0) @binding(${FIRST}) var<storage, read> positions: array<f32>;
//% for name, count in BOUND if count
@group(0) @binding(${FIRST + loop.index}) var<storage, read> ${name}: array<f32>;
//% endfor
//% if COLOR == 1
@group(0) @binding(${AFTER}) var<storage, read> extent: array<vec2f>;
@group(0) @binding(${AFTER + 1}) var colormap: texture_2d<f32>;
@group(0) @binding(${AFTER + 2}) var smooth_sampler: sampler;
//% endif

const LEAST = 1.0 / 255.0;  // alpha that is not visible
const MOST = 0.99;          // as in the paper
const BEFORE = 2.0;         // standard deviations
const ASIDE = 1.3;          // how far beyond the image's border, as a factor, the projection is taken where a splat is

struct Ellipse {
    eye: vec3f,             // its center
    alpha: f32,             // at the center; 0 for a splat that is not drawn
    covariance: vec3f,      // on the screen: xx, xy and yy [pixels²]
}

fn splat_position(row: u32) -> vec3f {
    let at = style.arrays[0].x + row * style.arrays[0].y;
    return vec3f(positions[at], positions[at + 1u], positions[at + 2u]);
}

// The color of a row and its own alpha, linear, seen along `sight`, a unit vector in world space.
fn splat_color(row: u32, sight: vec3f) -> vec4f {
    let at = style.arrays[2].x + row * style.arrays[2].y;
//% if COLOR == 1
    let range = select(style.range, extent[0], style.auto_range > 0.0);
    let x = colormap_coordinate(colors[at], range, f32(textureDimensions(colormap).x));
    var color = textureSampleLevel(colormap, smooth_sampler, vec2f(x, 0.5), 0.0);
//% elif COLOR
    var color = vec4f(colors[at], colors[at + 1u], colors[at + 2u], ${"colors[at + 3u]" if COLOR == 4 else "1.0"});
//% else
    var color = style.color;
//% endif
//% if COLOR in (3, 4)
    color = vec4f(srgb_to_linear(max(color.rgb${" + splat_harmonics(row, sight)" if HARMONICS else ""}, vec3f(0.0))), color.a);
//% elif HARMONICS
    color = vec4f(srgb_to_linear(max(linear_to_srgb(color.rgb) + splat_harmonics(row, sight), vec3f(0.0))), color.a);
//% endif
    return color;
}

//% if HARMONICS
fn harmonic(at: u32, number: u32) -> vec3f {
    let first = at + 3u * number;
    return vec3f(harmonics[first], harmonics[first + 1u], harmonics[first + 2u]);
}

// What the harmonics of degree 1 and above add to the color: real ones with the Condon-Shortley phase, from order -l to l.
fn splat_harmonics(row: u32, sight: vec3f) -> vec3f {
    let at = style.arrays[2].z + row * style.arrays[2].w;
    let x = sight.x; let y = sight.y; let z = sight.z;
    var sum = 0.4886025119 * (z * harmonic(at, 1u) - y * harmonic(at, 0u) - x * harmonic(at, 2u));
//% if HARMONICS > 9
    let xx = x * x; let yy = y * y; let zz = z * z;
    sum += 1.0925484306 * (x * y * harmonic(at, 3u) - y * z * harmonic(at, 4u) - x * z * harmonic(at, 6u));
    sum += 0.3153915653 * (2.0 * zz - xx - yy) * harmonic(at, 5u) + 0.5462742153 * (xx - yy) * harmonic(at, 7u);
//% endif
//% if HARMONICS > 24
    sum -= 0.5900435899 * (y * (3.0 * xx - yy) * harmonic(at, 8u) + x * (xx - 3.0 * yy) * harmonic(at, 14u));
    sum += 2.8906114426 * x * y * z * harmonic(at, 9u) + 1.4453057213 * z * (xx - yy) * harmonic(at, 13u);
    sum -= 0.4570457995 * (4.0 * zz - xx - yy) * (y * harmonic(at, 10u) + x * harmonic(at, 12u));
    sum += 0.3731763326 * z * (2.0 * zz - 3.0 * xx - 3.0 * yy) * harmonic(at, 11u);
//% endif
    return sum;
}
//% endif

fn splat_opacity(row: u32) -> f32 {
//% if OPACITY
    return style.opacity * opacities[style.arrays[1].z + row * style.arrays[1].w];
//% else
    return style.opacity;
//% endif
}

// The axes of a splat, of the length of its standard deviations, in world space.
fn splat_axes(row: u32) -> mat3x3f {
//% if SCALE
    let at = style.arrays[0].z + row * style.arrays[0].w;
//% if SCALE == 3
    let scale = style.scale * vec3f(scales[at], scales[at + 1u], scales[at + 2u]);
//% else
    let scale = style.scale * scales[at];
//% endif
//% else
    let scale = style.scale;
//% endif
//% if ROTATION
    let turn = style.arrays[1].x + row * style.arrays[1].y;
    let rotation = vec4f(rotations[turn], rotations[turn + 1u], rotations[turn + 2u], rotations[turn + 3u]);
    let q = select(vec4f(0.0, 0.0, 0.0, 1.0), rotation / length(rotation), dot(rotation, rotation) > 0.0);
    let x = vec3f(1.0 - 2.0 * (q.y * q.y + q.z * q.z), 2.0 * (q.x * q.y + q.w * q.z), 2.0 * (q.x * q.z - q.w * q.y));
    let y = vec3f(2.0 * (q.x * q.y - q.w * q.z), 1.0 - 2.0 * (q.x * q.x + q.z * q.z), 2.0 * (q.y * q.z + q.w * q.x));
    return mat3x3f(scale.x * x, scale.y * y, scale.z * cross(x, y));
//% else
    return mat3x3f(scale.x, 0.0, 0.0, 0.0, scale.y, 0.0, 0.0, 0.0, scale.z);
//% endif
}

// Width of a pixel at `eye`, in world units, or of a texel of the shadow map that is drawn.
fn splat_pixel(eye: vec3f) -> f32 {
    return select(pixel_at(eye), view.sun_maps[0].w, view.distance == 0.0);
}

//% if SHADOWED
// The fraction of the sun's light that arrives. It is looked up before the splat itself, and its neighbors on a surface.
fn splat_open(row: u32, eye: vec3f) -> f32 {
    let axes = splat_axes(row);
    let reach = max(length(axes[0]), max(length(axes[1]), length(axes[2])));
    let before = eye + view.sun_direction * (BEFORE * reach);
    return 1.0 - style.shadow * (1.0 - sun_open(before, view.sun_direction, vec2f(f32(row & 1023u), f32(row >> 10u))));
}

//% endif
// The covariance on the screen [pixels²]: xx, xy and yy. The projection is taken as linear around the middle.
fn screen_covariance(row: u32, eye: vec3f) -> vec3f {
    let turn = mat3x3f(view.world_to_eye[0].xyz, view.world_to_eye[1].xyz, view.world_to_eye[2].xyz);
    let axes = turn * splat_axes(row);
    let reach = ASIDE / vec2f(view.eye_to_clip[0][0], view.eye_to_clip[1][1]);
    let slope = clamp(eye.xy / -eye.z, -reach, reach);
    let scale = 1.0 / splat_pixel(eye);
    // Rows of the Jacobian: a pixel's position is x / -z, or x alone, times `scale`.
    let along = select(slope, vec2f(0.0), is_parallel());
    let across = scale * (vec3f(axes[0].x, axes[1].x, axes[2].x) + along.x * vec3f(axes[0].z, axes[1].z, axes[2].z));
    let upward = scale * (vec3f(axes[0].y, axes[1].y, axes[2].y) + along.y * vec3f(axes[0].z, axes[1].z, axes[2].z));
    return vec3f(dot(across, across), dot(across, upward), dot(upward, upward));
}

// The ellipse of a row, with the opacity of the row alone.
fn splat_ellipse(row: u32) -> Ellipse {
    let position = splat_position(row);
    let eye = (view.world_to_eye * vec4f(position, 1.0)).xyz;
    var alpha = splat_opacity(row);
    let is_inside = all(position >= style.crop_low) && all(position <= style.crop_high);
    if !(is_inside && alpha >= style.min_opacity && -eye.z > view.near) { return Ellipse(eye, 0.0, vec3f(1.0, 0.0, 1.0)); }
    let sharp = screen_covariance(row, eye);
    let covariance = sharp + vec3f(style.blur, 0.0, style.blur);
    let before = max(sharp.x * sharp.z - sharp.y * sharp.y, 0.0);
    let area = covariance.x * covariance.z - covariance.y * covariance.y;
    alpha *= select(1.0, sqrt(before / max(area, 1e-20)), style.antialiased > 0.0);
    return Ellipse(eye, alpha, covariance);
}

// The color that a screen shows, and alpha, of a row with its center at `eye` that gets a fraction of its light; alpha 0 for a color
// that is not finite.
fn splat_shown(row: u32, eye: vec3f, alpha: f32, open: f32) -> vec4f {
    let turn = mat3x3f(view.world_to_eye[0].xyz, view.world_to_eye[1].xyz, view.world_to_eye[2].xyz);
    let color = splat_color(row, sight_to(eye) * turn);
    let shown = displayed(bounded(color.rgb * (style.brightness * open)));
    return vec4f(shown, select(0.0, alpha * color.a, all_finite(color.rgb)));
}

// How many standard deviations from its center a splat of this alpha at the center is visible.
fn splat_reach(alpha: f32) -> f32 {
    return sqrt(max(2.0 * log(alpha / LEAST), 0.0));
}

// Points as lit spheres. One instance a point, four corners of a quad each, computed from the vertex index.
// In: the attributes of each point, each from its own vertex buffer. Out: linear premultiplied color, and depth.
// `solid_*` draws spheres of at least `min_pixels` radius: every fragment meets the sphere with its ray, so outline
// and depth are those of a true sphere in perspective. `distant_*` draws the smaller ones as soft spots that carry
// the light of the sphere's true area, so that they fade with distance and never flicker.
// With PICKING the same spheres and spots are drawn as the indices of their rows. With PULLED a buffer marks which spheres
// are drawn, and spots are left to draw/point_splatting.wgsl.
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% include "common/lighting.wgsl"
//% include "common/coverage.wgsl"
//% if PICKING
//% include "common/pick_pixel.wgsl"
//% else
//% include "common/shadows.wgsl"
//% include "common/transparency.wgsl"
//% include "common/output.wgsl"
//% endif

//% if PULLED
//% include "common/point_rows.wgsl"
@group(0) @binding(12) var<storage, read> spheres: array<u32>;  // rows that are drawn
//% else
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
//% endif

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) eye: vec3f,                        // on the quad, in eye space
    @location(1) @interpolate(flat) center: vec3f,
    @location(2) @interpolate(flat) radius: f32,
    @location(3) @interpolate(flat) color: vec4f,
//% if PICKING
    @location(4) @interpolate(flat) row: u32,
//% endif
}

struct SpotCorner {
    @builtin(position) clip: vec4f,
    @location(0) coordinate: vec2f,                      // -1 to 1 across the quad
    @location(1) @interpolate(flat) light: vec4f,   // premultiplied
//% if PICKING
    @location(2) @interpolate(flat) center: vec3f,
    @location(3) @interpolate(flat) row: u32,
//% endif
}

//% include "common/spheres.wgsl"
//% include "common/points.wgsl"

// Pixels around the outline of a sphere that its quad reaches over. What covers samples need not reach further than they do; where
// coverage becomes alpha, it counts samples of pixels whose middle is outside.
//% if PICKING or SAMPLE_MASK
const MARGIN = 0.05;
//% else
const MARGIN = 0.55;
//% endif

@vertex
fn solid_vertex(
    @builtin(vertex_index) corner: u32,
    @builtin(instance_index) instance: u32,
//% if not PULLED
    point: Point,
//% endif
) -> Corner {
    var out: Corner;
//% if PULLED
    let row = spheres[instance];
    let point = point_at(row);
//% else
    let row = instance;
//% endif
    let center = eye_position(point);
    let radius = point_radius(point, row);
    out.clip = NOWHERE;
    if !is_sphere(center, radius) {
        return out;
    }
    let reach = outline_reach(center, radius) + MARGIN * pixel_at(center);
    out.eye = quad_corner(corner, center, reach);
    out.clip = view.eye_to_clip * vec4f(out.eye, 1.0);
    out.center = center;
    out.radius = radius;
    out.color = varied_color(point, row);
//% if PICKING
    out.row = row;
//% endif
    return out;
}

//% if PICKING
@fragment
fn solid_fragment(in: Corner) -> PickPixel {
    let hit = hit_sphere(in.eye, in.center, in.radius);
    if hit.miss >= in.radius || in.color.a < LEAST_ALPHA { discard; }
    return picked_row(in.row, hit.position);
}
//% else
//% set OWN_DEPTH = True
//% include "common/pixel.wgsl"

//% if GBUFFER
//% include "common/hidden.wgsl"

// Whether all of a sphere is behind what is opaque around this pixel.
fn is_hidden(in: Corner) -> bool {
    return is_behind(depth_at(vec3f(0.0, 0.0, in.center.z + in.radius)), in.clip.xy);
}

//% endif
@fragment
fn solid_fragment(in: Corner) -> Pixel {
//% if GBUFFER
    if is_hidden(in) { discard; }
//% endif
    let hit = hit_sphere(in.eye, in.center, in.radius);
    let normal = normalize(hit.position - in.center) * select(1.0, -1.0, hit.inside);

    // Moving one pixel on moves the ray, at the sphere's distance, by this much.
    let scale = select(hit.along / length(in.eye), 1.0, is_parallel());
    let outward = hit.aside / max(hit.miss, 1e-20);
    let gradient = -scale * vec2f(dot(outward, dpdx(in.eye)), dot(outward, dpdy(in.eye)));

    let samples = covered_samples(hit.miss - in.radius, gradient);
    if samples == 0u || beyond_clips(hit.position) > 0.0 || in.color.a < OPAQUE { discard; }
//% if GBUFFER
    var out = solid_pixel(Material(in.color.rgb, style.metallic, style.roughness), normal, samples);
//% else
    var out = solid_pixel(bounded(sphere_light(in, hit, normal)), samples);
//% endif
    out.depth = depth_at(hit.position);
    return out;
}

struct ClearPixel {
    @location(0) weighed: vec4f,
    @location(1) through: f32,
    @builtin(frag_depth) depth: f32,
}

@fragment
fn solid_clear(in: Corner) -> ClearPixel {
    let hit = hit_sphere(in.eye, in.center, in.radius);
    let normal = normalize(hit.position - in.center) * select(1.0, -1.0, hit.inside);
    let gone = hit.miss >= in.radius || beyond_clips(hit.position) > 0.0 || in.color.a >= OPAQUE;
    if gone { discard; }
    let found = clear(bounded(sphere_light(in, hit, normal)), clamp(in.color.a, 0.0, 1.0), hit.position);
    return ClearPixel(found.weighed, found.through, depth_at(hit.position));
}

@fragment
fn solid_depth(in: Corner) -> @builtin(frag_depth) f32 {
    let hit = hit_sphere(in.eye, in.center, in.radius);
    if hit.miss >= in.radius || beyond_clips(hit.position) > 0.0 || is_hole(in.color.a, in.clip.xy) { discard; }
    return depth_at(hit.position);
}

fn sphere_light(in: Corner, hit: Hit, normal: vec3f) -> vec3f {
    let base = in.color.rgb;
    let to_eye = -hit.sight;
    // A glowing ball is darker toward its rim, like a star, so that it appears round.
    let glow = base * style.brightness * (0.45 + 0.55 * dot(normal, to_eye));
    if style.emissive >= 1.0 { return glow; }
    let material = Material(base, style.metallic, style.roughness);
    return mix(lit_at(material, normal, to_eye, hit.position, in.clip.xy), glow, style.emissive);
}
//% endif

//% if not PULLED
@vertex
fn distant_vertex(
    @builtin(vertex_index) corner: u32,
    @builtin(instance_index) row: u32,
    point: Point,
) -> SpotCorner {
    var out: SpotCorner;
    let center = eye_position(point);
    let spot = spot_of(point, row, center, point_radius(point, row));
    out.clip = NOWHERE;
    if spot.reach <= 0.0 {
        return out;
    }
    out.light = spot.light;
    out.coordinate = quad_coordinate(corner);
    out.clip = view.eye_to_clip * vec4f(quad_corner(corner, center, spot.reach), 1.0);
//% if PICKING
    out.center = center;
    out.row = row;
//% endif
    return out;
}

//% if PICKING
@fragment
fn distant_fragment(in: SpotCorner) -> PickPixel {
    if dot(in.coordinate, in.coordinate) >= 1.0 || !any(in.light > vec4f(0.0)) { discard; }
    return picked_row(in.row, in.center);
}
//% else
@fragment
fn distant_fragment(in: SpotCorner) -> Output {
    let fall = max(1.0 - dot(in.coordinate, in.coordinate), 0.0);
    return output(in.light * (fall * fall));
}
//% endif
//% endif

// Particles of a liquid as spheres, from which draw/liquid_filter.wgsl and draw/liquid_shading.wgsl compute its surface
// (van der Laan, Green and Sainz 2009, "Screen Space Fluid Rendering with Curvature Flow").
// In: the attributes of each particle, each from its own vertex buffer. Out: of `front_*` the distance along the direction
// of view of the nearest sphere, and its size; of `column_*` the length of liquid along the line of sight, and that of it which
// is near the surface. A particle is a blob of the volume that it has at rest, (2 size)³, whose profile across is (1 - x²)²: a
// column through many particles has the right length at any spacing.
// Drops and thin sheets have something behind them: `next_fragment` finds the same as `front_*` without what is thin, and
// `separate_fragment` the surface that is seen through it, how thin that is, and how round.
// With PICKING spheres are drawn as the indices of their rows. `sphere_depth` draws the shadow.
//% include "common/view.wgsl"
//% include "common/liquid.wgsl"
//% include "common/spheres.wgsl"
//% include "common/coverage.wgsl"
//% include "common/liquid_layers.wgsl"
//% include "common/fullscreen.wgsl"
//% include "common/row_number.wgsl"
//% if PICKING
//% include "common/pick_pixel.wgsl"
//% endif

struct Particle {
    @location(0) position: ${POSITION},
//% if SIZE
    @location(1) size: ${SIZE},
//% endif
//% if DENSITY
    @location(2) density: ${DENSITY},
//% endif
}

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) eye: vec3f,                        // on the quad, in eye space
    @location(1) @interpolate(flat) center: vec3f,
    @location(2) @interpolate(flat) size: f32,
    @location(3) @interpolate(flat) row: u32,
    @location(4) @interpolate(flat) shadow: f32,
}

@group(0) @binding(2) var solid_depth: texture_depth_multisampled_2d;
@group(0) @binding(3) var fronts: texture_2d<f32>;
@group(0) @binding(4) var nearests: texture_2d<f32>;
@group(0) @binding(5) var columns: texture_2d<f32>;
@group(0) @binding(6) var nexts: texture_2d<f32>;

const COLUMN = 3.0;     // reach of a blob, in sizes
const ALONE = vec2f(0.35, 0.7);     // relative densities of a particle without others around, and of one in a sheet
const SEPARATE = 8.0;      // sizes from the front of something thin to that of something else

fn particle_corner(corner: u32, row: u32, particle: Particle, scale: f32) -> Corner {
    var out: Corner;
//% if SIZE
    out.size = style.size * f32(particle.size);
//% else
    out.size = style.size;
//% endif
//% if DENSITY
    let alone = 1.0 - smoothstep(ALONE.x, ALONE.y, f32(particle.density) / style.rest_density);
    let drop = style.drop_size * (1.0 + style.size_variation * (2.0 * row_number(row) - 1.0));
    out.size *= mix(1.0, min(drop, 1.0), alone);
//% endif
    out.center = (view.world_to_eye * vec4f(vec3f(particle.position), 1.0)).xyz;
    out.row = row;
    out.shadow = select(0.0, style.shadow, out.center.z < 1e30);     // in name only: see common/shadows.wgsl
    let radius = out.size * scale;
    let reach = outline_reach(out.center, radius);
    // Written so that a NaN, a sphere behind the eye and one around the eye all fail.
    let is_visible = -out.center.z > view.near && radius > 0.0 && reach > 0.0 && reach < 1e30;
    out.eye = quad_corner(corner, out.center, reach + 0.05 * pixel_at(out.center));
    out.clip = select(NOWHERE, view.eye_to_clip * vec4f(out.eye, 1.0), is_visible);
    return out;
}

@vertex
fn sphere_vertex(@builtin(vertex_index) corner: u32, @builtin(instance_index) row: u32, particle: Particle) -> Corner {
    return particle_corner(corner, row, particle, style.sphere_scale);
}

@vertex
fn column_vertex(@builtin(vertex_index) corner: u32, @builtin(instance_index) row: u32, particle: Particle) -> Corner {
    return particle_corner(corner, row, particle, COLUMN);
}

//% if PICKING
@fragment
fn sphere_fragment(in: Corner) -> PickPixel {
    let radius = in.size * style.sphere_scale;
    let hit = hit_sphere(in.eye, in.center, radius);
    if hit.miss >= radius { discard; }
    return picked_row(in.row, hit.position);
}
//% else
struct Front {
    @location(0) found: vec2f,
    @builtin(frag_depth) depth: f32,
}

fn front_of(in: Corner) -> Front {
    let radius = in.size * style.sphere_scale;
    let hit = hit_sphere(in.eye, in.center, radius);
    if hit.miss >= radius || beyond_clips(hit.position) > 0.0 { discard; }
    return Front(vec2f(-hit.position.z, in.size), depth_at(hit.position));
}

@fragment
fn front_fragment(in: Corner) -> Front {
    return front_of(in);
}

@fragment
fn next_fragment(in: Corner) -> Front {
    let found = front_of(in);
    let pixel = vec2i(in.clip.xy);
    let front = textureLoad(fronts, pixel, 0).xy;
    if front.x <= 0.0 || is_near(in.center, front) || thinness(pixel, front) <= 0.0 { discard; }
    return found;
}

// The nearest front in a pixel in which columns are added up.
@fragment
fn nearest_fragment(in: Screen) -> @location(0) vec2f {
    var nearest = vec2f(0.0);
    for (var i = 0; i < COARSE * COARSE; i++) {
        let front = textureLoad(fronts, vec2i(in.pixel.xy) * COARSE + vec2i(i % COARSE, i / COARSE), 0).xy;
        if front.x > 0.0 && (nearest.x <= 0.0 || front.x < nearest.x) { nearest = front; }
    }
    return nearest;
}

// What is thick is the same surface, and so is what has no air before the next particles, or no particles behind and is no drop.
@fragment
fn separate_fragment(in: Screen) -> @location(0) vec4f {
    let pixel = vec2i(in.pixel.xy);
    let front = textureLoad(fronts, pixel, 0).xy;
    if front.x <= 0.0 { discard; }
    let thin = thinness(pixel, front);
    if thin <= 0.0 { return vec4f(front, 0.0, 0.0); }
    let next = textureLoad(nexts, pixel, 0).xy;
    let ball = roundness(pixel, front);
    let is_close = next.x < front.x + SEPARATE * front.y;
    let is_same = select(ball <= 0.0, is_close, next.x > 0.0);
    return select(vec4f(next, thin, ball), vec4f(front, 0.0, 0.0), is_same);
}

@fragment
fn column_fragment(in: Corner) -> @location(0) vec4f {
    let radius = in.size * COLUMN;
    let across = hit_sphere(in.eye, in.center, radius).miss / radius;
    let pixel = min(vec2i(in.clip.xy) * COARSE, vec2i(textureDimensions(solid_depth)) - 1);
    let hidden = -in.center.z > distance_of(textureLoad(solid_depth, pixel, 0));
    if across >= 1.0 || hidden || beyond_clips(in.center) > 0.0 { discard; }
    let fall = 1.0 - across * across;
    let volume = 8.0 * in.size * in.size * in.size;
    // In distances of the camera's target, so that half floats hold it in worlds of any size.
    let length = volume / (radius * radius) * fall * fall * (3.0 / 3.14159265) / view.distance;
    let front = textureLoad(nearests, vec2i(in.clip.xy), 0).xy;
    return vec4f(length, select(0.0, length, is_near(in.center, front)), 0.0, 0.0);
}

@fragment
fn sphere_depth(in: Corner) -> @builtin(frag_depth) f32 {
    let radius = in.size * style.sphere_scale;
    let hit = hit_sphere(in.eye, in.center, radius);
    if hit.miss >= radius || beyond_clips(hit.position) > 0.0 || is_hole(in.shadow, in.clip.xy) { discard; }
    return depth_at(hit.position);
}
//% endif

// Particles of a liquid as spheres: their depth, or with PICKING the indices of their rows. What is seen of them
// otherwise is computed: draw/liquid_tiles.wgsl.
// In: the attributes of each particle, each from its own vertex buffer.
//% include "common/view.wgsl"
//% include "common/liquid.wgsl"
//% include "common/row_number.wgsl"
//% include "common/liquid_particles.wgsl"
//% include "common/spheres.wgsl"
//% include "common/coverage.wgsl"
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
    @location(2) @interpolate(flat) radius: f32,
    @location(3) @interpolate(flat) row: u32,
}

@vertex
fn sphere_vertex(@builtin(vertex_index) corner: u32, @builtin(instance_index) row: u32, particle: Particle) -> Corner {
    var out: Corner;
    let size = particle_size(row, ${"f32(particle.size)" if SIZE else "1.0"}, ${"f32(particle.density)" if DENSITY else "0.0"});
    out.radius = size * style.sphere_scale;
    out.center = (view.world_to_eye * vec4f(vec3f(particle.position), 1.0)).xyz;
    out.row = row;
    let reach = outline_reach(out.center, out.radius);
    // Written so that a NaN, a sphere behind the eye and one around the eye all fail.
    let is_visible = -out.center.z > view.near && out.radius > 0.0 && reach > 0.0 && reach < 1e30;
    out.eye = quad_corner(corner, out.center, reach + 0.05 * pixel_at(out.center));
    out.clip = select(NOWHERE, view.eye_to_clip * vec4f(out.eye, 1.0), is_visible);
    return out;
}

//% if PICKING
@fragment
fn sphere_fragment(in: Corner) -> PickPixel {
    let hit = hit_sphere(in.eye, in.center, in.radius);
    if hit.miss >= in.radius { discard; }
    return picked_row(in.row, hit.position);
}
//% else
@fragment
fn sphere_depth(in: Corner) -> @builtin(frag_depth) f32 {
    let hit = hit_sphere(in.eye, in.center, in.radius);
    if hit.miss >= in.radius || beyond_clips(hit.position) > 0.0 { discard; }
    return depth_at(hit.position);
}
//% endif

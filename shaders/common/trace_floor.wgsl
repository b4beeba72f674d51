// The floor of a view for a path tracer: what draw/floor.wgsl draws for each pixel, for one line of sight. It takes shadows of the
// sun, and throws no light. Needs common/trace_scene.wgsl and common/trace_light.wgsl.
//% include "common/ticks.wgsl"
//% include "common/floor.wgsl"

const SHARP = 1e-3;         // edges of lines: samples spread over a pixel smooth them

// Where a ray meets the floor, or FAR.
fn floor_distance(ray: Ray) -> f32 {
    if params.floor_size <= 0.0 { return FAR; }
    let rise = dot(ray.direction, params.floor_up);
    let distance = (params.floor_height - dot(ray.origin, params.floor_up)) / select(rise, 1e-12, abs(rise) < 1e-12);
    return select(FAR, distance, distance > 0.0);
}

fn on_floor(vector: vec3f) -> vec2f {
    return select(vector.xz, vector.xy, params.up_z > 0.0);
}

// How far a position on the floor moves from one pixel to the next along `axis`, half of an image that has so many `pixels` there.
fn floor_step(ray: Ray, axis: vec3f, pixels: u32, far: f32) -> vec2f {
    let aside = 2.0 * axis / f32(pixels) * far;
    let rise = dot(ray.direction, params.floor_up);
    return abs(on_floor(aside - ray.direction * (dot(aside, params.floor_up) / rise)));
}

// Premultiplied light of its lines, and how much it covers, on a line of sight that meets it at `distance` and has come as far as
// `path` before. `sun_open` is 0 in the sun's shadow.
fn floor_light_at(ray: Ray, distance: f32, path: f32, sun_open: f32) -> vec4f {
    let up = params.floor_up;
    let world = ray.origin + distance * ray.direction;
    let far = select((path + distance) * abs(dot(ray.direction, params.forward)), 1.0, params.parallel > 0.0);
    let per_pixel = floor_step(ray, params.right, params.size.x, far) + floor_step(ray, params.above, params.size.y, far);
    let cover = floor_rule(on_floor(world), max(per_pixel, vec2f(1e-12)), params.floor_line, SHARP);
    let fade = floor_fade(world, params.floor_middle, params.floor_size, up);
    let alpha = cover * fade * floor_steep(abs(dot(ray.direction, up)));
    let shade = FLOOR_SHADE * params.floor_shade * (1.0 - sun_open) * fade * (1.0 - alpha);
    return vec4f(vec3f(params.floor_light) * alpha, alpha + shade);
}

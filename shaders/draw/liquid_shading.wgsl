// Light from the surface of a liquid: reflection of the surroundings and of the sun, by Fresnel's equations; what is behind,
// refracted and absorbed (Beer-Lambert); and light that is scattered once on the way.
// In: filtered distances; distances and sizes of the foremost surface as they were drawn, and how thin and round it is;
// lengths of columns, in distances of the camera's target; depth and light of what is opaque; light of the liquid behind what
// is thin. With BEHIND it is that light which is computed, in pixels where the foremost surface is thin.
// Out: linear premultiplied color.
//% include "common/view.wgsl"
//% include "common/tiles.wgsl"
//% include "common/liquid.wgsl"
//% include "common/lighting.wgsl"
//% include "common/shadows.wgsl"
//% include "common/color.wgsl"
//% include "common/fresnel.wgsl"

@group(0) @binding(2) var fronts: texture_2d<f32>;
@group(0) @binding(3) var distances: texture_2d<f32>;
@group(0) @binding(4) var columns: texture_2d<f32>;
@group(0) @binding(5) var solid_depth: texture_depth_multisampled_2d;
@group(0) @binding(6) var solid_light: texture_multisampled_2d<f32>;
@group(0) @binding(7) var behinds: texture_2d<f32>;
//% if not BEHIND
@group(0) @binding(8) var liquid_light: texture_2d<f32>;
//% endif

const MISSES = vec2f(0.3, 0.8);     // by which what is opaque may be farther than expected, up to certainly another object
const STRAYS = 0.1;         // 1 - cosine of the angle by which light is bent that comes from the surroundings only
const ISOTROPIC = 0.25;     // of the sun's light, in units of a white matt surface that faces it: 1 / 4 pi to 1 / pi

fn image_size() -> vec2f {
    return vec2f(textureDimensions(distances));
}

// From a position to that of a neighboring pixel, on one side or the other: the one whose distance differs less.
fn tangent(eye: vec3f, pixel: vec2f, side: vec2f) -> vec3f {
    let bounds = vec2i(image_size()) - 1;
    let ahead = textureLoad(distances, min(vec2i(pixel + side), bounds), 0).x;
    let behind = textureLoad(distances, max(vec2i(pixel - side), vec2i(0)), 0).x;
    let steps = abs(vec2f(ahead, behind) + eye.z);
    let forward = behind <= 0.0 || (ahead > 0.0 && steps.x < steps.y);
    if forward { return eye_at(pixel + side, image_size(), ahead) - eye; }
    return eye - eye_at(pixel - side, image_size(), behind);
}

// The unit normal toward the viewer. A pixel without neighbors faces the eye.
fn normal_at(eye: vec3f, pixel: vec2f) -> vec3f {
    let across = tangent(eye, pixel, vec2f(1.0, 0.0));
    let down = tangent(eye, pixel, vec2f(0.0, 1.0));
    let found = cross(down, across);
    let to_eye = -sight_to(eye);
    let is_found = dot(found, found) > 0.0 && max(abs(across.z), abs(down.z)) < -eye.z;
    let normal = select(to_eye, normalize(found), is_found);
    return select(normal, -normal, dot(normal, to_eye) < 0.0);
}

fn light_at(pixel: vec2i) -> vec4f {
    var sum = vec4f(0.0);
    for (var i = 0; i < 4; i++) { sum += textureLoad(solid_light, pixel, i); }
    return 0.25 * sum;
}

// The line of sight behind the surface.
struct Path {
    leaves: vec3f,      // where it leaves the liquid, or for a drop what is hit behind it
    outward: vec3f,     // its direction there
    onward: f32,        // how far from the liquid that is
    ball: f32,          // from 0, through faces that are parallel, to 1, through a ball
}

// `bent` is the refracted line of sight, `path` its length in the liquid, and `reach` how far away what is opaque is.
fn path_through(eye: vec3f, normal: vec3f, bent: vec3f, path: f32, ball: f32, reach: f32) -> Path {
    let far_normal = normal - 2.0 * dot(normal, bent) * bent;   // of the ball, where the line of sight meets it again
    let outward = refract(bent, -far_normal, style.ior);
    let onward = ball * min(reach, view.distance);
    return Path(eye + bent * path + outward * onward, outward, onward, ball);
}

// The light from there; `thin` of it is from the liquid behind this one, if there is any.
fn behind(eye: vec3f, sight: vec3f, exit: Path, pixel: vec2f, thin: f32) -> vec4f {
    let found = pixel_of(exit.leaves, image_size());
    let bent = clamp(vec2i(found), vec2i(0), vec2i(image_size()) - 1);
    let is_behind = textureLoad(solid_depth, bent, 0) < depth_at(eye);
    let is_inside = exit.leaves.z < 0.0 && all(vec2f(bent) == floor(found));
    let taken = select(vec2i(pixel), bent, is_behind && is_inside);
    // A ball bends light so far that it comes from what is not in the image, or not where it was looked for.
    let beyond = distance_of(textureLoad(solid_depth, bent, 0)) + exit.leaves.z;
    let elsewhere = select(1.0, smoothstep(MISSES.x, MISSES.y, beyond / max(exit.onward, 1e-20)), is_inside);
    let strays = exit.ball * smoothstep(0.0, STRAYS, 1.0 - dot(exit.outward, sight));
    let light = mix(light_at(taken), vec4f(sky_toward(exit.outward, 0.0), 1.0), strays * elsewhere);
    //% if BEHIND
    return light;
    //% else
    let there = textureLoad(liquid_light, taken, 0);
    let here = textureLoad(liquid_light, vec2i(pixel), 0);
    let liquid = select(here, there, there.a > 0.0);
    return mix(light, liquid, select(0.0, thin, liquid.a > 0.0));
    //% endif
}

@group(2) @binding(0) var light: texture_storage_2d<${FORMAT}, write>;

// `pixel` is the middle of one.
fn light_toward_eye(pixel: vec2f) -> vec4f {
    let distance = textureLoad(distances, vec2i(pixel), 0).x;
    if distance <= 0.0 { return vec4f(0.0); }
    let front = textureLoad(fronts, vec2i(pixel), 0).xy;
    let thin_and_round = textureLoad(behinds, vec2i(pixel), 0).zw;
    let thin = thin_and_round.x;
    //% if BEHIND
    if thin <= 0.0 { return vec4f(0.0); }
    //% endif
    let eye = eye_at(pixel, image_size(), distance);
    let normal = normal_at(eye, pixel);
    let sight = sight_to(eye);
    let facing = clamp(dot(normal, -sight), 1e-3, 1.0);

    let along = max(-sight.z, 1e-3);    // distance along the direction of view for each unit of the line of sight
    let solid = max(distance_of(textureLoad(solid_depth, vec2i(pixel), 0)) - distance, 0.0) / along;
    let lengths = textureLoad(columns, vec2i(pixel), 0).xy * view.distance;
    //% if BEHIND
    let straight = min(lengths.x - lengths.y, solid);
    //% else
    let straight = min(mix(lengths.x, lengths.y, thin), solid);
    //% endif
    // As far through a layer of the same thickness, along the refracted line of sight.
    let bent = refract(sight, normal, 1.0 / style.ior);
    let path = straight * facing / max(-dot(bent, normal), 1e-3);
    let extinction = style.absorption + style.scattering;
    let passes = exp(-extinction * path);

    let open = sun_open(eye + view.sun_direction * (2.0 * front.y * style.sphere_scale), normal, pixel);
    let up = select(vec3f(0.0), view.up, dot(eye, eye) < 1e30);     // in name only: see common/shadows.wgsl
    let around = 0.5 * (sky_around(up) + sky_around(-up));
    let scattered = style.scattering / max(extinction, vec3f(1e-20)) * (1.0 - passes) * (view.sun * (ISOTROPIC * open) + around);

    let reflected = fresnel(facing, style.ior);
    let mirror = Material(vec3f(0.0), 0.0, style.roughness);
    let only = Reflection(vec3f(0.0), vec3f(0.0), vec3f(0.0), vec3f(1.0));
    let f0 = vec3f(fresnel(1.0, style.ior));
    let sun = direct_light(mirror, f0, only, normal, -sight, facing, view.sun_direction) * view.sun * open;

    let exit = path_through(eye, normal, bent, path, thin_and_round.y, solid);
    let under = behind(eye, sight, exit, pixel, thin);
    let mirrored = Reflection(vec3f(reflected), vec3f(0.0), vec3f(0.0), vec3f(1.0));
    let areas = light_of_areas(mirror, mirrored, normal, -sight, eye, pixel);
    let leaving = reflected * sky_toward(reflect(sight, normal), style.roughness) + sun + areas
        + (1.0 - reflected) * (passes * under.rgb + scattered);
    let through = (1.0 - reflected) * dot(passes, vec3f(1.0 / 3.0));
    return vec4f(bounded(leaving), 1.0 - through * (1.0 - under.a));
}

@compute @workgroup_size(8, 8)
fn shade_pixels(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let pixel = pixel_of_tile(id, groups, 8u);
    if any(pixel >= textureDimensions(distances)) { return; }
    textureStore(light, pixel, light_toward_eye(vec2f(pixel) + 0.5));
}

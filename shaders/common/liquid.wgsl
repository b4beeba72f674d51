// What the passes of a liquid have in common: its style, and positions of pixels in eye space. Needs common/view.wgsl.

struct Style {              // packed by name in renderer/layers/liquid.py
    absorption: vec3f,      // of light, for each world unit
    scattering: f32,        // the same, of light that goes elsewhere
    size: f32,              // half the spacing of particles in world units; a factor where sizes are bound
    sphere_scale: f32,      // radius of the spheres that are drawn, in sizes
    smoothing: f32,         // reach of the filter, in sizes
    ior: f32,               // index of refraction
    roughness: f32,
    rest_density: f32,
    drop_size: f32,         // mean size of particles that fly alone, relative to others
    size_variation: f32,    // of these from row to row, relative to it
    shadow: f32,            // a factor of the optical depth along the sun's light
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> style: Style;

// The position in eye space at a pixel of an image of `size` pixels, at a distance along the direction of view.
fn eye_at(pixel: vec2f, size: vec2f, distance: f32) -> vec3f {
    let screen = (pixel / size * 2.0 - 1.0) * vec2f(1.0, -1.0);
    let clip = view.eye_to_clip;
    let w = clip[3].w - clip[2].w * distance;
    let across = (screen * w + clip[2].xy * distance - clip[3].xy) / vec2f(clip[0].x, clip[1].y);
    return vec3f(across, -distance);
}

// The pixel at which a position is seen.
fn pixel_of(eye: vec3f, size: vec2f) -> vec2f {
    let clip = view.eye_to_clip * vec4f(eye, 1.0);
    return (clip.xy / clip.w * vec2f(0.5, -0.5) + 0.5) * size;
}

// The distance along the direction of view of what has this depth: the inverse of `depth_at`.
fn distance_of(depth: f32) -> f32 {
    let along = view.eye_to_clip[2].zw;
    let at_eye = view.eye_to_clip[3].zw;
    let found = (depth * at_eye.y - at_eye.x) / (depth * along.y - along.x);
    return select(3.4e38, found, depth > 0.0);
}

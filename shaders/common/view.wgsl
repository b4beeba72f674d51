// What every drawing shader knows of the picture: camera, sun and sky. Mirrored by renderer/view.py. Needs a uniform
// `view` of this type.
// Directions and positions are in eye space: the camera at the origin, looking along -z, y up on the screen.

struct View {
    world_to_eye: mat4x4f,
    eye_to_clip: mat4x4f,
    sun_direction: vec3f,   // toward the sun, unit length
    pixel: f32,             // width of one pixel in world units: at distance 1, or everywhere if orthographic
    sun: vec3f,             // radiance of a white matt surface that faces the sun
    near: f32,              // distance of the near plane; below 0, behind the eye, if orthographic
    up: vec3f,              // the world's up, unit length
    time: f32,              // seconds
    sky: vec3f,             // radiance of the sky overhead
    orthographic: f32,      // 1: all lines of sight are parallel
    horizon: vec3f,
    layer: u32,             // number of the layer that is drawn, where rows are looked for instead of colours
    ground: vec3f,
    pad2: f32,
}

fn is_parallel() -> bool {
    return view.orthographic > 0.0;
}

// Reversed depth: 1 at the near plane, 0 infinitely far away, or where an orthographic view ends.
fn depth_at(eye: vec3f) -> f32 {
    let z = view.eye_to_clip[2].zw * eye.z + view.eye_to_clip[3].zw;
    return clamp(z.x / z.y, 0.0, 1.0);
}

// Width of one pixel where `eye` lies, in world units.
fn pixel_at(eye: vec3f) -> f32 {
    return view.pixel * select(-eye.z, 1.0, is_parallel());
}

// Where the line of sight through `eye` starts.
fn sight_start(eye: vec3f) -> vec3f {
    return select(vec3f(0.0), vec3f(eye.xy, 0.0), is_parallel());
}

// The line of sight through `eye`, away from the viewer, of unit length.
fn sight_to(eye: vec3f) -> vec3f {
    return select(normalize(eye), vec3f(0.0, 0.0, -1.0), is_parallel());
}

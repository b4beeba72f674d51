// What every drawing shader knows of the picture: camera, sun and sky. Mirrored by renderer/view.py.
// Directions and positions are in eye space: the camera at the origin, looking along -z, y up on the screen.

struct View {
    world_to_eye: mat4x4f,
    eye_to_clip: mat4x4f,
    sun_direction: vec3f,   // toward the sun, unit length
    pixel: f32,             // width of one pixel at distance 1, in world units
    sun: vec3f,             // radiance of a white matt surface that faces the sun
    near: f32,              // distance of the near plane; the far plane is at infinity
    up: vec3f,              // the world's up, unit length
    time: f32,              // seconds
    sky: vec3f,             // radiance of the sky overhead
    pad0: f32,
    horizon: vec3f,
    pad1: f32,
    ground: vec3f,
    pad2: f32,
}

// Reversed depth with the far plane at infinity: 1 at the near plane, 0 infinitely far away.
fn depth_at(eye: vec3f, near: f32) -> f32 {
    return clamp(near / -eye.z, 0.0, 1.0);
}

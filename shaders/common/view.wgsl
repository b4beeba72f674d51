// What every drawing shader knows of the image: camera, sun and sky. Mirrored by renderer/view_uniforms.py. Needs a uniform
// `view` of this type.
// Directions and positions are in eye space: the camera at the origin, looking along -z, y up on the screen.

struct AreaLight {          // packed by renderer/area_lights.py; positions and directions in eye space
    center: vec3f,
    kind: f32,              // 0: rectangle, 1: disc, 2: sphere
    right: vec3f,           // from the center to the middle of an edge; of a sphere its length is the radius
    map: f32,               // number of its shadow map; below 0: it throws no shadows
    above: vec3f,           // to the middle of the next edge; cross(right, above) is where it shines to
    spread: f32,            // half its size, to that of its shadow map at distance 1
    radiance: vec3f,
    near: f32,              // distance at which its shadow map begins
    map_right: vec3f,       // axes across the map, as long as its coordinate grows by 1 at distance 1
    texel: f32,             // width of one of its texels in world units, at distance 1
    map_above: vec3f,
    search: f32,            // how far from it in distances to it what throws shadows is found
}

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
    layer: u32,             // number of the layer that is drawn, where rows are looked for instead of colors
    ground: vec3f,
    environment: f32,       // factor of the environment's light; 0: the sky is that of the three colors
    clips: array<vec4f, 3>, // planes: what has dot(plane, (position, 1)) > 0 is cut off
    eye_to_sun: mat4x4f,    // to the largest shadow map: x and y across it, 0 to 1, and z toward the sun
    sun_maps: array<vec4f, 3>,  // the finest first: from there to each map a factor, then x and y; width of a texel in the world
    shadows: f32,           // how dark they are
    sun_spread: f32,        // radius of a penumbra, in widths of the largest map for each unit of z
    sun_search: f32,        // radius in which what occludes the sun is looked for, in the same widths
    shadow_taps: u32,       // samples of a map that are looked at; 0: there are no shadows
    occlusion: f32,         // how much of the sky's light what is near takes away
    occlusion_radius: f32,   // and how near that is, in world units
    occlusion_taps: u32,    // 4, or 0: it takes nothing away
    distance: f32,          // from the eye to the camera's target
    scale: vec2f,           // pixels drawn to each one shown, across and down: below 1 where the quality is low
    march: f32,             // steps through a volume, to those that its layer wants
    sun_map_count: u32,
    eye_to_opacity: mat4x4f,    // to the map of optical depths: x and y across it, 0 to 1, and z in planes from the sun
    opacity_maps: u32,      // 1, or 0: no volume and no liquid has a shadow
    light_count: u32,
    light_taps: u32,        // samples of their shadow maps that are looked at
    exposure: f32,          // of light, where layers map their colors themselves
    lights: array<AreaLight, 8>,
}

fn is_parallel() -> bool {
    return view.orthographic > 0.0;
}

// Reversed depth: 1 at the near plane, 0 infinitely far away, or where an orthographic view ends.
fn depth_at(eye: vec3f) -> f32 {
    let z = view.eye_to_clip[2].zw * eye.z + view.eye_to_clip[3].zw;
    return clamp(z.x / z.y, 0.0, 1.0);
}

// The position in eye space of a pixel of this depth, in an image of `size` pixels.
fn unprojected(pixel: vec2f, size: vec2f, depth: f32) -> vec3f {
    let along = view.eye_to_clip[2].zw;
    let at_eye = view.eye_to_clip[3].zw;
    let z = (at_eye.x - depth * at_eye.y) / (depth * along.y - along.x);
    let clip = (pixel / size * 2.0 - 1.0) * vec2f(1.0, -1.0);
    return vec3f(across_at(clip) * select(-z, 1.0, is_parallel()), z);
}

// Width of one pixel at `eye`, in world units.
fn pixel_at(eye: vec3f) -> f32 {
    return view.pixel * select(-eye.z, 1.0, is_parallel());
}

// What is seen at a position of the image, in clip coordinates: x and y in eye space at distance 1, if orthographic at any.
fn across_at(clip: vec2f) -> vec2f {
    let matrix = view.eye_to_clip;
    return (clip + matrix[2].xy - matrix[3].xy) / vec2f(matrix[0].x, matrix[1].y);
}

// Where the line of sight through `eye` starts.
fn sight_start(eye: vec3f) -> vec3f {
    return select(vec3f(0.0), vec3f(eye.xy, 0.0), is_parallel());
}

// The line of sight through `eye`, away from the viewer, of unit length.
fn sight_to(eye: vec3f) -> vec3f {
    return select(normalize(eye), vec3f(0.0, 0.0, -1.0), is_parallel());
}

// The depth of `eye`, for comparisons: logarithmic with perspective, else linear, relative to the distance of the target.
fn relative_depth(eye: vec3f) -> f32 {
    return select(log2(max(-eye.z, 1e-30) / view.distance), -eye.z / view.distance, is_parallel());
}

// How far a position is beyond the clip planes, in world units; below 0 where it is not cut off.
fn beyond_clips(eye: vec3f) -> f32 {
    let position = vec4f(eye, 1.0);
    return max(dot(view.clips[0], position), max(dot(view.clips[1], position), dot(view.clips[2], position)));
}

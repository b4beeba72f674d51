// The surface of an area light, as bright as it shines. In: nothing but the number of a vertex. Out: linear color.
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% include "common/output.wgsl"

struct Style {              // packed by name in renderer/layers/light.py
    center: vec3f,
    kind: f32,              // 0: rectangle, 1: disc, 2: sphere
    right: vec3f,           // half the width; of a sphere its radius
    pad0: f32,
    above: vec3f,           // half the height
    pad1: f32,
    radiance: vec3f,
    pad2: f32,
}

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) eye: vec3f,
}

const TURN = 6.2831853;
const RIM = 64u;            // triangles of a disc; mirrored in renderer/layers/light.py
const RINGS = 24u;          // and of a sphere
const SECTORS = 48u;

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> style: Style;

// A vertex of a sphere of radius 1, counterclockwise from outside.
fn on_sphere(index: u32) -> vec3f {
    let quad = index / 6u;
    let corner = array<vec2u, 6>(
        vec2u(0u, 0u), vec2u(0u, 1u), vec2u(1u, 0u), vec2u(1u, 0u), vec2u(0u, 1u), vec2u(1u, 1u),
    )[index % 6u];
    let around = TURN * f32(quad % SECTORS + corner.x) / f32(SECTORS);
    let down = 0.5 * TURN * f32(quad / SECTORS + corner.y) / f32(RINGS);
    return vec3f(sin(down) * sin(around), cos(down), sin(down) * cos(around));
}

fn corner_at(index: u32) -> vec3f {
    if style.kind > 1.5 { return style.center + length(style.right) * on_sphere(index); }
    var across = array<vec2f, 6>(
        vec2f(-1.0, -1.0), vec2f(1.0, -1.0), vec2f(1.0, 1.0), vec2f(-1.0, -1.0), vec2f(1.0, 1.0), vec2f(-1.0, 1.0),
    )[index % 6u];
    if style.kind > 0.5 {
        let angle = TURN * f32(index / 3u + select(0u, 1u, index % 3u == 2u)) / f32(RIM);
        across = select(vec2f(cos(angle), sin(angle)), vec2f(0.0), index % 3u == 0u);
    }
    return style.center + across.x * style.right + across.y * style.above;
}

@vertex
fn light_vertex(@builtin(vertex_index) index: u32) -> Corner {
    let eye = (view.world_to_eye * vec4f(corner_at(index), 1.0)).xyz;
    return Corner(view.eye_to_clip * vec4f(eye, 1.0), eye);
}

@fragment
fn light_fragment(in: Corner, @builtin(front_facing) front: bool) -> Output {
    if !front || beyond_clips(in.eye) > 0.0 { discard; }
    return output(vec4f(bounded(style.radiance), 1.0));
}

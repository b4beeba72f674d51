// One triangle that covers the whole target; `uv` is (0, 0) in the upper left corner.

struct Screen {
    @builtin(position) pixel: vec4f,
    @location(0) uv: vec2f,
}

@vertex
fn fullscreen_vertex(@builtin(vertex_index) index: u32) -> Screen {
    let corner = vec2f(f32((index << 1u) & 2u), f32(index & 2u));
    return Screen(vec4f(corner * vec2f(2.0, -2.0) + vec2f(-1.0, 1.0), 0.0, 1.0), corner);
}

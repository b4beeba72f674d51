// What is hidden, where that is known before the G-buffer is drawn: writing it takes longer than finding out.

@group(1) @binding(0) var farthest: texture_2d<f32>;    // depths of draw/farthest.wgsl, or a single 0

// Whether what is nowhere nearer than this depth, which is reversed, is behind what is opaque around this pixel.
fn is_behind(nearest: f32, pixel: vec2f) -> bool {
    let inside = min(vec2i(pixel), vec2i(textureDimensions(farthest)) - 1);
    return nearest < textureLoad(farthest, inside, 0).x;
}

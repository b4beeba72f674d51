// What draw/splat_tiles.wgsl has blended, over what is solid. Out: display-referred color, premultiplied, for each sample.
//% include "common/fullscreen.wgsl"
//% include "common/output.wgsl"
//% include "common/splat_pixels.wgsl"

struct Image {
    width: u32,         // pixels
    pad0: u32,
    pad1: u32,
    pad2: u32,
}

@group(0) @binding(0) var<uniform> image: Image;
@group(0) @binding(1) var<storage, read> pixels: array<vec2u>;

@fragment
fn cover_fragment(in: Screen, @builtin(sample_index) sample: u32) -> Output {
    let pixel = vec2u(in.pixel.xy);
    let color = unpacked_pixel(pixels[4u * (pixel.y * image.width + pixel.x) + sample]);
    if color.a == 0.0 { discard; }
    return output(color);
}

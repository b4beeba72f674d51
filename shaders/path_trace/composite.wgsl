// A path-traced image into the light that is post-processed. In: the sums of path_trace/trace.wgsl, and how many samples each pixel
// has: the rows before `ahead` one more. Out: linear premultiplied color.
//% include "common/fullscreen.wgsl"
//% include "common/color.wgsl"
//% include "common/output.wgsl"

struct Traced {             // mirrored by path_trace/image.py
    size: vec2u,            // pixels
    samples: f32,
    ahead: u32,
}

@group(0) @binding(0) var<uniform> image: Traced;
@group(0) @binding(1) var<storage, read> sums: array<vec4f>;

@fragment
fn composite_fragment(in: Screen) -> Output {
    let pixel = min(vec2u(in.uv * vec2f(image.size)), image.size - 1u);
    let samples = image.samples + select(0.0, 1.0, pixel.y < image.ahead);
    let mean = sums[pixel.y * image.size.x + pixel.x] / max(samples, 1.0);
    return output(vec4f(bounded(mean.rgb), mean.a));
}

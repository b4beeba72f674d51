// A photo of those that splats are trained on, as the target of a step; and the score of a view, kept for a plot.
// In: photos (views, height width), red, green and blue in a byte each, sRGB. Out, choose: target (height, width, 3), 0 to 1.
// In: error, the mean squared error, similarity, SSIM; scores (views, 2), PSNR and SSIM of each view, negative where there is
//     none yet. Out, score: scores of the view; means, of the views that have some.
//% include "common/index.wgsl"

struct Params {
    pixels: u32,
    view: u32,
    views: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> photos: array<u32>;
@group(0) @binding(2) var<storage, read_write> target_image: array<f32>;
@group(0) @binding(3) var<storage, read> error: array<f32>;
@group(0) @binding(4) var<storage, read> similarity: array<f32>;
@group(0) @binding(5) var<storage, read_write> scores: array<vec2f>;
@group(0) @binding(6) var<storage, read_write> psnr: array<f32>;
@group(0) @binding(7) var<storage, read_write> ssim: array<f32>;

@compute @workgroup_size(64)
fn choose(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 64u);
    if i >= params.pixels { return; }
    let color = unpack4x8unorm(photos[params.view * params.pixels + i]);
    target_image[3u * i] = color.r;
    target_image[3u * i + 1u] = color.g;
    target_image[3u * i + 2u] = color.b;
}

@compute @workgroup_size(1)
fn score() {
    scores[params.view] = vec2f(-10.0 / log(10.0) * log(max(error[0], 1e-10)), max(similarity[0], 0.0));
    var sum = vec3f(0.0);
    for (var view = 0u; view < params.views; view++) {
        if scores[view].y >= 0.0 { sum += vec3f(scores[view], 1.0); }
    }
    psnr[0] = sum.x / sum.z;
    ssim[0] = sum.y / sum.z;
}

// Light scattered in the lens: the image is halved several times, and the sizes are added up in reverse.
// Filters: the dual filter of Bjorge 2015, "Bandwidth-efficient rendering". In: a linear image. Out: the next level.
//% include "common/fullscreen.wgsl"
//% include "common/color.wgsl"

@group(0) @binding(0) var source: texture_2d<f32>;
@group(0) @binding(1) var smooth_sampler: sampler;

fn at(uv: vec2f) -> vec3f {
    return textureSampleLevel(source, smooth_sampler, uv, 0.0).rgb;
}

// A quarter of the size: the mean of 4 x 4 texels.
@fragment
fn shrink(in: Screen) -> @location(0) vec4f {
    let step = 1.0 / vec2f(textureDimensions(source));
    let sum = at(in.uv + step * vec2f(-1.0, -1.0)) + at(in.uv + step * vec2f(1.0, -1.0))
        + at(in.uv + step * vec2f(-1.0, 1.0)) + at(in.uv + step * vec2f(1.0, 1.0));
    return vec4f(bounded(sum * 0.25), 1.0);
}

@fragment
fn down(in: Screen) -> @location(0) vec4f {
    let step = 1.0 / vec2f(textureDimensions(source));
    let around = at(in.uv + step * vec2f(-1.0, -1.0)) + at(in.uv + step * vec2f(1.0, -1.0))
        + at(in.uv + step * vec2f(-1.0, 1.0)) + at(in.uv + step * vec2f(1.0, 1.0));
    return vec4f(at(in.uv) * 0.5 + around * 0.125, 1.0);
}

@fragment
fn up(in: Screen) -> @location(0) vec4f {
    let step = 0.5 / vec2f(textureDimensions(source));
    let edges = at(in.uv + step * vec2f(-2.0, 0.0)) + at(in.uv + step * vec2f(2.0, 0.0))
        + at(in.uv + step * vec2f(0.0, -2.0)) + at(in.uv + step * vec2f(0.0, 2.0));
    let corners = at(in.uv + step * vec2f(-1.0, -1.0)) + at(in.uv + step * vec2f(1.0, -1.0))
        + at(in.uv + step * vec2f(-1.0, 1.0)) + at(in.uv + step * vec2f(1.0, 1.0));
    return vec4f((edges + corners * 2.0) / 12.0, 1.0);
}

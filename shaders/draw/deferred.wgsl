// Deferred shading: light from the opaque surfaces that are visible, computed for each pixel after all of them were drawn.
// In: four samples of what common/pixel.wgsl stores, and of the depth, 0 where there is no surface. Out: light toward the eye for
// each sample, in a layer of an array each; alpha 0 where there is no surface. Samples of one surface are lit once, in their middle.
//% include "common/view.wgsl"
//% include "common/tiles.wgsl"
//% include "common/columns.wgsl"
//% include "common/color.wgsl"
//% include "common/lighting.wgsl"
//% include "common/coverage.wgsl"
//% include "common/shadows.wgsl"
//% include "common/octahedral.wgsl"

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var paints: texture_multisampled_2d<u32>;
@group(0) @binding(2) var normals: texture_multisampled_2d<u32>;
@group(0) @binding(3) var depths: texture_depth_multisampled_2d;
@group(0) @binding(4) var lit_samples: texture_storage_2d_array<${FORMAT}, write>;

const STEEPEST = 8.0;       // pixels between the depths of samples of one surface

struct Found {
    paint: vec4u,
    normal: vec2u,
    depth: f32,
}

fn sample_at(pixel: vec2u, number: u32) -> Found {
    let n = i32(number);
    return Found(textureLoad(paints, pixel, n), textureLoad(normals, pixel, n).xy, textureLoad(depths, pixel, n));
}

fn light_from(found: Found, pixel: vec2f, middle: vec2f) -> vec3f {
    let eye = unprojected(middle, vec2f(textureDimensions(depths)), found.depth);
    let normal = from_octahedral(found.normal.x | (found.normal.y << 16u));
    let base = vec3f(unpack2x16float(found.paint.x | (found.paint.y << 16u)), unpack2x16float(found.paint.z).x);
    let rest = vec2f(vec2u(found.paint.w & 63u, found.paint.w >> 6u)) / vec2f(63.0, 1023.0);
    let material = Material(base, rest.x, rest.y);
    return bounded(lit_at(material, normal, -sight_to(eye), eye, pixel));
}

fn distance_of(pixel: vec2u, depth: f32) -> f32 {
    return unprojected(vec2f(pixel), vec2f(textureDimensions(depths)), depth).z;
}

// Whether two samples of a pixel are of one surface.
fn are_alike(one: Found, other: Found, pixel: vec2u) -> bool {
    let near = distance_of(pixel, one.depth);
    let gap = abs(distance_of(pixel, other.depth) - near);
    return all(one.paint == other.paint) && all(one.normal == other.normal) && gap <= STEEPEST * pixel_at(vec3f(0.0, 0.0, near));
}

// The samples of a pixel with a surface, a bit for each; all others are given none of the light.
fn samples_to_light(pixel: vec2u) -> u32 {
    var left = 0u;
    for (var i = 0u; i < 4u; i++) {
        if textureLoad(depths, pixel, i32(i)) > 0.0 {
            left |= 1u << i;
        } else {
            textureStore(lit_samples, pixel, i, vec4f(0.0));
        }
    }
    return left;
}

// Each turn of the loop lights one surface of one pixel, of a column of them: see common/columns.wgsl.
@compute @workgroup_size(8, 8)
fn shade_pixels(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let top = top_of_column(id, groups, 8u);
    let size = textureDimensions(depths);
    if any(top >= size) { return; }
    let bottom = min(top.y + COLUMN_PIXELS, size.y);
    var pixel = top;
    var left = samples_to_light(pixel); // samples that are not lit yet
    loop {
        let first = min(firstTrailingBit(left), 3u);
        var found = sample_at(pixel, first);
        var same = 0u;
        var middle = vec2f(0.0);
        var depth = 0.0;
        for (var i = 0u; i < 4u; i++) {
            let other = sample_at(pixel, i);
            if (left & (1u << i)) != 0u && are_alike(found, other, pixel) {
                same |= 1u << i;
                middle += SAMPLES[i];
                depth += other.depth;
            }
        }
        let count = f32(max(countOneBits(same), 1u));
        found.depth = depth / count;
        if same != 0u {
            let color = vec4f(light_from(found, vec2f(pixel) + 0.5, vec2f(pixel) + 0.5 + middle / count), 1.0);
            for (var i = 0u; i < 4u; i++) {
                if (same & (1u << i)) != 0u { textureStore(lit_samples, pixel, i, color); }
            }
        }
        left &= ~(same | (1u << first));
        while left == 0u && pixel.y + 1u < bottom {
            pixel.y++;
            left = samples_to_light(pixel);
        }
        if left == 0u { break; }
    }
}

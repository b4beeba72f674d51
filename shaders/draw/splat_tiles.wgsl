// Gaussian splats blended in compute, tile by tile: each splat is projected once, and each pixel ends where nothing
// behind can be seen. A rasterizer of quads shades and blends every splat to the end.
// In: the attributes of each row; lists of rows for each tile, the nearest first (draw/splat_lists.wgsl); depths of what is
// solid. Out: what lists are made of, and for each sample of a pixel display-referred color, premultiplied, and alpha.
// Kerbl, Kopanas, Leimkühler and Drettakis 2023, "3D Gaussian Splatting for Real-Time Radiance Field Rendering".
//% set FIRST = 20
//% include "common/index.wgsl"
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% include "common/finite.wgsl"
//% include "common/splat_rows.wgsl"
//% include "common/splat_pixels.wgsl"

const TILE = 16u;       // pixels, across and down; mirrored in renderer/layers/splat_tiles.py
const BATCH = 256u;     // splats that the invocations of a tile read together, one each
const END = 1e-4;       // transmittance at which a pixel is finished
const ALL = 15u;        // samples of a pixel

struct Projected {
    center: vec2f,      // on the screen [pixels], y down
    distance: f32,      // along the line of sight
    xx: f32,            // of the inverse of the covariance [1 / pixels²]
    xy: f32,
    yy: f32,
    red_green: u32,     // two halves each
    blue_alpha: u32,
}

@group(0) @binding(2) var<storage, read_write> projected: array<Projected>;
@group(0) @binding(3) var<storage, read_write> keys: array<u32>;        // rise with the distance; rows that are not drawn last
@group(0) @binding(4) var<storage, read_write> counts: array<u32>;      // tiles that a row touches
@group(0) @binding(5) var<storage, read_write> rects: array<vec2u>;     // the first and the last of them: x in the lower half
@group(0) @binding(6) var<storage, read> ranges: array<vec2u>;          // of each tile, in `rows`
@group(0) @binding(7) var<storage, read> rows: array<u32>;
@group(0) @binding(8) var<storage, read_write> pixels: array<vec2u>;    // four for each, of four halves
@group(0) @binding(9) var depths: texture_depth_multisampled_2d;

@compute @workgroup_size(128)
fn project(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let row = linear_index(id, groups, 128u);
    if row >= style.rows { return; }
    keys[row] = 0xffffffffu;
    counts[row] = 0u;
    let ellipse = splat_ellipse(row);
    let covariance = ellipse.covariance;
    let area = covariance.x * covariance.z - covariance.y * covariance.y;
    if !(ellipse.alpha > LEAST && area > 0.0 && is_finite(area) && all_finite(ellipse.eye)) { return; }
    let size = textureDimensions(depths);
    let clip = view.eye_to_clip * vec4f(ellipse.eye, 1.0);
    let center = (clip.xy / clip.w * vec2f(0.5, -0.5) + 0.5) * vec2f(size);
    let widest = splat_reach(ellipse.alpha) * sqrt(covariance.xz);
    if !(all(center + widest >= vec2f(0.0)) && all(center - widest < vec2f(size))) { return; }
//% if SHADOWED
    let color = splat_shown(row, ellipse.eye, ellipse.alpha, splat_open(row, ellipse.eye));
//% else
    let color = splat_shown(row, ellipse.eye, ellipse.alpha, 1.0);
//% endif
    if !(color.a > LEAST) { return; }
    let reach = splat_reach(color.a) * sqrt(covariance.xz);
    let last_tile = vec2f((size - 1u) / TILE);
    let first = vec2u(clamp(floor((center - reach) / f32(TILE)), vec2f(0.0), last_tile));
    let last = vec2u(clamp(floor((center + reach) / f32(TILE)), vec2f(0.0), last_tile));
    let distance = -ellipse.eye.z;
    keys[row] = min(bitcast<u32>(distance) ^ select(0x80000000u, 0xffffffffu, distance < 0.0), 0xfffffffeu);
    counts[row] = (last.x - first.x + 1u) * (last.y - first.y + 1u);
    rects[row] = vec2u(first.x | (first.y << 16u), last.x | (last.y << 16u));
    // Y points down here: xy changes its sign, which the inverse changes back.
    let inverse = vec3f(covariance.z, covariance.y, covariance.x) / area;
    let packed = packed_pixel(color);
    projected[row] = Projected(center, distance, inverse.x, inverse.y, inverse.z, packed.x, packed.y);
}

var<workgroup> bounds: vec2u;
var<workgroup> going: u32;
var<workgroup> centers: array<vec4f, BATCH>;    // center, depth, distance
var<workgroup> shapes: array<vec4f, BATCH>;     // inverse covariance, alpha
var<workgroup> lights: array<vec3f, BATCH>;

// Where the line of sight through the middle of a pixel is, at a distance.
fn eye_at(pixel: vec2f, size: vec2f, distance: f32) -> vec3f {
    let screen = (pixel / size * 2.0 - 1.0) * vec2f(1.0, -1.0);
    let w = select(distance, 1.0, is_parallel());
    let slope = vec2f(view.eye_to_clip[0][0], view.eye_to_clip[1][1]);
    return vec3f((screen * w + view.eye_to_clip[2].xy * distance - view.eye_to_clip[3].xy) / slope, -distance);
}

@compute @workgroup_size(TILE, TILE)
fn blend(
    @builtin(workgroup_id) tile: vec3u,
    @builtin(local_invocation_id) local: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let size = textureDimensions(depths);
    let pixel = tile.xy * TILE + local.xy;
    let is_inside = all(pixel < size);
    var solid = vec4f(2.0);     // nearer than anything
    if is_inside {
        for (var sample = 0u; sample < 4u; sample++) { solid[sample] = textureLoad(depths, pixel, i32(sample)); }
    }
    let is_clipped = any(view.clips[0].xyz != vec3f(0.0)) || any(view.clips[1].xyz != vec3f(0.0)) || any(view.clips[2].xyz != vec3f(0.0));
    var color = vec3f(0.0);
    var left = 1.0;             // transmittance
    var finished = 0u;          // samples in front of which no further splat is
    var results = array<vec4f, 4>(vec4f(0.0), vec4f(0.0), vec4f(0.0), vec4f(0.0));
    var is_going = is_inside;
    if lane == 0u { bounds = ranges[tile.y * ((size.x + TILE - 1u) / TILE) + tile.x]; }
    let range = workgroupUniformLoad(&bounds);
    for (var first = range.x; first < range.y; first += BATCH) {
        if lane == 0u { going = 0u; }
        workgroupBarrier();
        if is_going { going = 1u; }
        if workgroupUniformLoad(&going) == 0u { break; }
        if first + lane < range.y {
            let splat = projected[rows[first + lane]];
            centers[lane] = vec4f(splat.center, depth_at(vec3f(0.0, 0.0, -splat.distance)), splat.distance);
            let color = unpacked_pixel(vec2u(splat.red_green, splat.blue_alpha));
            shapes[lane] = vec4f(splat.xx, splat.xy, splat.yy, color.a);
            lights[lane] = color.rgb;
        }
        workgroupBarrier();
        let count = min(BATCH, range.y - first);
        for (var number = 0u; is_going && number < count; number++) {
            let center = centers[number];
            let hidden = vec4<bool>(center.z <= solid.x, center.z <= solid.y, center.z <= solid.z, center.z <= solid.w);
            if any(hidden) {
                for (var sample = 0u; sample < 4u; sample++) {
                    if hidden[sample] && (finished & (1u << sample)) == 0u {
                        results[sample] = vec4f(color, 1.0 - left);
                        finished |= 1u << sample;
                    }
                }
                if finished == ALL { is_going = false; break; }
            }
            let shape = shapes[number];
            let offset = vec2f(pixel) + 0.5 - center.xy;
            let power = shape.x * offset.x * offset.x + 2.0 * shape.y * offset.x * offset.y + shape.z * offset.y * offset.y;
            let alpha = min(MOST, shape.w * exp(-0.5 * power));
            if alpha < LEAST { continue; }
            if is_clipped && beyond_clips(eye_at(vec2f(pixel) + 0.5, vec2f(size), center.w)) > 0.0 { continue; }
            let behind = left * (1.0 - alpha);
            if behind < END { is_going = false; break; }
            color += left * alpha * lights[number];
            left = behind;
        }
        workgroupBarrier();
    }
    if !is_inside { return; }
    for (var sample = 0u; sample < 4u; sample++) {
        let found = select(vec4f(color, 1.0 - left), results[sample], (finished & (1u << sample)) != 0u);
        pixels[4u * (pixel.y * size.x + pixel.x) + sample] = packed_pixel(found);
    }
}

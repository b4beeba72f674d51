// A floor ruled at round distances, without an end: for each pixel the position where its line of sight meets it. Lines of a
// finer rule come in as the eye comes closer. In: the box around everything, above it. Out: linear premultiplied
// color, computed for all pixels (renderer/computed_image.py) and then drawn with its depth.
//% include "common/view.wgsl"
//% include "common/lighting.wgsl"
//% include "common/shadows.wgsl"
//% include "common/ticks.wgsl"
//% include "common/overlay.wgsl"
//% include "common/axes_bounds.wgsl"
//% include "common/floor.wgsl"
//% include "common/tiles.wgsl"
//% include "common/columns.wgsl"

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> overlay: Overlay;
@group(0) @binding(2) var<storage, read> bounds: array<vec4f>;

@group(2) @binding(0) var computed: texture_storage_2d<rgba32float, write>;
@group(2) @binding(0) var colors: texture_2d<f32>;

struct Ground {
    @location(0) color: vec4f,
    @location(1) display: vec4f,     // the same: common/output.wgsl
    @builtin(frag_depth) depth: f32,
}

@vertex
fn floor_vertex(@builtin(vertex_index) index: u32) -> @builtin(position) vec4f {
    return vec4f(vec2f(f32((index << 1u) & 2u), f32(index & 2u)) * 2.0 - 1.0, 0.5, 1.0);
}

// Where a line of sight meets the floor.
struct Meeting {
    eye: vec3f,
    world: vec3f,
    position: vec2f,       // on the floor
    far: f32,           // from where the line starts, in units of its depth
    slope: f32,         // sine of the angle between line and floor
}

// Derivatives between neighboring pixels are computed this sight too: a rasterizer that cuts the triangle that covers
// the image into several has none along the cuts.
fn meeting(pixel: vec2f, up: vec3f) -> Meeting {
    let corner = (2.0 * pixel / overlay.viewport - 1.0) * vec2f(1.0, -1.0);
    let across = across_at(corner);
    let eye = select(vec3f(0.0), vec3f(across, 0.0), is_parallel());
    let sight = select(vec3f(across, -1.0), vec3f(0.0, 0.0, -1.0), is_parallel());
    let start = turned_to_world(eye - view.world_to_eye[3].xyz);
    let along = turned_to_world(sight);
    let rise = dot(along, up);
    let far = (floor_height(up) - dot(start, up)) / select(rise, 1e-12, abs(rise) < 1e-12);
    let world = start + along * far;
    return Meeting(eye + sight * far, world, select(world.xz, world.xy, up.z > 0.5), far, abs(rise) / length(along));
}

fn floor_height(up: vec3f) -> f32 {
    let high = bounds_high();
    let low = bounds_low();
    let span = high - low;
    let under = dot(low, up) - 2e-3 * max(span.x, max(span.y, span.z));
    return select(under, overlay.floor_height, overlay.own_floor > 0.0);
}

fn is_behind(here: Meeting) -> bool {
    return !(-here.eye.z > view.near) & !is_parallel();
}

// The floor at a pixel, but for shadows.
struct Ruled {
    eye: vec3f,
    alpha: f32,         // of the lines
    fade: f32,          // 0 where there is nothing
}

fn ruled_at(pixel: vec2f) -> Ruled {
    let up = round(turned_to_world(view.up));
    let here = meeting(pixel, up);
    let position = here.position;
    let right = abs(meeting(pixel + vec2f(1.0, 0.0), up).position - position);
    let below = abs(meeting(pixel + vec2f(0.0, 1.0), up).position - position);
    let per_pixel = max(right + below, vec2f(1e-12));

    let cover = floor_rule(position, per_pixel, max(overlay.unit, 1.0 / view.scale.y), 1.0);
    let middle = 0.5 * (bounds_low() + bounds_high());
    let size = max(length(bounds_high() - bounds_low()), overlay.distance);
    let fade = select(floor_fade(here.world, middle, size, up), 0.0, is_behind(here));
    let eye = select(vec3f(1e16), here.eye, fade > 0.0);    // so far away, nothing is looked for
    return Ruled(eye, select(0.0, cover * fade * floor_steep(here.slope), fade > 0.0), fade);
}

// The middle of a pixel, among those that are shown.
fn shown(pixel: vec2u) -> vec2f {
    return (vec2f(pixel) + 0.5) / view.scale;
}

// The same; where there is none, it is written.
fn ruled_or_none(pixel: vec2u) -> Ruled {
    let found = ruled_at(shown(pixel));
    if !(found.fade > 0.0) { textureStore(computed, pixel, vec4f(0.0)); }
    return found;
}

// Each turn of the loop shades one pixel with a floor, as in draw/deferred.wgsl.
@compute @workgroup_size(8, 8)
fn floor_pixels(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let top = top_of_column(id, groups, 8u);
    let size = textureDimensions(computed);
    if any(top >= size) { return; }
    let bottom = min(top.y + COLUMN_PIXELS, size.y);
    var pixel = top;
    var here = ruled_or_none(pixel);
    loop {
        let shade = FLOOR_SHADE * (1.0 - sun_open(here.eye, view.up, shown(pixel))) * here.fade * (1.0 - here.alpha);
        if here.fade > 0.0 { textureStore(computed, pixel, vec4f(vec3f(overlay.light) * here.alpha, here.alpha + shade)); }
        here.fade = 0.0;
        while here.fade <= 0.0 && pixel.y + 1u < bottom {
            pixel.y++;
            here = ruled_or_none(pixel);
        }
        if here.fade <= 0.0 { break; }
    }
}

@fragment
fn floor_fragment(@builtin(position) at: vec4f) -> Ground {
    let color = textureLoad(colors, vec2i(at.xy), 0);
    if !(color.a > 0.002) { discard; }
    let here = meeting(at.xy / view.scale, round(turned_to_world(view.up)));
    return Ground(color, color, depth_at(here.eye));
}

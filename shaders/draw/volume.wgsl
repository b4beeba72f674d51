// A volume of something that absorbs, scatters and shines, by a march along each line of sight through its box.
// In: samples of the density and perhaps of the color; the optical depth toward the sun and the sky
// (draw/volume_light.wgsl); the depth of what is solid. Out: linear premultiplied color.
// `march_pixels` marches once for each pixel whose samples all have one depth, and for each sample of the others, at outlines of what
// is solid (renderer/layers/marched_image.py draws what it found). `shade_*` draws its shadow: optical depths from the sun to
// eight planes.
// Emission and absorption: Max 1995, "Optical Models for Direct Volume Rendering". Light that was scattered more than once:
// octaves of weaker absorption (Wrenninge, Kulla and Lundqvist 2013, "Oz: The Great and Volumetric").
// With TEMPERATURE it emits light as a black body does: as much as it absorbs, times that of its temperature (Kirchhoff's law).
//% set FIRST = 9 if TEMPERATURE else 7
//% include "common/view.wgsl"
//% include "common/tiles.wgsl"
//% include "common/color.wgsl"
//% include "common/lighting.wgsl"
//% include "common/shadows.wgsl"
//% include "common/coverage.wgsl"
//% include "common/field.wgsl"
//% if PICKING
//% include "common/pick_pixel.wgsl"
//% include "common/grid_row.wgsl"
//% endif

struct Style {              // packed by name in renderer/layers/volume.py
    density: Field,
    colors: Field,
    low: vec3f,             // the box in world space
    extinction: f32,        // of the full density, per world unit
    high: vec3f,
    shadow: f32,            // 0: sun and sky reach everything, 1: as they would
    color: vec3f,           // linear; where no color is bound
    emissive: f32,          // 0: lit by sun and sky; 1: shines by itself
    density_range: vec2f,   // values that are clear, and that are of full density
    range: vec2f,           // values at the two ends of the colormap
    inset: f32,             // samples between the box and the first sample: 0.5 if they are in the middle of cells
    brightness: f32,        // radiance of what shines
    anisotropy: f32,        // g of Henyey and Greenstein
    steps_per_cell: f32,    // of the ray marcher
    auto_density: f32,      // 1: `density_range` is the extent of the densities
    auto_range: f32,        // 1: `range` is the extent of the colors
    coldest: f32,           // temperatures [K] at the ends of the table of a black body
    hottest: f32,
    light_size: vec3u,      // cells of `light`, which fill the box
    pad1: u32,
//% if TEMPERATURE
    temperature: Field,
//% endif
}

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) world: vec3f,
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> style: Style;
@group(0) @binding(2) var solid_depth: texture_depth_multisampled_2d;
@group(0) @binding(3) var<storage, read> densities: array<f32>;
@group(0) @binding(4) var<storage, read> density_extent: array<vec2f>;
@group(0) @binding(5) var<storage, read> light: array<vec2f>;
@group(0) @binding(6) var<storage, read> opacity: array<f32>;    // at even distances over the range of densities
//% if TEMPERATURE
@group(0) @binding(7) var<storage, read> temperatures: array<f32>;
@group(0) @binding(8) var<storage, read> black_body: array<vec4f>;   // renderer/black_body.py
//% endif
//% if COLOR_COMPONENTS
@group(0) @binding(${FIRST}) var<storage, read> colors: array<f32>;
//% endif
//% if COLOR_COMPONENTS == 1
@group(0) @binding(${FIRST + 1}) var<storage, read> color_extent: array<vec2f>;
@group(0) @binding(${FIRST + 2}) var colormap: texture_2d<f32>;
@group(0) @binding(${FIRST + 3}) var smooth_sampler: sampler;
//% endif

@group(1) @binding(0) var opacities: texture_storage_2d_array<rgba16float, write>;    // of `shade_pixels`, which lights nothing
@group(2) @binding(0) var marched: texture_storage_2d_array<${FORMAT}, write>;

const MOST_STEPS = 2048.0;
const PLANES = 8;           // mirrored in renderer/sun.py
const CLEAR = 0.003;        // what is let through so little is ignored

// A corner of the 36 of the box's triangles.
fn box_corner(number: u32) -> Corner {
    let face = number / 6u;
    let turn = array<u32, 6>(0u, 1u, 2u, 2u, 1u, 3u)[number % 6u];
    let side = face & 1u;
    let across = vec2u(turn & 1u, turn >> 1u);
    // Both sides of an axis are wound so that their front is outward.
    let first = select(across.y, across.x, side == 1u);
    let second = select(across.x, across.y, side == 1u);
    var corner = vec3u(side, first, second);
    if face / 2u == 1u { corner = vec3u(second, side, first); }
    if face / 2u == 2u { corner = vec3u(first, second, side); }
    let world = mix(style.low, style.high, vec3f(corner));
    return Corner(view.eye_to_clip * (view.world_to_eye * vec4f(world, 1.0)), world);
}

// The back of the box, so that it is there also for an eye inside.
@vertex
fn volume_vertex(@builtin(vertex_index) number: u32) -> Corner {
    return box_corner(number);
}

fn to_eye(world: vec3f) -> vec3f {
    return (view.world_to_eye * vec4f(world, 1.0)).xyz;
}

fn to_world(eye: vec3f) -> vec3f {
    return turned_to_world(eye - view.world_to_eye[3].xyz);
}

fn turned_to_world(direction: vec3f) -> vec3f {
    return direction * mat3x3f(view.world_to_eye[0].xyz, view.world_to_eye[1].xyz, view.world_to_eye[2].xyz);
}

// Where a line of sight meets what is solid, as a distance along it.
fn solid_at(depth: f32, start: vec3f, sight: vec3f) -> f32 {
    let along = view.eye_to_clip[2].zw;
    let at_eye = view.eye_to_clip[3].zw;
    let z = (at_eye.x - depth * at_eye.y) / (depth * along.y - along.x);
    return select(3.4e38, (z - start.z) / sight.z, depth > 0.0);
}

//% include "common/volume_samples.wgsl"
//% include "common/volume_steps.wgsl"
//% include "common/volume_scattering.wgsl"

fn noise(pixel: vec2f) -> f32 {
    return fract(52.9829189 * fract(dot(floor(pixel), vec2f(0.06711056, 0.00583715))));
}

// The part of a line of sight that is in the box and before what is solid.
struct Segment {
    start: vec3f,
    sight: vec3f,
    begin: f32,
    end: f32,
}

// Of the line through `eye`, a position in eye space.
fn segment_through(eye: vec3f, depth: f32) -> Segment {
    let start = sight_start(eye);
    let sight = sight_to(eye);
    var segment = Segment(to_world(start), turned_to_world(sight), 0.0, 0.0);
    let along = select(segment.sight, vec3f(1e-9), abs(segment.sight) < vec3f(1e-9));
    let ends = array<vec3f, 2>((style.low - segment.start) / along, (style.high - segment.start) / along);
    let nearer = min(ends[0], ends[1]);
    let farther = max(ends[0], ends[1]);
    let first = (-view.near - start.z) / sight.z;
    segment.begin = max(max(nearer.x, nearer.y), max(nearer.z, first));
    segment.end = min(min(farther.x, farther.y), min(farther.z, solid_at(depth, start, sight)));
    for (var i = 0; i < 3; i++) {
        let rise = dot(view.clips[i].xyz, sight);
        let here = dot(view.clips[i], vec4f(start, 1.0));
        let crossing = -here / select(rise, -1e-12, abs(rise) < 1e-12);
        if rise >= 1e-12 {
            segment.end = min(segment.end, crossing);
        } else if here > 0.0 {
            segment.begin = max(segment.begin, crossing);
        }
    }
    return segment;
}

fn step_length() -> f32 {
    let cell = (style.high - style.low) / vec3f(style.density.size);
    return min(cell.x, min(cell.y, cell.z)) / (style.steps_per_cell * view.march);
}

fn march(eye: vec3f, pixel: vec2f, depth: f32) -> vec4f {
    let segment = segment_through(eye, depth);
    let length = segment.end - segment.begin;
    let steps = select(0.0, min(ceil(length / step_length()), MOST_STEPS), length > 0.0);
    let step = length / max(steps, 1.0);
    let dither = noise(pixel);  // the start of each march: bands become grain that is not visible
    let range = select(style.density_range, density_extent[0], style.auto_density > 0.0);
    let sun = turned_to_world(view.sun_direction);
    let phase = phase_of(dot(segment.sight, sun));
    let middle = segment.start + segment.sight * (0.5 * (segment.begin + segment.end));
    let lamp_phase = phase_of_lamps(to_eye(middle), sight_to(eye));
    let up = select(vec3f(0.0), view.up, dot(eye, eye) < 1e30);     // the position matters in name only
    let overhead = 0.5 * (sky_around(up) + sky_around(-up));
    var color = vec3f(0.0);
    var clear = 1.0;
    for (var i = 0.0; i < steps; i += 1.0) {
        var world = segment.start;
        var extinction = 0.0;
        while i < steps {   // lines of sight that are followed together wait here until each of them needs light
            world = segment.start + segment.sight * (segment.begin + (i + dither) * step);
            extinction = extinction_at(world, range);
            if extinction > 0.0 { break; }
            i += max(empty_steps(world, segment.sight * step, steps - i), 1.0);
        }
        if i >= steps { break; }
        let taken = clear * (1.0 - exp(-extinction * step));
        var radiance = vec3f(style.brightness);
        if (style.emissive < 1.0) & (taken > 0.0) {     // a position matters in name only: see common/shadows.wgsl
            radiance = mix(scattered(world, extinction, to_eye(world), phase, lamp_phase, overhead), radiance, style.emissive);
        }
        color += taken * (radiance * color_at(world) + glow_at(world));
        clear -= taken;
        if clear < CLEAR { break; }
    }
    let covered = select(1.0 - clear, 1.0, clear < CLEAR);
    return vec4f(bounded(color), covered);
}

fn depth_of(pixel: vec2f, which: i32) -> f32 {
    return textureLoad(solid_depth, vec2i(pixel), which);
}

// Whether the samples of a pixel see solid things at different depths: by more than two percent.
fn on_outline(pixel: vec2f) -> bool {
    let depths = vec4f(depth_of(pixel, 0), depth_of(pixel, 1), depth_of(pixel, 2), depth_of(pixel, 3));
    let least = min(min(depths.x, depths.y), min(depths.z, depths.w));
    let most = max(max(depths.x, depths.y), max(depths.z, depths.w));
    return most - least > 0.02 * most;
}

@compute @workgroup_size(8, 8)
fn march_pixels(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let size = textureDimensions(marched);
    let texel = pixel_of_tile(id, groups, 8u);
    if any(texel >= size) {
        return;
    }
    let pixel = vec2f(texel) + 0.5;
    let is_outline = on_outline(pixel);
    var color = vec4f(0.0);
    for (var i = 0; i < 4; i++) {
        if i == 0 || is_outline {
            let at = pixel + select(vec2f(0.0), SAMPLES[i], is_outline);
            let clip = (2.0 * at / vec2f(size) - 1.0) * vec2f(1.0, -1.0);
            color = march(vec3f(across_at(clip), -1.0), pixel, depth_of(pixel, i));
        }
        textureStore(marched, texel, i, color);
    }
}

// The optical depths from the sun to each plane of its map, as renderer/opacity_map.py has it: near ones and far ones.
@compute @workgroup_size(8, 8)
fn shade_pixels(@builtin(global_invocation_id) id: vec3u) {
    let size = textureDimensions(opacities);
    if any(id.xy >= size) { return; }
    let clip = (2.0 * (vec2f(id.xy) + 0.5) / vec2f(size) - 1.0) * vec2f(1.0, -1.0);
    let segment = segment_through(vec3f(across_at(clip), -1.0), 0.0);
    let range = select(style.density_range, density_extent[0], style.auto_density > 0.0);
    let scale = view.eye_to_clip[2].z;      // of depth, which is 1 at the sun's end of the map
    var depths = array<f32, PLANES>();
    var sum = 0.0;
    var begin = segment.begin;
    for (var plane = 0; plane < PLANES; plane++) {
        let end = min(segment.end, (f32(plane + 1) / f32(PLANES) - 1.0 + view.eye_to_clip[3].z) / scale);
        let length = max(end - begin, 0.0);
        let steps = min(ceil(length / step_length()), MOST_STEPS);
        let step = length / max(steps, 1.0);
        for (var i = 0.5; i < steps; i += 1.0) {
            sum += step * extinction_at(segment.start + segment.sight * (begin + i * step), range);
        }
        depths[plane] = style.shadow * sum;
        begin = max(begin, end);
    }
    textureStore(opacities, id.xy, 0, vec4f(depths[0], depths[1], depths[2], depths[3]));
    textureStore(opacities, id.xy, 1, vec4f(depths[4], depths[5], depths[6], depths[7]));
}

//% if PICKING
// Where the line of sight loses most light; nothing where it loses little.
@fragment
fn probe_fragment(in: Corner) -> PickPixel {
    let segment = segment_through(to_eye(in.world), 0.0);
    let length = segment.end - segment.begin;
    let steps = select(0.0, min(ceil(length / step_length()), MOST_STEPS), length > 0.0);
    let step = length / max(steps, 1.0);
    let range = select(style.density_range, density_extent[0], style.auto_density > 0.0);
    var clear = 1.0;
    var most = 0.0;
    var found = segment.begin;
    for (var i = 0.5; i < steps; i += 1.0) {
        let along = segment.begin + i * step;
        let taken = clear * (1.0 - exp(-extinction_at(segment.start + segment.sight * along, range) * step));
        if taken > most {
            most = taken;
            found = along;
        }
        clear -= taken;
    }
    if 1.0 - clear < LEAST_ALPHA { discard; }
    let eye = to_eye(segment.start + segment.sight * found);
    return picked_row(nearest_row(eye, style.density.size), eye);
}
//% endif

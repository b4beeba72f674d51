// The surface where samples on a grid have one value, by marching cubes in the vertex stage.
// In: samples, and perhaps those of a color; the cells to draw (draw/isosurface_cells.wgsl), FEW or VERTICES vertices
// for each; the triangles of each kind of cell (renderer/layers/marching.py). Out: linear color.
// The normal is the gradient, by central differences at the samples and linear between them. With PICKING each pixel has the
// row of the nearest sample. With DEPTH_ONLY nothing is computed but what depth passes read: not all drivers leave out the rest.
//% import "common/field.wgsl" as field
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% include "common/lighting.wgsl"
//% include "common/coverage.wgsl"
//% include "common/field.wgsl"
//% if PICKING
//% include "common/pick_pixel.wgsl"
//% include "common/grid_row.wgsl"
//% else
//% include "common/contours.wgsl"
//% include "common/triangles.wgsl"
//% endif

struct Style {              // packed by name in renderer/layers/isosurface.py
    values: Field,
    colors: Field,
    low: vec3f,             // the box in world space
    level: f32,             // the value
    high: vec3f,
    inset: f32,             // samples between the box and the first sample
    color: vec4f,           // linear; where no color is bound
    range: vec2f,           // values at the two ends of the colormap
    metallic: f32,
    roughness: f32,
    contours: f32,          // step between contour lines in units of the color's scalar, or of height; 0: none
    contour_strength: f32,
    contour_width: f32,     // pixels
    auto_range: f32,        // 1: `range` is the extent of the colors
    height: vec3f,          // the direction in which height is measured, in world space
    pad0: f32,
}

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) eye: vec3f,
    @location(1) normal: vec3f,     // in eye space, toward higher values
    @location(2) value: f32,        // the color's scalar, or the height
//% if COLOR_COMPONENTS == 3
    @location(3) color: vec3f,
//% endif
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> style: Style;
@group(0) @binding(2) var<storage, read> values: array<f32>;
@group(0) @binding(3) var<storage, read> cells: array<u32>;
@group(0) @binding(4) var<storage, read> kinds: array<u32>;
//% if COLOR_COMPONENTS
@group(0) @binding(5) var<storage, read> colors: array<f32>;
//% endif
//% if COLOR_COMPONENTS == 1
@group(0) @binding(6) var<storage, read> color_extent: array<vec2f>;
@group(0) @binding(7) var colormap: texture_2d<f32>;
@group(0) @binding(8) var smooth_sampler: sampler;
//% endif

// Of all vertices of a triangle that is not drawn: it has no area. Outside of the clip volume software adapters would clip it,
// and all that are computed with it, one by one.
const NOWHERE = vec4f(0.0, 0.0, 0.5, 1.0);

${field.functions("values", "style.values.size", "style.values.first", "style.values.strides")}

//% if COLOR_COMPONENTS
${field.functions("colors", "style.colors.size", "style.colors.first", "style.colors.strides")}

//% endif
//% if COLOR_COMPONENTS == 3
${field.colors("colors", "style.colors.component")}

//% endif
// From one sample to the next, in world space.
fn spacing() -> vec3f {
    return (style.high - style.low) / (vec3f(style.values.size) - 1.0 + 2.0 * style.inset);
}

fn gradient(cell: vec3i) -> vec3f {
    let last = vec3i(style.values.size) - 1;
    let before = max(cell - 1, vec3i(0));
    let after = min(cell + 1, last);
    let rise = vec3f(
        values_at(vec3i(after.x, cell.yz)) - values_at(vec3i(before.x, cell.yz)),
        values_at(vec3i(cell.x, after.y, cell.z)) - values_at(vec3i(cell.x, before.y, cell.z)),
        values_at(vec3i(cell.xy, after.z)) - values_at(vec3i(cell.xy, before.z)),
    );
    return rise / (vec3f(after - before) * spacing());
}

// The edge of its cell that a vertex is on; 15 if the cell has fewer.
fn edge_of(kind: u32, vertex: u32) -> u32 {
    return (kinds[2u * kind + vertex / 8u] >> (4u * (vertex % 8u))) & 15u;
}

// The corner of a cell where an edge begins; it ends one on along its axis.
fn edge_start(edge: u32) -> vec3i {
    let along = vec3i(i32(edge & 1u), i32((edge >> 1u) & 1u), 0);
    let axis = edge / 4u;
    return select(select(along.zxy, along.yzx, axis == 1u), along, axis == 2u);
}

fn axis_of(edge: u32) -> vec3i {
    return select(vec3i(0), vec3i(1), vec3u(0u, 1u, 2u) == vec3u(edge / 4u));
}

@vertex
fn isosurface_vertex(@builtin(vertex_index) number: u32) -> Corner {
    var out: Corner;
    out.clip = NOWHERE;
    let size = style.values.size - 1u;
    let few = ${FEW}u * cells[0];
    let is_few = number < few;
    let last = 1u + size.x * size.y * size.z;
    let listed = cells[select(last - (number - few) / ${VERTICES}u, 2u + number / ${FEW}u, is_few)];
    let edge = edge_of(listed >> 24u, select((number - few) % ${VERTICES}u, number % ${FEW}u, is_few));
    if edge < 12u {
        let i = listed & 0xffffffu;
        let cell = vec3i(vec3u(i % size.x, (i / size.x) % size.y, i / (size.x * size.y)));
        let start = cell + edge_start(edge);
        let end = start + axis_of(edge);
        let from_ = values_at(start);
        let span = values_at(end) - from_;
        let part = clamp((style.level - from_) / select(1.0, span, span != 0.0), 0.0, 1.0);
        let position_ = vec3f(start) + part * vec3f(axis_of(edge));
        let world = style.low + (position_ + style.inset) * spacing();
        out.eye = (view.world_to_eye * vec4f(world, 1.0)).xyz;
        out.clip = view.eye_to_clip * vec4f(out.eye, 1.0);
//% if not DEPTH_ONLY
        let toward_larger = mix(gradient(start), gradient(end), part);
        out.normal = (view.world_to_eye * vec4f(toward_larger, 0.0)).xyz;
        out.value = dot(world, style.height);
//% endif
//% if COLOR_COMPONENTS and (COLOR_COMPONENTS == 1 or not DEPTH_ONLY)
        let fraction = (world - style.low) / (style.high - style.low);
        let sample = fraction * (vec3f(style.colors.size) - 1.0 + 2.0 * style.inset) - style.inset;
//% endif
//% if COLOR_COMPONENTS == 1
        out.value = colors_between(sample);
//% elif COLOR_COMPONENTS and not DEPTH_ONLY
        out.color = srgb_to_linear(clamp(colors_nearest(sample), vec3f(0.0), vec3f(1.0)));
//% endif
    }
    return out;
}

//% if PICKING
@fragment
fn isosurface_fragment(in: Corner) -> PickPixel {
    return picked_row(nearest_row(in.eye, style.values.size), in.eye);
}
//% else
fn isosurface_color(in: Corner) -> vec4f {
//% if COLOR_COMPONENTS == 1
    let range = select(style.range, color_extent[0], style.auto_range > 0.0);
    let x = colormap_coordinate(in.value, range, f32(textureDimensions(colormap).x));
    return textureSampleLevel(colormap, smooth_sampler, vec2f(x, 0.5), 0.0);
//% elif COLOR_COMPONENTS
    return vec4f(in.color, 1.0);
//% else
    return style.color;
//% endif
}

@fragment
fn isosurface_fragment(in: Corner, @builtin(front_facing) outside: bool) -> Pixel {
    let normal = select(-in.normal, in.normal, outside);
    return shaded(in.eye, normal, with_contours(isosurface_color(in), in.value), in.clip);
}

@fragment
fn isosurface_clear(in: Corner, @builtin(front_facing) outside: bool) -> Clear {
    let normal = select(-in.normal, in.normal, outside);
    return shaded_clear(in.eye, normal, with_contours(isosurface_color(in), in.value), in.clip.xy);
}

@fragment
fn isosurface_depth(in: Corner) {
    if no_depth(in.eye, isosurface_color(in).a, in.clip.xy) { discard; }
}
//% endif

// Birds, an instance of 15 triangles for each row, computed from the vertex index: a body, a tail, and wings of two
// parts that beat. In: the attributes of each row, each from its own vertex buffer. Out: linear color. A row that is not finite
// is not drawn. With PICKING the same is drawn as the indices of the rows.
//% import "common/attributes.wgsl" as attributes
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% include "common/lighting.wgsl"
//% include "common/coverage.wgsl"
//% include "common/finite.wgsl"
//% include "common/birds.wgsl"
//% if PICKING
//% include "common/pick_pixel.wgsl"
//% else
//% include "common/triangles.wgsl"
//% endif

struct Style {              // packed by name in renderer/layers/birds.py
    color: vec4f,           // linear; where no color is bound
    range: vec2f,           // values at the two ends of the colormap
    metallic: f32,
    roughness: f32,
    size: f32,              // half the wingspan in world units; a factor where sizes are bound
    bank: f32,              // roll to the right [rad]; a factor where it is bound
    beat: f32,              // wing beats per second
    amplitude: f32,         // of the wings [rad]
    glide: f32,             // fraction of the time without beats
    auto_range: f32,        // 1: the colormap's ends are the extent of the colors instead of `range`
}

struct Row {
    @location(0) position: ${POSITION},
//% if COLOR
    @location(1) color: ${COLOR},
//% endif
//% if SIZE
    @location(2) size: ${SIZE},
//% endif
//% if COLORMAPPED
    @location(3) extent: vec2f,
//% endif
    @location(4) direction: ${DIRECTION},
//% if BANK
    @location(5) bank: ${BANK},
//% endif
}

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) eye: vec3f,
    @location(1) @interpolate(flat) color: vec4f,
//% if PICKING
    @location(2) @interpolate(flat) row: u32,
//% endif
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> style: Style;
//% if COLORMAPPED
@group(0) @binding(2) var colormap: texture_2d<f32>;
@group(0) @binding(3) var smooth_sampler: sampler;
//% endif

const NOWHERE = vec4f(0.0, 0.0, -1.0, 1.0);     // outside the clip volume

${attributes.color("row", "Row", COLOR_COMPONENTS, COLORMAPPED)}

@vertex
fn bird_vertex(@builtin(vertex_index) number: u32, @builtin(instance_index) index: u32, row: Row) -> Corner {
    var out: Corner;
    let center = vec3f(row.position);
    let direction = vec3f(row.direction);
//% if SIZE
    let size = style.size * f32(row.size);
//% else
    let size = style.size;
//% endif
//% if BANK
    let bank = style.bank * f32(row.bank);
//% else
    let bank = style.bank;
//% endif
    let drawn = all_finite(center) && all_finite(direction) && is_finite(size) && is_finite(bank);
    let up = (vec4f(view.up, 0.0) * view.world_to_eye).xyz;
    let wings = Wings(view.time, style.beat, style.amplitude, style.glide);
    let corner = turned(bird_corner(number, index, wings) * size, direction, bank, up);
    out.eye = (view.world_to_eye * vec4f(center + corner, 1.0)).xyz;
    out.clip = select(NOWHERE, view.eye_to_clip * vec4f(out.eye, 1.0), drawn);
    out.color = row_color(row);
//% if PICKING
    out.row = index;
//% endif
    return out;
}

//% if PICKING
@fragment
fn bird_fragment(in: Corner) -> PickPixel {
    if in.color.a < LEAST_ALPHA { discard; }
    return picked_row(in.row, in.eye);
}
//% else
@fragment
fn bird_fragment(in: Corner) -> Pixel {
    return shaded(in.eye, vec3f(0.0), in.color, in.clip);
}

@fragment
fn bird_clear(in: Corner) -> Clear {
    return shaded_clear(in.eye, vec3f(0.0), in.color, in.clip.xy);
}

@fragment
fn bird_depth(in: Corner) {
    if no_depth(in.eye, in.color.a, in.clip.xy) { discard; }
}
//% endif

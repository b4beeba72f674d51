// Points in storage buffers, f32. COLOR is the type of their color, empty if it is a constant; so are SIZE and COLORMAPPED
// those of common/points.wgsl, which goes with this.

struct Point {
    position: vec3f,
//% if COLOR
    color: ${COLOR},
//% endif
//% if SIZE
    size: f32,
//% endif
//% if COLORMAPPED
    extent: vec2f,
//% endif
}

struct PointArrays {             // mirrored by renderer/layers/point_splatting.py
    viewport: vec2u,         // pixels
    rows: u32,
    pad0: u32,
    positions: vec2u,       // first element, and elements from one row to the next
    colors: vec2u,
    sizes: vec2u,
    pad1: vec2u,
}

@group(0) @binding(4) var<uniform> arrays: PointArrays;
@group(0) @binding(8) var<storage, read> positions: array<f32>;
//% if COLOR
@group(0) @binding(9) var<storage, read> colors: array<f32>;
//% endif
//% if SIZE
@group(0) @binding(10) var<storage, read> sizes: array<f32>;
//% endif
//% if COLORMAPPED
@group(0) @binding(11) var<storage, read> extent: array<vec2f>;
//% endif

fn point_at(row: u32) -> Point {
    var point: Point;
    let at = arrays.positions.x + row * arrays.positions.y;
    point.position = vec3f(positions[at], positions[at + 1u], positions[at + 2u]);
//% if COLOR
    let color = arrays.colors.x + row * arrays.colors.y;
//% if COLOR_COMPONENTS == 1
    point.color = colors[color];
//% elif COLOR_COMPONENTS == 3
    point.color = vec3f(colors[color], colors[color + 1u], colors[color + 2u]);
//% else
    point.color = vec4f(colors[color], colors[color + 1u], colors[color + 2u], colors[color + 3u]);
//% endif
//% endif
//% if SIZE
    point.size = sizes[arrays.sizes.x + row * arrays.sizes.y];
//% endif
//% if COLORMAPPED
    point.extent = extent[0];
//% endif
    return point;
}

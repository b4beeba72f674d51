// A mesh drawn once for each row, lit on both sides. In: the attributes of each row and of each vertex of the mesh, each
// from its own vertex buffer; an index buffer. Out: linear color. A row that is not finite is not drawn.
// With ARROW the mesh is an arrow along +y whose y counts its parts (renderer/layers/shapes.py), and a row's direction has
// its length. With PICKING the same is drawn as the indices of the rows.
//% import "common/attributes.wgsl" as attributes
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% include "common/lighting.wgsl"
//% include "common/coverage.wgsl"
//% include "common/finite.wgsl"
//% if PICKING
//% include "common/pick_pixel.wgsl"
//% else
//% include "common/triangles.wgsl"
//% endif

struct Style {              // packed by name in renderer/layers/meshes.py
    color: vec4f,           // linear; where no color is bound
    range: vec2f,           // values at the two ends of the colormap
    metallic: f32,
    roughness: f32,
    size: vec3f,            // of the mesh, along its own axes; a factor where sizes are bound. Of arrows:
                            // length for each unit of direction, fraction of the head, radius of the shaft in lengths
    auto_range: f32,        // 1: the colormap's ends are the extent of the colors instead of `range`
    max_length: f32,        // of arrows, in world units
    normalize_: f32,        // 1: all arrows have one length, that of a direction of length 1
    anchor: f32,            // of arrows: the fraction of it that is before its position
    pad0: f32,
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
//% if DIRECTION
    @location(4) direction: ${DIRECTION},
//% endif
}

struct Vertex {
    @location(5) position: ${MESH},
//% if MESH_NORMAL
    @location(6) normal: ${MESH_NORMAL},
//% endif
}

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) eye: vec3f,
    @location(1) @interpolate(flat) color: vec4f,
//% if PICKING
    @location(2) @interpolate(flat) row: u32,
//% else
    @location(2) normal: vec3f,     // in eye space; 0 asks for that of the triangle
//% endif
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> style: Style;
//% if COLORMAPPED
@group(0) @binding(2) var colormap: texture_2d<f32>;
@group(0) @binding(3) var smooth_sampler: sampler;
//% endif

const NOWHERE = vec4f(0.0, 0.0, -1.0, 1.0);     // outside the clip volume
const HEAD = 2.6;           // radius of an arrow's head in radii of its shaft

${attributes.color("row", "Row", COLOR_COMPONENTS, COLORMAPPED)}

// Rotates the mesh by the row: by a quaternion (x, y, z, w), or so that its y axis points along a direction.
fn turned(row: Row, position: vec3f) -> vec3f {
//% if DIRECTION.startswith("vec4")
    let direction = vec4f(row.direction);
    let q = select(vec4f(0.0, 0.0, 0.0, 1.0), direction / length(direction), dot(direction, direction) > 0.0);
    return position + 2.0 * cross(q.xyz, cross(q.xyz, position) + q.w * position);
//% elif DIRECTION
    let along = vec3f(row.direction);
    let y = select(vec3f(0.0, 1.0, 0.0), along / length(along), dot(along, along) > 0.0);
    let aside = select(vec3f(0.0, 1.0, 0.0), vec3f(1.0, 0.0, 0.0), abs(y.y) > 0.99);
    let x = normalize(cross(aside, y));
    return x * position.x + y * position.y + cross(x, y) * position.z;
//% else
    return position;
//% endif
}

//% if ARROW
// A vertex of an arrow of this length; its y counts: 0 the tail, 1 the end of the shaft, 2 the rim of the head, 3 the tip.
fn arrow_position(position: vec3f, length: f32) -> vec3f {
    let radius = length * style.size.z * select(1.0, HEAD, position.y > 1.5);
    let y = select(select(1.0 - style.size.y, 1.0, position.y > 2.5), 0.0, position.y < 0.5) - style.anchor;
    return vec3f(position.x * radius, y * length, position.z * radius);
}

// Its normal's y is 1 on the head, whose slope depends on its shape, 0 on the shaft, -1 across.
fn arrow_normal(normal: vec3f) -> vec3f {
    let slope = HEAD * style.size.z / style.size.y;
    return select(normal, vec3f(normal.x, slope, normal.z), normal.y > 0.5);
}

//% endif
@vertex
fn instance_vertex(
//% if PICKING
    @builtin(instance_index) number: u32,
//% endif
    row: Row,
    vertex: Vertex,
) -> Corner {
    var out: Corner;
    let center = vec3f(row.position);
    var position = vec3f(vertex.position);
//% if MESH_NORMAL
    var normal = vec3f(vertex.normal);
//% else
    var normal = vec3f(0.0);
//% endif
    var drawn = all_finite(center);
//% if ARROW
    let strength = length(vec3f(row.direction));
    let length = min(style.size.x * select(strength, 1.0, style.normalize_ > 0.0), style.max_length);
    drawn = drawn && is_finite(strength) && strength > 0.0;
    position = arrow_position(position, length);
    normal = arrow_normal(normal);
//% else
//% if SIZE
    let size = style.size * vec3f(${"row.size" if SIZE.startswith("vec") else "f32(row.size)"});
//% else
    let size = style.size;
//% endif
    drawn = drawn && all_finite(size);
    position *= size;
    normal /= select(vec3f(1.0), size, size != vec3f(0.0));
//% if DIRECTION
    drawn = drawn && all_finite(vec3f(row.direction.xyz));
//% endif
//% endif
    out.eye = (view.world_to_eye * vec4f(center + turned(row, position), 1.0)).xyz;
    out.clip = select(NOWHERE, view.eye_to_clip * vec4f(out.eye, 1.0), drawn);
    out.color = row_color(row);
//% if PICKING
    out.row = number;
//% else
    out.normal = (view.world_to_eye * vec4f(turned(row, normal), 0.0)).xyz;
//% endif
    return out;
}

//% if PICKING
@fragment
fn instance_fragment(in: Corner) -> PickPixel {
    if in.color.a < LEAST_ALPHA { discard; }
    return picked_row(in.row, in.eye);
}
//% else
@fragment
fn instance_fragment(in: Corner) -> Pixel {
    return shaded(in.eye, in.normal, in.color, in.clip);
}

@fragment
fn instance_clear(in: Corner) -> Clear {
    return shaded_clear(in.eye, in.normal, in.color, in.clip.xy);
}

@fragment
fn instance_depth(in: Corner) {
    if no_depth(in.eye, in.color.a, in.clip.xy) { discard; }
}
//% endif

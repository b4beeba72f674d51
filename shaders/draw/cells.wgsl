// A surface as the indices of its rows: in each pixel the visible triangle, its nearest corner first.
// In: positions and indices. Out: PickPixel.
//% include "common/view.wgsl"
//% include "common/pick_pixel.wgsl"

struct CellArrays {              // mirrored by renderer/layers/surface.py
    position: u32,          // first element of the positions in what is bound
    stride: u32,            // elements from one row to the next
    index: u32,             // first index in what is bound
    pad0: u32,
}

struct Corner {
    @builtin(position) clip: vec4f,
    @location(0) eye: vec3f,
    @location(1) @interpolate(flat) cell: u32,
}

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> arrays: CellArrays;
@group(0) @binding(2) var<storage, read> positions: array<${TYPE}>;
@group(0) @binding(3) var<storage, read> index: array<u32>;

fn row_of(cell: u32, corner: u32) -> u32 {
    return index[arrays.index + 3u * cell + corner];
}

fn eye_position(row: u32) -> vec3f {
    let at = arrays.position + row * arrays.stride;
    let position = vec3f(f32(positions[at]), f32(positions[at + 1u]), f32(positions[at + 2u]));
    return (view.world_to_eye * vec4f(position, 1.0)).xyz;
}

@vertex
fn cell_vertex(@builtin(vertex_index) number: u32) -> Corner {
    let cell = number / 3u;
    let eye = eye_position(row_of(cell, number % 3u));
    return Corner(view.eye_to_clip * vec4f(eye, 1.0), eye, cell);
}

@fragment
fn cell_fragment(in: Corner) -> PickPixel {
    var nearest = 0u;
    var least = 3.4e38;
    for (var corner = 0u; corner < 3u; corner++) {
        let away = distance(eye_position(row_of(in.cell, corner)), in.eye);
        if away < least {
            least = away;
            nearest = corner;
        }
    }
    let corners = vec3u(
        row_of(in.cell, nearest), row_of(in.cell, (nearest + 1u) % 3u), row_of(in.cell, (nearest + 2u) % 3u),
    );
    return picked_cell(corners, in.cell + 1u, in.eye);
}

// A number that is on the GPU turned into the size of a dispatch or a draw.
// In: DRAW, whether the size is that of a draw. number[0].
// Out: the workgroups along x, y and z for number[0] * params.each invocations, a long row folded into two dimensions; or,
//     for a draw, its vertices, instances, first vertex and first instance.

struct Params {
    number_offset: u32,
    size_offset: u32,
    //% if DRAW
    vertices: u32,  // of an instance; 0 if the number is that of vertices
    //% else
    each: u32,  // invocations for each
    workgroup: u32,
    limit: u32,  // workgroups along one dimension
    //% endif
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> number: array<u32>;
@group(0) @binding(2) var<storage, read_write> size: array<u32>;

@compute @workgroup_size(1)
fn main() {
    let many = number[params.number_offset];
    let at = params.size_offset;
    //% if DRAW
    size[at] = select(params.vertices, many, params.vertices == 0u);
    size[at + 1u] = select(many, 1u, params.vertices == 0u);
    size[at + 2u] = 0u;
    size[at + 3u] = 0u;
    //% else
    let groups = (many * params.each + params.workgroup - 1u) / params.workgroup;
    let rows = max((groups + params.limit - 1u) / params.limit, 1u);
    size[at] = (groups + rows - 1u) / rows;
    size[at + 1u] = rows;
    size[at + 2u] = 1u;
    //% endif
}

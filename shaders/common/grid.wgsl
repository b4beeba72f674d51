// Cells of a uniform grid, and a walk over the points in the cells around a position. The grid is built by ops/neighbors.py.
// Include this for grid_cell and grid_bucket, import it for the macros. In: GRID_WRAPS, whether space has no bounds: then
// cells repeat after a power of two of them along each axis, so points that are far away may be met and have to be told by
// distance. The uniform struct holds what the macro `fields` declares.

// Where cell (0, 0, 0) begins, the edge of a cell, and cells along each axis: 1 along an axis that is not there.
//% macro fields()
    grid_low: vec3f,
    grid_cell: f32,
    grid_size: vec3u,
//%- endmacro

// The statements between `call` and `endcall` run once for each point in the cell of `here` (a vec3f) and the cells around
// it: the points order[k] of the grid, of which `k` is known. Every point nearer than a cell's edge is among them, once.
//     //% call grid.neighbors("here", "starts")
//     let other = order[k];
//     //% endcall
//% macro neighbors(here, starts)
    {
        let grid_middle = grid_cell(${here});
        //% if GRID_WRAPS
        let grid_reach = min(vec3i(params.grid_size) - 1, vec3i(1));
        let grid_first = grid_middle - grid_reach;
        let grid_last = grid_middle + grid_reach;
        //% else
        let grid_first = max(grid_middle - 1, vec3i(0));
        let grid_last = min(grid_middle + 1, vec3i(params.grid_size) - 1);
        //% endif
        for (var grid_z = grid_first.z; grid_z <= grid_last.z; grid_z += 1) {
            for (var grid_y = grid_first.y; grid_y <= grid_last.y; grid_y += 1) {
                //% if GRID_WRAPS
                for (var grid_x = grid_first.x; grid_x <= grid_last.x; grid_x += 1) {
                    let grid_from = grid_bucket(vec3i(grid_x, grid_y, grid_z));
                    let grid_to = grid_from;
                //% else
                {  // cells of a row are contiguous
                    let grid_from = grid_bucket(vec3i(grid_first.x, grid_y, grid_z));
                    let grid_to = grid_bucket(vec3i(grid_last.x, grid_y, grid_z));
                //% endif
                    let grid_end = ${starts}[grid_to + 1u];
                    for (var k = ${starts}[grid_from]; k < grid_end; k += 1u) {
                        ${caller()}
                    }
                }
            }
        }
    }
//%- endmacro

// The cell of a position; where space has bounds, of the nearest position within them.
fn grid_cell(here: vec3f) -> vec3i {
    let cell = vec3i(floor((here - params.grid_low) / params.grid_cell));
    //% if GRID_WRAPS
    return cell;
    //% else
    return clamp(cell, vec3i(0), vec3i(params.grid_size) - 1);
    //% endif
}

// The number of a cell.
fn grid_bucket(cell: vec3i) -> u32 {
    //% if GRID_WRAPS
    let wrapped = vec3u(cell) & (params.grid_size - 1u);
    //% else
    let wrapped = vec3u(cell);
    //% endif
    return (wrapped.z * params.grid_size.y + wrapped.y) * params.grid_size.x + wrapped.x;
}

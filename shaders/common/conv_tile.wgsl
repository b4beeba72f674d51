// The tiles of a convolution that is one matrix product for each group: ROWS channels x COLUMNS columns, and slices of the
// inner axis. Workgroups count down the channels first, then along the columns, the slices and the groups.

struct Tile {
    row: u32,     // the first channel
    column: u32,  // the first column
    slice: u32,
    group: u32,   // not one of the groups where there are more workgroups than tiles
}

// The tile of a workgroup, of a product with so many columns.
fn tile_of(number: u32, columns: u32) -> Tile {
    let down = (params.results + ${ROWS - 1}u) / ${ROWS}u;
    let across = (columns + ${COLUMNS - 1}u) / ${COLUMNS}u;
    let line = number / down;
    let stack = line / across;
    return Tile(
        number % down * ${ROWS}u, line % across * ${COLUMNS}u, stack % params.slices, stack / params.slices);
}

// Which pixels a workgroup has, in a dispatch over the tiles of an image.
// In: SPREAD, whether rows of workgroups that follow one another have tiles far from one another: software adapters give each
// thread a run of them, and with tiles in order one thread would have the sky, and another all that there is to light.

const BANDS = 8u;       // between which rows are dealt out

// The row of tiles of a row of workgroups, of so many.
fn tile_row(row: u32, rows: u32) -> u32 {
//% if SPREAD is defined and SPREAD
    let least = max(rows / BANDS, 1u);      // rows of a band; the first `longer` of them have one more
    let longer = rows % BANDS;
    let split = longer * (rows / BANDS + 1u);
    let is_first = row < split;
    let length = select(least, rows / BANDS + 1u, is_first);
    let at = select(row - split, row, is_first);
    return at % length * BANDS + at / length + select(longer, 0u, is_first);
//% else
    return row;
//% endif
}

// The pixel of an invocation of workgroups that are `side` pixels wide and high.
fn pixel_of_tile(id: vec3u, groups: vec3u, side: u32) -> vec2u {
    return vec2u(id.x, tile_row(id.y / side, groups.y) * side + id.y % side);
}

// Lists of splats for each tile of an image, the nearest first: each row goes into the list of each tile that it touches.
// In: `order`, the rows by distance; `counts` and `rects`, the tiles of each row. Out: pairs of a tile and a row, which a
// stable sort by tile puts into lists; the range of each tile in them; and a draw of quads for images whose pairs do not fit.
//% include "common/index.wgsl"

struct Params {
    rows: u32,
    capacity: u32,      // of pairs
    across: u32,        // tiles
    tiles: u32,
    none: u32,          // a tile that no pair has, above all others
}

@group(0) @binding(0) var<uniform> params: Params;
//% if ENTRY == "ordered"
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> counts: array<u32>;
@group(0) @binding(3) var<storage, read_write> touched: array<u32>;

// Tiles of each row, in order.
@compute @workgroup_size(128)
fn ordered(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let number = linear_index(id, num_workgroups, 128u);
    if number < params.rows { touched[number] = counts[order[number]]; }
}
//% elif ENTRY == "pair"
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> touched: array<u32>;
@group(0) @binding(3) var<storage, read> starts: array<u32>;        // sums of those before
@group(0) @binding(4) var<storage, read> rects: array<vec2u>;
@group(0) @binding(5) var<storage, read_write> pair_tiles: array<u32>;
@group(0) @binding(6) var<storage, read_write> pair_rows: array<u32>;

@compute @workgroup_size(128)
fn pair(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let number = linear_index(id, num_workgroups, 128u);
    if number >= params.rows || touched[number] == 0u { return; }
    let row = order[number];
    let rect = rects[row];
    var at = starts[number];
    for (var y = rect.x >> 16u; y <= rect.y >> 16u; y++) {
        for (var x = rect.x & 0xffffu; x <= (rect.y & 0xffffu); x++) {
            if at >= params.capacity { return; }
            pair_tiles[at] = y * params.across + x;
            pair_rows[at] = row;
            at++;
        }
    }
}
//% elif ENTRY == "finish"
@group(0) @binding(1) var<storage, read> touched: array<u32>;
@group(0) @binding(2) var<storage, read> starts: array<u32>;
@group(0) @binding(3) var<storage, read_write> pair_tiles: array<u32>;
@group(0) @binding(4) var<storage, read_write> ranges: array<vec2u>;
@group(0) @binding(5) var<storage, read_write> total: array<u32>;   // pairs
@group(0) @binding(6) var<storage, read_write> draw: array<u32>;    // vertices, instances, first vertex, first instance

// Fill what no row has filled.
@compute @workgroup_size(128)
fn finish(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let number = linear_index(id, num_workgroups, 128u);
    let pairs = starts[params.rows - 1u] + touched[params.rows - 1u];
    if number < params.capacity && number >= pairs { pair_tiles[number] = params.none; }
    if number < params.tiles { ranges[number] = vec2u(0u); }
    if number > 0u { return; }
    total[0] = pairs;
    // Rows that touch nothing are last: those before are found by halving.
    var low = 0u;
    var high = params.rows;
    while low < high {
        let middle = (low + high) / 2u;
        if touched[middle] > 0u { low = middle + 1u; } else { high = middle; }
    }
    draw[0] = 4u;
    draw[1] = select(0u, low, pairs > params.capacity);
    draw[2] = 0u;
    draw[3] = 0u;
}
//% else
@group(0) @binding(1) var<storage, read> sorted: array<u32>;        // tiles of the pairs
@group(0) @binding(2) var<storage, read> total: array<u32>;
@group(0) @binding(3) var<storage, read_write> ranges: array<vec2u>;

// The range of each tile; none where pairs did not fit, since the image is drawn otherwise then.
@compute @workgroup_size(128)
fn delimit(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let number = linear_index(id, num_workgroups, 128u);
    if total[0] > params.capacity || number >= total[0] { return; }
    let tile = sorted[number];
    if number == 0u || sorted[number - 1u] != tile { ranges[tile].x = number; }
    if number + 1u == total[0] || sorted[number + 1u] != tile { ranges[tile].y = number + 1u; }
}
//% endif

// Reductions of rows in segments: segment s is the rows from offsets[s] up to offsets[s + 1].
// A segment is cut into pieces of PIECE rows, so that one long segment is the work of many. Entries:
//   pieces   how many pieces each segment has: ends[s], whose running total is computed after it
//   fold     one total for each piece and column; LANES invocations take its rows in turn, a tree joins what they have
//   combine_pieces   the totals of the pieces of each segment, likewise
//   spread   the gradient of a sum or a mean: each row of a segment takes the segment's value, or its part of it
//   starts   the offsets of segments that are defined by keys in rising order: offsets[s] = how many keys are below s
// In: FROM and TO, the dtypes read and written; VALUE, the WGSL type worked in; LIFT, an element x as a VALUE; COMBINE, a
//     and b as one; IDENTITY, the value that changes none; FINISH, the total of rows as a result; LANES, a power of two up
//     to 256; PIECE; KEY, the dtype of the keys, i32 or u32.
// Out: out[s][column], lines one after the other; the order of operations depends on the offsets alone.
//% import "common/element.wgsl" as element
//% if "f16" in (FROM, TO)
enable f16;
//% endif
//% include "common/index.wgsl"
//% include "common/math.wgsl"
//% set TEAMS = 256 // LANES

struct Params {
    rows: u32,
    segments: u32,
    columns: u32,
    pieces: u32,  // as many as there can be
    offsets_offset: u32,
    source_offset: u32,
    out_offset: u32,
    keys_offset: u32,
    found_offset: u32,
    source_step: i32,  // from row to row
    line_axes: u32,
    shape: array<vec4u, 2>,  // of the columns
    source_strides: array<vec4i, 2>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
@group(0) @binding(2) var<storage, read> source: ${element.storage(FROM)};
@group(0) @binding(3) var<storage, read_write> out: ${element.storage(TO)};
@group(0) @binding(4) var<storage, read_write> partial: array<${VALUE}>;
@group(0) @binding(5) var<storage, read> combined: array<${VALUE}>;  // partial, where it is only read
@group(0) @binding(6) var<storage, read_write> counted: array<u32>;  // pieces of each segment
@group(0) @binding(7) var<storage, read> ends: array<u32>;  // their running total
@group(0) @binding(8) var<storage, read> keys: array<${KEY}>;
@group(0) @binding(9) var<storage, read_write> found: array<u32>;  // offsets, where they are written

var<workgroup> tree: array<${VALUE}, 256>;

fn combine(a: ${VALUE}, b: ${VALUE}) -> ${VALUE} {
    return ${COMBINE};
}

// Rows of a segment; offsets beyond the rows, or that fall, make none.
fn rows_of(segment: u32) -> vec2u {
    let first = min(offsets[params.offsets_offset + segment], params.rows);
    return vec2u(first, max(first, min(offsets[params.offsets_offset + segment + 1u], params.rows)));
}

@compute @workgroup_size(256)
fn pieces(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let segment = linear_index(id, num_workgroups, 256u);
    if segment < params.segments {
        let rows = rows_of(segment);
        counted[segment] = (rows.y - rows.x + ${PIECE - 1}u) / ${PIECE}u;
    }
}

fn end_of(segment: u32) -> u32 {
    return ends[segment];
}

// The first segment whose pieces end after `piece`.
fn segment_of(piece: u32) -> u32 {
    var low = 0u;
    var high = params.segments;
    while low < high {
        let middle = (low + high) / 2u;
        if end_of(middle) > piece {
            high = middle;
        } else {
            low = middle + 1u;
        }
    }
    return low;
}

fn column_at(column: u32) -> i32 {
    var at = i32(params.source_offset);
    var rest = column;
    for (var axis = params.line_axes; axis > 0u; axis -= 1u) {
        let size = params.shape[(axis - 1u) / 4u][(axis - 1u) % 4u];
        at += i32(rest % size) * params.source_strides[(axis - 1u) / 4u][(axis - 1u) % 4u];
        rest = rest / size;
    }
    return at;
}

// What the LANES of each team have, combined: in the first of them.
//% macro join_team()
    //% if LANES > 1
    tree[lane] = total;
    //% for step in (128, 64, 32, 16, 8, 4, 2, 1)
    //% if step < LANES
    workgroupBarrier();
    if lane % ${LANES}u < ${step}u {
        tree[lane] = combine(tree[lane], tree[lane + ${step}u]);
    }
    //% endif
    //% endfor
    total = tree[lane];
    //% endif
//% endmacro

//% macro team_arguments()
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
//% endmacro

@compute @workgroup_size(256)
fn fold(${team_arguments()}) {
    let team = (group.y * num_workgroups.x + group.x) * ${TEAMS}u + lane / ${LANES}u;
    let piece = team / params.columns;
    let segment = segment_of(piece);
    var total: ${VALUE} = ${IDENTITY};
    let there = piece < params.pieces && segment < params.segments;
    if there {
        let before = select(0u, end_of(max(segment, 1u) - 1u), segment > 0u);
        let rows = rows_of(segment);
        let at = column_at(team % params.columns);
        let first = rows.x + (piece - before) * ${PIECE}u;
        let end = min(first + ${PIECE}u, rows.y);
        for (var row = first + lane % ${LANES}u; row < end; row += ${LANES}u) {
            let x = ${element.load("source", FROM, "u32(at + i32(row) * params.source_step)")};
            total = combine(total, ${LIFT});
        }
    }
    ${join_team()}
    if there && lane % ${LANES}u == 0u {
        partial[team] = total;
    }
}

@compute @workgroup_size(256)
fn combine_pieces(${team_arguments()}) {
    let team = (group.y * num_workgroups.x + group.x) * ${TEAMS}u + lane / ${LANES}u;
    let segment = team / params.columns;
    let column = team % params.columns;
    var total: ${VALUE} = ${IDENTITY};
    if segment < params.segments {
        let before = select(0u, end_of(max(segment, 1u) - 1u), segment > 0u);
        for (var piece = before + lane % ${LANES}u; piece < end_of(segment); piece += ${LANES}u) {
            total = combine(total, combined[piece * params.columns + column]);
        }
    }
    ${join_team()}
    if segment < params.segments && lane % ${LANES}u == 0u {
        let range = rows_of(segment);
        let rows = range.y - range.x;
        let result = ${FINISH};
        ${element.store("out", TO, "params.out_offset + team", "result")}
    }
}

@compute @workgroup_size(256)
fn spread(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 256u);
    if i >= params.rows * params.columns {
        return;
    }
    let row = i / params.columns;
    var segment = 0u;  // the first one that ends behind the row
    var high = params.segments;
    while segment < high {
        let middle = (segment + high) / 2u;
        if offsets[params.offsets_offset + middle + 1u] > row {
            high = middle;
        } else {
            segment = middle + 1u;
        }
    }
    var result = ${TO}(0);
    if segment < params.segments {
        let range = rows_of(segment);
        if range.x <= row {
            let rows = range.y - range.x;
            let at = column_at(i % params.columns) + i32(segment) * params.source_step;
            let x = ${element.load("source", FROM, "u32(at)")};
            let total = ${LIFT};
            result = ${FINISH};
        }
    }
    ${element.store("out", TO, "params.out_offset + i", "result")}
}

@compute @workgroup_size(256)
fn starts(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let segment = linear_index(id, num_workgroups, 256u);
    if segment > params.segments {
        return;
    }
    var low = 0u;
    var high = params.rows;
    while low < high {
        let middle = (low + high) / 2u;
        if keys[params.keys_offset + middle] < ${KEY}(segment) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    found[params.found_offset + segment] = low;
}

// Running totals along one axis of a strided tensor: the tensor is read as lines, a line as tiles of 8192 elements.
// A workgroup takes a tile as eight rows of 256 invocations times 4 elements (ROWS = 1: one row, for short lines). Entries:
//   serial   an invocation for each line
//   whole    a workgroup for each line, which is one tile
//   totals, spine, spread   the total of each tile; their running totals, tile after tile; each tile, added to what came
//            before it
//   chained  all in one pass: tiles publish their totals and read those before them (Merrill and Garland, "Single-pass
//            parallel prefix scan with decoupled look-back", 2016). A tile that waits too long computes the missing total
//            itself (Smith, Levien and Owens, "Decoupled fallback", 2025), so it ends also where workgroups do not run side
//            by side, or start in another order than that of their tiles.
// Totals of tiles are combined from left to right in all of them: the same input gives the same bits, whichever is taken.
// In: FROM and TO, the dtypes read and written; VALUE, the WGSL type worked in; LIFT, an element x as a VALUE; COMBINE, a
//     and b as one; IDENTITY, the value that changes none; START, the first of a line if EXCLUSIVE; FINISH, the total as a
//     result; EXCLUSIVE, whether an element's own value is left out; VECTOR, whether both tensors are f32, i32 or u32 and
//     each line begins at a multiple of 16 bytes and is as long; ROWS, 1 or 8; SUBGROUP, as in workgroup_scan.wgsl;
//     SPIN_LIMIT, how often a missing total is polled before it is computed; RECORD, words from
//     what a tile publishes to the next.
// Out: out[.., i, ..] = all elements up to i (EXCLUSIVE: before i) of the line.
//% import "common/element.wgsl" as element
//% if "f16" in (FROM, TO)
enable f16;
//% endif
//% include "common/math.wgsl"
//% set ROW = 1024
//% set TILE = ROW * ROWS
//% set COMPONENTS = "xyzw"

//% if ROWS == 8
struct Scanned {
    low: vec4<${VALUE}>,
    high: vec4<${VALUE}>,
}
//% else
alias Scanned = ${VALUE};
//% endif

struct Params {
    count: u32,  // elements of a line
    lines: u32,
    tiles: u32,  // of a line
    source_offset: u32,
    out_offset: u32,
    source_step: i32,  // along a line
    out_step: i32,
    line_axes: u32,
    shape: array<vec4u, 2>,  // of the lines
    source_strides: array<vec4i, 2>,
    out_strides: array<vec4i, 2>,
}

@group(0) @binding(0) var<uniform> params: Params;
//% if VECTOR
@group(0) @binding(1) var<storage, read> source: array<vec4<${FROM}>>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4<${TO}>>;
//% else
@group(0) @binding(1) var<storage, read> source: ${element.storage(FROM)};
@group(0) @binding(2) var<storage, read_write> out: ${element.storage(TO)};
//% endif
@group(0) @binding(3) var<storage, read_write> partial: array<${VALUE}>;  // a VALUE for each tile
@group(0) @binding(4) var<storage, read> prefixes: array<${VALUE}>;  // partial, where it is only read
@group(0) @binding(5) var<storage, read_write> published: array<atomic<u32>>;  // a record for each tile

fn combine(a: ${VALUE}, b: ${VALUE}) -> ${VALUE} {
    return ${COMBINE};
}

//% if ROWS == 8
fn combine_four(a: vec4<${VALUE}>, b: vec4<${VALUE}>) -> vec4<${VALUE}> {
    return vec4<${VALUE}>(combine(a.x, b.x), combine(a.y, b.y), combine(a.z, b.z), combine(a.w, b.w));
}
//% endif

fn combine_scanned(a: Scanned, b: Scanned) -> Scanned {
    //% if ROWS == 8
    return Scanned(combine_four(a.low, b.low), combine_four(a.high, b.high));
    //% else
    return combine(a, b);
    //% endif
}

//% if SUBGROUP
fn shuffle_scanned(x: Scanned, lane: u32) -> Scanned {
    //% if ROWS == 8
    return Scanned(subgroupShuffle(x.low, lane), subgroupShuffle(x.high, lane));
    //% else
    return subgroupShuffle(x, lane);
    //% endif
}
//% endif

//% include "common/workgroup_scan.wgsl"
//% import "common/workgroup_scan.wgsl" as scan with context
//% import "common/scan_tile.wgsl" as tile with context

// Where a line begins in source and out.
fn line_at(line: u32) -> vec2i {
    var at = vec2i(i32(params.source_offset), i32(params.out_offset));
    var rest = line;
    for (var axis = params.line_axes; axis > 0u; axis -= 1u) {
        let word = (axis - 1u) / 4u;
        let part = (axis - 1u) % 4u;
        let size = params.shape[word][part];
        at += i32(rest % size) * vec2i(params.source_strides[word][part], params.out_strides[word][part]);
        rest = rest / size;
    }
    return at;
}

//% if VECTOR
fn load_four(line: i32, i: u32) -> vec4<${VALUE}> {
    let x = source[(u32(line) + min(i, params.count - 4u)) / 4u];
    return select(vec4<${VALUE}>(${IDENTITY}), x, i < params.count);
}

fn store_four(line: i32, i: u32, value: vec4<${VALUE}>) {
    if i < params.count {
        out[(u32(line) + i) / 4u] = value;
    }
}
//% else
fn load(line: i32, i: u32) -> ${VALUE} {
    let x = ${element.load("source", FROM, "u32(line + i32(min(i, params.count - 1u)) * params.source_step)")};
    return select(${VALUE}(${IDENTITY}), ${LIFT}, i < params.count);
}

fn store(line: i32, i: u32, total: ${VALUE}) {
    if i < params.count {
        let result = ${FINISH};
        ${element.store("out", TO, "u32(line + i32(i) * params.out_step)", "result")}
    }
}
//% endif

//% if not VECTOR
@compute @workgroup_size(256)
fn serial(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let line = id.y * (num_workgroups.x * 256u) + id.x;
    if line >= params.lines {
        return;
    }
    let at = line_at(line);
    var total: ${VALUE} = ${START};
    for (var i = 0u; i < params.count; i += 1u) {
        let value = load(at.x, i);
        //% if EXCLUSIVE
        store(at.y, i, total);
        total = combine(total, value);
        //% else
        total = combine(total, value);
        store(at.y, i, total);
        //% endif
    }
}
//% endif

@compute @workgroup_size(256)
fn whole(${scan.arguments()}) {
    let line = group.y * num_workgroups.x + group.x;
    if line >= params.lines {
        return;
    }
    let thread = ${scan.thread()};
    let at = line_at(line);
    ${tile.read_tile("at.x", "0u")}
    let prefix: ${VALUE} = ${IDENTITY};
    ${tile.write_tile("at.y", "0u", "prefix")}
}

@compute @workgroup_size(256)
fn totals(${scan.arguments()}) {
    let number = group.y * num_workgroups.x + group.x;
    if number >= params.lines * params.tiles {
        return;
    }
    let thread = ${scan.thread()};
    let at = line_at(number / params.tiles);
    let first = (number % params.tiles) * ${TILE}u;
    ${tile.read_tile("at.x", "first")}
    if thread.number == 0u {
        partial[number] = ${tile.total_of_rows()};
    }
}

var<workgroup> links: array<${VALUE}, 1024>;

// A workgroup for each line; its first invocation combines 1024 totals at a time, so that the order is the chain's.
@compute @workgroup_size(256)
fn spine(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let line = group.y * num_workgroups.x + group.x;
    if line >= params.lines {
        return;
    }
    let first = line * params.tiles;
    var carry: ${VALUE} = ${IDENTITY};
    for (var done = 0u; done < params.tiles; done += 1024u) {
        for (var i = lane; i < min(1024u, params.tiles - done); i += 256u) {
            links[i] = partial[first + done + i];
        }
        workgroupBarrier();
        if lane == 0u {
            for (var i = 0u; i < min(1024u, params.tiles - done); i += 8u) {
                //% for c in range(8)
                let link${c} = links[i + ${c}u];
                //% endfor
                //% for c in range(8)
                links[i + ${c}u] = carry;
                carry = combine(carry, link${c});
                //% endfor
            }
        }
        workgroupBarrier();
        for (var i = lane; i < min(1024u, params.tiles - done); i += 256u) {
            partial[first + done + i] = links[i];
        }
        workgroupBarrier();
    }
}

@compute @workgroup_size(256)
fn spread(${scan.arguments()}) {
    let number = group.y * num_workgroups.x + group.x;
    if number >= params.lines * params.tiles {
        return;
    }
    let thread = ${scan.thread()};
    let at = line_at(number / params.tiles);
    let first = (number % params.tiles) * ${TILE}u;
    ${tile.read_tile("at.x", "first")}
    let prefix = prefixes[number];
    ${tile.write_tile("at.y", "first", "prefix")}
}

//% if SUBGROUP and ROWS == 8
//% include "common/look_back.wgsl"

var<workgroup> sought: Sought;

@compute @workgroup_size(256)
fn chained(${scan.arguments()}) {
    let thread = ${scan.thread()};
    let number = group.y * num_workgroups.x + group.x;
    if number >= params.lines * params.tiles {
        return;
    }
    let begin = number - number % params.tiles;
    let at = line_at(number / params.tiles);
    let first = (number - begin) * ${TILE}u;
    ${tile.read_tile("at.x", "first")}
    let total = ${tile.total_of_rows()};
    if thread.number == 0u {
        publish(number * ${RECORD}u, select(TOTAL, RUNNING, number == begin), total);
    }
    var prefix: ${VALUE} = ${IDENTITY};
    var doubting = false;
    while number > begin {
        if thread.leaf == 0u {
            let found = look_back(begin, number, thread.lane, doubting);
            if thread.lane == 0u {
                sought = found;
                if !found.missing {
                    publish(number * ${RECORD}u, RUNNING, combine(found.value, total));
                }
            }
        }
        let found = workgroupUniformLoad(&sought);
        if !found.missing {
            prefix = found.value;
            break;
        }
        doubting = true;
        var worked_out: ${VALUE} = ${IDENTITY};
        for (var row = 0u; row < 8u; row += 1u) {  // not all at once, as read_tile does: that would take twice the registers
            let i = (found.tile - begin) * ${TILE}u + row * ${ROW}u + thread.number * 4u;
            //% if VECTOR
            let v = load_four(at.x, i);
            //% else
            let v = vec4<${VALUE}>(load(at.x, i), load(at.x, i + 1u), load(at.x, i + 2u), load(at.x, i + 3u));
            //% endif
            scan_workgroup(Scanned(vec4<${VALUE}>(combine(combine(combine(v.x, v.y), v.z), v.w)), v), thread);
            worked_out = combine(worked_out, scan_total().low.x);
            workgroupBarrier();
        }
        if thread.number == 0u {
            publish(found.tile * ${RECORD}u + 2u, TOTAL, worked_out);
        }
        storageBarrier();
        workgroupBarrier();
    }
    ${tile.write_tile("at.y", "first", "prefix")}
}
//% endif

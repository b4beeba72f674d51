// Stable sort of lines of 32-bit keys, eight bits at a time from the lowest, with a 32-bit value with each key if requested.
// A line is read as tiles of 256 x ITEMS keys, a tile by one workgroup. Entries:
//   digits   how often each of the 256 values of a digit occurs in each tile: counts[line][digit][tile]
//   scatter  every key of a tile to its position: after all smaller digits and the same digit of earlier tiles (starts, the
//            running total of counts before it); within the tile keys are ordered first, so that neighbors are written
//            together
//   whole    all digits at once of lines that are one tile
// In: KEY, the dtype of the keys; FIRST, whether they are read from the caller's tensor, or as a pass before wrote them;
//     VALUES: "none", "values", or "indices" (FIRST: the index along the line); WITH_KEYS, whether sorted keys are written;
//     ITEMS, keys an invocation takes; SUBGROUP, as in workgroup_scan.wgsl.
// Out: sorted_keys, sorted_values, lines one after the other. Keys move as they are: the compared bits are recomputed.
// Order: numbers rise, or fall if params.flip is all ones; -0 equals 0, NaN comes last in both orders, equals stay in order.
//% set TILE = 256 * ITEMS

alias Scanned = u32;

struct Params {
    count: u32,  // keys of a line
    lines: u32,
    tiles: u32,  // of a line
    shift: u32,  // of the digit
    end: u32,  // of the last digit, for `whole`
    flip: u32,
    keys_offset: u32,
    values_offset: u32,
    sorted_keys_offset: u32,
    sorted_values_offset: u32,
    //% if FIRST
    keys_step: i32,
    line_axes: u32,
    shape: array<vec4u, 2>,  // of the lines
    keys_strides: array<vec4i, 2>,
    //% if VALUES == "values"
    values_step: i32,
    values_strides: array<vec4i, 2>,
    //% endif
    //% endif
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> keys: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<u32>;
@group(0) @binding(3) var<storage, read_write> sorted_keys: array<u32>;
@group(0) @binding(4) var<storage, read_write> sorted_values: array<u32>;
@group(0) @binding(5) var<storage, read_write> counts: array<u32>;
@group(0) @binding(6) var<storage, read> starts: array<u32>;

fn combine_scanned(a: u32, b: u32) -> u32 {
    return a + b;
}

//% if SUBGROUP
fn shuffle_scanned(x: u32, lane: u32) -> u32 {
    return subgroupShuffle(x, lane);
}
//% endif

//% include "common/workgroup_scan.wgsl"
//% import "common/workgroup_scan.wgsl" as scan with context
//% include "common/radix_tile.wgsl"
//% import "common/radix_tile.wgsl" as tile with context

// The key as a number whose order is the requested one.
fn rank_of(key: u32) -> u32 {
    //% if KEY == "f32"
    if (key & 0x7fffffffu) > 0x7f800000u {
        return 0xffffffffu;
    }
    let zero = select(key, 0u, key == 0x80000000u);
    return (zero ^ select(0x80000000u, 0xffffffffu, zero >= 0x80000000u)) ^ params.flip;
    //% elif KEY == "i32"
    return key ^ 0x80000000u ^ params.flip;
    //% else
    return key ^ params.flip;
    //% endif
}

// A key that comes last, to fill up a tile.
fn filler() -> u32 {
    //% if KEY == "f32"
    return 0x7fffffffu;
    //% elif KEY == "i32"
    return params.flip ^ 0x7fffffffu;
    //% else
    return params.flip ^ 0xffffffffu;
    //% endif
}

//% macro line_start(name)
fn ${name}_at(line: u32) -> i32 {
    var at = i32(params.${name}_offset);
    //% if FIRST
    var rest = line;
    for (var axis = params.line_axes; axis > 0u; axis -= 1u) {
        let size = params.shape[(axis - 1u) / 4u][(axis - 1u) % 4u];
        at += i32(rest % size) * params.${name}_strides[(axis - 1u) / 4u][(axis - 1u) % 4u];
        rest = rest / size;
    }
    //% else
    at += i32(line * params.count);
    //% endif
    return at;
}
//% endmacro
${line_start("keys")}
//% if VALUES == "values"
${line_start("values")}
//% endif

fn key_at(line: i32, i: u32) -> u32 {
    let key = keys[u32(line + i32(min(i, params.count - 1u))${" * params.keys_step" if FIRST else ""})];
    return select(filler(), key, i < params.count);
}

//% if VALUES == "values"
fn value_at(line: i32, i: u32) -> u32 {
    return values[u32(line + i32(min(i, params.count - 1u))${" * params.values_step" if FIRST else ""})];
}
//% elif VALUES == "indices"
fn value_at(line: i32, i: u32) -> u32 {
    return i;
}
//% endif

var<workgroup> tally: array<atomic<u32>, 256>;

@compute @workgroup_size(256)
fn digits(${scan.arguments()}) {
    let number = group.y * num_workgroups.x + group.x;
    if number >= params.lines * params.tiles {
        return;
    }
    let thread = ${scan.thread()};
    atomicStore(&tally[thread.number], 0u);
    workgroupBarrier();
    let line = number / params.tiles;
    let tile = number % params.tiles;
    let at = keys_at(line);
    //% for i in range(ITEMS)
    let i${i} = tile * ${TILE}u + ${i * 256}u + thread.number;
    let d${i} = (rank_of(key_at(at, i${i})) >> params.shift) & 255u;
    //% endfor
    //% for i in range(ITEMS)
    //% if SUBGROUP
    if subgroupAll(d${i} == subgroupBroadcastFirst(d${i})) {  // equal keys would queue for one counter
        let many = countOneBits(subgroupBallot(i${i} < params.count).x);
        if thread.lane == 0u {
            atomicAdd(&tally[d${i}], many);
        }
    } else if i${i} < params.count {
        atomicAdd(&tally[d${i}], 1u);
    }
    //% else
    if i${i} < params.count {
        atomicAdd(&tally[d${i}], 1u);
    }
    //% endif
    //% endfor
    workgroupBarrier();
    counts[(line * 256u + thread.number) * params.tiles + tile] = atomicLoad(&tally[thread.number]);
}

@compute @workgroup_size(256)
fn scatter(${scan.arguments()}) {
    let number = group.y * num_workgroups.x + group.x;
    if number >= params.lines * params.tiles {
        return;
    }
    let thread = ${scan.thread()};
    let line = number / params.tiles;
    let tile = number % params.tiles;
    ${tile.read_tile("tile * " ~ TILE ~ "u")}
    ${tile.order_tile("params.shift")}
    //% for i in range(ITEMS)
    pool[rank${i}] = key${i};
    //% endfor
    workgroupBarrier();
    //% for i in range(ITEMS)
    let i${i} = ${i * 256}u + thread.number;
    let of${i} = (rank_of(pool[i${i}]) >> params.shift) & 255u;
    //% if not SUBGROUP
    if i${i} == 0u || ((rank_of(pool[max(i${i}, 1u) - 1u]) >> params.shift) & 255u) != of${i} {
        first_of[of${i}] = i${i};
    }
    //% endif
    //% endfor
    workgroupBarrier();
    // from offsets in the tile to offsets in the line; wraps where the first is larger
    first_of[thread.number] = starts[(line * 256u + thread.number) * params.tiles + tile] - first_of[thread.number];
    workgroupBarrier();
    let many = min(params.count - tile * ${TILE}u, ${TILE}u);
    let at = line * params.count;
    //% for i in range(ITEMS)
    let to${i} = at + first_of[of${i}] + i${i};
    //% if WITH_KEYS
    if i${i} < many {
        sorted_keys[params.sorted_keys_offset + to${i}] = pool[i${i}];
    }
    //% endif
    //% endfor
    //% if VALUES != "none"
    workgroupBarrier();
    //% for i in range(ITEMS)
    pool[rank${i}] = value${i};
    //% endfor
    workgroupBarrier();
    //% for i in range(ITEMS)
    if i${i} < many {
        sorted_values[params.sorted_values_offset + to${i}] = pool[i${i}];
    }
    //% endfor
    //% endif
}

@compute @workgroup_size(256)
fn whole(${scan.arguments()}) {
    let line = group.y * num_workgroups.x + group.x;
    if line >= params.lines {
        return;
    }
    let thread = ${scan.thread()};
    ${tile.read_tile("0u")}
    for (var shift = 0u; shift < params.end; shift += 8u) {
        ${tile.order_tile("shift")}
        ${tile.exchange()}
    }
    let at = line * params.count;
    //% for i in range(ITEMS)
    {
        let i = ${tile.own(i)};
        if i < params.count {
            //% if WITH_KEYS
            sorted_keys[params.sorted_keys_offset + at + i] = key${i};
            //% endif
            //% if VALUES != "none"
            sorted_values[params.sorted_values_offset + at + i] = value${i};
            //% endif
        }
    }
    //% endfor
}

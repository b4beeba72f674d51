// Totals that tiles publish, and the search for what comes before a tile, by one subgroup (Merrill and Garland,
// "Single-pass parallel prefix scan with decoupled look-back", 2016). In: VALUE, IDENTITY, SUBGROUP, SPIN_LIMIT and
// RECORD as in ops/scan.wgsl. The file that includes this has the array `published` of atomic words, and fn combine(a:
// VALUE, b: VALUE).
//  A tile publishes its total, then the running total after it, in two words: a half of the bits below, above it which
// of the two it is. Halves of different kinds are read only while it changes. A total that others computed has two
// words of its own, so that nobody depends on a workgroup that stopped before the end. Records are far apart: contiguous,
// hundreds of workgroups that poll at the same few would queue for one slice of the cache (H100, 2^27 elements: 0.54 ms
// with 4 words, 0.44 with 16).
const TOTAL = 1u;
const RUNNING = 2u;

struct Polled {
    kind: u32,  // 0 where identity is there yet
    value: ${VALUE},
}

struct Sought {
    missing: bool,
    tile: u32,
    value: ${VALUE},
}

fn publish(word: u32, kind: u32, value: ${VALUE}) {
    let bits = bitcast<u32>(value);
    atomicStore(&published[word], (kind << 16u) | (bits & 0xffffu));
    atomicStore(&published[word + 1u], (kind << 16u) | (bits >> 16u));
}

fn poll(word: u32) -> Polled {
    let low = atomicLoad(&published[word]);
    let high = atomicLoad(&published[word + 1u]);
    let kind = select(0u, low >> 16u, low >> 16u == high >> 16u);
    return Polled(kind, bitcast<${VALUE}>((low & 0xffffu) | (high << 16u)));
}

fn poll_tile(tile: u32, doubting: bool) -> Polled {
    var polled = poll(tile * ${RECORD}u);
    if doubting && polled.kind == 0u {
        polled = poll(tile * ${RECORD}u + 2u);
    }
    return polled;
}

// The first lane where it is true; SUBGROUP if it is true nowhere.
fn first_lane(there: bool) -> u32 {
    return min(countTrailingZeros(subgroupBallot(there).x), ${SUBGROUP}u);
}

// What comes before tile `mine` of the line that begins with tile `first`, by one subgroup: lane l polls at the tile l
// + 1 before. It goes back to the nearest running total, then forward again, adding up.
fn look_back(first: u32, mine: u32, lane: u32, doubting: bool) -> Sought {
    let identity: ${VALUE} = ${IDENTITY};
    let before_all = Polled(RUNNING, identity);
    var end = mine;
    var polled = Polled(0u, identity);
    var nearest = ${SUBGROUP}u;
    for (var polls = 0u; ; polls += 1u) {
        if polled.kind == 0u && lane < nearest {  // what was read, or is behind a running total, is not read again
            polled = before_all;
            if lane < end - first {
                polled = poll_tile(end - 1u - lane, doubting);
            }
        }
        nearest = first_lane(polled.kind == RUNNING);
        let missing = first_lane(polled.kind == 0u);
        if missing < nearest {
            if polls >= ${SPIN_LIMIT}u {
                return Sought(true, end - 1u - missing, identity);
            }
        } else if nearest < ${SUBGROUP}u {
            break;
        } else {
            end -= ${SUBGROUP}u;
            polled.kind = 0u;
        }
    }
    var total = identity;
    loop {
        if nearest < ${SUBGROUP}u {
            total = subgroupShuffle(polled.value, nearest);
        }
        let added = select(identity, polled.value, lane < nearest);
        //% for l in range(SUBGROUP - 1, -1, -1)
        total = combine(total, subgroupShuffle(added, ${l}u));
        //% endfor
        if end == mine {
            break;
        }
        end += ${SUBGROUP}u;
        polled.kind = 0u;
        for (var polls = 0u; polls <= ${SPIN_LIMIT}u && polled.kind == 0u; polls += 1u) {  // it was there, but may change
            polled = poll_tile(end - 1u - lane, doubting);
        }
        nearest = first_lane(polled.kind == RUNNING);
        let missing = first_lane(polled.kind == 0u);
        if missing < ${SUBGROUP}u {
            return Sought(true, end - 1u - missing, identity);
        }
    }
    return Sought(false, mine, total);
}

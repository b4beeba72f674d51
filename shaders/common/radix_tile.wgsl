// A tile of ops/radix_sort.wgsl, ordered by one digit within its workgroup.
// Include this for what the macros need in workgroup memory, import it for the macros: read_tile, order_tile, exchange, own.
// In: TILE, keys of a tile; ITEMS, SUBGROUP and VALUES of ops/radix_sort.wgsl, and its functions; `thread` and `line` are known.

var<workgroup> pool: array<u32, ${TILE}>;  // a tile in order
var<workgroup> first_of: array<u32, 256>;  // thread in the tile of the first key of each digit

// The position in the tile of key number `i` of an invocation.
//% macro own(i)
//% if SUBGROUP
thread.leaf * ${SUBGROUP * ITEMS}u + ${i * SUBGROUP}u + thread.lane
//%- else
thread.number * ${ITEMS}u + ${i}u
//%- endif
//%- endmacro

//% if SUBGROUP
// Two counters a word, for each subgroup those of all digits.
var<workgroup> tallies: array<atomic<u32>, ${256 // SUBGROUP * 128}>;

// How many equal digits the subgroup had before this one.
fn count_digit(digit: u32, thread: ScanThread) -> u32 {
    var peers = subgroupBallot(true).x;
    //% for bit in range(8)
    {
        let one = (digit & ${2 ** bit}u) != 0u;
        let vote = subgroupBallot(one).x;
        peers &= select(~vote, vote, one);
    }
    //% endfor
    let leader = countTrailingZeros(peers);
    let half = (digit & 1u) * 16u;
    var earlier = 0u;
    if thread.lane == leader {
        earlier = atomicAdd(&tallies[thread.leaf * 128u + digit / 2u], countOneBits(peers) << half) >> half;
    }
    earlier = subgroupShuffle(earlier, leader) & 0xffffu;
    return earlier + countOneBits(peers & ((1u << thread.lane) - 1u));
}
//% else
// Two counters a word: of the low eight and of the high eight values of half a digit, for each invocation.
var<workgroup> tallies: array<u32, 2048>;
//% endif

// rank{i}, the thread in the tile of key{i} by its digit, and first_of.
//% macro order_tile(shift)
    //% if SUBGROUP
    for (var i = thread.number; i < ${256 // SUBGROUP * 128}u; i += 256u) {
        atomicStore(&tallies[i], 0u);
    }
    workgroupBarrier();
    //% for i in range(ITEMS)
    let digit${i} = (rank_of(key${i}) >> (${shift})) & 255u;
    rank${i} = count_digit(digit${i}, thread);
    //% endfor
    workgroupBarrier();
    if thread.number < 128u {
        var sum = 0u;
        for (var s = 0u; s < ${256 // SUBGROUP}u; s += 1u) {
            let many = atomicLoad(&tallies[s * 128u + thread.number]);
            atomicStore(&tallies[s * 128u + thread.number], sum);
            sum += many;
        }
        first_of[2u * thread.number] = sum & 0xffffu;
        first_of[2u * thread.number + 1u] = sum >> 16u;
    }
    workgroupBarrier();
    let through = scan_workgroup(first_of[thread.number], thread);
    first_of[thread.number] = scan_before(through, 0u, thread);
    workgroupBarrier();
    //% for i in range(ITEMS)
    {
        let of_subgroup = atomicLoad(&tallies[thread.leaf * 128u + digit${i} / 2u]);
        rank${i} += first_of[digit${i}] + ((of_subgroup >> ((digit${i} & 1u) * 16u)) & 0xffffu);
    }
    //% endfor
    //% else
    for (var nibble = 0u; nibble < 8u; nibble += 4u) {
        if nibble > 0u {
            ${exchange()}
        }
        //% for q in range(8)
        tallies[${q * 256}u + thread.number] = 0u;
        //% endfor
        //% for i in range(ITEMS)
        let digit${i} = (rank_of(key${i}) >> (${shift} + nibble)) & 15u;
        let word${i} = (digit${i} & 7u) * 256u + thread.number;
        let half${i} = (digit${i} >> 3u) * 16u;
        rank${i} = (tallies[word${i}] >> half${i}) & 0xffffu;
        tallies[word${i}] += 1u << half${i};
        //% endfor
        workgroupBarrier();
        var sum = 0u;
        //% for q in range(8)
        sum += tallies[thread.number * 8u + ${q}u];
        //% endfor
        let through = scan_workgroup(sum, thread);
        sum = scan_before(through, 0u, thread) + (scan_total() << 16u);
        //% for q in range(8)
        let of_word${q} = tallies[thread.number * 8u + ${q}u];
        tallies[thread.number * 8u + ${q}u] = sum;
        sum += of_word${q};
        //% endfor
        workgroupBarrier();
        //% for i in range(ITEMS)
        rank${i} += (tallies[word${i}] >> half${i}) & 0xffffu;
        //% endfor
        workgroupBarrier();
    }
    //% endif
//% endmacro

// The keys and values of the tile in the order of rank{i}.
//% macro exchange()
    //% for name in (["key", "value"] if VALUES != "none" else ["key"])
    workgroupBarrier();
    //% for i in range(ITEMS)
    pool[rank${i}] = ${name}${i};
    //% endfor
    workgroupBarrier();
    //% for i in range(ITEMS)
    ${name}${i} = pool[${own(i)}];
    //% endfor
    //% endfor
//% endmacro

//% macro read_tile(first)
    let from_keys = keys_at(line);
    //% for i in range(ITEMS)
    var key${i} = key_at(from_keys, ${first} + ${own(i)});
    //% endfor
    //% if VALUES != "none"
    let from_values = ${"values_at(line)" if VALUES == "values" else "0"};
    //% for i in range(ITEMS)
    var value${i} = value_at(from_values, ${first} + ${own(i)});
    //% endfor
    //% endif
    //% for i in range(ITEMS)
    var rank${i} = 0u;
    //% endfor
//% endmacro

// Running totals over a workgroup of 256 invocations: by subgroups of SUBGROUP invocations, then through workgroup memory.
// Include this for the functions, import it for the macros `arguments`, of an entry point, and `thread`, its ScanThread.
// In: SUBGROUP, a power of two up to 32, or 0 for workgroup memory alone. The file that includes this has the type Scanned
//     (a number, or several in a struct), fn combine_scanned(a: Scanned, b: Scanned) -> Scanned, and with subgroups
//     fn shuffle_scanned(x: Scanned, lane: u32) -> Scanned, which is subgroupShuffle of each number.
// The order of combination is Sklansky's ("Conditional-sum addition logic", 1960): in round k, invocations whose bit k is
// set put the total of the 2^k before their own block in front. It does not depend on SUBGROUP, so the bits do not either.
//% set LEAF = SUBGROUP or 1

var<workgroup> rounds: array<Scanned, ${256 // LEAF}>;

struct ScanThread {
    number: u32,  // of the invocation in the order of the scan
    leaf: u32,
    lane: u32,
}

//% if SUBGROUP
fn thread_of(subgroup: u32, lane: u32) -> ScanThread {
    return ScanThread(subgroup * ${SUBGROUP}u + lane, subgroup, lane);
}
//% else
fn thread_of(number: u32) -> ScanThread {
    return ScanThread(number, number, 0u);
}
//% endif

//% macro arguments()
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    //% if SUBGROUP
    @builtin(subgroup_id) subgroup: u32,
    @builtin(subgroup_invocation_id) lane: u32,
    //% else
    @builtin(local_invocation_index) lane: u32,
    //% endif
//% endmacro
//% macro thread()
thread_of(${"subgroup, lane" if SUBGROUP else "lane"})
//%- endmacro

// All up to and including one's own, on return from which scan_total and scan_before may be called. Call it in uniform
// control flow, with a barrier between two calls.
fn scan_workgroup(own: Scanned, thread: ScanThread) -> Scanned {
    var x = own;
    //% for k in (1, 2, 4, 8, 16)
    //% if k < LEAF
    {
        let later = (thread.lane & ${k}u) != 0u;
        let before = shuffle_scanned(x, select(thread.lane, (thread.lane & ${2**32 - k}u) - 1u, later));
        if later {
            x = combine_scanned(before, x);
        }
    }
    //% endif
    //% endfor
    if thread.lane == ${LEAF - 1}u {
        rounds[thread.leaf] = x;
    }
    //% for k in (1, 2, 4, 8, 16, 32, 64, 128)
    //% if k < 256 // LEAF
    workgroupBarrier();
    if (thread.leaf & ${k}u) != 0u {
        x = combine_scanned(rounds[(thread.leaf & ${2**32 - k}u) - 1u], x);
        if thread.lane == ${LEAF - 1}u {
            rounds[thread.leaf] = x;
        }
    }
    //% endif
    //% endfor
    workgroupBarrier();
    return x;
}

fn scan_total() -> Scanned {
    return rounds[${256 // LEAF - 1}];
}

// What came before one's own; `identity` for the first. `through` is what scan_workgroup returned.
fn scan_before(through: Scanned, identity: Scanned, thread: ScanThread) -> Scanned {
    var before = identity;
    if thread.leaf > 0u {
        before = rounds[thread.leaf - 1u];
    }
    //% if SUBGROUP
    let neighbor = shuffle_scanned(through, max(thread.lane, 1u) - 1u);
    if thread.lane > 0u {
        before = neighbor;
    }
    //% endif
    return before;
}

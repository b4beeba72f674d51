// Whether a tensor of another model has changed since the last time, or has obstacles that move: then it may add energy.
// In: input, of `count` elements, PART for each invocation; with MOVES the obstacles of common/obstacle.wgsl.
// Out: hashes, one for each workgroup; changed is set to 1, and never to 0.

struct Params {
    count: u32,
    input_offset: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> input: array<f32>;
@group(0) @binding(2) var<storage, read_write> hashes: array<u32>;
@group(0) @binding(3) var<storage, read_write> changed: array<atomic<u32>>;

var<workgroup> sums: array<u32, 256>;

// MurmurHash3's finalizer.
fn mixed(bits: u32) -> u32 {
    var h = (bits ^ (bits >> 16u)) * 0x85ebca6bu;
    h = (h ^ (h >> 13u)) * 0xc2b2ae35u;
    return h ^ (h >> 16u);
}

fn any_moves() -> bool {
    var block = params.input_offset;
    for (var next = 1u; next > 0u; block += next) {
        for (var k = 20u; k < 27u; k += 1u) {
            if k != 23u && input[block + k] != 0.0 {
                return true;
            }
        }
        next = u32(input[block + 31u]);
    }
    return false;
}

@compute @workgroup_size(256)
fn compare(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    var hash = lane;
    for (var k = 0u; k < ${PART}u; k += 1u) {
        let i = (group.x * ${PART}u + k) * 256u + lane;
        if i < params.count {
            hash = mixed(hash ^ bitcast<u32>(input[params.input_offset + i])) + k;
        }
    }
    sums[lane] = mixed(hash);
    for (var half_group = 128u; half_group > 0u; half_group /= 2u) {
        workgroupBarrier();
        if lane < half_group {
            sums[lane] += sums[lane + half_group];
        }
    }
    if lane == 0u {
        let found = sums[0] | 1u;  // never the 0 of a hash that there is none of yet
        if hashes[group.x] != found {
            hashes[group.x] = found;
            atomicStore(&changed[0], 1u);
        }
        //% if MOVES
        if group.x == 0u && any_moves() {
            atomicStore(&changed[0], 1u);
        }
        //% endif
    }
}

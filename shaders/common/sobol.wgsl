// Points that fill the unit cube of four dimensions evenly, however many there are, each set in an order and with digits of its own:
// Sobol's sequence with hashed Owen scrambling (Burley 2020, "Practical Hash-based Owen Scrambling"), whose direction numbers are
// those of Joe and Kuo 2008, "Constructing Sobol Sequences with Better Two-Dimensional Projections". Numbers have their lowest bit
// first until the end, where a bit is flipped or not by those before it. The reference is in tests/path_trace/test_even.py.

const SHUFFLED = 12u;       // bits of a point's number that are: so many points are in any order

fn permuted(x: vec4u, seeds: vec4u) -> vec4u {
    var y = x + seeds;
    y ^= y * 0x6c50b47cu;
    y ^= y * 0xb82f1e52u;
    y ^= y * 0xc7afe638u;
    y ^= y * 0x8d22f6e6u;
    return y;
}

// The point with this number, lowest bits first. Direction numbers follow from the three before them.
fn sobol_point(number: u32) -> vec4u {
    var found = vec4u(0u);
    var now = vec4u(1u);
    var next = vec4u(2u, 3u, 3u, 3u);
    var after = vec4u(4u, 5u, 6u, 4u);
    for (var rest = number; rest != 0u; rest >>= 1u) {
        if (rest & 1u) != 0u { found ^= now; }
        let last = vec4u(after.x << 1u, after.y ^ (after.y << 1u), after.z ^ next.z ^ (next.z << 2u), next.w ^ now.w ^ (now.w << 3u));
        now = next;
        next = after;
        after = last;
    }
    return found;
}

// Point `number` of a set as four binary fractions, by four words of which any two sets have others.
fn scrambled_point(number: u32, seeds: vec4u) -> vec4u {
    let low = permuted(vec4u(reverseBits(number << (32u - SHUFFLED))), vec4u(seeds.x ^ seeds.y)).x;
    let shuffled = (number >> SHUFFLED << SHUFFLED) | (reverseBits(low) >> (32u - SHUFFLED));
    return reverseBits(permuted(sobol_point(shuffled), seeds));
}

// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2,
// 3", 2011). The same counter and key give the same four words anywhere, so nothing is stored between calls.
// The reference implementation is app/vertigrad/ops/philox.py. Include common/math.wgsl before it.

fn philox(counter: vec4u, key: vec2u) -> vec4u {
    var x = counter;
    var k = key;
    for (var round = 0u; round < 10u; round += 1u) {
        let even = wide_product(0xd2511f53u, x.x);
        let odd = wide_product(0xcd9e8d57u, x.z);
        x = vec4u(odd.y ^ x.y ^ k.x, odd.x, even.y ^ x.w ^ k.y, even.x);
        k += vec2u(0x9e3779b9u, 0xbb67ae85u);
    }
    return x;
}

// Numbers in [0, 1), all multiples of 2^-24.
fn philox_uniform(words: vec4u) -> vec4f {
    return vec4f(words >> vec4u(8u)) * 0x1p-24;
}

// A normal number of mean 0 and variance 1 is a radius times the cosine, or the sine, of an angle, from two words (Box and
// Muller, "A note on the generation of random normal deviates", 1958). None is beyond 5.8.
fn philox_radius(word: u32) -> f32 {
    return sqrt(-2.0 * log((f32(word >> 8u) + 1.0) * 0x1p-24));
}

fn philox_angle(word: u32) -> f32 {
    return f32(word >> 8u) * (6.283185307 * 0x1p-24);
}

// An integer below `range`; each as often as any other to within range / 2^32.
fn philox_below(word: u32, range: u32) -> u32 {
    return wide_product(word, range).y;
}

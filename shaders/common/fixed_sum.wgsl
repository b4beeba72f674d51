// Sums of many summands in integers, so that their order does not matter: multiples of a power of two, in two words.
// A summand is rounded to steps of 2^-FIXED_BITS of the largest magnitude, that rounded up to a power of two.

const FIXED_BITS = 23;
const FIXED_LOW = 18u;  // bits of the lower word: 2^14 summands cannot make it overflow

fn fixed_exponent(largest: f32) -> i32 {
    return clamp(i32((bitcast<u32>(largest) >> 23u) & 255u) - 126 - FIXED_BITS, -120, 100);
}

// How many steps a summand is; it must be less than 2^8 times the largest.
fn fixed_steps(summand: f32, largest: f32) -> i32 {
    return i32(round(summand * bitcast<f32>(u32(127 - fixed_exponent(largest)) << 23u)));
}

fn fixed_low(steps: i32) -> u32 {
    return u32(steps) & ((1u << FIXED_LOW) - 1u);
}

fn fixed_high(steps: i32) -> u32 {
    return bitcast<u32>(steps >> FIXED_LOW);
}

fn fixed_value(low: u32, high: u32, largest: f32) -> f32 {
    let steps = f32(bitcast<i32>(high)) * f32(1u << FIXED_LOW) + f32(low);
    return steps * bitcast<f32>(u32(fixed_exponent(largest) + 127) << 23u);
}

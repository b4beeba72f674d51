// Functions WGSL lacks, leaves undefined or computes too coarsely where NumPy defines them. All work in f32 unless they
// say otherwise. NaN is tested by its bits, since a compiler may assume that there is none.

fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn is_inf(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}

fn minimum_f(a: f32, b: f32) -> f32 {
    return select(min(a, b), a + b, is_nan(a) || is_nan(b));
}

fn maximum_f(a: f32, b: f32) -> f32 {
    return select(max(a, b), a + b, is_nan(a) || is_nan(b));
}

fn sign_f(x: f32) -> f32 {
    return select(sign(x), x, is_nan(x));
}

// Floats to integers: truncated, held to the range, NaN as 0. WGSL's own conversion stops at the largest float below 2^31.
fn to_i32(x: f32) -> i32 {
    return select(select(i32(x), 2147483647, x >= 2147483648.0), 0, is_nan(x));
}

fn to_u32(x: f32) -> u32 {
    return select(select(u32(max(x, 0.0)), 4294967295u, x >= 4294967296.0), 0u, is_nan(x));
}

fn to_u8(x: f32) -> u32 {
    return select(u32(clamp(x, 0.0, 255.0)), 0u, is_nan(x));
}

// Both words of a product, the lower one first: WGSL has no type of 64 bits.
fn wide_product(a: u32, b: u32) -> vec2u {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let middle = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let other = (a & 0xffffu) * (b >> 16u) + (middle & 0xffffu);
    return vec2u(a * b, (a >> 16u) * (b >> 16u) + (middle >> 16u) + (other >> 16u));
}

// sin and cos of any f32 to 3 ulp; NaN of infinities. WGSL only promises 2^-11 within [-pi, pi].
// An angle is reduced to k pi + rest with |rest| <= pi/2; sin(rest) is a minimax polynomial of this project (5e-10).
struct Reduced {
    rest: f32,
    odd: bool,  // whether k is odd
}

// Below this the integer of half turns has at most 12 bits, so that its products with three parts of pi of 11 bits
// each, and the differences, are exact (Cody and Waite, "Software Manual for the Elementary Functions", 1980).
const MOST_NEAR = 12000.0;

fn reduced_near(x: f32, k: f32, shift: f32) -> Reduced {
    let half_turns = k - shift;
    var r = x - half_turns * 3.140625;
    r = r - half_turns * 9.675025939941406e-4;
    r = r - half_turns * 1.5099067240953445e-7;
    return Reduced(r - half_turns * 5.126688136514179e-12, (i32(k) & 1) != 0);
}

// 96 bits of 1/pi, the first of them worth 2^(15 - first), for first up to 127.
fn bits_of_inverse_pi(first: u32) -> vec3u {
    let far = (first & 64u) != 0u;
    let a = select(vec3u(0x0000517cu, 0xc1b72722u, 0x0a94fe13u), vec3u(0x0a94fe13u, 0xabe8fa9au, 0x6ee06db1u), far);
    let b = select(vec2u(0xabe8fa9au, 0x6ee06db1u), vec2u(0x4acc9e21u, 0xc820ff28u), far);
    let odd = (first & 32u) != 0u;
    let head = select(a, vec3u(a.yz, b.x), odd);
    let tail = select(vec3u(a.yz, b.x), vec3u(a.z, b), odd);
    let shift = first & 31u;
    return (head << vec3u(shift)) | ((tail >> vec3u(1u)) >> vec3u(31u - shift));
}

// |x| and then some (in units of 2^-31 half turns) for MOST_NEAR <= |x| < infinity: the digits of x times those digits of
// 1/pi that are not worth whole turns, in 64 bits (Payne and Hanek, "Radian reduction for trigonometric functions", 1983).
fn reduced_far(x: f32, shift: u32) -> Reduced {
    let bits = bitcast<u32>(x);
    let digits = (bits & 0x7fffffu) | 0x800000u;
    let inverse = bits_of_inverse_pi(((bits >> 23u) & 0xffu) - 135u);
    let middle = wide_product(digits, inverse.y);
    let low = middle.x + wide_product(digits, inverse.z).y;
    let half_turns = digits * inverse.x + middle.y + select(0u, 1u, low < middle.x) + shift;
    let is_below = (half_turns & 0x40000000u) != 0u;  // the next integer is nearer
    let fraction = vec2u((half_turns << 1u) | (low >> 31u), low << 1u) ^ vec2u(select(0u, 0xffffffffu, is_below));
    let zeros = min(countLeadingZeros(fraction.x), 31u);
    let leading = (fraction.x << zeros) | ((fraction.y >> 1u) >> (31u - zeros));
    let size = f32(leading) * bitcast<f32>((95u - zeros) << 23u) * 3.14159265;
    return Reduced(select(size, -size, is_below), ((half_turns >> 31u) != 0u) != is_below);
}

fn sin_of_reduced(angle: Reduced) -> f32 {
    let r = angle.rest;
    let s = r * r;
    let p = r + r * s * (-1.66666672e-1 + s * (8.33335053e-3 + s * (-1.98430935e-4 + s * (2.76270498e-6 - s * 2.55025938e-8))));
    return select(p, -p, angle.odd);
}

// The sine of what was reduced, NaN (from its bits) if x is infinite.
fn sin_with_edges(angle: Reduced, x: f32) -> f32 {
    return select(sin_of_reduced(angle), bitcast<f32>(bitcast<u32>(x) | 0x400000u), is_inf(x));
}

fn precise_sin(x: f32) -> f32 {
    var angle = reduced_near(x, round(x * 0.318309886), 0.0);
    if abs(x) >= MOST_NEAR {
        angle = reduced_far(x, 0u);
        angle.rest *= sign(x);
    }
    return select(sin_with_edges(angle, x), x, abs(x) < 1.0e-4);  // as it is to f32, -0 and subnormal numbers included
}

fn precise_cos(x: f32) -> f32 {
    var angle = reduced_near(x, round(x * 0.318309886 + 0.5), 0.5);
    if abs(x) >= MOST_NEAR {
        angle = reduced_far(x, 0x40000000u);
    }
    return sin_with_edges(angle, x);
}

fn power_u(a: u32, b: u32) -> u32 {
    var base = a;
    var product = 1u;
    for (var left = b; left > 0u; left = left >> 1u) {
        product = select(product, product * base, (left & 1u) == 1u);
        base = base * base;
    }
    return product;
}

// Integers to a negative power are 0, except of 1 and -1.
fn power_i(a: i32, b: i32) -> i32 {
    if b < 0 && abs(a) != 1 {
        return 0;
    }
    return bitcast<i32>(power_u(bitcast<u32>(a), bitcast<u32>(b) & select(0xffffffffu, 1u, b < 0)));
}

// As precise as f16 holds it, rounded to even, too large ones infinite. By hand: NVIDIA's compiler takes out a cast to
// f16 and back, and packing and unpacking too.
fn rounded_to_f16(x: f32) -> f32 {
    if abs(x) < 6.103515625e-5 {
        return round(x * 16777216.0) * 5.9604644775390625e-8;
    }
    let bits = bitcast<u32>(x);
    let even = (bits + 0xfffu + ((bits >> 13u) & 1u)) & 0xffffe000u;
    return select(bitcast<f32>(even), x * 3.0e38, is_nan(x) || abs(x) >= 65520.0);
}

// a / b, correctly rounded; WGSL allows 2.5 ulp, and NVIDIA uses them. Subnormal operands and quotients are left as they are.
// What is left over by a quotient near the right one fits in 32 bits, although the products in it do not: so it is right modulo 2^32,
// whatever a compiler does with floats. A quotient is never in the middle between two floats.
fn divide_f(a: f32, b: f32) -> f32 {
    let quotient = a / b;
    let x = bitcast<u32>(a) & 0x7fffffffu;
    let y = bitcast<u32>(b) & 0x7fffffffu;
    var q = bitcast<u32>(quotient) & 0x7fffffffu;
    if min(min(x, y), q) < 0x01000000u || max(max(x, y), q) >= 0x7f000000u { return quotient; }
    let sign = bitcast<u32>(quotient) & 0x80000000u;
    let dividend = digits_of(x);
    let divisor = i32(digits_of(y));
    for (var tries = 0u; tries < 4u; tries++) {
        let shift = 150u + (x >> 23u) - (y >> 23u) - (q >> 23u);
        let rest = bitcast<i32>((dividend << shift) - digits_of(q) * u32(divisor));
        if abs(2 * rest) < divisor { break; }
        q = select(q - 1u, q + 1u, rest > 0);
    }
    return bitcast<f32>(q | sign);
}

// Floor division and the remainder that takes the divisor's sign, as in Python; integers have 0 for a divisor of 0.
fn floor_divide_i(a: i32, b: i32) -> i32 {
    if b == 0 {
        return 0;
    }
    let q = a / b;
    let r = a - q * b;  // not a % b: on NVIDIA that is wrong for negative operands (SPIR-V leaves OpSRem undefined there)
    return select(q, q - 1, r != 0 && ((r < 0) != (b < 0)));
}

// Truncated division and the remainder that takes the dividend's sign, as in C.
fn truncate_divide_i(a: i32, b: i32) -> i32 {
    return select(a / select(b, 1, b == 0), 0, b == 0);
}

fn fmod_i(a: i32, b: i32) -> i32 {
    return select(a - truncate_divide_i(a, b) * b, 0, b == 0);
}

// Truncated division of floats: what is left over is exact, and so is the quotient up to 2^24; larger ones are rounded.
// Both are NaN if a is infinite, b is 0 or either is NaN.
struct Division {
    quotient: f32,
    rest: f32,
}

// Long division of the digits, eight bits at a time.
fn long_division(a: f32, b: f32) -> Division {
    let sign = bitcast<u32>(a) & 0x80000000u;
    let sign_of_quotient = sign ^ (bitcast<u32>(b) & 0x80000000u);
    let x = bitcast<u32>(a) & 0x7fffffffu;
    let y = bitcast<u32>(b) & 0x7fffffffu;
    if x >= 0x7f800000u || y > 0x7f800000u || y == 0u {
        let none = bitcast<f32>(sign | 0x7fc00000u);
        return Division(none, none);
    }
    if x < y {
        return Division(bitcast<f32>(sign_of_quotient), a);
    }
    let divisor = digits_of(y);
    var left = max(x >> 23u, 1u) - max(y >> 23u, 1u);
    var rest = digits_of(x);
    var quotient = f32(rest / divisor);
    rest = rest % divisor;
    while left > 0u {
        let step = min(left, 8u);
        let digits = rest << step;
        quotient = quotient * f32(1u << step) + f32(digits / divisor);
        rest = digits % divisor;
        left -= step;
    }
    let size = bitcast<u32>(quotient) | sign_of_quotient;
    return Division(bitcast<f32>(size), bitcast<f32>(sign | of_digits(rest, max(y >> 23u, 1u))));
}

// The digits of a positive number's bits as an integer.
fn digits_of(bits: u32) -> u32 {
    return (bits & 0x7fffffu) | select(0u, 0x800000u, bits >= 0x800000u);
}

// The bits of digits 2^(exponent - 150), digits below 2^24 and exponent at least 1.
fn of_digits(digits: u32, exponent: u32) -> u32 {
    let shift = min(countLeadingZeros(digits) - 8u, exponent - 1u);
    let shifted = digits << shift;
    return select(shifted, (shifted & 0x7fffffu) | ((exponent - shift) << 23u), shifted >= 0x800000u);
}

fn remainder_i(a: i32, b: i32) -> i32 {
    return select(a - floor_divide_i(a, b) * b, 0, b == 0);
}

fn divide_u(a: u32, b: u32) -> u32 {
    return select(a / max(b, 1u), 0u, b == 0u);
}

fn remainder_u(a: u32, b: u32) -> u32 {
    return select(a % max(b, 1u), 0u, b == 0u);
}

fn fmod_f(a: f32, b: f32) -> f32 {
    return long_division(a, b).rest;
}

fn truncate_divide_f(a: f32, b: f32) -> f32 {
    return select(long_division(a, b).quotient, quotient_by_zero(a, b), is_zero(b));
}

// GPUs may take a subnormal number for 0 wherever they calculate or compare. So what is asked of such numbers is asked of
// their bits, and sums that may be subnormal are taken of operands scaled up.
fn is_zero(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) == 0u;
}

fn quotient_by_zero(a: f32, b: f32) -> f32 {
    let sign = (bitcast<u32>(a) ^ bitcast<u32>(b)) & 0x80000000u;
    return bitcast<f32>(select(sign | 0x7f800000u, 0x7fc00000u, is_zero(a) || is_nan(a)));
}

// x 2^64 for |x| < 2^-86.
fn scaled_up(x: f32) -> f32 {
    let bits = bitcast<u32>(x) & 0x7fffffffu;
    let size = f32(digits_of(bits)) * bitcast<f32>((max(bits >> 23u, 1u) + 41u) << 23u);
    return bitcast<f32>(bitcast<u32>(size) | (bitcast<u32>(x) & 0x80000000u));
}

// x 2^-64, of numbers that are whole multiples of the least one once they are scaled down.
fn scaled_down(x: f32) -> f32 {
    let bits = bitcast<u32>(x) & 0x7fffffffu;
    let size = select(u32(abs(x) * 38685626227668133590597632.0), bits - 0x20000000u, bits >= 0x20800000u);
    return bitcast<f32>(size | (bitcast<u32>(x) & 0x80000000u));
}

// rest + b for |rest| < |b|, rounded once. Next to numbers larger than those scaled up a subnormal rest does not count.
fn sum_with_rest(rest: f32, b: f32) -> f32 {
    if ((bitcast<u32>(b) >> 23u) & 0xffu) > 40u {
        return rest + b;
    }
    return scaled_down(scaled_up(rest) + scaled_up(b));
}

// The floored forms as NumPy has them: -5 // inf is -1, and its remainder inf.
fn goes_below(rest: f32, b: f32) -> bool {
    return !is_zero(rest) && !is_nan(rest) && ((bitcast<u32>(rest) ^ bitcast<u32>(b)) >> 31u) != 0u;
}

fn remainder_f(a: f32, b: f32) -> f32 {
    let rest = long_division(a, b).rest;
    if goes_below(rest, b) {
        return sum_with_rest(rest, b);
    }
    return select(rest, bitcast<f32>(bitcast<u32>(b) & 0x80000000u), is_zero(rest));
}

fn floor_divide_f(a: f32, b: f32) -> f32 {
    let d = long_division(a, b);
    return select(select(d.quotient, d.quotient - 1.0, goes_below(d.rest, b)), quotient_by_zero(a, b), is_zero(b));
}

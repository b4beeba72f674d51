// Functions WGSL lacks, leaves undefined or computes too coarsely where NumPy defines them. All work in f32 unless they
// say otherwise. NaN is looked for in the bits, since a compiler may assume that there is none.

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

// sin and cos to about 1 ulp for |x| < 10^4, where WGSL only promises 2^-11 within [-pi, pi].
// Range reduction by three parts of pi (Cody and Waite, "Software Manual for the Elementary Functions", 1980), then the
// odd polynomial of degree 11 with Taylor coefficients up to x^11/11! on [-pi/2, pi/2] (error below 6e-8).
fn sin_between(x: f32, half_turns: f32) -> f32 {
    var r = x - half_turns * 3.140625;
    r = r - half_turns * 9.67502593994140625e-4;
    r = r - half_turns * 1.509957990978376432e-7;
    let s = r * r;
    return r + r * s * (-1.66666667e-1 + s * (8.33333333e-3 + s * (-1.98412698e-4 + s * (2.75573192e-6 - s * 2.50521084e-8))));
}

fn precise_sin(x: f32) -> f32 {
    let k = round(x * 0.318309886);
    let p = sin_between(x, k);
    return select(p, -p, (i32(k) & 1) != 0);
}

fn precise_cos(x: f32) -> f32 {
    let k = round(x * 0.318309886 + 0.5);
    let p = sin_between(x, k - 0.5);
    return select(p, -p, (i32(k) & 1) != 0);
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

fn fmod_f(a: f32, b: f32) -> f32 {
    return select(a - b * trunc(a / b), a, is_inf(b) && !is_inf(a));
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

fn remainder_f(a: f32, b: f32) -> f32 {
    let r = select(a - b * trunc(a / b), a, is_inf(b) && !is_inf(a));
    return select(r, r + b, r != 0.0 && ((r < 0.0) != (b < 0.0)));
}

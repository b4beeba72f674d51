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

// exp(x) - 1 and log(1 + x): near 0 by series, where exp and log have lost the digits that count.
fn expm1_f(x: f32) -> f32 {
    let near = x + x * x * (0.5 + x * (1.66666667e-1 + x * (4.16666667e-2 + x * (8.33333333e-3 + x * 1.38888889e-3))));
    return select(exp(x) - 1.0, near, abs(x) < 0.2);
}

fn log1p_f(x: f32) -> f32 {
    let s = x / (2.0 + x);  // log(1 + x) = 2 artanh(s)
    let q = s * s;
    let near = 2.0 * s * (1.0 + q * (3.33333333e-1 + q * (0.2 + q * (1.42857143e-1 + q * 1.11111111e-1))));
    return select(log(1.0 + x), near, x > -0.3 && x < 0.4);
}

fn sinh_f(x: f32) -> f32 {
    let e = expm1_f(min(abs(x), 20.0));
    let magnitude = select(0.5 * (e + e / (e + 1.0)), exp(abs(x) - 0.693147181), abs(x) > 20.0);
    return select(select(magnitude, -magnitude, x < 0.0), x, is_nan(x));
}

fn cosh_f(x: f32) -> f32 {
    let e = exp(min(abs(x), 20.0));
    return select(select(0.5 * (e + 1.0 / e), exp(abs(x) - 0.693147181), abs(x) > 20.0), x, is_nan(x));
}

fn tanh_f(x: f32) -> f32 {
    let e = expm1_f(-2.0 * min(abs(x), 15.0));
    let magnitude = -e / (e + 2.0);
    return select(select(magnitude, -magnitude, x < 0.0), x, is_nan(x));
}

// Error function by the rational form of Abramowitz and Stegun, "Handbook of Mathematical Functions", 7.1.26 (1.5e-7);
// near 0, where that form loses its digits, by the series 2/sqrt(pi) (x - x^3/3 + x^5/10 - x^7/42 + x^9/216).
fn erf_f(x: f32) -> f32 {
    let s = x * x;
    let near = 1.12837917 * x * (1.0 - s * (3.33333333e-1 - s * (0.1 - s * (2.38095238e-2 - s * 4.62962963e-3))));
    let t = 1.0 / (1.0 + 0.3275911 * abs(x));
    let p = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    let far = 1.0 - p * exp(-s);
    return select(select(far, -far, x < 0.0), near, abs(x) < 0.4);
}

// a to the power b as IEEE 754 has it: WGSL leaves negative bases undefined.
fn power_f(a: f32, b: f32) -> f32 {
    if b == 0.0 || a == 1.0 {
        return 1.0;
    }
    if a < 0.0 {
        let magnitude = pow(-a, b);
        if b != floor(b) {
            return (a - a) / (a - a);
        }
        return select(magnitude, -magnitude, abs(b - 2.0 * floor(b * 0.5)) == 1.0);
    }
    return pow(a, b);
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

// Functions WGSL lacks or leaves undefined where NumPy defines them. x_ is a value worked on in f32 unless said otherwise.

const PI = 3.14159265358979;

fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn is_inf(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u;
}

// sin to about 1 ulp for |x| < 10^4, where WGSL only promises 2^-11 within [-pi, pi].
// Range reduction by two steps of pi (Cody and Waite, "Software Manual for the Elementary Functions", 1980), then the
// odd polynomial of degree 11 with Taylor coefficients up to x^11/11! on [-pi/2, pi/2] (error below 6e-8).
fn precise_sin(x: f32) -> f32 {
    let k = round(x * 0.318309886);
    var r = x - k * 3.140625;
    r = r - k * 9.67502593994140625e-4;
    r = r - k * 1.509957990978376432e-7;
    let s = r * r;
    let p = r + r * s * (-1.66666667e-1 + s * (8.33333333e-3 + s * (-1.98412698e-4 + s * (2.75573192e-6 - s * 2.50521084e-8))));
    return select(p, -p, (i32(k) & 1) != 0);
}

fn precise_cos(x: f32) -> f32 {
    return precise_sin(x + 1.57079632679);
}

fn safe_tanh(x: f32) -> f32 {
    return tanh(clamp(x, -15.0, 15.0));
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

fn power_i(a: i32, b: i32) -> i32 {
    var base = a;
    var left = b;
    var product = select(1, 0, b < 0 && abs(a) != 1);
    if b < 0 {
        left = -b;
    }
    while left > 0 {
        if (left & 1) == 1 {
            product = product * base;
        }
        base = base * base;
        left = left >> 1u;
    }
    return product;
}

fn power_u(a: u32, b: u32) -> u32 {
    return bitcast<u32>(power_i(bitcast<i32>(a), bitcast<i32>(b)));
}

// Floor division and the remainder that takes the divisor's sign, as in Python; both are 0 for a divisor of 0.
fn floor_divide_i(a: i32, b: i32) -> i32 {
    if b == 0 {
        return 0;
    }
    let q = a / b;
    return select(q, q - 1, (a % b != 0) && ((a < 0) != (b < 0)));
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
    let r = a - b * trunc(a / b);
    return select(r, r + b, r != 0.0 && ((r < 0.0) != (b < 0.0)));
}

fn minimum_f(a: f32, b: f32) -> f32 {
    return select(min(a, b), a + b, is_nan(a) || is_nan(b));
}

fn maximum_f(a: f32, b: f32) -> f32 {
    return select(max(a, b), a + b, is_nan(a) || is_nan(b));
}

fn log1p_f(x: f32) -> f32 {
    // Kahan's correction for the rounding of 1 + x (HP-15C Advanced Functions Handbook, 1982)
    let u = 1.0 + x;
    return select(log(u) * x / (u - 1.0), x, u == 1.0);
}

fn expm1_f(x: f32) -> f32 {
    return select(exp(x) - 1.0, x + x * x * (0.5 + x * (0.16666667 + x * 0.041666668)), abs(x) < 0.05);
}

fn sinh_f(x: f32) -> f32 {
    let e = expm1_f(abs(x));
    return sign(x) * 0.5 * (e + e / (e + 1.0));
}

// Error function by the rational form of Abramowitz and Stegun, "Handbook of Mathematical Functions", 7.1.26 (1.5e-7).
fn erf_f(x: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.3275911 * abs(x));
    let p = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    return sign(x) * (1.0 - p * exp(-x * x));
}

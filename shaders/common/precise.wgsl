// Elementary functions true to about 1e-6 of the value or better, where WGSL guarantees less or nothing. Include
// common/math.wgsl and common/activation.wgsl before it. Infinities and NaN are as in IEEE 754; subnormal numbers may
// count as 0. Polynomials are minimax fits of this project (Lawson's iteration, in float64).

// For bits that are computed: WGSL refuses a constant that is infinite or NaN.
fn of_bits(bits: u32) -> f32 {
    return bitcast<f32>(bits);
}

// x = m 2^e with m between 1/sqrt(2) and sqrt(2); and log(m) = f - (f²/2 - rest), f = m - 1.
struct Logarithm {
    f: f32,
    half_square: f32,
    rest: f32,
    e: f32,
}

fn logarithm(x: f32) -> Logarithm {
    let e = (bitcast<i32>(x) - 0x3f3504f3) >> 23u;
    let f = bitcast<f32>(bitcast<i32>(x) - (e << 23u)) - 1.0;
    let s = f / (2.0 + f);  // log(1 + f) = 2 artanh(s)
    let q = s * s;
    let r = 2.0 * q * (3.3333333e-1 + q * (2.0000168e-1 + q * (1.4268654e-1 + q * 1.1791072e-1)));
    let half_square = 0.5 * f * f;
    return Logarithm(f, half_square, s * (half_square + r), f32(e));
}

// `value`, the logarithm of x where x is positive and finite, with what it is elsewhere.
fn logarithm_with_edges(x: f32, value: f32) -> f32 {
    let below = select(of_bits(0x7fc00000u), of_bits(0xff800000u), x > -1.17549435e-38);
    return select(select(value, below, x < 1.17549435e-38), x, is_nan(x) || (is_inf(x) && x > 0.0));
}

fn precise_log(x: f32) -> f32 {
    let l = logarithm(x);
    let value = l.e * 6.93115234375e-1 + (l.f - (l.half_square - (l.rest + l.e * 3.194618494e-5)));
    return logarithm_with_edges(x, value);
}

fn precise_log2(x: f32) -> f32 {
    let l = logarithm(x);
    return logarithm_with_edges(x, l.e + (l.f - (l.half_square - l.rest)) * 1.44269504);
}

fn precise_log1p(x: f32) -> f32 {
    let s = x / (2.0 + x);
    let q = s * s;
    let near = 2.0 * s * (1.0 + q * (3.33333333e-1 + q * (0.2 + q * (1.42857143e-1 + q * 1.11111111e-1))));
    return select(precise_log(1.0 + x), near, x > -0.3 && x < 0.4);
}

// 2 to the power n + r, n whole and |r| <= 1/2.
fn power_of_two(n: f32, r: f32) -> f32 {
    let q = 2.40226513e-1 + r * (5.55032790e-2 + r * (9.61800397e-3 + r * (1.34002386e-3 + r * 1.54762810e-4)));
    let k = i32(clamp(n, -252.0, 254.0));
    let half = k >> 1u;
    let low = bitcast<f32>(u32(half + 127) << 23u);
    let high = bitcast<f32>(u32(k - half + 127) << 23u);
    return (1.0 + r * (6.93147206e-1 + r * q)) * low * high;
}

fn precise_exp2(x: f32) -> f32 {
    let y = select(select(x, -200.0, x < -200.0), 200.0, x > 200.0);
    let n = round(y);
    return select(power_of_two(n, y - n), x, is_nan(x));
}

// The upper twelve bits of a number's digits: products of two such are exact.
fn upper(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
}

// a to the power b for finite a > 0: the logarithm to base 2 in two parts, so that its error is not multiplied by b.
fn power_of_positive(a: f32, b: f32) -> f32 {
    let l = logarithm(a);
    let high = upper(l.f - l.half_square);
    let low = ((l.f - high) - l.half_square) + l.rest;
    let log_high = high * 1.44287109375;
    let log_low = (low + high) * -1.7605287e-4 + low * 1.44287109375;
    let w = upper(l.e + log_high);
    let w_low = ((l.e - w) + log_high) + log_low;
    let rough = b * (w + w_low);
    if rough > 200.0 {
        return of_bits(0x7f800000u);
    }
    if rough < -200.0 {
        return 0.0;
    }
    let b_high = upper(b);
    let y = b_high * w;
    let y_low = (b - b_high) * w + b * w_low;
    let n = round(y + y_low);
    return power_of_two(n, (y - n) + y_low);
}

// a to the power b as IEEE 754 has it: WGSL leaves negative bases undefined.
fn power(a: f32, b: f32) -> f32 {
    if b == 0.0 || a == 1.0 {
        return 1.0;
    }
    if is_nan(a) || is_nan(b) {
        return a + b;
    }
    let size = abs(a);
    let is_whole = b == floor(b);
    let is_odd = abs(b - 2.0 * floor(b * 0.5)) == 1.0;
    var magnitude = 0.0;
    if size < 1.17549435e-38 || is_inf(a) {
        magnitude = select(0.0, of_bits(0x7f800000u), is_inf(a) == (b > 0.0));
    } else if is_inf(b) {
        magnitude = select(select(0.0, of_bits(0x7f800000u), (size > 1.0) == (b > 0.0)), 1.0, size == 1.0);
    } else {
        if a < 0.0 && !is_whole {
            return of_bits(0x7fc00000u);
        }
        magnitude = power_of_positive(size, b);
    }
    return select(magnitude, -magnitude, is_odd && (bitcast<u32>(a) >> 31u) == 1u);
}

fn arctan_up_to_eighth(t: f32) -> f32 {
    let q = t * t;
    return t + t * q * (-3.3333316e-1 + q * (1.9998489e-1 + q * (-1.4243847e-1 + q * (1.0595987e-1 - q * 6.083413e-2))));
}

fn precise_atan(x: f32) -> f32 {
    let z = abs(x);
    let far = z > 2.41421356;
    let middle = z > 0.41421356;
    let t = select(select(z, (z - 1.0) / (z + 1.0), middle), -1.0 / z, far);
    let start = select(select(0.0, 7.85398163e-1, middle), 1.57079633, far);
    let angle = start + arctan_up_to_eighth(t);
    return select(select(angle, -angle, x < 0.0), x, x == 0.0 || is_nan(x));
}

fn precise_atan2(y: f32, x: f32) -> f32 {
    let top = abs(y);
    let across = abs(x);
    let large = max(top, across);
    let scale = select(select(1.0, 8.67361738e-19, large > 1.15292150e18), 1.15292150e18, large < 8.67361738e-19);
    let ratio = (min(top, across) * scale) / (large * scale);
    let low = precise_atan(select(select(ratio, 0.0, large == 0.0), 1.0, is_inf(x) && is_inf(y)));
    let up = select(low, 1.57079633 - low, top > across);
    let angle = select(up, 3.14159265 - up, (bitcast<u32>(x) >> 31u) == 1u);
    return select(select(angle, -angle, (bitcast<u32>(y) >> 31u) == 1u), x + y, is_nan(x) || is_nan(y));
}

fn arcsin_up_to_half(x: f32) -> f32 {
    let q = x * x;
    return x + x * q * (1.6666754e-1 + q * (7.495241e-2 + q * (4.547715e-2 + q * (2.414733e-2 + q * 4.221906e-2))));
}

fn precise_asin(x: f32) -> f32 {
    let z = abs(x);
    let far = z > 0.5;
    let t = arcsin_up_to_half(select(z, sqrt(max(0.5 - 0.5 * z, 0.0)), far));
    let angle = select(t, 1.57079633 - 2.0 * t, far);
    let signed = select(angle, -angle, x < 0.0);
    return select(signed, of_bits(0x7fc00000u), z > 1.0 || is_nan(x));
}

fn precise_acos(x: f32) -> f32 {
    let z = abs(x);
    let far = z > 0.5;
    let t = arcsin_up_to_half(select(x, sqrt(max(0.5 - 0.5 * z, 0.0)), far));
    let angle = select(1.57079633 - t, select(2.0 * t, 3.14159265 - 2.0 * t, x < 0.0), far);
    return select(angle, of_bits(0x7fc00000u), z > 1.0 || is_nan(x));
}

// e^z / 2, also where e^z is too large.
fn half_exp(z: f32) -> f32 {
    let root = precise_exp(0.5 * z);
    return (0.5 * root) * root;
}

fn precise_sinh(x: f32) -> f32 {
    let z = abs(x);
    let e = precise_expm1(min(z, 20.0));
    let magnitude = select(0.5 * (e + e / (e + 1.0)), half_exp(z), z > 20.0);
    return select(select(magnitude, -magnitude, x < 0.0), x, is_nan(x));
}

fn precise_cosh(x: f32) -> f32 {
    let z = abs(x);
    let e = precise_exp(min(z, 20.0));
    return select(select(0.5 * (e + 1.0 / e), half_exp(z), z > 20.0), x, is_nan(x));
}

fn precise_asinh(x: f32) -> f32 {
    let z = abs(x);
    let q = z * z;
    let near = z + z * q * (-1.6666644e-1 + q * (7.498663e-2 + q * (-4.438586e-2 + q * (2.81755e-2 - q * 1.324799e-2))));
    let far = precise_log(select(z + sqrt(q + 1.0), z, z > 1.0e9)) + select(0.0, 6.93147181e-1, z > 1.0e9);
    let magnitude = select(far, near, z < 0.5);
    return select(select(magnitude, -magnitude, x < 0.0), x, is_nan(x));
}

fn precise_acosh(x: f32) -> f32 {
    let t = x - 1.0;
    let value = select(precise_log1p(t + sqrt(max(t * (t + 2.0), 0.0))), precise_log(x) + 6.93147181e-1, x > 1.0e9);
    return select(value, of_bits(0x7fc00000u), x < 1.0 || is_nan(x));
}

fn precise_atanh(x: f32) -> f32 {
    let z = abs(x);
    let value = select(0.5 * precise_log1p(2.0 * z / (1.0 - min(z, 0.99999994))), of_bits(0x7f800000u), z == 1.0);
    return select(select(value, -value, x < 0.0), of_bits(0x7fc00000u), z > 1.0 || is_nan(x));
}

// Near 0 an odd polynomial (1e-9); farther out 1 - e^(-x²) times a polynomial in 1 / (1 + |x|/2) (5e-10).
fn precise_erf(x: f32) -> f32 {
    let z = min(abs(x), 5.0);
    let s = z * z;
    let near = z * (1.12837917 + s * (-3.7612609e-1 + s * (1.1282838e-1 + s * (-2.675815e-2 + s * 4.71993e-3))));
    let t = 1.0 / (1.0 + 0.5 * z);
    let low = 2.818068e-1 + t * (2.8115031e-1 + t * (2.7345895e-1 + t * 4.183634e-2));
    let t4 = (t * t) * (t * t);
    let p = t * (low + t4 * (3.9928113e-1 + t * (-3.7143152e-1 + t * 9.39067e-2)));
    let magnitude = select(1.0 - precise_exp(-s) * p, near, z < 0.5);
    return select(select(magnitude, -magnitude, x < 0.0), x, is_nan(x));
}

// Exponentials, logarithms, powers and hyperbolic functions of 64-bit numbers, to about 1e-15 of the value. Include
// common/math.wgsl and common/double.wgsl before it. Coefficients, and where they are used, are those of fdlibm (Sun
// Microsystems, 1993: e_exp, e_log), and so are the two parts of ln(2), after Cody and Waite.
// WGSL's own exp, log, sin and their like compile for f64 and give wrong numbers, so none of them is used.
// Compilers may take (a + b) - a for b, add in another order, and multiply and add with one rounding: upper digits are
// taken by a cast to f32, no sum relies on what another one lost, and `double_hidden` holds differences together.

// 2^n for -1008 <= n <= 1023: a power of two in f32, to the eighth.
fn double_power_of_two(n: i32) -> f64 {
    let eighth = n >> 3u;
    let root = f64(bitcast<f32>(u32(eighth + 127) << 23u));
    let square = root * root;
    let fourth = square * square;
    return fourth * fourth * f64(1u << u32(n - 8 * eighth));
}

// x 2^n, rounded once.
fn double_scaled(x: f64, n: i32) -> f64 {
    let held = clamp(n, -2000, 2000);
    let half = held >> 1u;
    return x * double_power_of_two(half) * double_power_of_two(held - half);
}

// A positive finite number as m 2^e, m from 1/sqrt(2) to sqrt(2).
struct DoubleDigits {
    m: f64,
    e: i32,
}

fn double_digits(x: f64) -> DoubleDigits {
    var y = x;
    var e = 0;
    while y >= 1.2676506002282294e30lf {  // 2^100, within the range of f32
        y = y * 6.223015277861142e-61lf;  // 2^-200
        e += 200;
    }
    while y < 7.888609052210118e-31lf {
        y = y * 1.6069380442589903e60lf;
        e -= 200;
    }
    let k = (bitcast<i32>(f32(y)) - 0x3f3504f3) >> 23u;
    return DoubleDigits(y * f64(bitcast<f32>(u32(127 - k) << 23u)), e + k);
}

// e^(high - low) - 1 for a sum within ln(2) / 2 around 0.
fn double_expm1_near(high: f64, low: f64) -> f64 {
    let r = high - low;
    let t = r * r;
    let c = r - t * (1.66666666666666019037e-01lf + t * (-2.77777777770155933842e-03lf
        + t * (6.61375632143793436117e-05lf + t * (-1.65339022054652515390e-06lf
            + t * (4.13813679705723846039e-08lf)))));
    return high - (low - r * c / (2.0lf - c));
}

// e^(high + low) - 1 = 2^k (1 + rest) - 1.
struct DoublePower {
    k: i32,
    rest: f64,
}

fn double_reduced_exp(high: f64, low: f64) -> DoublePower {
    let k = round((high + low) * 1.44269504088896338700lf);
    let rest = select(double_hidden(high - k * 6.93147180369123816490e-01lf), high, k == 0.0lf);
    return DoublePower(i32(k), double_expm1_near(rest, k * 1.90821492927058770002e-10lf - low));
}

// e^(high + low), where low is small against high.
fn double_exp_of_sum(high: f64, low: f64) -> f64 {
    let sum = high + low;
    if double_is_nan(sum) {
        return sum;
    }
    let power = double_reduced_exp(clamp(high, -750.0lf, 750.0lf), select(0.0lf, low, abs(high) < 750.0lf));
    return double_scaled(1.0lf + power.rest, power.k);
}

fn double_exp(x: f64) -> f64 {
    return double_exp_of_sum(x, 0.0lf);
}

fn double_expm1(x: f64) -> f64 {
    if double_is_nan(x) || x == 0.0lf {
        return x;
    }
    if x > 40.0lf {
        return double_exp(x);
    }
    let power = double_reduced_exp(max(x, -40.0lf), 0.0lf);
    let scale = double_power_of_two(power.k);
    return (scale - 1.0lf) + scale * power.rest;
}

fn double_exp2(x: f64) -> f64 {
    let held = clamp(x, -1080.0lf, 1080.0lf);
    let k = round(held);
    let r = held - k;  // exact; its product with ln(2) in two parts
    let high = f64(f32(r)) * 6.93147180369123816490e-01lf;
    let low = (r - f64(f32(r))) * 6.93147180369123816490e-01lf + r * 1.90821492927058770002e-10lf;
    return select(double_scaled(1.0lf + double_expm1_near(high, -low), i32(k)), x, double_is_nan(x));
}

// log(1 + f) = 2 s + s R(s²) with s = f / (2 + f), for 1 + f from 1/sqrt(2) to sqrt(2).
fn double_log_rest(z: f64) -> f64 {
    return z * (6.666666666666735130e-01lf + z * (3.999999999940941908e-01lf + z * (2.857142874366239149e-01lf
        + z * (2.222219843214978396e-01lf + z * (1.818357216161805012e-01lf + z * (1.531383769920937332e-01lf
            + z * (1.479819860511658591e-01lf)))))));
}

fn double_log1p_near(f: f64) -> f64 {
    let s = f / (2.0lf + f);
    let half_square = 0.5lf * f * f;
    return f - (half_square - s * (half_square + double_log_rest(s * s)));
}

// `value`, the logarithm of x where x is positive and finite, with what it is elsewhere.
fn double_log_with_edges(x: f64, value: f64) -> f64 {
    if double_is_nan(x) || (double_is_inf(x) && x > 0.0lf) {
        return x;
    }
    if x <= 0.0lf {
        return double_of_bits(select(0x7fc00000u, 0xff800000u, x == 0.0lf));
    }
    return value;
}

// A positive finite number, for functions whose edges are filled in later.
fn double_inside(x: f64) -> f64 {
    return select(1.0lf, x, x > 0.0lf && !double_is_nan(x) && !double_is_inf(x));
}

fn double_log(x: f64) -> f64 {
    let digits = double_digits(double_inside(x));
    let e = f64(digits.e);
    let f = digits.m - 1.0lf;
    let s = f / (2.0lf + f);
    let half_square = 0.5lf * f * f;
    let rest = s * (half_square + double_log_rest(s * s)) + e * 1.90821492927058770002e-10lf;
    return double_log_with_edges(x, e * 6.93147180369123816490e-01lf - ((half_square - rest) - f));
}

fn double_log2(x: f64) -> f64 {
    let digits = double_digits(double_inside(x));
    return double_log_with_edges(x, f64(digits.e) + double_log1p_near(digits.m - 1.0lf) * 1.44269504088896338700lf);
}

fn double_log1p(x: f64) -> f64 {
    if x > -0.29lf && x < 0.41lf {
        return select(double_log1p_near(x), x, x == 0.0lf);
    }
    return double_log(1.0lf + x);
}

// a^b for a positive and finite, by a logarithm of about 60 digits: its upper 24 in an f32, so that products are exact.
fn double_power_of_positive(a: f64, b: f64) -> f64 {
    let digits = double_digits(a);
    let e = f64(digits.e);
    let f = digits.m - 1.0lf;
    let t = 2.0lf + f;
    let t_high = f64(f32(t));
    let t_low = f - (t_high - 2.0lf);
    let s = f / t;
    let s_high = f64(f32(s));
    let s_low = (double_hidden(f - s_high * t_high) - s_high * t_low) / t;
    let whole = e * 6.93147180369123816490e-01lf;
    let low = 2.0lf * s_low + (s * double_log_rest(s * s) + e * 1.90821492927058770002e-10lf);
    let log_high = f64(f32(whole + 2.0lf * s_high));
    let log_low = ((whole - log_high) + 2.0lf * s_high) + low;
    let held = clamp(b, -1.1805916207174113e21lf, 1.1805916207174113e21lf);  // 2^70: the result is 0, 1 or infinite
    let b_high = f64(f32(held));
    let b_low = held - b_high;
    return double_exp_of_sum(b_high * log_high, b_high * log_low + b_low * (log_high + log_low));
}

// a^b as IEEE 754 has it.
fn double_power(a: f64, b: f64) -> f64 {
    if b == 0.0lf || (a == 1.0lf && !double_is_nan(a)) {
        return 1.0lf;
    }
    if double_is_nan(a) || double_is_nan(b) {
        return a + b;
    }
    let size = abs(a);
    let half = 0.5lf * b;
    let is_odd = abs(b) < 9007199254740992.0lf && b == floor(b) && half != floor(half);
    var magnitude = 0.0lf;
    if size == 0.0lf || double_is_inf(a) {
        magnitude = select(0.0lf, double_of_bits(0x7f800000u), double_is_inf(a) == (b > 0.0lf));
    } else if double_is_inf(b) {
        let grows = (size > 1.0lf) == (b > 0.0lf);
        magnitude = select(select(0.0lf, double_of_bits(0x7f800000u), grows), 1.0lf, size == 1.0lf);
    } else {
        if a < 0.0lf && b != floor(b) {
            return double_of_bits(0x7fc00000u);
        }
        magnitude = double_power_of_positive(size, b);
    }
    return select(magnitude, -magnitude, is_odd && double_is_negative(a));
}

// e^z / 2, also where e^z is too large.
fn double_half_exp(z: f64) -> f64 {
    let power = double_reduced_exp(min(z, 750.0lf), 0.0lf);
    return double_scaled(1.0lf + power.rest, power.k - 1);
}

fn double_sinh(x: f64) -> f64 {
    let z = abs(x);
    var size = double_half_exp(z);
    if z < 22.0lf {
        let e = double_expm1(z);
        size = 0.5lf * (e + e / (e + 1.0lf));
    }
    return select(select(size, -size, x < 0.0lf), x, x == 0.0lf || double_is_nan(x));
}

fn double_cosh(x: f64) -> f64 {
    let z = abs(x);
    let e = double_exp(min(z, 22.0lf));
    return select(select(double_half_exp(z), 0.5lf * (e + 1.0lf / e), z < 22.0lf), x, double_is_nan(x));
}

fn double_tanh(x: f64) -> f64 {
    let z = abs(x);
    let e = double_expm1(2.0lf * min(z, 22.0lf));
    let size = select(1.0lf - 2.0lf / (e + 2.0lf), e / (e + 2.0lf), z < 1.0lf);
    return select(select(size, -size, x < 0.0lf), x, x == 0.0lf || double_is_nan(x));
}

fn double_asinh(x: f64) -> f64 {
    let z = abs(x);
    let q = z * z;
    var size = double_log(z) + 6.93147180559945286227e-01lf;
    if z < 1.0e9lf {
        size = double_log1p(z + q / (1.0lf + sqrt(1.0lf + q)));
    }
    return select(select(size, -size, x < 0.0lf), x, x == 0.0lf || double_is_nan(x) || double_is_inf(x));
}

fn double_acosh(x: f64) -> f64 {
    if double_is_nan(x) || x < 1.0lf {
        return double_of_bits(0x7fc00000u);
    }
    if x > 1.0e9lf {
        return double_log(x) + 6.93147180559945286227e-01lf;
    }
    let t = x - 1.0lf;
    return double_log1p(t + sqrt(t * (t + 2.0lf)));
}

fn double_atanh(x: f64) -> f64 {
    let z = abs(x);
    if double_is_nan(x) || z > 1.0lf {
        return double_of_bits(0x7fc00000u);
    }
    if z == 1.0lf {
        return double_of_bits(select(0x7f800000u, 0xff800000u, x < 0.0lf));
    }
    let size = 0.5lf * double_log1p(2.0lf * z / (1.0lf - z));
    return select(select(size, -size, x < 0.0lf), x, x == 0.0lf);
}

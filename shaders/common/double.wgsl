// Numbers of 64 bits: what WGSL leaves open, and casts. Include common/math.wgsl before it; the device must have
// shader-f64. The bits of an f64 cannot be read here, so NaN, infinity and the sign are judged by those of its f32.

fn double_is_nan(x: f64) -> bool {
    return is_nan(f32(x));
}

fn double_is_inf(x: f64) -> bool {
    return is_inf(f32(x)) && abs(x) > 1.7976931348623157e308lf;
}

// Whether the sign bit is set, that of -0 too.
fn double_is_negative(x: f64) -> bool {
    return (bitcast<u32>(f32(x)) >> 31u) != 0u;
}

// What an f32 of these bits is: WGSL refuses a constant that is infinite or NaN.
fn double_of_bits(bits: u32) -> f64 {
    return f64(bitcast<f32>(bits));
}

// x itself, as the sum of three f32, which no compiler sees through; all of its digits for 1e-16 < |x| < 1e38. NVIDIA's
// takes (a - n b) - n c for a - n (b + c), which loses what b and c are two parts for.
fn double_hidden(x: f64) -> f64 {
    let first = f32(x);
    let rest = x - f64(first);
    let second = f32(rest);
    return f64(first) + (f64(second) + f64(f32(rest - f64(second))));
}

fn double_minimum(a: f64, b: f64) -> f64 {
    return select(min(a, b), a + b, double_is_nan(a) || double_is_nan(b));
}

fn double_maximum(a: f64, b: f64) -> f64 {
    return select(max(a, b), a + b, double_is_nan(a) || double_is_nan(b));
}

fn double_sign(x: f64) -> f64 {
    return select(sign(x), x, double_is_nan(x));
}

fn double_to_f32(x: f64) -> f32 {
    return f32(x);
}

// The f32 below |x|, its last digit set if it is not exact, so that rounding it once more, to fewer digits, is as
// rounding x (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to
// odd", 2008).
fn double_to_f32_odd(x: f64) -> f32 {
    let near = f32(x);
    if is_nan(near) || is_inf(near) || f64(near) == x {
        return near;
    }
    let bits = bitcast<u32>(near);
    return bitcast<f32>(select(bits, bits - 1u, abs(f64(near)) > abs(x)) | 1u);
}

// Truncated, held to the range, NaN as 0.
fn double_to_i32(x: f64) -> i32 {
    return select(i32(clamp(x, -2147483648.0lf, 2147483647.0lf)), 0, double_is_nan(x));
}

fn double_to_u32(x: f64) -> u32 {
    return select(u32(clamp(x, 0.0lf, 4294967295.0lf)), 0u, double_is_nan(x));
}

fn double_to_u8(x: f64) -> u32 {
    return select(u32(clamp(x, 0.0lf, 255.0lf)), 0u, double_is_nan(x));
}

// The remainder of truncated division, exact: multiples of |b| by powers of two are taken off, the largest first.
fn double_fmod(a: f64, b: f64) -> f64 {
    let divisor = abs(b);
    var rest = abs(a);
    if double_is_nan(a) || double_is_nan(b) || double_is_inf(a) || divisor == 0.0lf {
        return double_of_bits(0x7fc00000u);
    }
    var multiple = divisor;
    while multiple <= 0.5lf * rest {
        multiple = 2.0lf * multiple;
    }
    while rest >= divisor {
        rest = select(rest, rest - multiple, rest >= multiple);
        multiple = select(0.5lf * multiple, multiple, multiple <= divisor);
    }
    return select(rest, -rest, double_is_negative(a));
}

// That of floored division, with the sign of b.
fn double_remainder(a: f64, b: f64) -> f64 {
    let rest = double_fmod(a, b);
    let zero = select(0.0lf, -0.0lf, double_is_negative(b));
    let signed = select(rest, rest + b, double_is_negative(rest) != double_is_negative(b));
    return select(signed, zero, rest == 0.0lf);
}

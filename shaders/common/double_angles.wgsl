// Trigonometric functions of 64-bit numbers and their inverses, to about 1e-15 of the value. Include common/math.wgsl,
// common/double.wgsl and common/double_powers.wgsl before it. Coefficients, and where they are used, are those of
// fdlibm (Sun Microsystems, 1993: k_sin, k_cos, s_atan, e_asin), and so are the parts of pi/2, after Cody and Waite.

// An angle as quarter turns and a rest within pi/4 around 0.
struct DoubleAngle {
    rest: f64,
    quarter: i32,
}

// Below about 1e6 by pi/2 in four parts, of which the first three have 33 bits (Cody and Waite).
fn double_reduced_near(x: f64) -> DoubleAngle {
    let n = round(x * 6.36619772367581382433e-01lf);
    if n == 0.0lf {
        return DoubleAngle(x, 0);
    }
    let first = double_hidden(x - n * 1.57079632673412561417e+00lf);
    let second = double_hidden(first - n * 6.07710050630396597660e-11lf);
    let third = double_hidden(second - n * 2.02226624871116645580e-21lf);
    return DoubleAngle(third - n * 8.47842766036889956997e-32lf, i32(n));
}

// The digits of 2/pi, after 64 zeros.
const DOUBLE_TWO_OVER_PI = array<u32, 41>(
    0u, 0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u,
    0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu,
    0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu,
    0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du,
    0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u, 0xfc7b6babu,
    0xf0cfbc20u,
);

// x > 0 by its digits times those of 2/pi that are not worth whole turns (Payne and Hanek, "Radian reduction for
// trigonometric functions", 1983): 192 bits, the first two of them the quarter turns.
fn double_reduced_far(x: f64) -> DoubleAngle {
    let digits = double_digits(x);
    let scaled = digits.m * 9007199254740992.0lf;  // 2^53: an integer
    let upper = u32(floor(scaled * 2.3283064365386963e-10lf));
    let factors = array<u32, 2>(u32(scaled - f64(upper) * 4294967296.0lf), upper);
    let first = u32(digits.e + 9);
    var product = array<u32, 6>();  // the lowest word first
    for (var i = 0u; i < 6u; i++) {
        let word = (first >> 5u) + 5u - i;
        let next = (DOUBLE_TWO_OVER_PI[word + 1u] >> 1u) >> (31u - (first & 31u));
        let bits = (DOUBLE_TWO_OVER_PI[word] << (first & 31u)) | next;
        for (var j = 0u; j < 2u && i + j < 6u; j++) {
            let both = wide_product(bits, factors[j]);
            var carry = both.x;
            var rest = both.y;
            for (var k = i + j; k < 6u; k++) {
                let sum = product[k] + carry;
                let over = select(0u, 1u, sum < carry);
                product[k] = sum;
                carry = rest + over;
                rest = select(0u, 1u, carry < over);
            }
        }
    }
    let is_below = (product[5] & 0x20000000u) != 0u;  // the next quarter is nearer
    let flipped = select(0u, 0xffffffffu, is_below);
    var fraction = 0.0lf;
    for (var k = 1u; k < 6u; k++) {
        let shifted = (product[k] << 2u) | (product[k - 1u] >> 30u);
        fraction = fraction * 2.3283064365386963e-10lf + f64(shifted ^ flipped);
    }
    let rest = fraction * 2.3283064365386963e-10lf * 1.57079632679489655800lf;
    return DoubleAngle(select(rest, -rest, is_below), i32(product[5] >> 30u) + select(0, 1, is_below));
}

fn double_reduced_angle(x: f64) -> DoubleAngle {
    if abs(x) < 1.0e6lf {
        return double_reduced_near(x);
    }
    if double_is_nan(x) || double_is_inf(x) {
        return DoubleAngle(double_of_bits(0x7fc00000u), 0);
    }
    let angle = double_reduced_far(abs(x));
    return DoubleAngle(select(angle.rest, -angle.rest, x < 0.0lf), select(angle.quarter, -angle.quarter, x < 0.0lf));
}

fn double_sin_near(x: f64) -> f64 {
    let z = x * x;
    return x + x * z * (-1.66666666666666324348e-01lf + z * (8.33333333332248946124e-03lf
        + z * (-1.98412698298579493134e-04lf + z * (2.75573137070700676789e-06lf
            + z * (-2.50507602534068634195e-08lf + z * (1.58969099521155010221e-10lf))))));
}

fn double_cos_near(x: f64) -> f64 {
    let z = x * x;
    return 1.0lf - (0.5lf * z - z * z * (4.16666666666666019037e-02lf + z * (-1.38888888888741095749e-03lf
        + z * (2.48015872894767294178e-05lf + z * (-2.75573143513906633035e-07lf
            + z * (2.08757232129817482790e-09lf + z * (-1.13596475577881948265e-11lf)))))));
}

// The sine of an angle and so many quarter turns more.
fn double_sin_from(angle: DoubleAngle, more: i32) -> f64 {
    let quarter = angle.quarter + more;
    var value = double_sin_near(angle.rest);
    if (quarter & 1) != 0 {
        value = double_cos_near(angle.rest);
    }
    return select(value, -value, (quarter & 2) != 0);
}

fn double_sin(x: f64) -> f64 {
    return select(double_sin_from(double_reduced_angle(x), 0), x, x == 0.0lf);
}

fn double_cos(x: f64) -> f64 {
    return double_sin_from(double_reduced_angle(x), 1);
}

fn double_tan(x: f64) -> f64 {
    let angle = double_reduced_angle(x);
    return select(double_sin_from(angle, 0) / double_sin_from(angle, 1), x, x == 0.0lf);
}

fn double_atan_near(x: f64) -> f64 {
    let z = x * x;
    return x - x * z * (3.33333333333329318027e-01lf + z * (-1.99999999998764832476e-01lf
        + z * (1.42857142725034663711e-01lf + z * (-1.11111104054623557880e-01lf
            + z * (9.09088713343650656196e-02lf + z * (-7.69187620504482999495e-02lf
                + z * (6.66107313738753120669e-02lf + z * (-5.83357013379057348645e-02lf
                    + z * (4.97687799461593236017e-02lf + z * (-3.65315727442169155270e-02lf
                        + z * (1.62858201153657823623e-02lf)))))))))));
}

fn double_atan(x: f64) -> f64 {
    let z = abs(x);
    var angle = 0.0lf;
    if z < 0.4375lf {
        angle = double_atan_near(z);
    } else if z < 0.6875lf {
        angle = 4.63647609000806093515e-01lf + double_atan_near((2.0lf * z - 1.0lf) / (2.0lf + z));
    } else if z < 1.1875lf {
        angle = 7.85398163397448278999e-01lf + double_atan_near((z - 1.0lf) / (z + 1.0lf));
    } else if z < 2.4375lf {
        angle = 9.82793723247329054082e-01lf + double_atan_near((z - 1.5lf) / (1.0lf + 1.5lf * z));
    } else {
        angle = 1.57079632679489655800lf - double_atan_near(1.0lf / z);
    }
    return select(select(angle, -angle, x < 0.0lf), x, x == 0.0lf || double_is_nan(x));
}

// Within 1/2 around 0.
fn double_asin_near(x: f64) -> f64 {
    let z = x * x;
    return x + x * z * (1.66666666666666657415e-01lf + z * (-3.25565818622400915405e-01lf
        + z * (2.01212532134862925881e-01lf + z * (-4.00555345006794114027e-02lf
            + z * (7.91534994289814532176e-04lf + z * (3.47933107596021167570e-05lf))))))
        / (1.0lf + z * (-2.40339491173441421878e+00lf + z * (2.02094576023350569471e+00lf
            + z * (-6.88283971605453293030e-01lf + z * (7.70381505559019352791e-02lf)))));
}

// The arcsine of the square root of (1 - z) / 2.
fn double_asin_of_half(z: f64) -> f64 {
    return double_asin_near(sqrt(max(0.5lf - 0.5lf * z, 0.0lf)));
}

fn double_asin(x: f64) -> f64 {
    let z = abs(x);
    if double_is_nan(x) || z > 1.0lf {
        return double_of_bits(0x7fc00000u);
    }
    if z < 0.5lf {
        return select(double_asin_near(x), x, x == 0.0lf);
    }
    let angle = 1.57079632679489655800lf - 2.0lf * double_asin_of_half(z);
    return select(angle, -angle, x < 0.0lf);
}

fn double_acos(x: f64) -> f64 {
    let z = abs(x);
    if double_is_nan(x) || z > 1.0lf {
        return double_of_bits(0x7fc00000u);
    }
    if z < 0.5lf {
        return 1.57079632679489655800lf - double_asin_near(x);
    }
    let angle = 2.0lf * double_asin_of_half(z);
    return select(angle, 3.14159265358979311600lf - angle, x < 0.0lf);
}

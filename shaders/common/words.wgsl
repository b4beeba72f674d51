// 64-bit integers as pairs of u32 words: x the lower, y the upper one.
// In: nothing. Out: functions of unsigned pairs; sums, comparisons and signs are expressions of words (ops/words.py).

fn multiply_high(a: u32, b: u32) -> u32 {
    let low = a & 0xffffu;
    let high = a >> 16u;
    let inner = low * (b >> 16u) + ((low * (b & 0xffffu)) >> 16u);
    let outer = high * (b & 0xffffu) + (inner & 0xffffu);
    return high * (b >> 16u) + (inner >> 16u) + (outer >> 16u);
}

fn multiply_words(a: vec2u, b: vec2u) -> vec2u {
    return vec2u(a.x * b.x, multiply_high(a.x, b.x) + a.x * b.y + a.y * b.x);
}

// `count` from 0 to 63
fn shifted_words(a: vec2u, count: u32) -> vec2u {
    if count == 0u {
        return a;
    }
    if count > 31u {
        return vec2u(0u, a.x << (count - 32u));
    }
    return vec2u(a.x << count, (a.y << count) | (a.x >> (32u - count)));
}

// Quotient (xy) and remainder (zw); 0 where b is 0. The lower word by long division: of digits of 16 bits where b has no
// more, else of bits.
fn divide_words(a: vec2u, b: vec2u) -> vec4u {
    if (b.x | b.y) == 0u {
        return vec4u();
    }
    if b.y == 0u && b.x < 0x10000u {
        let upper = ((a.y % b.x) << 16u) | (a.x >> 16u);
        let lower = ((upper % b.x) << 16u) | (a.x & 0xffffu);
        return vec4u(((upper / b.x) << 16u) | (lower / b.x), a.y / b.x, lower % b.x, 0u);
    }
    var quotient = vec2u(0u, select(0u, a.y / max(b.x, 1u), b.y == 0u));
    var rest = vec2u(a.y - quotient.y * b.x, 0u);
    for (var i = 0u; i < 32u; i++) {
        // fits: for b above 2^63 it is a's first 63 bits at most, else less than b
        rest = shifted_words(rest, 1u) | vec2u((a.x >> (31u - i)) & 1u, 0u);
        quotient.x <<= 1u;
        if rest.y > b.y || (rest.y == b.y && rest.x >= b.x) {
            rest = vec2u(rest.x - b.x, rest.y - b.y - select(0u, 1u, rest.x < b.x));
            quotient.x |= 1u;
        }
    }
    return vec4u(quotient, rest);
}

// a to the power b, modulo 2^64, which is the same for two's complement.
fn power_words(a: vec2u, b: vec2u) -> vec2u {
    var result = vec2u(1u, 0u);
    var base = a;
    var exponent = b;
    while (exponent.x | exponent.y) != 0u {
        if (exponent.x & 1u) == 1u {
            result = multiply_words(result, base);
        }
        base = multiply_words(base, base);
        exponent = vec2u((exponent.x >> 1u) | (exponent.y << 31u), exponent.y >> 1u);
    }
    return result;
}

// The bits of the nearest f32, ties to even.
fn real_of_words(a: vec2u) -> u32 {
    if (a.x | a.y) == 0u {
        return 0u;
    }
    let first = select(firstLeadingBit(a.x), 32u + firstLeadingBit(a.y), a.y != 0u);
    let digits = shifted_words(a, 63u - first);
    let mantissa = digits.y >> 8u;
    let half = (digits.y >> 7u) & 1u;
    let below = (digits.y & 0x7fu) | digits.x;
    let up = select(0u, half, below != 0u || (mantissa & 1u) == 1u);
    return ((first + 127u) << 23u) + (mantissa - 0x800000u) + up; // a carry goes into the exponent
}

// The magnitude of an f32, given its bits, without its fraction; the largest pair where it passes 64 bits, 0 for NaN.
fn words_of_real(bits: u32) -> vec2u {
    let exponent = (bits >> 23u) & 0xffu;
    let mantissa = (bits & 0x7fffffu) | 0x800000u;
    if exponent < 127u || (exponent == 255u && mantissa != 0x800000u) {
        return vec2u();
    }
    if exponent > 190u {
        return vec2u(0xffffffffu);
    }
    if exponent < 150u {
        return vec2u(mantissa >> (150u - exponent), 0u);
    }
    return shifted_words(vec2u(mantissa, 0u), exponent - 150u);
}

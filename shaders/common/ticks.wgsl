// Round numbers along a scale, and how each is written, computed where they are drawn: ranges that were found on the GPU
// need not be read back. All numbers are mantissa · 10^exponent in integers, so every digit is exact.
// renderer tests hold the same in Python: tests/renderer/ticks_reference.py.

struct Ticks {
    first: i32,         // of the first tick: its value is first · mantissa · 10^exponent
    count: i32,
    mantissa: i32,      // of the step: 1, 2 or 5; of a single value: 1
    exponent: i32,
    power: i32,         // written behind each number as ·10^power; 0: no power
}

// One number as it is written.
struct Number {
    digits: u32,
    negative: bool,
    decimals: i32,      // digits behind the point
    zeros: i32,         // written behind the digits
    power: i32,
}

const MOST_TICKS = 12;

// Exact up to 10^10, and as near as one division or product makes it. Tables and no loop: llvmpipe compiles a shader whose
// loop a uniform ends anew in every frame.
fn power_of_ten(exponent: i32) -> f32 {
    let size = abs(exponent);
    let tens = select(clamp(size / 10, 0, 3), 0, size == 10);
    let rest = clamp(size - 10 * tens, 0, 10);
    let value = array<f32, 4>(1.0, 1e10, 1e20, 1e30)[tens]
        * array<f32, 11>(1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10)[rest];
    return select(value, 1.0 / value, exponent < 0);
}

// The largest e with 10^e <= value, for a value above 0.
fn decade(value: f32) -> i32 {
    let guess = clamp(i32(floor(log2(value) * 0.30103)), -36, 36);
    let down = select(guess, guess - 1, power_of_ten(guess) > value);
    return select(down, guess + 1, power_of_ten(guess + 1) <= value);
}

// The least of 1, 2 and 5 times a power of ten that is not below `least`: mantissa and exponent.
fn round_step(least: f32) -> vec2i {
    let exponent = decade(least);
    let leading = least / power_of_ten(exponent) * 0.9999;    // a step may be as much too small as rounding makes it
    if leading <= 1.0 { return vec2i(1, exponent); }
    if leading <= 2.0 { return vec2i(2, exponent); }
    if leading <= 5.0 { return vec2i(5, exponent); }
    return vec2i(1, exponent + 1);
}

fn value_of(numerator: i32, exponent: i32) -> f32 {
    let size = power_of_ten(abs(exponent));
    return select(f32(numerator) * size, f32(numerator) / size, exponent < 0);
}

// Ticks from `low` to `high` with at most `most` steps between them; a single one, at `low`, if the two hardly differ.
fn ticks_of(low: f32, high: f32, most: f32) -> Ticks {
    let largest = max(abs(low), abs(high));
    let span = high - low;
    var ticks: Ticks;
    if !(largest < 1e30) { return ticks; }
    ticks.mantissa = 1;
    ticks.count = 1;
    if !(largest > 1e-30) { return ticks; }
    let size = decade(largest);
    ticks.power = select(0, size, size < -3 || size > 5);
    if !(span > 2e-6 * largest) {
        ticks.exponent = size - 3;
        ticks.first = i32(round(low / power_of_ten(ticks.exponent)));
        return ticks;
    }
    let step = round_step(span / max(most, 1.0));
    let length = value_of(step.x, step.y);
    let slack = (1e-4 * span + 3e-7 * largest) / length;    // an end that is a tick but for rounding is one
    ticks.mantissa = step.x;
    ticks.exponent = step.y;
    ticks.first = i32(ceil(low / length - slack));
    ticks.count = clamp(i32(floor(high / length + slack)) - ticks.first + 1, 0, MOST_TICKS);
    return ticks;
}

fn tick_value(ticks: Ticks, i: i32) -> f32 {
    return value_of((ticks.first + i) * ticks.mantissa, ticks.exponent);
}

fn tick_number(ticks: Ticks, i: i32) -> Number {
    let value = (ticks.first + i) * ticks.mantissa;
    if value == 0 { return Number(0u, false, 0, 0, 0); }
    let shift = ticks.exponent - ticks.power;
    return Number(u32(abs(value)), value < 0, max(-shift, 0), max(shift, 0), ticks.power);
}

fn digit_count(number: u32) -> i32 {
    var count = 1;
    for (var left = number / 10u; left > 0u; left /= 10u) { count++; }
    return count;
}

// Digits that are written, a zero before the point included.
fn written_digits(number: Number) -> i32 {
    return max(digit_count(number.digits) + number.zeros, number.decimals + 1);
}

fn written_power(number: Number) -> i32 {
    return select(0, 3 + i32(number.power < 0) + digit_count(u32(abs(number.power))), number.power != 0);
}

fn written_length(number: Number) -> i32 {
    return i32(number.negative) + written_digits(number) + i32(number.decimals > 0) + written_power(number);
}

fn digit_of(number: u32, from_right: i32) -> u32 {
    var left = number;
    for (var i = 0; i < from_right; i++) { left /= 10u; }
    return left % 10u;
}

// Symbols are digits, then the ones below, then raised digits and a raised minus. Mirrored by renderer/annotations/font.py.
const POINT = 10u;
const MINUS = 11u;
const TIMES = 12u;
const RAISED = 13u;
const RAISED_MINUS = 23u;

// The symbol at an index of a written number, counted from the left, below its `written_length`.
fn symbol_at(number: Number, index: i32) -> u32 {
    var at = index - i32(number.negative);
    if at < 0 { return MINUS; }
    let digits = written_digits(number);
    let whole = digits - number.decimals;
    let characters = digits + i32(number.decimals > 0);
    if at >= characters { return power_symbol(number.power, at - characters); }
    if number.decimals > 0 && at == whole { return POINT; }
    if at > whole { at -= 1; }
    let from_right = digits - 1 - at;
    if from_right < number.zeros { return 0u; }
    return digit_of(number.digits, from_right - number.zeros);
}

fn power_symbol(power: i32, index: i32) -> u32 {
    if index < 3 { return array<u32, 3>(TIMES, 1u, 0u)[index]; }
    let at = index - 3 - i32(power < 0);
    if at < 0 { return RAISED_MINUS; }
    let size = u32(abs(power));
    return RAISED + digit_of(size, digit_count(size) - 1 - at);
}

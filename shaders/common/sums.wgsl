// Light that many small things add up in a pixel, in any order: light and optical depth are sums of integers. Of things that
// are at random depths, each hides as much of the others as they hide of it.

const FINE = 4096.0;        // integers for each unit of light

// What is to be added up of premultiplied light: divided by the fraction that it would have alone (`resolved`), and the
// depth.
fn optical(light: vec4f) -> vec4f {
    let alpha = clamp(light.a, 0.0, 0.998);
    let depth = -log(1.0 - alpha);
    let gain = select(1.0 + 0.5 * alpha, depth / alpha, alpha > 1e-3);
    return vec4f(light.rgb * gain, depth);
}

// The premultiplied light that such a sum stands for.
fn resolved(sum: vec4f) -> vec4f {
    let alpha = 1.0 - exp(-sum.a);
    let scale = select(1.0 - 0.5 * sum.a, alpha / sum.a, sum.a > 1e-3);
    return vec4f(sum.rgb * scale, alpha);
}

// `value` as an integer; of what is left the lower 8 bits of `chance` decide.
fn integer(value: f32, chance: u32) -> u32 {
    return u32(value * FINE + (f32(chance & 255u) + 0.5) / 256.0);
}

// And back: two sums of a word, and how often each has passed what fits.
fn lights_of(word: u32, passed: vec2u) -> vec2f {
    let more = vec2f(passed) * 65536.0 - vec2f(0.0, f32(passed.x));
    return max(vec2f(f32(word & 0xffffu), f32(word >> 16u)) + more, vec2f(0.0)) / FINE;
}

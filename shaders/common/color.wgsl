// Color: sRGB transfer functions (IEC 61966-2-1) and luminance (Rec. 709 primaries).

fn srgb_to_linear(encoded: vec3f) -> vec3f {
    let low = encoded / 12.92;
    let high = pow((max(encoded, vec3f(0.0)) + 0.055) / 1.055, vec3f(2.4));
    return select(high, low, encoded <= vec3f(0.04045));
}

fn linear_to_srgb(light: vec3f) -> vec3f {
    let low = light * 12.92;
    let high = 1.055 * pow(max(light, vec3f(0.0)), vec3f(1.0 / 2.4)) - 0.055;
    return select(high, low, light <= vec3f(0.0031308));
}

fn luminance(light: vec3f) -> f32 {
    return dot(light, vec3f(0.2126, 0.7152, 0.0722));
}

// Fraction of the distance from range.x to range.y, as a texture coordinate that hits texel centers of `texels`.
fn colormap_coordinate(value: f32, range: vec2f, texels: f32) -> f32 {
    let span = range.y - range.x;
    let fraction = select(0.5, (value - range.x) / span, abs(span) > 1e-30);
    return (clamp(fraction, 0.0, 1.0) * (texels - 1.0) + 0.5) / texels;
}

// Light that a half float holds, for what may have become infinite or no number at all.
fn bounded(light: vec3f) -> vec3f {
    return clamp(light, vec3f(0.0), vec3f(6e4));
}

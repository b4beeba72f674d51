// Contour lines of a value on a surface. Needs a uniform `style` with the fields named here.

// How much of the pixel a contour line covers, 0 to 1; lines closer than a few pixels fade out.
fn contour(value: f32) -> f32 {
    let steps = value / style.contours;
    let per_pixel = max(fwidth(steps), 1e-12);
    let pixels_away = abs(fract(steps - 0.5) - 0.5) / per_pixel;
    let line = clamp(0.5 * style.contour_width + 0.5 - pixels_away, 0.0, 1.0);
    return line * (1.0 - smoothstep(0.1, 0.35, per_pixel * style.contour_width));
}

// The color, darker on a contour line. Values matter in name only: see common/shadows.wgsl.
fn with_contours(color: vec4f, value: f32) -> vec4f {
    if (style.contours > 0.0) & (abs(value) < 1e30) { return vec4f(color.rgb * (1.0 - style.contour_strength * contour(value)), color.a); }
    return color;
}

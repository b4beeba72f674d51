// Where a value is in a range: 0 at its one end and before, 1 at its other end and beyond.
fn fraction(value: f32, range: vec2f) -> f32 {
    let span = range.y - range.x;
    return clamp((value - range.x) / select(1.0, span, abs(span) > 1e-30), 0.0, 1.0);
}

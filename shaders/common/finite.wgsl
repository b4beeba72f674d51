// Whether numbers are neither NaN nor infinite. Judged by their bits: comparisons with NaN may be optimized away.

fn is_finite(value: f32) -> bool {
    return (bitcast<u32>(value) & 0x7f800000u) != 0x7f800000u;
}

fn all_finite(place: vec3f) -> bool {
    return is_finite(place.x) && is_finite(place.y) && is_finite(place.z);
}

// Whether numbers are neither NaN nor infinite. Judged by their bits: comparisons with NaN may be optimized away.

fn is_finite(value: f32) -> bool {
    return (bitcast<u32>(value) & 0x7f800000u) != 0x7f800000u;
}

fn all_finite(vector: vec3f) -> bool {
    return is_finite(vector.x) && is_finite(vector.y) && is_finite(vector.z);
}

// Rotations by quaternions x, y, z, w, and the backward pass.

// The axes, in columns, that a quaternion of length 1 turns to.
fn rotation_axes(q: vec4f) -> mat3x3f {
    return mat3x3f(
        1.0 - 2.0 * (q.y * q.y + q.z * q.z), 2.0 * (q.x * q.y + q.w * q.z), 2.0 * (q.x * q.z - q.w * q.y),
        2.0 * (q.x * q.y - q.w * q.z), 1.0 - 2.0 * (q.x * q.x + q.z * q.z), 2.0 * (q.y * q.z + q.w * q.x),
        2.0 * (q.x * q.z + q.w * q.y), 2.0 * (q.y * q.z - q.w * q.x), 1.0 - 2.0 * (q.x * q.x + q.y * q.y),
    );
}

// The gradient by a quaternion of any length from that by the axes d that it turns to: column j is that of axis j.
fn quaternion_backward(quaternion: vec4f, d: mat3x3f) -> vec4f {
    let q = quaternion / length(quaternion);
    let across = vec3f(d[1].z - d[2].y, d[2].x - d[0].z, d[0].y - d[1].x);
    let both = vec3f(d[1].z + d[2].y, d[2].x + d[0].z, d[0].y + d[1].x);
    let own = vec3f(d[0].x, d[1].y, d[2].z);
    let by_unit = 2.0 * vec4f(
        q.y * both.z + q.z * both.y + q.w * across.x - 2.0 * q.x * (own.y + own.z),
        q.x * both.z + q.z * both.x + q.w * across.y - 2.0 * q.y * (own.x + own.z),
        q.x * both.y + q.y * both.x + q.w * across.z - 2.0 * q.z * (own.x + own.y),
        dot(q.xyz, across),
    );
    return (by_unit - q * dot(q, by_unit)) / length(quaternion);
}

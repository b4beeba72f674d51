// Vectors on a grid of three axes, read from an array of any layout. Needs the array `vectors`, and in `params` what the
// macro `fields` declares. Include this for the functions, import it for the macro.
//% macro fields()
    vectors_size: vec3u,    // samples along x, y and z
    vectors_offset: u32,
    vectors_strides: vec3i, // elements from one sample to the next
    component: i32,         // and from one component to the next
    low: vec3f,             // the box
    inset: f32,             // samples between the box and the first one
    high: vec3f,
    second: u32,            // the axis along which the second of two components points, or 0 if there are three
//%- endmacro

fn vector_at(cell: vec3i) -> vec3f {
    let at = clamp(cell, vec3i(0), vec3i(params.vectors_size) - 1) * params.vectors_strides;
    let first = i32(params.vectors_offset) + at.x + at.y + at.z;
    let next = vectors[first + params.component];
    if params.second == 1u { return vec3f(vectors[first], next, 0.0); }
    if params.second == 2u { return vec3f(vectors[first], 0.0, next); }
    return vec3f(vectors[first], next, vectors[first + 2 * params.component]);
}

// A position in the box counted in samples of a grid of this size.
fn sample_position(world: vec3f, size: vec3u) -> vec3f {
    let span = params.high - params.low;
    let fraction = (world - params.low) / select(vec3f(1.0), span, span > vec3f(0.0));
    return fraction * (vec3f(size) - 1.0 + 2.0 * params.inset) - params.inset;
}

// Trilinear between the eight samples around a position.
fn vector_between(world: vec3f) -> vec3f {
    let position = sample_position(world, params.vectors_size);
    let low = floor(position);
    let part = position - low;
    var sum = vec3f(0.0);
    for (var corner = 0; corner < 8; corner++) {
        let offset = vec3i(corner & 1, (corner >> 1) & 1, corner >> 2);
        let weights = select(1.0 - part, part, offset == vec3i(1));
        sum += weights.x * weights.y * weights.z * vector_at(vec3i(low) + offset);
    }
    return sum;
}

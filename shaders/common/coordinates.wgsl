// The coordinates of points as they are stored. Needs the array `x` and in `params`: x_offset, and x_strides, elements from point
// to point and from coordinate to coordinate. In: DIMENSIONS, coordinates of a point.

fn coordinate(point: u32, axis: u32) -> f32 {
    return f32(x[i32(params.x_offset) + i32(point) * params.x_strides.x + i32(axis) * params.x_strides.y]);
}

fn coordinates_of(point: u32) -> array<f32, ${DIMENSIONS}> {
    return array<f32, ${DIMENSIONS}>(
        //% for d in range(DIMENSIONS)
        coordinate(point, ${d}u),
        //% endfor
    );
}

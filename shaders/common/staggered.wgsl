// A grid of cubic cells with velocities on their faces (Harlow and Welch 1965): `faces` holds at (x, y, z) the velocities
// through the lower faces of cell (x, y, z) along x, y and z; it has one row more along each axis than there are cells.
// Positions are counted in cells from the corner of the box. Include this for the functions, import it for `velocities`.
// The uniform struct holds size, the cells along each axis.

const NEXT = array(vec3i(1, 0, 0), vec3i(0, 1, 0), vec3i(0, 0, 1));

struct Corner {      // of the eight samples around a position the lowest, and where the position is between them, from 0 to 1
    low: vec3i,
    part: vec3f,
}

// Where a position is among `count` samples along each axis, of which the first is at `first`; held to their extent.
fn corner(position: vec3f, first: vec3f, count: vec3u) -> Corner {
    let at = clamp(position - first, vec3f(0.0), vec3f(count - 1u));
    let low = min(vec3i(at), vec3i(count) - 2);
    return Corner(low, at - vec3f(low));
}

fn corner_weight(part: vec3f, offset: vec3i) -> f32 {
    let each = select(1.0 - part, part, offset == vec3i(1));
    return each.x * each.y * each.z;
}

fn corner_offset(k: i32) -> vec3i {
    return vec3i(k & 1, (k >> 1u) & 1, k >> 2u);
}

fn cell_of(i: u32, size: vec3u) -> vec3i {
    return vec3i(vec3u(i % size.x, i / size.x % size.y, i / (size.x * size.y)));
}

fn cell_index(cell: vec3i) -> u32 {
    return (u32(cell.z) * params.size.y + u32(cell.y)) * params.size.x + u32(cell.x);
}

fn face_index(face: vec3i) -> u32 {
    return (u32(face.z) * (params.size.y + 1u) + u32(face.y)) * (params.size.x + 1u) + u32(face.x);
}

fn inside(cell: vec3i) -> bool {
    return all(cell >= vec3i(0)) && all(cell < vec3i(params.size));
}

fn face_corner(axis: i32, position: vec3f) -> Corner {
    return corner(position, 0.5 - 0.5 * vec3f(NEXT[axis]), params.size + vec3u(NEXT[axis]));
}

// NAME_x, NAME_y, NAME_z: a component of the velocities in `name`, trilinear. NAME_at: all of them.
//% macro velocities(name)
    //% for axis in "xyz"
fn ${name}_${axis}(position: vec3f) -> f32 {
    let found = face_corner(${loop.index0}, position);
    var total = 0.0;
    for (var k = 0; k < 8; k += 1) {
        let offset = corner_offset(k);
        total += corner_weight(found.part, offset) * ${name}[face_index(found.low + offset)].${axis};
    }
    return total;
}

    //% endfor
fn ${name}_at(position: vec3f) -> vec3f {
    return vec3f(${name}_x(position), ${name}_y(position), ${name}_z(position));
}
//%- endmacro

// Which nodes of the grid particles of models/mpm.wgsl reach, and with which weights. Include before its entry points.

// Position in cells from the first node.
fn on_grid(position: vec3f) -> vec3f {
    return (position - params.low) / params.cell;
}

// The first of three nodes along each axis that a particle reaches.
fn first_node(position: vec3f) -> vec3u {
    return vec3u(position - 0.5);
}

fn row_of(at: vec3u, size: vec3u) -> u32 {
    return (at.z * size.y + at.y) * size.x + at.x;
}

fn node_of_tile(block: vec3u, index: u32) -> vec3u {
    return block * 4u + vec3u(index % SIDE, index / SIDE % SIDE, index / (SIDE * SIDE));
}

fn tile_row(at: vec3u) -> u32 {
    return at.x + SIDE * (at.y + SIDE * at.z);
}

// Weights of the three nodes along each axis, one axis a column (Steffen, Kirby and Berzins 2008).
fn weights(offset: vec3f) -> array<vec3f, 3> {
    let to_first = 1.5 - offset;
    let to_second = offset - 1.0;
    let to_third = offset - 0.5;
    return array(0.5 * to_first * to_first, 0.75 - to_second * to_second, 0.5 * to_third * to_third);
}

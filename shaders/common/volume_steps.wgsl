// The steps of a march that are in empty cells of the grid of draw/volume_light.wgsl, which need not be taken.
// Include for empty_steps, after what draw/volume.wgsl declares.

// How many steps `along` a line of sight, up to `most`, lead from a position out of the empty cells there; 0 if it is in none.
fn empty_steps(world: vec3f, along: vec3f, most: f32) -> f32 {
    let last = vec3f(style.light_size) - 1.0;
    let cells = vec3f(style.light_size) / (style.high - style.low);
    let start = (world - style.low) * cells;
    let pace = select(along * cells, vec3f(1e-9), abs(along * cells) < vec3f(1e-9));
    var steps = 0.0;
    while steps < most {
        let cell = clamp(floor(start + steps * pace), vec3f(0.0), last);
        if !is_empty(vec3u(cell)) { break; }
        let leaves = (cell + select(vec3f(0.0), vec3f(1.0), pace > vec3f(0.0)) - start) / pace;
        steps = max(steps + 1.0, ceil(min(leaves.x, min(leaves.y, leaves.z))));
    }
    return steps;
}

fn is_empty(cell: vec3u) -> bool {
    let size = style.light_size;
    return light[2u * size.x * size.y * size.z + (cell.z * size.y + cell.y) * size.x + cell.x].y > 0.0;
}

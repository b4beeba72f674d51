// The sizes of a liquid's particles. SIZE and DENSITY: the types of these attributes, empty if they are not bound. Needs
// common/liquid.wgsl and common/row_number.wgsl.

const ALONE = vec2f(0.35, 0.7);     // relative densities of a particle without others around, and of one in a sheet

// Of a row whose attributes are these: half its spacing in world units. One that flies alone is a drop, which is smaller.
fn particle_size(row: u32, size: f32, density: f32) -> f32 {
    var found = style.size * size;
//% if DENSITY
    let alone = 1.0 - smoothstep(ALONE.x, ALONE.y, density / style.rest_density);
    let drop = style.drop_size * (1.0 + style.size_variation * (2.0 * row_number(row) - 1.0));
    found *= mix(1.0, min(drop, 1.0), alone);
//% endif
    return found;
}

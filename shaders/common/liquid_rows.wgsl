// The attributes of a liquid's particles in storage. POSITION, SIZE and DENSITY: the types of their numbers, empty if they are not
// bound. Needs common/view.wgsl, common/liquid.wgsl and a uniform `lists` of common/liquid_lists.wgsl.
//% include "common/row_number.wgsl"
//% include "common/liquid_particles.wgsl"
@group(0) @binding(3) var<storage, read> positions: array<${POSITION}>;
//% if SIZE
@group(0) @binding(7) var<storage, read> sizes: array<${SIZE}>;
//% endif
//% if DENSITY
@group(0) @binding(8) var<storage, read> densities: array<${DENSITY}>;
//% endif

// The position of a row in eye space.
fn eye_of_row(row: u32) -> vec3f {
    let at = lists.positions.x + row * lists.positions.y;
    let world = vec3f(f32(positions[at]), f32(positions[at + 1u]), f32(positions[at + 2u]));
    return (view.world_to_eye * vec4f(world, 1.0)).xyz;
}

fn size_of_row(row: u32) -> f32 {
    return particle_size(
        row,
        ${"f32(sizes[lists.sizes.x + row * lists.sizes.y])" if SIZE else "1.0"},
        ${"f32(densities[lists.densities.x + row * lists.densities.y])" if DENSITY else "0.0"},
    );
}

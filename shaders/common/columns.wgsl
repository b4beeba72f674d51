// Columns of pixels, for work on few of the pixels of an image. Needs common/tiles.wgsl.
// In: COLUMN_PIXELS, how many pixels, one below the other, an invocation has, 1 if it is not defined. It does its work in a loop,
// which looks for the next pixel behind its body: software adapters execute what is in a condition in any case, and the body of a
// loop at least once, so that each pixel without work would take them as long as one with it.

const COLUMN_PIXELS = ${COLUMN_PIXELS if COLUMN_PIXELS is defined else 1}u;

// The first pixel of the column of an invocation of workgroups that are `side` columns wide and high.
fn top_of_column(id: vec3u, groups: vec3u, side: u32) -> vec2u {
    return pixel_of_tile(id, groups, side) * vec2u(1u, COLUMN_PIXELS);
}

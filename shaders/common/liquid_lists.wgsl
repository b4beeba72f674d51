// How compute shaders read the particles of a liquid, for an image or a map.

const COLUMN = 3.0;         // reach of a particle in the length of columns, in sizes

struct Lists {              // packed by renderer/layers/liquid_rows.py
    viewport: vec2u,        // pixels, or texels
    rows: u32,
    capacity: u32,          // pairs
    positions: vec2u,       // first element, and elements from one row to the next
    sizes: vec2u,
    densities: vec2u,
    pad0: vec2u,
}

// What an image of rows holds in each pixel: the layer of what is visible, its row, and its position. The layout of the
// two textures is mirrored by renderer/target.py. Needs a uniform `view` of common/view.wgsl.

struct PickPixel {
    @location(0) row: vec4u,            // layer, counted from 1; row; cell, counted from 1, or 0; bits of `-z` in eye space
    @location(1) other_corners: vec2u,         // the other two corners of the cell
    @builtin(frag_depth) depth: f32,
}

const LEAST_ALPHA = 0.125;              // less is hardly visible

fn picked_row(row: u32, eye: vec3f) -> PickPixel {
    return picked_cell(vec3u(row), 0u, eye);
}

// `corners` are the rows of the cell's corners, the nearest first; `cell` counts from 1.
fn picked_cell(corners: vec3u, cell: u32, eye: vec3f) -> PickPixel {
    if beyond_clips(eye) > 0.0 { discard; }
    return PickPixel(vec4u(view.layer, corners.x, cell, bitcast<u32>(-eye.z)), corners.yz, depth_at(eye));
}

// What has no rows: it only hides what is behind it.
fn unpicked(eye: vec3f) -> PickPixel {
    if beyond_clips(eye) > 0.0 { discard; }
    return PickPixel(vec4u(0u), vec2u(0u), depth_at(eye));
}

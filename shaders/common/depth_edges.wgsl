// Edges drawn over an image, where its depth has steps or folds. Include for edge_at; in: `depths`, and the uniform `post` of
// draw/post_process.wgsl.

const EDGE_GAIN = 40.0;     // steps of so small a fraction of the distance are drawn in full
const LINEAR = 0.001;       // linear depth of one distance, about

// How much of an edge a pixel shows. A plane's reversed depth is linear on the screen, so what differs from the mean of two
// opposite neighbors is no plane: the farther side of a step, or a fold. After Boucheny 2009, eye-dome lighting, with that
// difference in the place of his.
fn edge_of(pixel: vec2i) -> f32 {
    let size = vec2i(textureDimensions(depths));
    let here = textureLoad(depths, clamp(pixel, vec2i(0), size - 1), 0);
    var steps = 0.0;
    for (var i = 0u; i < 4u; i++) {
        let direction = array<vec2f, 4>(vec2f(1.0, 0.0), vec2f(0.0, 1.0), vec2f(0.7071, 0.7071), vec2f(0.7071, -0.7071))[i];
        let aside = vec2i(round(direction * post.edge_width));
        let one = textureLoad(depths, clamp(pixel + aside, vec2i(0), size - 1), 0);
        let other = textureLoad(depths, clamp(pixel - aside, vec2i(0), size - 1), 0);
        let mean = 0.5 * (one + other);
        steps += clamp(EDGE_GAIN * (mean - here) / select(max(mean, 1e-30), LINEAR, post.parallel > 0.0), 0.0, 1.0);
    }
    return 1.0 - exp2(-2.0 * steps);
}

// The same, smooth across pixels. The turns are constants: llvmpipe retains a MB for each frame with a loop here whose
// turns it does not know.
fn edge_at(pixel: vec2i) -> f32 {
    var sum = 0.0;
    for (var i = 0u; i < 5u; i++) {
        let offset = array<vec2i, 5>(vec2i(0), vec2i(1, 0), vec2i(-1, 0), vec2i(0, 1), vec2i(0, -1))[i];
        sum += edge_of(pixel + offset) * select(0.15, 0.4, i == 0u);
    }
    return post.edges * sum;
}

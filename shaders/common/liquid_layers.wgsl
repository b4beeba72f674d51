// Thin parts of a liquid, such as drops, and what is behind them. Needs common/liquid.wgsl.
//% if ENTRY != "find_fronts"
// And textures: `fronts`, the nearest distances and their sizes, and `columns`, lengths of columns in distances of the camera's
// target: all of them, and those near the front.
//% endif

const NEAR = 5.0;       // sizes from a front to the centers of particles that are near it, at most

// The distance up to which the centers of particles are near a front.
fn near_end(distance: vec4f, size: vec4f) -> vec4f {
    return distance + NEAR * size;
}

//% if ENTRY != "find_fronts"
const THIN = vec2f(0.45, 0.75);   // of that length, up to which it is all thin, and from which on it is not
const BALL = vec2f(0.9, 1.6);   // sizes of liquid up to which it is a drop, and from which on a sheet: of one particle 0.85, of a layer 2
const AROUND = 2.0;     // sizes: how far around here

// From 0, where faces are parallel, to 1, where it is a ball: if there is little of it near here, and around.
fn roundness(pixel: vec2i, front: vec2f) -> f32 {
    let enough = BALL.y * front.y / view.distance;
    var most = textureLoad(columns, pixel, 0).y;
    if most >= enough { return 0.0; }
    let reach = i32(AROUND * front.y / pixel_at(vec3f(0.0, 0.0, -front.x)));
    let last = vec2i(textureDimensions(columns)) - 1;
    for (var i = 0; i < 9; i++) {
        let near = clamp(pixel + reach * vec2i(i % 3 - 1, i / 3 - 1), vec2i(0), last);
        let there = textureLoad(fronts, near, 0).xy;
        let is_same = there.x > 0.0 && abs(there.x - front.x) < NEAR * front.y;
        most = max(most, select(0.0, textureLoad(columns, near, 0).y, is_same));
    }
    return 1.0 - smoothstep(BALL.x, BALL.y, most * view.distance / front.y);
}

// From 0, where the surface is that of a body of liquid, to 1, where there is little of it.
fn thinness(pixel: vec2i, front: vec2f) -> f32 {
    let length = textureLoad(columns, pixel, 0).y * view.distance / (NEAR * front.y);
    return 1.0 - smoothstep(THIN.x, THIN.y, length);
}
//% endif

// The box around everything that is drawn, and which of its faces and edges are visible from where. Needs the uniforms `view`
// of common/view.wgsl and `overlay` of common/overlay.wgsl, `bounds` of draw/axes_bounds.wgsl, and common/ticks.wgsl.

const STEPS = 5.0;          // ticks of the longest axis

fn bounds_low() -> vec3f {
    return select(bounds[0].xyz, overlay.low, overlay.own_low > 0.0);
}

fn bounds_high() -> vec3f {
    return select(bounds[1].xyz, overlay.high, overlay.own_high > 0.0);
}

fn axis_ticks(axis: u32) -> Ticks {
    let low = bounds_low();
    let high = bounds_high();
    let span = high - low;
    let longest = max(span.x, max(span.y, span.z));
    if span[axis] <= 1e-4 * longest { return Ticks(); }
    return ticks_of(low[axis], high[axis], clamp(ceil(STEPS * span[axis] / longest), 1.0, STEPS));
}

fn turned_to_world(direction: vec3f) -> vec3f {
    return direction * mat3x3f(view.world_to_eye[0].xyz, view.world_to_eye[1].xyz, view.world_to_eye[2].xyz);
}

fn eye_in_world() -> vec3f {
    return turned_to_world(-view.world_to_eye[3].xyz);
}

// Whether the face at the low (0) or the high (1) end of an axis turns its outside to the viewer.
fn faces_viewer(axis: u32, end: u32) -> bool {
    let toward = turned_to_world(vec3f(0.0, 0.0, 1.0))[axis];
    let along = select((toward < -1e-4), (toward > 1e-4), end == 1u);
    let eye = eye_in_world()[axis];
    let outside = select((eye < bounds_low()[axis]), (eye > bounds_high()[axis]), end == 1u);
    return select(outside, along, is_parallel());
}

fn position_in_bounds(axis: u32, along: f32, ends: vec2u) -> vec3f {
    let low = bounds_low();
    let high = bounds_high();
    var position = vec3f(along);
    let second = (axis + 1u) % 3u;
    let third = (axis + 2u) % 3u;
    position[second] = select(low[second], high[second], ends.x == 1u);
    position[third] = select(low[third], high[third], ends.y == 1u);
    return position;
}

// A position on the image in pixels, y down; z is 1 if it is in front of the eye, else 0.
fn project(world: vec3f) -> vec3f {
    let eye = view.world_to_eye * vec4f(world, 1.0);
    let clip = view.eye_to_clip * eye;
    let before = is_parallel() | (-eye.z > view.near);
    let fraction = vec2f(0.5, -0.5) * clip.xy / select(1.0, clip.w, before) + 0.5;
    return vec3f(fraction * overlay.viewport, f32(before));
}

// Which of the four edges along an axis has the ticks and labels: on the outline, the leftmost of the upright ones, else the lowest.
fn labeled_edge(axis: u32) -> vec2u {
    let second = (axis + 1u) % 3u;
    let third = (axis + 2u) % 3u;
    let middle = 0.5 * (bounds_low()[axis] + bounds_high()[axis]);
    let upright = abs(up_along(axis)) > 0.5;
    var best = vec2u(0u);
    var most = -3.4e38;
    for (var i = 0u; i < 4u; i++) {
        let ends = vec2u(i & 1u, i >> 1u);
        let outline = faces_viewer(second, ends.x) != faces_viewer(third, ends.y);
        let pixel = project(position_in_bounds(axis, middle, ends)).xy;
        let rank = select(pixel.y, -pixel.x, upright) + select(-1e6, 0.0, outline);
        if rank > most {
            most = rank;
            best = ends;
        }
    }
    return best;
}

// The component of the world's up direction along an axis.
fn up_along(axis: u32) -> f32 {
    return turned_to_world(view.up)[axis];
}

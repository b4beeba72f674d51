// The sample of a grid that is nearest to a position, as a row: they count along x first. Needs the uniforms `view` and `style`,
// which has the box from low to high and inset, the samples between the box and the first sample.

fn nearest_row(eye: vec3f, size: vec3u) -> u32 {
    let turned = eye - view.world_to_eye[3].xyz;
    let world = turned * mat3x3f(view.world_to_eye[0].xyz, view.world_to_eye[1].xyz, view.world_to_eye[2].xyz);
    let relative = (world - style.low) / (style.high - style.low);
    let position = relative * (vec3f(size) - 1.0 + 2.0 * style.inset) - style.inset;
    let cell = vec3u(clamp(round(position), vec3f(0.0), vec3f(size - 1u)));
    return (cell.z * size.y + cell.y) * size.x + cell.x;
}

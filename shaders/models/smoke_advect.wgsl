// Smoke and air carried along by the air itself, and smoke that spreads.
// In and out: as in common/air.wgsl. Scratch: guess_* after the first half of an advection; totals, sums of what `tally`
// finds. The equations and their sources are in the reference, app/vertigrad/models/reference/smoke.py.
//% import "common/staggered.wgsl" as staggered
//% import "common/air.wgsl" as air with context
//% include "common/air.wgsl"
//% set AXES = "xyz"

@group(0) @binding(3) var<storage, read> guess_faces: array<vec4f>;
@group(0) @binding(4) var<storage, read> guess_matter: array<vec2f>;
@group(0) @binding(20) var<storage, read> totals: array<vec4f>;

${staggered.velocities("guess_faces")}
${air.sampled("matter")}
${air.sampled("guess_matter")}

//% for axis in range(3)
// The velocity on the middle of a face: that of the face, and the means of the cells on both sides.
fn wind_${AXES[axis]}(face: vec3i, i: u32) -> vec3f {
    var wind = 0.5 * (velocity_in(face) + velocity_in(face - NEXT[${axis}]));
    wind.${AXES[axis]} = faces[i].${AXES[axis]};
    return wind;
}

//% endfor
// Whether a position is beyond a side that lets air through.
fn has_left(position: vec3f) -> bool {
    let below = (position < vec3f(0.0)) & (params.open_low != vec3u(0u));
    let above = (position > vec3f(params.size)) & (params.open_high != vec3u(0u));
    return any(below | above);
}

${air.kernel("predict_matter")}
    ${air.each_cell()}
    let from_ = traced(vec3f(cell) + 0.5, velocity_in(cell), -params.dt / params.edge);
    if is_solid(cell) || has_left(from_) {
        out_matter[i] = vec2f(0.0);
    } else {
        out_matter[i] = matter_at(from_).value;
    }
}

// What carrying forth and back has changed is corrected by half, within the values that were around.
${air.kernel("correct_matter")}
    ${air.each_cell()}
    let middle = vec3f(cell) + 0.5;
    let from_ = traced(middle, velocity_in(cell), -params.dt / params.edge);
    let to = traced(middle, velocity_in(cell), params.dt / params.edge);
    let guess = guess_matter[i];
    if is_solid(cell) || has_left(from_) || has_left(to) {
        out_matter[i] = guess;
    } else {
        let around = matter_at(from_);
        out_matter[i] = clamp(guess + 0.5 * (matter[i] - guess_matter_at(to).value), around.least, around.most);
    }
}

// What each cell is to have of density and temperature, had it lost only what flows out of the box, and what it has.
${air.kernel("tally")}
    ${air.each_cell()}
    var away = 0.0;
    let low = faces[face_index(cell)];
    //% for axis in range(3)
    if cell[${axis}] == 0 {
        away += max(-low[${axis}], 0.0);
    }
    if cell[${axis}] == i32(params.size[${axis}]) - 1 {
        away += max(faces[face_index(cell + NEXT[${axis}])][${axis}], 0.0);
    }
    //% endfor
    let left = max(1.0 - away * params.dt / params.edge, 0.0);
    out_vectors[i] = vec4f(left * matter[i], moved_matter[i]);
}

// What advection gained or lost in all is subtracted from or added to all in proportion.
${air.kernel("make_good")}
    ${air.each_cell()}
    let sums = totals[0];
    let correction = select(vec2f(1.0), clamp(sums.xy / sums.zw, vec2f(0.5), vec2f(2.0)), sums.zw > vec2f(1e-20));
    out_matter[i] *= correction;
}

${air.kernel("predict_faces")}
    ${air.each_face()}
    var value = vec4f(0.0);
    //% for axis in range(3)
    if all(face < vec3i(params.size) + NEXT[${axis}]) {
        let position = vec3f(face) + 0.5 - 0.5 * vec3f(NEXT[${axis}]);
        value[${axis}] = faces_${AXES[axis]}(traced(position, wind_${AXES[axis]}(face, i), -params.dt / params.edge));
    }
    //% endfor
    out_faces[i] = value;
}

//% for axis in range(3)
fn corrected_${AXES[axis]}(face: vec3i, i: u32) -> f32 {
    let position = vec3f(face) + 0.5 - 0.5 * vec3f(NEXT[${axis}]);
    let wind = wind_${AXES[axis]}(face, i);
    let from_ = traced(position, wind, -params.dt / params.edge);
    let to = traced(position, wind, params.dt / params.edge);
    let guess = guess_faces[i].${AXES[axis]};
    if has_left(from_) || has_left(to) {
        return guess;
    }
    let found = face_corner(${axis}, from_);
    var least = 3e38;
    var most = -3e38;
    for (var k = 0; k < 8; k += 1) {
        let here = faces[face_index(found.low + corner_offset(k))].${AXES[axis]};
        least = min(least, here);
        most = max(most, here);
    }
    return clamp(guess + 0.5 * (faces[i].${AXES[axis]} - guess_faces_${AXES[axis]}(to)), least, most);
}

//% endfor
${air.kernel("correct_faces")}
    ${air.each_face()}
    var value = vec4f(0.0);
    //% for axis in range(3)
    if all(face < vec3i(params.size) + NEXT[${axis}]) {
        value[${axis}] = corrected_${AXES[axis]}(face, i);
    }
    //% endfor
    out_faces[i] = value;
}

// One sweep of diffusion; nothing goes through walls or out of the box.
${air.kernel("diffuse")}
    ${air.each_cell()}
    let here = moved_matter[i];
    var gain = vec2f(0.0);
    if !is_solid(cell) {
        //% for axis in range(3)
        for (var side = -1; side <= 1; side += 2) {
            let other = cell + side * NEXT[${axis}];
            if inside(other) && !is_solid(other) {
                gain += moved_matter[cell_index(other)] - here;
            }
        }
        //% endfor
    }
    out_matter[i] = here + params.spread * gain;
}

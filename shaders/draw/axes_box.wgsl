// The box around everything: the edges and, on its far faces, lines at the ticks. One instance a line, drawn
// among the layers, whose depth hides it. In: the box, as draw/axes_bounds.wgsl computes it. Out: linear premultiplied color.
//% include "common/view.wgsl"
//% include "common/color.wgsl"
//% include "common/output.wgsl"
//% include "common/ticks.wgsl"
//% include "common/overlay.wgsl"
//% include "common/axes_bounds.wgsl"

@group(0) @binding(0) var<uniform> view: View;
@group(0) @binding(1) var<uniform> overlay: Overlay;
@group(0) @binding(2) var<storage, read> bounds: array<vec4f>;

struct Line {
    @builtin(position) clip: vec4f,
    @location(0) aside: f32,                        // pixels from the middle of the line
    @location(1) @interpolate(flat) strength: f32,
}

const EDGE = 0.42;
const GRID = 0.13;
const HIDDEN = vec4f(0.0, 0.0, -1.0, 1.0);

@vertex
fn box_vertex(@builtin(vertex_index) corner: u32, @builtin(instance_index) instance: u32) -> Line {
    var out = Line(HIDDEN, 0.0, 0.0);
    if !(bounds[1].w > 0.0 || overlay.own_low * overlay.own_high > 0.0) { return out; }
    let low = bounds_low();
    let high = bounds_high();
    var first: vec3f;
    var last: vec3f;
    if instance < 12u {
        let axis = instance / 4u;
        let ends = vec2u(instance & 1u, (instance >> 1u) & 1u);
        // The three edges between faces toward the viewer would cover everything.
        if faces_viewer((axis + 1u) % 3u, ends.x) && faces_viewer((axis + 2u) % 3u, ends.y) { return out; }
        first = position_in_bounds(axis, low[axis], ends);
        last = position_in_bounds(axis, high[axis], ends);
        out.strength = EDGE;
    } else {
        let number = instance - 12u;
        let axis = number / (2u * u32(MOST_TICKS));
        let i = i32(number / 2u % u32(MOST_TICKS));
        let normal = (axis + 1u + number % 2u) % 3u;
        let along = 3u - axis - normal;
        let ticks = axis_ticks(axis);
        if i >= ticks.count { return out; }
        first[axis] = tick_value(ticks, i);
        first[normal] = select(low[normal], high[normal], faces_viewer(normal, 0u));
        last = first;
        first[along] = low[along];
        last[along] = high[along];
        out.strength = GRID;
    }
    return placed(out, first, last, corner);
}

fn placed(line: Line, first: vec3f, last: vec3f, corner: u32) -> Line {
    var out = line;
    var from_ = (view.world_to_eye * vec4f(first, 1.0)).xyz;
    var to = (view.world_to_eye * vec4f(last, 1.0)).xyz;
    let nearest = select(-1.001 * view.near, 3.4e38, is_parallel());
    if min(from_.z, to.z) > nearest { return out; }
    // What is behind the eye is cut off.
    if from_.z > nearest { from_ = mix(to, from_, (to.z - nearest) / (to.z - from_.z)); }
    if to.z > nearest { to = mix(from_, to, (from_.z - nearest) / (from_.z - to.z)); }
    let a = view.eye_to_clip * vec4f(from_, 1.0);
    let b = view.eye_to_clip * vec4f(to, 1.0);
    let edge = (b.xy / b.w - a.xy / a.w) * overlay.viewport * view.scale;
    let size = length(edge);
    if !(size > 1e-6) { return out; }
    let across = vec2f(-edge.y, edge.x) / size;
    let half_width = 0.5 * max(overlay.unit * view.scale.y, 1.0) + 0.5;
    out.aside = select(-half_width, half_width, (corner & 1u) == 1u);
    var clip = select(a, b, corner > 1u);
    clip += vec4f(across * out.aside * 2.0 / (overlay.viewport * view.scale) * clip.w, 0.0, 0.0);
    out.clip = clip;
    return out;
}

@fragment
fn box_fragment(in: Line) -> Output {
    let cover = clamp(0.5 * max(overlay.unit * view.scale.y, 1.0) + 0.5 - abs(in.aside), 0.0, 1.0) * in.strength;
    return output(vec4f(vec3f(overlay.light), 1.0) * cover);
}

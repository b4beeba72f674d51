// Greedy suppression of boxes that overlap one with a higher score, for each class of each image by itself.
// In: boxes (images, count, 4), corners y1 x1 y2 x2 in any order, or center x y and size w h if params.centers is not 0;
//     order and scores (images, classes, count), boxes in falling order of their scores. All packed.
// Out: chosen (images, classes, count): 1 where the box at that place of the order is chosen. At most params.most of a
//     class are, with scores above params.least, none covering another by more than params.overlap of their union.

struct Params {
    count: u32,
    classes: u32,
    lines: u32,  // images times classes
    most: u32,
    centers: u32,
    overlap: f32,
    least: f32,
    boxes_offset: u32,
    order_offset: u32,
    scores_offset: u32,
    chosen_offset: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> boxes: array<f32>;
@group(0) @binding(2) var<storage, read> order: array<i32>;
@group(0) @binding(3) var<storage, read> scores: array<f32>;
@group(0) @binding(4) var<storage, read_write> chosen: array<u32>;

const SUPPRESSED = 2u;
var<workgroup> current: u32;  // place in the order

// Lower and upper corner.
fn corners(image: u32, box: u32) -> vec4f {
    let at = params.boxes_offset + (image * params.count + box) * 4u;
    let b = vec4f(boxes[at], boxes[at + 1u], boxes[at + 2u], boxes[at + 3u]);
    if params.centers != 0u {
        return vec4f(b.xy - 0.5 * b.zw, b.xy + 0.5 * b.zw);
    }
    return vec4f(min(b.xy, b.zw), max(b.xy, b.zw));
}

fn area(low: vec2f, high: vec2f) -> f32 {
    let size = max(high - low, vec2f());
    return size.x * size.y;
}

fn overlaps(a: vec4f, b: vec4f) -> bool {
    let shared_area = area(max(a.xy, b.xy), min(a.zw, b.zw));
    let both = area(a.xy, a.zw) + area(b.xy, b.zw) - shared_area;
    return both > 0.0 && shared_area > params.overlap * both;
}

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let line = group.y * num_workgroups.x + group.x;
    if line >= params.lines {
        return;
    }
    let image = line / params.classes;
    let first = line * params.count;
    let out = params.chosen_offset + first;
    for (var i = lane; i < params.count; i += 128u) {
        chosen[out + i] = 0u;
    }
    storageBarrier();
    var number = 0u;  // chosen so far, of lane 0
    var next = 0u;
    loop {
        if lane == 0u {
            while next < params.count && chosen[out + next] == SUPPRESSED {
                next += 1u;
            }
            current = params.count;
            if next < params.count && number < params.most && scores[params.scores_offset + first + next] > params.least {
                current = next;
                chosen[out + next] = 1u;
                number += 1u;
                next += 1u;
            }
        }
        let here = workgroupUniformLoad(&current);
        if here >= params.count {
            break;
        }
        let mine = corners(image, u32(order[params.order_offset + first + here]));
        for (var i = here + 1u + lane; i < params.count; i += 128u) {
            if chosen[out + i] == 0u && overlaps(mine, corners(image, u32(order[params.order_offset + first + i]))) {
                chosen[out + i] = SUPPRESSED;
            }
        }
        storageBarrier();
    }
    for (var i = lane; i < params.count; i += 128u) {
        if chosen[out + i] == SUPPRESSED {
            chosen[out + i] = 0u;
        }
    }
}

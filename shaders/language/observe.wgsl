// What the heads of a transformer attend: their scores as fractions that add up to 1.
// In: CONTEXT. `scores` up to the token at `position` are those of that token.
// Out: attention, a row for each head, (heads, CONTEXT); 0 after the token.

struct Params {
    position: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> scores: array<f32>;
@group(0) @binding(2) var<storage, read_write> attention: array<f32>;

var<workgroup> parts: array<f32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let first = group.x * ${CONTEXT}u;
    var most = -3.0e38;
    for (var i = lane; i <= params.position; i += 64u) {
        most = max(most, scores[first + i]);
    }
    parts[lane] = most;
    workgroupBarrier();
    for (var other = 0u; other < 64u; other += 1u) {
        most = max(most, parts[other]);
    }
    workgroupBarrier();
    var sum = 0.0;
    for (var i = lane; i <= params.position; i += 64u) {
        sum += exp(scores[first + i] - most);
    }
    parts[lane] = sum;
    workgroupBarrier();
    sum = 0.0;
    for (var other = 0u; other < 64u; other += 1u) {
        sum += parts[other];
    }
    for (var i = lane; i < ${CONTEXT}u; i += 64u) {
        attention[first + i] = select(0.0, exp(scores[first + i] - most) / sum, i <= params.position);
    }
}

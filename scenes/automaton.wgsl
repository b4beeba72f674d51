// Cells of an automaton as beads on paper: a living cell is a bead of its color, and grows with its height.

struct Fields { side: u32, bead: f32, sheet: f32 }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read> height: array<f32>;
@group(0) @binding(2) var<storage, read_write> size: array<f32>;
@group(0) @binding(3) var<storage, read_write> paper: array<f32>;

const ALIVE = vec2f(0.06, 0.3);     // heights from which there is a bead, and from which it is full

@compute @workgroup_size(64)
fn grow(@builtin(global_invocation_id) id: vec3u) {
    if id.x < fields.side * fields.side {
        size[id.x] = fields.bead * smoothstep(ALIVE.x, ALIVE.y, height[id.x]);
    }
    if id.x == 0u { paper[1] = fields.sheet; }
}

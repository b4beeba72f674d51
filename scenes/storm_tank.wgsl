// Colors of the bodies in the tank, in the order in which the fluid has them: the last model of the chain comes first.

@group(0) @binding(0) var<storage, read_write> color: array<f32>;       // 4 x 3

@compute @workgroup_size(4)
fn paint(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= 4u { return; }
    var colors = array(vec3f(0.62, 0.36, 0.16), vec3f(0.78, 0.52, 0.25), vec3f(0.26, 0.28, 0.29), vec3f(0.42, 0.36, 0.31));
    for (var i = 0u; i < 3u; i++) { color[3u * id.x + i] = colors[id.x][i]; }
}

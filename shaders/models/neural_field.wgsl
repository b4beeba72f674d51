// A coordinate network with several bands, evaluated on a square grid; its heights are the vertices of a surface.
// In: WIDTH, neurons of a hidden layer, a multiple of 4; LAYERS; BANDS; ACTIVATION, "sine" or "relu";
//     weights, packed by models/neural/neural_field.py band after band: the band's sway; for each layer but the last the
//     transposed weights [in][out] and the biases, behind the first layer's biases also its phases; the last layer's
//     weights and its bias.
// Out: positions (rows, columns, 3) and elevations (rows, columns) in meters.
// The reference, and the formulas, are in app/vertigrad/models/reference/neural_field.py.
//
// A workgroup takes POINTS points through the whole network. Their activations stay in workgroup memory; each thread
// works out 4 outputs of 4 points at a time.
//% set QUADS = WIDTH // 4
//% set POINTS = 4096 // WIDTH
//% set THREADS = POINTS // 4 * QUADS
//% include "common/math.wgsl"

struct Params {
    resolution: u32,
    step: f32,
    extent: f32,
    height: f32,
    amplitude: f32,
    cycle: f32,
    metres_per_unit: f32,
    mean_m: f32,
    blend: array<vec4f, ${(BANDS + 3) // 4}>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> weights: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> positions: array<f32>;
@group(0) @binding(3) var<storage, read_write> elevations: array<f32>;

var<workgroup> signal: array<vec4f, ${POINTS * QUADS}>;

fn activate(x: vec4f) -> vec4f {
    //% if ACTIVATION == "sine"
    return vec4f(precise_sin(x.x), precise_sin(x.y), precise_sin(x.z), precise_sin(x.w));
    //% else
    return max(x, vec4f(0.0));
    //% endif
}

fn coordinates(point: u32) -> vec2f {
    let row = point / params.resolution;
    return vec2f(f32(point - row * params.resolution), f32(row)) * params.step - 1.0;
}

@compute @workgroup_size(${THREADS})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let quad = lane % ${QUADS}u;
    let row = lane / ${QUADS}u * 4u;
    let first = group.x * ${POINTS}u;
    var height = 0.0;
    var at = 0u;
    for (var band = 0u; band < ${BANDS}u; band += 1u) {
        {
            let sway = params.amplitude * weights[at].x;
            at += 1u;
            let along_u = weights[at + quad];
            let along_v = weights[at + ${QUADS}u + quad];
            let phase = weights[at + ${3 * QUADS}u + quad] + params.cycle;
            let shift = vec4f(precise_sin(phase.x), precise_sin(phase.y), precise_sin(phase.z), precise_sin(phase.w));
            let bias = weights[at + ${2 * QUADS}u + quad] + sway * shift;
            //% for p in range(4)
            let uv${p} = coordinates(first + row + ${p}u);
            signal[(row + ${p}u) * ${QUADS}u + quad] = activate(along_u * uv${p}.x + along_v * uv${p}.y + bias);
            //% endfor
            at += ${4 * QUADS}u;
        }
        for (var layer = 1u; layer < ${LAYERS - 1}u; layer += 1u) {
            workgroupBarrier();
            let bias = weights[at + ${WIDTH * QUADS}u + quad];
            //% for p in range(4)
            var sum${p} = bias;
            //% endfor
            for (var i = 0u; i < ${QUADS}u; i += 1u) {
                //% for p in range(4)
                let in${p} = signal[(row + ${p}u) * ${QUADS}u + i];
                //% endfor
                //% for k in range(4)
                let w${k} = weights[at + (4u * i + ${k}u) * ${QUADS}u + quad];
                //% for p in range(4)
                sum${p} += w${k} * in${p}[${k}];
                //% endfor
                //% endfor
            }
            workgroupBarrier();
            //% for p in range(4)
            signal[(row + ${p}u) * ${QUADS}u + quad] = activate(sum${p});
            //% endfor
            at += ${WIDTH * QUADS + QUADS}u;
        }
        workgroupBarrier();
        if lane < ${POINTS}u {
            var sum = vec4f(0.0);
            for (var i = 0u; i < ${QUADS}u; i += 1u) {
                sum += weights[at + i] * signal[lane * ${QUADS}u + i];
            }
            let output = dot(sum, vec4f(1.0)) + weights[at + ${QUADS}u].x;
            height += params.blend[band / 4u][band % 4u] * output;
        }
        at += ${QUADS + 1}u;
        workgroupBarrier();
    }
    let point = first + lane;
    if lane < ${POINTS}u && point < params.resolution * params.resolution {
        let position = params.extent * coordinates(point);
        positions[3u * point] = position.x;
        positions[3u * point + 1u] = params.height * height;
        positions[3u * point + 2u] = position.y;
        elevations[point] = params.mean_m + params.metres_per_unit * height;
    }
}

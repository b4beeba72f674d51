// A coordinate network with several bands, evaluated on a square grid; its heights are the vertices of a surface.
// In: WIDTH, neurons of a hidden layer, a multiple of 4; LAYERS; BANDS; ACTIVATION, "sine" or "relu"; EACH_POINTS and
//     EACH_QUADS, how many points and quads of outputs a thread works out at a time;
//     weights, packed by models/neural/neural_field.py band after band: the band's sway; for each layer but the last the
//     transposed weights [in][out] and the biases, behind the first layer's biases also its phases; the last layer's
//     weights and its bias.
// Out: positions (rows, columns, 3) and elevations (rows, columns) in meters.
// The reference, and the formulas, are in app/vertigrad/models/reference/neural_field.py.
//
// A workgroup takes POINTS points through the whole network. Their activations stay in workgroup memory.
//% set QUADS = WIDTH // 4
//% set POINTS = 4096 // WIDTH
//% set ACROSS = QUADS // EACH_QUADS
//% set THREADS = POINTS // EACH_POINTS * ACROSS
//% set LAST = (POINTS + THREADS - 1) // THREADS
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

fn sines(x: vec4f) -> vec4f {
    return vec4f(precise_sin(x.x), precise_sin(x.y), precise_sin(x.z), precise_sin(x.w));
}

fn activate(x: vec4f) -> vec4f {
    //% if ACTIVATION == "sine"
    return sines(x);
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
    //% for q in range(EACH_QUADS)
    let quad${q} = lane % ${ACROSS}u + ${q * ACROSS}u;
    //% endfor
    let row = lane / ${ACROSS}u * ${EACH_POINTS}u;
    let first = group.x * ${POINTS}u;
    //% for m in range(LAST)
    var height${m} = 0.0;
    //% endfor
    var at = 0u;
    for (var band = 0u; band < ${BANDS}u; band += 1u) {
        {
            let sway = params.amplitude * weights[at].x;
            at += 1u;
            //% for q in range(EACH_QUADS)
            let along_u${q} = weights[at + quad${q}];
            let along_v${q} = weights[at + ${QUADS}u + quad${q}];
            let phase${q} = weights[at + ${3 * QUADS}u + quad${q}] + params.cycle;
            let bias${q} = weights[at + ${2 * QUADS}u + quad${q}] + sway * sines(phase${q});
            //% endfor
            for (var p = row; p < row + ${EACH_POINTS}u; p += 1u) {
                let uv = coordinates(first + p);
                //% for q in range(EACH_QUADS)
                signal[p * ${QUADS}u + quad${q}] = activate(along_u${q} * uv.x + along_v${q} * uv.y + bias${q});
                //% endfor
            }
            at += ${4 * QUADS}u;
        }
        for (var layer = 1u; layer < ${LAYERS - 1}u; layer += 1u) {
            workgroupBarrier();
            //% for q in range(EACH_QUADS)
            let bias${q} = weights[at + ${WIDTH * QUADS}u + quad${q}];
            //% for p in range(EACH_POINTS)
            var sum${p}_${q} = bias${q};
            //% endfor
            //% endfor
            for (var i = 0u; i < ${QUADS}u; i += 1u) {
                //% for p in range(EACH_POINTS)
                let in${p} = signal[(row + ${p}u) * ${QUADS}u + i];
                //% endfor
                //% for k in range(4)
                //% for q in range(EACH_QUADS)
                let w${k}_${q} = weights[at + (4u * i + ${k}u) * ${QUADS}u + quad${q}];
                //% for p in range(EACH_POINTS)
                sum${p}_${q} += w${k}_${q} * in${p}[${k}];
                //% endfor
                //% endfor
                //% endfor
            }
            workgroupBarrier();
            //% for p in range(EACH_POINTS)
            //% for q in range(EACH_QUADS)
            signal[(row + ${p}u) * ${QUADS}u + quad${q}] = ${"activate" if EACH_QUADS == 1 else ""}(sum${p}_${q});
            //% endfor
            //% endfor
            //% if EACH_QUADS > 1
            for (var p = row; p < row + ${EACH_POINTS}u; p += 1u) {  // compiled once, not for each sum
                //% for q in range(EACH_QUADS)
                signal[p * ${QUADS}u + quad${q}] = activate(signal[p * ${QUADS}u + quad${q}]);
                //% endfor
            }
            //% endif
            at += ${WIDTH * QUADS + QUADS}u;
        }
        workgroupBarrier();
        //% for m in range(LAST)
        if lane + ${m * THREADS}u < ${POINTS}u {
            var sum = vec4f(0.0);
            for (var i = 0u; i < ${QUADS}u; i += 1u) {
                sum += weights[at + i] * signal[(lane + ${m * THREADS}u) * ${QUADS}u + i];
            }
            let output = dot(sum, vec4f(1.0)) + weights[at + ${QUADS}u].x;
            height${m} += params.blend[band / 4u][band % 4u] * output;
        }
        //% endfor
        at += ${QUADS + 1}u;
        workgroupBarrier();
    }
    //% for m in range(LAST)
    write(lane + ${m * THREADS}u, first + lane + ${m * THREADS}u, height${m});
    //% endfor
}

fn write(number: u32, point: u32, height: f32) {
    if number < ${POINTS}u && point < params.resolution * params.resolution {
        let position = params.extent * coordinates(point);
        positions[3u * point] = position.x;
        positions[3u * point + 1u] = params.height * height;
        positions[3u * point + 2u] = position.y;
        elevations[point] = params.mean_m + params.metres_per_unit * height;
    }
}

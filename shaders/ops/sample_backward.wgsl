// The backward pass through ops/sample.wgsl. Entries:
//   taps   for each sample of the grid the elements that it reads, one of `outside` for none, and the weight of each
//   lines  in the order of the elements: for each tap its weight times the gradient of every channel
//   grid_gradient   by the coordinates of the grid: the gradient times how much the value changes with each
// In: X, GRID, GRADIENT, dtypes; RANK, MODE, PADDING and CORNERS as in ops/sample.wgsl; grid_gradient has no mode "nearest".
// Out: keys and weights (samples, taps); rows (samples * taps, channels); found (samples, RANK), first coordinate first.
//% import "common/element.wgsl" as element
//% if "f16" in (X, GRID, GRADIENT)
enable f16;
//% endif
//% include "common/index.wgsl"
//% include "common/spatial_index.wgsl"
//% set VALUE = "f32"
//% include "common/sampling.wgsl"
//% set TAPS = {"nearest": 1, "linear": 2, "cubic": 4}[MODE]

struct Params {
    samples: u32,    // of all members
    channels: u32,
    outside: u32,   // elements of one channel of all members
    x_offset: u32,
    grid_offset: u32,
    gradient_offset: u32,
    size: vec3i,    // of x
    outs: vec3u,    // of the grid
    x_strides: array<vec4i, 2>,    // batch, channel, -, -, spatial axes
    grid_strides: array<vec4i, 2>, // batch, coordinate, -, -, spatial axes
    gradient_strides: array<vec4i, 2>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: ${element.storage(X)};
@group(0) @binding(2) var<storage, read> grid: ${element.storage(GRID)};
@group(0) @binding(3) var<storage, read> gradient: ${element.storage(GRADIENT)};
@group(0) @binding(4) var<storage, read_write> keys: array<u32>;
@group(0) @binding(5) var<storage, read_write> weights: array<f32>;
@group(0) @binding(6) var<storage, read> order: array<u32>;  // of the keys when sorted
@group(0) @binding(7) var<storage, read> known: array<f32>;  // the weights, where they are only read
@group(0) @binding(8) var<storage, read_write> rows: array<f32>;
@group(0) @binding(9) var<storage, read_write> found: array<f32>;

fn coordinate(sample: SpatialIndex, number: i32) -> f32 {
    let at = i32(params.grid_offset) + sample.member * params.grid_strides[0].x + number * params.grid_strides[0].y
        + dot(sample.at, params.grid_strides[1].xyz);
    return f32(grid[u32(at)]);
}

// Along one axis: the first element that a sample reads, and the distance of the sample behind it.
struct Reading {
    first: i32,
    part: f32,
}

fn reading(c: f32, n: i32) -> Reading {
    let position = clamp(unnormalized(c, f32(n)), -1.0e8, 1.0e8);
    //% if MODE == "nearest"
    return Reading(i32(padded_coordinate(round(position), f32(n))), 0.0);
    //% else
    let inner = padded_coordinate(position, f32(n));
    return Reading(i32(floor(inner)) ${"- 1" if MODE == "cubic" else ""}, inner - floor(inner));
    //% endif
}

fn weight(part: f32, tap: u32) -> f32 {
    //% if MODE == "nearest"
    return 1.0;
    //% elif MODE == "linear"
    return select(1.0 - part, part, tap == 1u);
    //% else
    return weights_of(part)[tap];
    //% endif
}

fn gradient_at(sample: SpatialIndex, channel: u32) -> f32 {
    let at = i32(params.gradient_offset) + sample.member * params.gradient_strides[0].x
        + i32(channel) * params.gradient_strides[0].y + dot(sample.at, params.gradient_strides[1].xyz);
    return f32(gradient[u32(at)]);
}

@compute @workgroup_size(128)
fn taps(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.samples {
        return;
    }
    let sample = spatial_index(i, 1u);
    //% for axis in range(3 - RANK, 3)
    let read${axis} = reading(coordinate(sample, ${2 - axis}), params.size[${axis}]);
    //% endfor
    for (var tap = 0u; tap < ${TAPS ** RANK}u; tap += 1u) {
        var rest = tap;
        var product = 1.0;
        var element = 0;
        var step = 1;
        var is_there = true;
        //% for axis in range(2, 2 - RANK, -1)
        {
            let own = rest % ${TAPS}u;
            rest = rest / ${TAPS}u;
            let at = element_at(read${axis}.first + i32(own), params.size[${axis}]);
            is_there = is_there && at >= 0;
            element += at * step;
            step *= params.size[${axis}];
            product *= weight(read${axis}.part, own);
        }
        //% endfor
        keys[i * ${TAPS ** RANK}u + tap] = select(params.outside, u32(sample.member * step + element), is_there);
        weights[i * ${TAPS ** RANK}u + tap] = product;
    }
}

@compute @workgroup_size(128)
fn lines(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.samples * ${TAPS ** RANK}u * params.channels {
        return;
    }
    let tap = order[i / params.channels];
    rows[i] = known[tap] * gradient_at(spatial_index(tap / ${TAPS ** RANK}u, 1u), i % params.channels);
}

//% if MODE != "nearest"
// The derivative of the padded coordinate.
fn padded_derivative(position: f32, n: f32) -> f32 {
    //% if PADDING == "zeros"
    return 1.0;
    //% else
    let low = ${"0.0" if CORNERS else "-0.5"};
    let high = n ${"- 1.0" if CORNERS else "- 0.5"};
    if position >= low && position <= high {
        return 1.0;
    }
    //% if PADDING == "border"
    return 0.0;
    //% else
    if high <= low {
        return 0.0;
    }
    let turns = floor(select(position - high, low - position, position < low) / (high - low));
    return select(1.0, -1.0, turns - 2.0 * floor(turns * 0.5) == 0.0);
    //% endif
    //% endif
}

// The derivative of a weight by the part.
fn weight_derivative(part: f32, tap: u32) -> f32 {
    //% if MODE == "linear"
    return select(-1.0, 1.0, tap == 1u);
    //% else
    let far = vec2f(1.0 + part, 2.0 - part);
    let near = vec2f(part, 1.0 - part);
    let a = (-2.25 * far + 7.5) * far - 6.0;
    let b = (3.75 * near - 4.5) * near;
    return vec4f(a.x, b.x, -b.y, -a.y)[tap];
    //% endif
}

@compute @workgroup_size(128)
fn grid_gradient(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.samples {
        return;
    }
    let sample = spatial_index(i, 1u);
    //% for axis in range(3 - RANK, 3)
    let read${axis} = reading(coordinate(sample, ${2 - axis}), params.size[${axis}]);
    var total${axis} = 0.0;
    //% endfor
    for (var channel = 0u; channel < params.channels; channel += 1u) {
        let incoming = gradient_at(sample, channel);
        let x_base = i32(params.x_offset) + sample.member * params.x_strides[0].x
            + i32(channel) * params.x_strides[0].y;
        for (var tap = 0u; tap < ${TAPS ** RANK}u; tap += 1u) {
            var rest = tap;
            var x_at = x_base;
            var is_there = true;
            //% for axis in range(2, 2 - RANK, -1)
            let own${axis} = rest % ${TAPS}u;
            rest = rest / ${TAPS}u;
            let at${axis} = element_at(read${axis}.first + i32(own${axis}), params.size[${axis}]);
            is_there = is_there && at${axis} >= 0;
            x_at += at${axis} * params.x_strides[1][${axis}];
            //% endfor
            if is_there {
                let value = incoming * f32(x[u32(x_at)]);
                //% for axis in range(3 - RANK, 3)
                total${axis} += value
                //% for other in range(3 - RANK, 3)
                    * ${"weight_derivative" if other == axis else "weight"}(read${other}.part, own${other})
                //% endfor
                    ;
                //% endfor
            }
        }
    }
    //% for axis in range(3 - RANK, 3)
    {
        let n = f32(params.size[${axis}]);
        let named = unnormalized(coordinate(sample, ${2 - axis}), n);
        let step = ${"(n - 1.0) / 2.0" if CORNERS else "n / 2.0"};
        found[i * ${RANK}u + ${2 - axis}u] = total${axis} * padded_derivative(named, n) * step;
    }
    //% endfor
}
//% endif

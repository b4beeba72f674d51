// Values of images or volumes at the coordinates of a grid, by interpolation.
// In: X, GRID, OUT, dtypes; RANK, the number of spatial axes, 1 to 3; MODE, "nearest", "linear" or "cubic"; PADDING, what
//     is outside: "zeros", "border" (the outermost element) or "reflection"; CORNERS, whether -1 and 1 are the centers
//     of the outermost elements, not their outer borders.
// Out: out[n, c, position] = x[n, c, .] at grid[n, position, :], whose coordinates go from -1 to 1, last axis first.
//% import "common/element.wgsl" as element
//% if "f16" in (X, GRID, OUT)
enable f16;
//% endif
//% set VALUE = "f64" if X == "f64" else "f32"
//% include "common/index.wgsl"
//% include "common/spatial_index.wgsl"
//% include "common/sampling.wgsl"
//% set TAPS = {"nearest": 1, "linear": 2, "cubic": 4}[MODE]

struct Params {
    count: u32,
    channels: u32,
    x_offset: u32,
    grid_offset: u32,
    out_offset: u32,
    size: vec3i,    // of x
    outs: vec3u,    // of the grid
    x_strides: array<vec4i, 2>,    // batch, channel, -, -, spatial axes
    grid_strides: array<vec4i, 2>, // batch, coordinate, -, -, spatial axes
    out_strides: array<vec4i, 2>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: ${element.storage(X)};
@group(0) @binding(2) var<storage, read> grid: ${element.storage(GRID)};
@group(0) @binding(3) var<storage, read_write> out: ${element.storage(OUT)};

@compute @workgroup_size(128)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.count {
        return;
    }
    let index = spatial_index(i, params.channels);
    let at = index.at;
    let member = index.member;
    let channel = index.channel;
    let grid_at = i32(params.grid_offset) + member * params.grid_strides[0].x + dot(at, params.grid_strides[1].xyz);
    let x_base = i32(params.x_offset) + member * params.x_strides[0].x + channel * params.x_strides[0].y;

    //% for axis in range(3 - RANK, 3)
    let c${axis} = ${VALUE}(grid[u32(grid_at + ${2 - axis} * params.grid_strides[0].y)]);
    let n${axis} = params.size[${axis}];
    var position${axis} = clamp(unnormalized(c${axis}, ${VALUE}(n${axis})), -1.0e8, 1.0e8);
    //% if MODE == "nearest"
    position${axis} = round(position${axis});
    //% endif
    position${axis} = padded_coordinate(position${axis}, ${VALUE}(n${axis}));
    //% if MODE == "nearest"
    let first${axis} = i32(position${axis});
    //% else
    let floor${axis} = floor(position${axis});
    let first${axis} = i32(floor${axis}) ${"- 1" if MODE == "cubic" else ""};
    let part${axis} = position${axis} - floor${axis};
    let weights${axis} = ${"weights_of(part" ~ axis ~ ")" if MODE == "cubic" else "vec2<" ~ VALUE ~ ">(1.0 - part" ~ axis ~ ", part" ~ axis ~ ")"};
    //% endif
    //% endfor
    var total = ${VALUE}(0);
    let weight = ${VALUE}(1);
    let x_at = x_base;
    let is_there = true;
    //% for axis in range(3 - RANK, 3)
    for (var tap${axis} = 0; tap${axis} < ${TAPS}; tap${axis} += 1) {
        let element${axis} = element_at(first${axis} + tap${axis}, n${axis});
        let there${axis} = ${"is_there" if loop.first else "there" ~ loop.previtem} && element${axis} >= 0;
        let at${axis} = ${"x_at" if loop.first else "at" ~ loop.previtem} + element${axis} * params.x_strides[1][${axis}];
        //% if MODE == "nearest"
        let weight${axis} = weight;
        //% else
        let weight${axis} = ${"weight" if loop.first else "weight" ~ loop.previtem} * weights${axis}[tap${axis}];
        //% endif
    //% endfor
        if there2 {
            total += weight2 * ${VALUE}(x[u32(at2)]);
        }
    //% for axis in range(3 - RANK, 3)
    }
    //% endfor
    let out_at = i32(params.out_offset) + member * params.out_strides[0].x + channel * params.out_strides[0].y
        + dot(at, params.out_strides[1].xyz);
    out[u32(out_at)] = ${OUT}(total);
}

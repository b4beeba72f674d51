// Flow in a plane by the lattice Boltzmann method: nine populations a cell that stream and collide (D2Q9).
// In: before, populations (9, rows, columns) after their collision, each less its weight; distance (rows, columns) to the
//     wall in cells, negative inside it. COLLISION: "trt" or "regularized". ENDS: "open" or "periodic". SIDES: "slip",
//     "no slip" or "periodic". SHAPE: "none", "circle", "square", "airfoil", "mask" or "placed",
//     the section at y = 0 of what the model obstacle places; OBSTACLES of them where the flow moves bodies, else 0.
// Out: after, a step later (stream); distance, of the obstacle, and of cells painted by the tool (obstruct, paint);
//      velocity, density, speed (moments); vorticity and the surfaces that are drawn (show).
// The reference implementation is app/vertigrad/models/reference/lattice_boltzmann.py.
//% import "common/obstacle.wgsl" as obstacles
//% include "common/index.wgsl"

struct Params {
    rows: u32,
    columns: u32,
    inflow: f32,       // [cells/step]
    viscosity: f32,    // [cells²/step]
    odd_rate: f32,     // of the odd populations, for "trt"
    force: f32,        // along x [mass/(cell step²)]
    sponge: f32,       // columns before the outlet, over which the viscosity rises
    start: f32,        // speed of the fluid at first
    obstacle_center: vec2f,  // center of the obstacle, in cells
    turn: vec2f,       // cosine and sine of its angle
    size: f32,         // of the obstacle [cells]
    thickness: f32,    // of the airfoil, over its chord
    camber: f32,
    camber_at: f32,
    tool_from: vec2f,  // a stroke, in cells
    tool_to: vec2f,
    tool_radius: f32,
    painted_as: f32,
    edge: f32,         // length of a cell in the scene
    height: f32,       // of a vorticity of 1
    pedestal: f32,     // height of the obstacle in the scene
    length: f32,       // that makes vorticity a number [cells]
    obstacle_lag: f32,  // how long before its placement a placed obstacle has the last step of a plan [s]
    steps_after: f32,   // steps of the plan after this one
    step_time: f32,     // time between steps [s]
    dt: f32,            // what it is for bodies, which drop the time that the flow drops [s]
    fluid_density: f32, // [kg/m³]
    groups: u32,        // workgroups of `load`
    //% if SHAPE == "mask"
    mask_offset: u32,
    mask_shape: vec2u,
    mask_strides: vec2i,
    //% endif
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> before: array<f32>;
@group(0) @binding(2) var<storage, read_write> after: array<f32>;
@group(0) @binding(3) var<storage, read> distance: array<f32>;
@group(0) @binding(4) var<storage, read_write> found: array<f32>;
@group(0) @binding(5) var<storage, read_write> painted: array<f32>;
@group(0) @binding(6) var<storage, read_write> moment: array<vec4f>;
@group(0) @binding(7) var<storage, read> moved: array<vec4f>;
@group(0) @binding(8) var<storage, read_write> vorticity: array<f32>;
@group(0) @binding(9) var<storage, read_write> position: array<f32>;
@group(0) @binding(10) var<storage, read_write> obstacle: array<f32>;
//% if SHAPE == "mask"
@group(0) @binding(11) var<storage, read> mask: array<f32>;
//% endif
//% if SHAPE == "placed"
@group(0) @binding(12) var<storage, read> placed: array<f32>;
@group(0) @binding(13) var<storage, read_write> wall_velocity: array<vec2f>;
//% if OBSTACLES
@group(0) @binding(14) var<storage, read> blocks: array<u32>;           // where the blocks of obstacles begin
@group(0) @binding(15) var<storage, read_write> answers: array<vec4f>;  // see common/rigid_body.wgsl
@group(0) @binding(16) var<storage, read_write> sums: array<vec4f>;     // see load
@group(0) @binding(17) var<storage, read_write> owner: array<u32>;      // of each cell: the obstacle in it
@group(0) @binding(18) var<storage, read_write> met: array<u32>;        // and the one in the last step
//% endif

${obstacles.functions("placed")}

// Where a cell is in the scene.
fn in_scene(row: f32, column: f32) -> vec3f {
    return params.edge * vec3f(column - 0.5 * f32(params.columns - 1u), 0.0, row - 0.5 * f32(params.rows - 1u));
}
//% endif

// Directions, and by their numbers: the opposite one, and the one with top and bottom exchanged.
//% set C = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
//% set OPPOSITE = [0, 3, 4, 1, 2, 7, 8, 5, 6]
//% set MIRRORED = [0, 1, 4, 3, 2, 8, 7, 6, 5]
//% set W = ["4.0 / 9.0"] + ["1.0 / 9.0"] * 4 + ["1.0 / 36.0"] * 4

fn population(k: u32, cell: u32) -> f32 {
    return before[k * params.rows * params.columns + cell];
}

// Equilibrium less its weight, for a direction c. `extra` is the density less 1.
fn equilibrium(weight: f32, c: vec2f, extra: f32, u: vec2f) -> f32 {
    let along = 3.0 * dot(c, u);
    return weight * (extra + (1.0 + extra) * (along + 0.5 * along * along - 1.5 * dot(u, u)));
}

// Velocity, and the density less 1, of a cell.
fn fluid(cell: u32) -> vec3f {
    var momentum = vec2f(0.0);
    var extra = 0.0;
    //% for k in range(9)
    let f_${k} = population(${k}u, cell);
    extra += f_${k};
    momentum += f_${k} * vec2f(${C[k][0]}, ${C[k][1]});
    //% endfor
    return vec3f(momentum / (1.0 + extra), extra);
}

// What the lattice stands: beyond the Mach number that `mach` reports.
const MOST_SPEED = 0.3;  // [cells/step]
const LEAST_DENSITY = 0.4;
const MOST_DENSITY = 2.5;

// A velocity, no longer than `most`.
fn limited(velocity: vec2f, most: f32) -> vec2f {
    return velocity * min(1.0, most / max(length(velocity), 1e-20));
}

//% include "common/lattice_streaming.wgsl"
//% if OBSTACLES
//% include "common/lattice_bodies.wgsl"
//% endif

// Guo, Zheng & Shi (2002), equation 20, without its factor.
fn forced(weight: f32, c: vec2f, u: vec2f) -> f32 {
    return 3.0 * weight * params.force * (c.x - u.x + 3.0 * dot(c, u) * c.x);
}

@compute @workgroup_size(128)
fn stream(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let cell = linear_index(id, num_workgroups, 128u);
    let cells = params.rows * params.columns;
    if cell >= cells {
        return;
    }
    let row = i32(cell / params.columns);
    let column = i32(cell) - row * i32(params.columns);
    if distance[cell] <= 0.0 {
        //% if SHAPE == "placed"
        let around = extra_around(row, column);
        let moving = velocity_of_wall(cell);
        //% for k in range(9)
        after[${k}u * cells + cell] = equilibrium(${W[k]}, vec2f(${C[k][0]}, ${C[k][1]}), around, moving);
        //% endfor
        //% else
        for (var k = 0u; k < 9u; k += 1u) {
            after[k * cells + cell] = 0.0;
        }
        //% endif
        return;
    }
    var extra = 0.0;
    var momentum = vec2f(0.5 * params.force, 0.0);
    //% for k in range(9)
    let f_${k} = streamed_${k}(row, column, cell);
    let c_${k} = vec2f(${C[k][0]}, ${C[k][1]});
    extra += f_${k};
    momentum += f_${k} * c_${k};
    //% endfor
    extra = clamp(extra, LEAST_DENSITY - 1.0, MOST_DENSITY - 1.0);
    let u = limited(momentum / (1.0 + extra), MOST_SPEED);
    // near the outlet everything is smoothed, so that nothing comes back from there
    let near = max(f32(column) - f32(params.columns - 1u) + params.sponge, 0.0) / max(params.sponge, 1.0);
    let rate = 1.0 / (3.0 * (params.viscosity + 0.3 * near * near) + 0.5);
    //% if COLLISION == "trt"
    // Even and odd parts of each pair relax at rates of their own (Ginzburg, Verhaeghe & d'Humières 2008).
    //% for k in range(9)
    let even_${k} = equilibrium(${W[k]}, c_${k}, extra, u);
    let pull_${k} = forced(${W[k]}, c_${k}, u);
    //% endfor
    after[cell] = f_0 + rate * (even_0 - f_0) + (1.0 - 0.5 * rate) * pull_0;
    //% for k, j in ((1, 3), (2, 4), (5, 7), (6, 8))
    {
        let sums = vec2f(even_${k} + even_${j} - f_${k} - f_${j}, pull_${k} + pull_${j});
        let differences = vec2f(even_${k} - even_${j} - f_${k} + f_${j}, pull_${k} - pull_${j});
        let changed = 0.5 * (rate * sums.x + (1.0 - 0.5 * rate) * sums.y);
        let turned = 0.5 * (params.odd_rate * differences.x + (1.0 - 0.5 * params.odd_rate) * differences.y);
        after[${k}u * cells + cell] = f_${k} + changed + turned;
        after[${j}u * cells + cell] = f_${j} + changed - turned;
    }
    //% endfor
    //% else
    // Only the stresses are retained, and the third moments that follow from them (Malaspinas 2015, equations 8 to 16).
    let density = 1.0 + extra;
    var stress = vec3f(params.force * u.x, 0.0, 0.5 * params.force * u.y);  // xx, yy, xy
    //% for k in range(9)
    let even_${k} = equilibrium(${W[k]}, c_${k}, extra, u);
    stress += (f_${k} - even_${k}) * vec3f(${C[k][0] ** 2}, ${C[k][1] ** 2}, ${C[k][0] * C[k][1]});
    //% endfor
    let third = vec2f(2.0 * u.x * stress.z + u.y * stress.x, 2.0 * u.y * stress.z + u.x * stress.y);  // xxy, xyy
    let cubes = density * vec2f(u.x * u.x * u.y, u.x * u.y * u.y);
    //% for k in range(9)
    {
        let square = vec3f(${C[k][0] ** 2}.0 - 1.0 / 3.0, ${C[k][1] ** 2}.0 - 1.0 / 3.0, ${2 * C[k][0] * C[k][1]});
        let cube = square.xy * c_${k}.yx;
        let regularized = 4.5 * dot(square, stress) + 13.5 * dot(cube, third);
        let even = even_${k} + ${W[k]} * 13.5 * dot(cube, cubes);
        after[${k}u * cells + cell] = even + ${W[k]} * (1.0 - rate) * regularized + 0.5 * forced(${W[k]}, c_${k}, u);
    }
    //% endfor
    //% endif
}

// Fluid that moves along x everywhere, and a little to the side behind the obstacle, so that the wake begins to swing.
@compute @workgroup_size(128)
fn begin(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let cell = linear_index(id, num_workgroups, 128u);
    let cells = params.rows * params.columns;
    if cell >= cells {
        return;
    }
    let away = (vec2f(f32(cell % params.columns), f32(cell / params.columns)) - params.obstacle_center) / params.size;
    let swing = 0.5 * params.start * exp(-dot(away - vec2f(1.0, 0.0), away - vec2f(1.0, 0.0)));
    //% for k in range(9)
    let there_${k} = equilibrium(${W[k]}, vec2f(${C[k][0]}, ${C[k][1]}), 0.0, vec2f(params.start, swing));
    after[${k}u * cells + cell] = select(0.0, there_${k}, distance[cell] > 0.0);
    //% endfor
}

@compute @workgroup_size(128)
fn obstruct(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let cell = linear_index(id, num_workgroups, 128u);
    if cell >= params.rows * params.columns {
        return;
    }
    let row = cell / params.columns;
    let column = cell - row * params.columns;
    let away = vec2f(f32(column), f32(row)) - params.obstacle_center;
    let p = vec2f(dot(away, params.turn), params.turn.x * away.y - params.turn.y * away.x);
    //% if SHAPE == "circle"
    var d = length(p) - 0.5 * params.size;
    //% elif SHAPE == "square"
    let over = abs(p) - 0.5 * params.size;
    var d = length(max(over, vec2f(0.0))) + min(max(over.x, over.y), 0.0);
    //% elif SHAPE == "airfoil"
    var d = params.size * aerofoil_distance(p / params.size + vec2f(0.5, 0.0));
    //% elif SHAPE == "mask"
    let size = vec2f(params.mask_shape);
    let fraction = (vec2f(f32(row), f32(column)) + 0.5) / vec2f(f32(params.rows), f32(params.columns));
    let at = min(vec2i(fraction * size), vec2i(params.mask_shape) - 1);
    let index = i32(params.mask_offset) + at.x * params.mask_strides.x + at.y * params.mask_strides.y;
    var d = select(0.5, -0.5, mask[u32(index)] > 0.5);
    //% elif SHAPE == "placed"
    let near = obstacle_nearest(
        in_scene(f32(row), f32(column)), params.obstacle_lag + params.steps_after * params.step_time
    );
    var d = near.w / params.edge;
    //% if OBSTACLES
    let time = select(params.step_time, params.dt, placed[obstacle_block + 35u] == 1.0);
    //% else
    let time = params.step_time;
    //% endif
    let velocity = obstacle_velocity(near.xyz, 1.0).xz * (time / params.edge);
    //% else
    var d = 0.5;
    //% endif
    //% if ENDS == "open"
    // the two outermost columns stay open, so that inlet and outlet are whole
    let end = min(column, params.columns - 1u - column) < 2u;
    d = select(d, 0.5, end);
    let drawn = painted[cell] > 0.5 && !end;
    //% else
    let drawn = painted[cell] > 0.5;
    //% endif
    found[cell] = select(d, min(d, -0.5), drawn);
    //% if SHAPE == "placed"
    wall_velocity[cell] = select(vec2f(0.0), velocity, d <= 0.0 && !drawn);
    //% if OBSTACLES
    owner[cell] = select(select(FLUID, body_number(), d <= 0.0), OTHER_WALL, drawn);
    //% endif
    //% endif
}

// NACA's four digits (Jacobs, Ward & Pinkerton 1933), with a closed tail: about how far a point is from the section, over
// its chord. The chord is from (0, 0) to (1, 0); rows count downwards, and so does y.
fn aerofoil_distance(p: vec2f) -> f32 {
    let x = clamp(p.x, 0.0, 1.0);
    let rise = params.camber / (params.camber_at * params.camber_at) * x * (2.0 * params.camber_at - x);
    let back = 1.0 - params.camber_at;
    let fall = params.camber / (back * back) * (1.0 - 2.0 * params.camber_at + x * (2.0 * params.camber_at - x));
    let middle = select(fall, rise, x < params.camber_at);
    let half = 5.0 * params.thickness
        * (0.2969 * sqrt(x) + x * (-0.126 + x * (-0.3516 + x * (0.2843 - 0.1036 * x))));
    let across = abs(-p.y - middle) - half;
    let beyond = abs(p.x - x);
    return select(across, length(vec2f(beyond, max(across, 0.0))), beyond > 0.0);
}

@compute @workgroup_size(128)
fn paint(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let cell = linear_index(id, num_workgroups, 128u);
    if cell >= params.rows * params.columns {
        return;
    }
    let point = vec2f(f32(cell % params.columns), f32(cell / params.columns)) - params.tool_from;
    let stroke = params.tool_to - params.tool_from;
    let fraction = clamp(dot(point, stroke) / max(dot(stroke, stroke), 1e-12), 0.0, 1.0);
    let away = point - fraction * stroke;
    if dot(away, away) <= params.tool_radius * params.tool_radius {
        painted[cell] = params.painted_as;
    }
}

// Velocity over the inflow, its length, and the density.
@compute @workgroup_size(128)
fn moments(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let cell = linear_index(id, num_workgroups, 128u);
    if cell >= params.rows * params.columns {
        return;
    }
    let here = fluid(cell);
    let density = 1.0 + here.z;  // collisions have added half of the force already
    let u = (here.xy - vec2f(0.5 * params.force / density, 0.0)) / params.inflow;
    let moving = select(vec2f(0.0), u, distance[cell] > 0.0);
    moment[cell] = vec4f(moving, length(moving), select(1.0, density, distance[cell] > 0.0));
}

const RIM = 3.0;    // cells over which what is drawn of the wall is round

@compute @workgroup_size(128)
fn show(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let cell = linear_index(id, num_workgroups, 128u);
    if cell >= params.rows * params.columns {
        return;
    }
    let row = cell / params.columns;
    let column = cell - row * params.columns;
    let west = max(column, 1u) - 1u;
    let east = min(column + 1u, params.columns - 1u);
    let north = max(row, 1u) - 1u;
    let south = min(row + 1u, params.rows - 1u);
    let start = row * params.columns;
    let across = (moved[start + east].y - moved[start + west].y) / max(f32(east - west), 1.0);
    let along = (moved[south * params.columns + column].x - moved[north * params.columns + column].x)
        / max(f32(south - north), 1.0);
    let turns = select(0.0, params.length * (across - along), distance[cell] > 0.0);
    vorticity[cell] = turns;
    let middle = 0.5 * vec2f(f32(params.columns - 1u), f32(params.rows - 1u));
    let point = (vec2f(f32(column), f32(row)) - middle) * params.edge;
    // Both surfaces are level at the wall, and smooth over some cells: between cells they follow its shape, not the grid.
    let inside = -distance[cell];
    let rim = 1.0 - saturate(inside / RIM);
    // where there is fluid, lower than vorticity can ever press the other surface
    let sunk = -0.02 - 10.0 * abs(params.height);
    let skirt = mix(2.0 / RIM * params.pedestal * inside, sunk, smoothstep(1.0, RIM, -inside));
    let rises = select(skirt, params.pedestal * (1.0 - rim * rim), inside > 0.0);
    let relief = params.height * turns / (1.0 + 0.1 * abs(turns)) * smoothstep(0.0, RIM, -inside);
    let heights = vec2f(relief, rises);
    for (var k = 0u; k < 3u; k += 1u) {
        position[3u * cell + k] = vec3f(point.x, heights.x, point.y)[k];
        obstacle[3u * cell + k] = vec3f(point.x, heights.y, point.y)[k];
    }
}

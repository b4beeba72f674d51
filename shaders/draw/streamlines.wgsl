// Lines that follow a field of vectors as it is now, in both directions from their seeds, by the classical method of Runge
// and Kutta over steps of equal length. A line ends where the box ends, where missing moves, and where the field is not
// finite.
// In: vectors on a grid; seeds (lines, 3) if SEEDS, else they are spread evenly (Roberts 2018, "The
//     Unreasonable Effectiveness of Quasirandom Sequences"); scalars on a grid of their own if SCALARS.
// Out: vertices (lines, rows, 5): x, y and z, NaN beyond the ends; the speed or the scalar there; and the width.
//% import "common/field.wgsl" as field
//% import "common/vectors.wgsl" as vectors
//% include "common/index.wgsl"
//% include "common/finite.wgsl"

struct Params {
    ${vectors.fields()}
    seed_low: vec3f,        // the box in which seeds are spread
    count: u32,             // lines
    seed_high: vec3f,
    rows: u32,              // of each line
    step: f32,              // from row to row, in world units
    substeps: u32,          // of the method, for each of those
    backward: u32,          // rows before the seed
    missing: f32,           // NaN
    width: f32,
    taper: f32,             // fraction of a line, at each end, over which it becomes thinner
    dashes: f32,            // 0: solid lines; 1: dashes that move along them
    dash_spacing: f32,      // world units from dash to dash
    dash_phase: f32,        // how far they have moved, in dashes
    seeds_offset: u32,
    seeds_strides: u32,     // elements from one seed to the next
    scalars_offset: u32,
    scalars_size: vec3u,
    scalars_strides: vec3i,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> vectors: array<f32>;
@group(0) @binding(2) var<storage, read_write> vertices: array<f32>;
//% if SEEDS
@group(0) @binding(3) var<storage, read> seeds: array<f32>;
//% endif
//% if SCALARS
@group(0) @binding(4) var<storage, read> scalars: array<f32>;

${field.functions("scalars", "params.scalars_size", "params.scalars_offset", "params.scalars_strides")}

//% endif
//% include "common/vectors.wgsl"

const VALUE = 3u;           // elements of a row before its value, and before its width
const WIDTH = 4u;
const STEP = 5u;            // and of a whole row
const SLACK = 1e-5;         // of the box: a seed on its border is inside

fn seed_of(line: u32) -> vec3f {
//% if SEEDS
    let at = params.seeds_offset + line * params.seeds_strides;
    return vec3f(seeds[at], seeds[at + 1u], seeds[at + 2u]);
//% else
    // Multiples of the powers of 1 / 1.2207..., as fractions of 2^32, which wrap around by themselves.
    let fraction = vec3f((line + 1u) * vec3u(3518319155u, 2882110345u, 2360945575u)) / 4294967296.0;
    return mix(params.seed_low, params.seed_high, fraction);
//% endif
}

fn inside(position: vec3f) -> bool {
    let slack = SLACK * max(params.high.x - params.low.x, max(params.high.y - params.low.y, params.high.z - params.low.z));
    return all_finite(position) && all(position >= params.low - slack) && all(position <= params.high + slack);
}

// The direction at a position; 0 where there is none.
fn direction_at(position: vec3f) -> vec3f {
    let vector = vector_between(position);
    let most = max(abs(vector.x), max(abs(vector.y), abs(vector.z)));
    let there = all_finite(vector) && most > 1e-20;
    return select(vec3f(0.0), normalize(vector / select(1.0, most, there)), there);
}

struct Moved {
    position: vec3f,
    whole: bool,            // whether there was a direction at every stage
}

fn moved(start: vec3f, step: f32) -> Moved {
    // A loop, not four calls, and one for both directions below: what reads the field is long, and compiled once for each
    // call.
    var along = direction_at(start);
    var direction = along;
    for (var stage = 1u; stage < 4u; stage++) {
        direction = direction_at(start + select(0.5, 1.0, stage == 3u) * step * direction);
        along += select(2.0, 1.0, stage == 3u) * direction;
    }
    along /= 6.0;
    // Directions that cancel out are those around a position where missing moves.
    return Moved(start + step * along, dot(along, along) > 0.25);
}

fn write(row: u32, position: vec3f) {
    let at = STEP * row;
    for (var axis = 0u; axis < 3u; axis++) { vertices[at + axis] = position[axis]; }
//% if SCALARS
    vertices[at + VALUE] = scalars_between(sample_position(position, params.scalars_size));
//% else
    vertices[at + VALUE] = length(vector_between(position));
//% endif
}

fn write_missing(row: u32) {
    for (var i = 0u; i <= VALUE; i++) { vertices[STEP * row + i] = params.missing; }
}

// Rows from the seed's on, in one direction; how many there are besides it.
fn follow(line: u32, seed: vec3f, rows: u32, sign: i32) -> u32 {
    var position = seed;
    var found = 0u;
    var going = inside(seed);
    let step = f32(sign) * params.step / f32(params.substeps);
    for (var row = 1u; row <= rows; row++) {
        for (var part = 0u; part < params.substeps && going; part++) {
            let next = moved(position, step);
            position = next.position;
            going = next.whole && inside(position);
        }
        let at = line * params.rows + u32(i32(params.backward) + sign * i32(row));
        if going {
            write(at, position);
            found = row;
        } else {
            write_missing(at);
        }
    }
    return found;
}

fn smooth_between(low: f32, high: f32, x: f32) -> f32 {
    let t = clamp((x - low) / max(high - low, 1e-9), 0.0, 1.0);
    return t * t * (3.0 - 2.0 * t);
}

// A dash has a round head and a long tail.
fn dash(line: u32, row: u32) -> f32 {
    let along = (f32(row) - f32(params.backward)) * params.step / params.dash_spacing;
    let own = f32((line * 2654435769u) >> 8u) / 16777216.0;
    let phase = fract(along - params.dash_phase + own);
    return smooth_between(0.0, 0.75, phase) * (1.0 - smooth_between(0.82, 1.0, phase));
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let line = linear_index(id, num_workgroups, 64u);
    if line >= params.count { return; }
    let seed = seed_of(line);
    let middle = line * params.rows + params.backward;
    write(middle, seed);
    if !inside(seed) {
        write_missing(middle);
    }
    var first = params.backward;
    var last = params.backward;
    for (var sign = -1; sign <= 1; sign += 2) {
        let beyond = follow(line, seed, select(params.backward, params.rows - 1u - params.backward, sign > 0), sign);
        first -= select(beyond, 0u, sign > 0);
        last += select(0u, beyond, sign > 0);
    }
    for (var row = 0u; row < params.rows; row++) {
        let fraction = f32(min(row - min(row, first), max(last, row) - row)) / max(f32(last - first), 1.0);
        let thinned = select(1.0, sqrt(smooth_between(0.0, params.taper, fraction)), params.taper > 0.0);
        vertices[STEP * (line * params.rows + row) + WIDTH] = params.width * thinned * mix(1.0, dash(line, row), params.dashes);
    }
}

// Air in a box of cells, for the kernels of smoke: their parameters, the arrays that several read, and what they look
// up there. faces: velocities through the cells' faces [m/s]; matter: density and temperature above the surroundings [K] of
// each cell, moved_matter after advection; velocity: in the middle of each cell; solid: 1 where there is no air.
// Include this for all of it, import it with context for the macros.
//% import "common/staggered.wgsl" as staggered
//% include "common/index.wgsl"

// The first lines of a kernel, of an invocation for each cell, and of one for each face.
//% macro each_cell()
    let i = linear_index(id, num_workgroups, 128u);
    if i >= params.size.x * params.size.y * params.size.z {
        return;
    }
    let cell = cell_of(i, params.size);
//%- endmacro
//% macro each_face()
    let i = linear_index(id, num_workgroups, 128u);
    let rows = params.size + 1u;
    if i >= rows.x * rows.y * rows.z {
        return;
    }
    let face = cell_of(i, rows);
//%- endmacro
// An entry point.
//% macro kernel(name)
@compute @workgroup_size(128)
fn ${name}(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
//%- endmacro

// Density and temperature at a position, trilinear over the cells that hold air, and their range among those: SOURCE_at.
//% macro sampled(source)
fn ${source}_at(position: vec3f) -> Sample {
    let found = corner(position, vec3f(0.5), params.size);
    var total = vec3f(0.0);
    var least = vec2f(3e38);
    var most = vec2f(-3e38);
    for (var k = 0; k < 8; k += 1) {
        let cell = found.low + corner_offset(k);
        if !is_solid(cell) {
            let here = ${source}[cell_index(cell)];
            total += corner_weight(found.part, corner_offset(k)) * vec3f(here, 1.0);
            least = min(least, here);
            most = max(most, here);
        }
    }
    if !(total.z > 0.0) {
        return Sample(vec2f(0.0), vec2f(0.0), vec2f(0.0));
    }
    return Sample(total.xy / total.z, least, most);
}
//%- endmacro

struct Params {
    size: vec3u,               // cells along x, y, z
    edge: f32,                 // of a cell [m]
    low: vec3f,                // corner of the box [m]
    dt: f32,
    open_low: vec3u,           // 1 where the side of the box lets air through
    turn: u32,                 // number of the step
    open_high: vec3u,
    top_speed: f32,
    obstacle_center: vec3f,     // of the sphere
    obstacle_radius: f32,
    source_center: vec3f,
    source_radius: f32,
    source_matter: vec2f,      // density, and temperature
    jet: f32,
    weight: f32,
    buoyancy: f32,
    confinement: f32,
    spread: f32,               // diffusivity times the time of a sweep over the square of the edge
    retained: vec2f,               // fraction of density, and of temperature, that is left after a step
    combustion: vec4f,         // fraction of the density that burns in a step where it is hot enough; that temperature and heat
                               // per density [K]; three times the coefficient of radiation, for a step [1/K³]
    key: vec2u,
    tool_point: vec3f,
    tool_radius: f32,
    tool_velocity: vec3f,
    drag: f32,                 // weight of the tool's velocity in a step
    stream: vec2u,             // of the tracers' random numbers
    emit: f32,
    life: f32,
    count: u32,                // tracers
    field_size: vec3u,         // cells of the signed distances
    obstacle_lag: f32,         // seconds that a placed obstacle is before its placement
    gravity: f32,              // of bodies [m/s²]
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> faces: array<vec4f>;
@group(0) @binding(2) var<storage, read> matter: array<vec2f>;
@group(0) @binding(6) var<storage, read> moved_matter: array<vec2f>;
@group(0) @binding(7) var<storage, read> solid: array<u32>;
@group(0) @binding(8) var<storage, read> velocity: array<f32>;
@group(0) @binding(13) var<storage, read_write> out_faces: array<vec4f>;
@group(0) @binding(14) var<storage, read_write> out_matter: array<vec2f>;
@group(0) @binding(15) var<storage, read_write> out_vectors: array<vec4f>;

//% include "common/staggered.wgsl"
${staggered.velocities("faces")}

struct Sample {
    value: vec2f,
    least: vec2f,
    most: vec2f,
}

fn is_solid(cell: vec3i) -> bool {
    return solid[cell_index(cell)] != 0u;
}

// Where the air at a position was (`courant` below 0) or will be: the midpoint rule. `wind` is its velocity there, `courant`
// time over the edge.
fn traced(position: vec3f, wind: vec3f, courant: f32) -> vec3f {
    return position + courant * faces_at(position + 0.5 * courant * wind);
}

fn velocity_in(cell: vec3i) -> vec3f {
    let at = 3u * cell_index(clamp(cell, vec3i(0), vec3i(params.size) - 1));
    return vec3f(velocity[at], velocity[at + 1u], velocity[at + 2u]);
}

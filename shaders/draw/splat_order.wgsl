// By what splats are sorted, so that the nearest is first, and how many are drawn: rows that are not finite come last and
// are left out. In: the attributes of each row but harmonics, which are many; SCALE, ROTATION, OPACITY and COLOR, the
// components of those that are bound, or 0. Out: keys (rows), u32; draw: vertices, instances, first vertex, first instance.
//% include "common/index.wgsl"
//% include "common/finite.wgsl"
//% set OPTIONAL = [("scales", SCALE), ("rotations", ROTATION), ("opacities", OPACITY), ("colors", COLOR)]

struct Params {
    forward: vec3f,         // along the line of sight in the middle of the image
    rows: u32,
    positions_offset: u32,
    positions_strides: u32, // elements from one row to the next
//% for name, count in OPTIONAL if count
    ${name}_offset: u32,
    ${name}_strides: u32,
//% endfor
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> positions: array<f32>;
@group(0) @binding(2) var<storage, read_write> keys: array<u32>;
@group(0) @binding(3) var<storage, read_write> draw: array<atomic<u32>>;
//% for name, count in OPTIONAL if count
@group(0) @binding(${3 + loop.index}) var<storage, read> ${name}: array<f32>;
//% endfor

var<workgroup> sound: atomic<u32>;

@compute @workgroup_size(1)
fn begin() {
    atomicStore(&draw[0], 4u);
    atomicStore(&draw[1], 0u);
    atomicStore(&draw[2], 0u);
    atomicStore(&draw[3], 0u);
}

// Rises as the number does, except for NaN.
fn rising(value: f32) -> u32 {
    let bits = bitcast<u32>(value);
    return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
}

fn is_sound(row: u32, position: vec3f) -> bool {
    var found = all_finite(position);
//% for name, count in OPTIONAL if count
    for (var i = 0u; i < ${count}u; i++) {
        found = found && is_finite(${name}[params.${name}_offset + row * params.${name}_strides + i]);
    }
//% endfor
    return found;
}

@compute @workgroup_size(128)
fn rank(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = linear_index(id, num_workgroups, 128u);
    if lane == 0u { atomicStore(&sound, 0u); }
    workgroupBarrier();
    if row < params.rows {
        let at = params.positions_offset + row * params.positions_strides;
        let position = vec3f(positions[at], positions[at + 1u], positions[at + 2u]);
        let drawn = is_sound(row, position);
        if drawn { atomicAdd(&sound, 1u); }
        keys[row] = select(0xffffffffu, rising(dot(params.forward, position)), drawn);
    }
    workgroupBarrier();
    if lane == 0u { atomicAdd(&draw[1], atomicLoad(&sound)); }
}

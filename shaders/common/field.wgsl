// Samples on a grid of three axes, read from a storage array of any layout. Include this for the struct, and import it for
// the macros.

//% include "common/finite.wgsl"

struct Field {              // mirrored by renderer/layers/field.py
    size: vec3u,            // samples along x, y and z
    first: u32,             // element of the sample (0, 0, 0) in what is bound
    strides: vec3i,         // elements from one sample to the next along x, y and z
    component: i32,         // and from one component of a sample to the next
}

// NAME_at: the sample of a cell, the nearest one for cells beyond the grid. NAME_between: the value at a position that is
// counted in samples, trilinear between the eight around it. `size`, `first` and `strides` are expressions for what a Field
// holds, for kernels, whose uniforms hold no structs.
//% macro functions(name, size, first, strides)
fn ${name}_element(cell: vec3i) -> i32 {
    let at = clamp(cell, vec3i(0), vec3i(${size}) - 1) * ${strides};
    return i32(${first}) + at.x + at.y + at.z;
}

fn ${name}_at(cell: vec3i) -> f32 {
    return ${name}[${name}_element(cell)];
}

fn ${name}_between(position: vec3f) -> f32 {
    let floor_ = floor(position);
    let part = position - floor_;
    let cell = vec3i(floor_);
    let last = vec3i(${size}) - 1;
    let low = clamp(cell, vec3i(0), last) * ${strides};
    let high = clamp(cell + 1, vec3i(0), last) * ${strides};
    let near_low = i32(${first}) + low.z + low.y;
    let near_high = i32(${first}) + low.z + high.y;
    let far_low = i32(${first}) + high.z + low.y;
    let far_high = i32(${first}) + high.z + high.y;
    let lower = mix(
        vec4f(${name}[near_low + low.x], ${name}[near_high + low.x], ${name}[far_low + low.x], ${name}[far_high + low.x]),
        vec4f(${name}[near_low + high.x], ${name}[near_high + high.x], ${name}[far_low + high.x], ${name}[far_high + high.x]),
        part.x,
    );
    let pair = mix(lower.xz, lower.yw, part.y);
    return mix(pair.x, pair.y, part.z);
}
//%- endmacro

// NAME_around: the derivative along x, y and z, from one sample to the next, and the trilinear value between samples,
// at a position that is counted in samples; beyond the grid that of the nearest position on it. Needs NAME_at.
//% macro around(name, size)
fn ${name}_around(position: vec3f) -> vec4f {
    let inner = clamp(position, vec3f(0.0), vec3f(vec3i(${size}) - 1));
    let cell = vec3i(inner);
    let t = inner - vec3f(cell);
    //% for z in range(2)
    //% for y in range(2)
    //% for x in range(2)
    let d${x}${y}${z} = ${name}_at(cell + vec3i(${x}, ${y}, ${z}));
    //% endfor
    //% endfor
    //% endfor
    let gradient = vec3f(
        mix(mix(d100 - d000, d110 - d010, t.y), mix(d101 - d001, d111 - d011, t.y), t.z),
        mix(mix(d010 - d000, d110 - d100, t.x), mix(d011 - d001, d111 - d101, t.x), t.z),
        mix(mix(d001 - d000, d101 - d100, t.x), mix(d011 - d010, d111 - d110, t.x), t.y),
    );
    let at_z0 = mix(mix(d000, d100, t.x), mix(d010, d110, t.x), t.y);
    let at_z1 = mix(mix(d001, d101, t.x), mix(d011, d111, t.x), t.y);
    return vec4f(gradient, mix(at_z0, at_z1, t.z));
}
//%- endmacro

// NAME_smooth: as NAME_around, by a cubic B-spline over 64 samples. Its second derivatives are continuous, so that contours do not
// follow the samples; it passes near their values, not through them. Needs NAME_at.
//% macro smooth(name)
fn ${name}_smooth(position: vec3f) -> vec4f {
    let floor_ = floor(position);
    let t = position - floor_;
    let u = 1.0 - t;
    let weights = array<vec3f, 4>(
        u * u * u / 6.0, (4.0 - 3.0 * t * t * (1.0 + u)) / 6.0, (4.0 - 3.0 * u * u * (1.0 + t)) / 6.0, t * t * t / 6.0,
    );
    let slopes = array<vec3f, 4>(-0.5 * u * u, t * (1.5 * t - 2.0), u * (2.0 - 1.5 * u), 0.5 * t * t);
    var sum = vec4f(0.0);
    for (var i = 0; i < 64; i++) {
        let offset = vec3i(i & 3, (i >> 2) & 3, i >> 4);
        let x = vec2f(weights[offset.x].x, slopes[offset.x].x);
        let y = vec2f(weights[offset.y].y, slopes[offset.y].y);
        let z = vec2f(weights[offset.z].z, slopes[offset.z].z);
        let value = ${name}_at(vec3i(floor_) + offset - 1);
        sum += value * vec4f(x.y * y.x * z.x, x.x * y.y * z.x, x.x * y.x * z.y, x.x * y.x * z.x);
    }
    return sum;
}
//%- endmacro

// NAME_nearest: the color of the sample that is nearest to a position, of three components that are `next` elements apart.
//% macro colors(name, next)
fn ${name}_nearest(position: vec3f) -> vec3f {
    let first = ${name}_element(vec3i(round(position)));
    return vec3f(${name}[first], ${name}[first + ${next}], ${name}[first + 2 * ${next}]);
}
//%- endmacro

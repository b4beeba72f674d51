// Reads of the operands of attention; needs `params` of common/attention_params.wgsl. In: QUADS_OF, the operands, their dtypes
// and their widths; WIDE, whether they are stored as quads.
//% import "common/element.wgsl" as element
//% for name, dtype, width in QUADS_OF
// Four elements of one row from index `at` on; 0 beyond the last row or the width.
fn ${name}_quad(base: i32, row: i32, rows: i32, at: u32) -> vec4f {
    var quad = vec4f();
    if row < rows && at < params.${width} {
        let first = base + row * params.${name}_strides.z + i32(at) * params.${name}_strides.w;
        //% if WIDE
        quad = vec4f(${name}[u32(first) / 4u]);
        //% else
        for (var c = 0u; c < min(4u, params.${width} - at); c += 1u) {
            let element_at = u32(first + i32(c) * params.${name}_strides.w);
            quad[c] = f32(${element.load(name, dtype, "element_at")});
        }
        //% endif
    }
    return quad;
}

//% endfor

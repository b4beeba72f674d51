// A curve in a storage array, at even distances from 0 to 1. Import for the macro.

// NAME_at: the curve at x from 0 to 1, straight between its samples.
//% macro functions(name)
fn ${name}_at(x: f32) -> f32 {
    let last = arrayLength(&${name}) - 1u;
    let position = x * f32(last);
    let low = min(u32(position), last - 1u);
    return mix(${name}[low], ${name}[low + 1u], position - f32(low));
}
//%- endmacro

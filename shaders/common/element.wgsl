// Reading, converting and writing one element of each type. In: dtype names; out: macros used by the kernels in ops/.
// bool is stored as a u32 of 0 or 1; u8 as four to a u32, so it is written by atomics: neighbors share its word.

//% macro storage(dtype, atomic=false)
array<${ {"f32": "f32", "f16": "f16", "f64": "f64", "i32": "i32"}.get(dtype, "atomic<u32>" if atomic else "u32") }>
//%- endmacro

//% macro value_type(dtype)
${ {"u8": "u32"}.get(dtype, dtype) }
//%- endmacro

//% macro uniform_type(dtype)
${ {"bool": "u32", "u8": "u32", "f16": "f32"}.get(dtype, dtype) }
//%- endmacro

//% macro load(name, dtype, index, atomic=false)
//% if dtype == "bool"
(${name}[${index}] != 0u)
//%- elif dtype == "u8" and atomic
((atomicLoad(&${name}[(${index}) >> 2u]) >> (((${index}) & 3u) * 8u)) & 0xffu)
//%- elif dtype == "u8"
((${name}[(${index}) >> 2u] >> (((${index}) & 3u) * 8u)) & 0xffu)
//%- else
${name}[${index}]
//%- endif
//%- endmacro

// What is stored in memory for an element, but for u8, and the element's value computed from it.
//% macro stored_type(dtype)
${ {"bool": "u32"}.get(dtype, dtype) }
//%- endmacro

//% macro unpacked(value, dtype)
${ "(" ~ value ~ " != 0u)" if dtype == "bool" else widened(value, dtype) }
//%- endmacro

// A loaded value as kernels work with it: f16 in f32.
//% macro widened(value, dtype)
${ "f32(" ~ value ~ ")" if dtype == "f16" else value }
//%- endmacro

// Floats become integers by truncation, held to the range of the type, NaN as 0 (to_* are in math.wgsl, double_to_* in
// double.wgsl); integers wrap.
//% macro convert(value, source, target)
//% if source == "f64" and target == "f16"
f16(double_to_f32_odd(${value}))
//%- elif source == "f64" and target in ("f32", "i32", "u32", "u8")
double_to_${target}(${value})
//%- elif source in ("f32", "f16") and target in ("i32", "u32", "u8")
to_${target}(${ "f32(" ~ value ~ ")" if source == "f16" else value })
//%- else
${value_type(target)}(${value})
//%- endif
//%- endmacro

//% macro store(name, dtype, index, value)
//% if dtype == "bool"
${name}[${index}] = select(0u, 1u, ${value});
//%- elif dtype == "u8"
atomicAnd(&${name}[(${index}) >> 2u], ~(0xffu << (((${index}) & 3u) * 8u)));
    atomicOr(&${name}[(${index}) >> 2u], ((${value}) & 0xffu) << (((${index}) & 3u) * 8u));
//%- else
${name}[${index}] = ${value};
//%- endif
//%- endmacro

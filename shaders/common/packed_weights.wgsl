// Weights of a matrix as app/vertigrad/language/packing.py packs them: rows of chunks, 16 bytes each.
// In: FORMAT. f16 and bf16: eight weights in a chunk. int4: 32 weights in a chunk, eight in a word, the first in the lowest
// bits; for each `GROUP` weights of a row there is a word of two f16 in `scales`: a weight q stands for first * q + second.
//% set CHUNK = 32 if FORMAT == "int4" else 8
//% set QUADS = CHUNK // 4

// Four weights of word j of a chunk. Bits of int4, moved nowhere, are the lowest bits of 2^23 + q * 16^i, which a subtraction
// and a product make numbers; that is faster than to convert integers.
//% macro quad(word, q)
//% if FORMAT == "int4"
(bitcast<vec4f>((vec4u(${word}[${q // 2}] >> ${16 * (q % 2)}u) & vec4u(0xfu, 0xf0u, 0xf00u, 0xf000u)) | vec4u(0x4b000000u)) - 8388608.0) * vec4f(1.0, 0.0625, 0.00390625, 0.000244140625)
//%- elif FORMAT == "f16"
vec4f(unpack2x16float(${word}[${2 * q}]), unpack2x16float(${word}[${2 * q + 1}]))
//%- else
bitcast<vec4f>(vec4u(${word}[${2 * q}] << 16u, ${word}[${2 * q}] & 0xffff0000u, ${word}[${2 * q + 1}] << 16u, ${word}[${2 * q + 1}] & 0xffff0000u))
//%- endif
//%- endmacro

// Weights of a matrix as app/vertigrad/language/packing.py packs them: rows of chunks, 16 bytes each.
// In: FORMAT. f16 and bf16: eight weights in a chunk. int4: 32 weights in a chunk, the bytes of word j hold weights 8j to
// 8j + 3 in their lower halves and 8j + 4 to 8j + 7 in their upper halves; for each `GROUP` weights of a row there is a
// word of two f16 in `scales`: a weight q stands for first * q + second.
//% set CHUNK = 32 if FORMAT == "int4" else 8
//% set QUADS = CHUNK // 4

// Four weights of word j: the lower or the upper halves of an int4 word, or the word and its neighbor in f16 and bf16.
//% macro quad(word, q)
//% if FORMAT == "int4"
vec4f(unpack4xU8((${word}[${q // 2}] >> ${4 * (q % 2)}u) & 0x0f0f0f0fu))
//%- elif FORMAT == "f16"
vec4f(unpack2x16float(${word}[${2 * q}]), unpack2x16float(${word}[${2 * q + 1}]))
//%- else
bitcast<vec4f>(vec4u(${word}[${2 * q}] << 16u, ${word}[${2 * q}] & 0xffff0000u, ${word}[${2 * q + 1}] << 16u, ${word}[${2 * q + 1}] & 0xffff0000u))
//%- endif
//%- endmacro

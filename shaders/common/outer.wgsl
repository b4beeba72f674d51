// Macros for tiles of sums in registers: each sum is a variable of its own, sumI_Q_J for row I and component J of
// quad Q, or of another NAME. The order in which they are computed decides, on NVIDIA, how often operands are read from the same bank of
// registers: with one element of the quad held and the rows gone through to and fro, hardly ever.

//% macro declare(rows, quads, value, name="sum")
//% for i in range(rows)
//% for q in range(quads)
//% for j in range(4)
var ${name}${i}_${q}_${j} = ${value}(0);
//% endfor
//% endfor
//% endfor
//%- endmacro

// sums += left (leftN has rows 4 N to 4 N + 3) times right (rightQ); all three may have other names.
//% macro accumulate(rows, quads, value, name="sum", left="left", right="right")
//% for q in range(quads)
//% for j in range(4)
//% for n in range(rows)
//% set i = n if j % 2 == 0 else rows - 1 - n
//% if value == "f32"
${name}${i}_${q}_${j} = fma(${left}${i // 4}[${i % 4}], ${right}${q}[${j}], ${name}${i}_${q}_${j});
//% else
${name}${i}_${q}_${j} += ${left}${i // 4}[${i % 4}] * ${right}${q}[${j}];
//% endif
//% endfor
//% endfor
//% endfor
//%- endmacro

//% macro quad(i, q, value, name="sum")
vec4<${value}>(${name}${i}_${q}_0, ${name}${i}_${q}_1, ${name}${i}_${q}_2, ${name}${i}_${q}_3)
//%- endmacro

// Macros of ops/mlp_backward.wgsl for one layer: sums of weights times inputs in registers, and what follows from them.
// In: what ops/mlp_backward.wgsl takes and computes from it; `my_neuron` and `my_point` are known.
//% import "common/outer.wgsl" as outer

// sums += weights (from quad `at` of the array `from` on) times the lines of `lines`.
//% macro product(count, lines, from, at)
//% set UNROLL = 8 if count % 8 == 0 else 4
for (var k = 0u; k < ${count}u; k += ${UNROLL}u) {
    //% for step in range(UNROLL)
    {
        //% for n in range(EACH_NEURONS // 4)
        let left${n} = vec4f(${from}[${at} + (k + ${step}u) * ${QUADS}u + my_neuron + ${n * ACROSS}u]);
        //% endfor
        //% for q in range(EACH_POINTS // 4)
        let right${q} = ${lines}[(k + ${step}u) * ${LINE}u + my_point + ${q * DOWN}u];
        //% endfor
        ${outer.accumulate(EACH_NEURONS, EACH_POINTS // 4, "f32")}
    }
    //% endfor
}
//%- endmacro

// Sums begin as the biases of hidden layer `layer`, or as 0.
//% macro begin(layer)
//% for n in range(EACH_NEURONS)
{
    //% if layer is none
    let start = 0.0;
    //% else
    let start = rest[${layer} * ${QUADS}u + my_neuron + ${n // 4 * ACROSS}u][${n % 4}];
    //% endif
    //% for q in range(EACH_POINTS // 4)
    //% for j in range(4)
    sum${n}_${q}_${j} = start;
    //% endfor
    //% endfor
}
//% endfor
//%- endmacro

//% macro store_sums(layer)
//% for n in range(EACH_NEURONS)
//% for q in range(EACH_POINTS // 4)
stored[${layer} * ${OWN}u + ${n * (EACH_POINTS // 4) + q}u] = ${outer.quad(n, q, "f32")};
//% endfor
//% endfor
//%- endmacro

//% macro line(n, q)
(my_neuron + ${n % 4 * QUADS + n // 4 * ACROSS}u) * ${LINE}u + my_point + ${q * DOWN}u
//%- endmacro

// The inputs of the layer after `layer`: activations of its sums.
//% macro put_activations(layer)
//% for n in range(EACH_NEURONS)
//% for q in range(EACH_POINTS // 4)
{
    let z = stored[${layer} * ${OWN}u + ${n * (EACH_POINTS // 4) + q}u];
    inputs[${line(n, q)}] = vec4f(activate(z.x), activate(z.y), activate(z.z), activate(z.w));
}
//% endfor
//% endfor
//%- endmacro

// The gradient of the sums of `layer`, from that of its activations.
//% macro put_gradient(layer)
//% for n in range(EACH_NEURONS)
//% for q in range(EACH_POINTS // 4)
{
    let z = stored[${layer} * ${OWN}u + ${n * (EACH_POINTS // 4) + q}u];
    let derivatives = vec4f(derivative(z.x), derivative(z.y), derivative(z.z), derivative(z.w));
    gradient_tile[${line(n, q)}] = ${outer.quad(n, q, "f32")} * derivatives;
}
//% endfor
//% endfor
//%- endmacro

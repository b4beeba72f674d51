// Products of small matrices, in batches, with any strides: each invocation makes 4 x 4 elements by itself, four
// offsets_of of the inner axis at a time.
// In: what common/product.wgsl names.
// Out: out[batch] = activation(alpha a[batch] b[batch] + beta bias + residual) for each of params.batches.
//% include "common/product.wgsl"

@compute @workgroup_size(64)
fn main(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(num_workgroups) num_workgroups: vec3u,
) {
    let number = id.y * (num_workgroups.x * 64u) + id.x;
    let across = (params.columns + 3u) / 4u;
    let down = (params.rows + 3u) / 4u;
    let product = number / (across * down);
    if product >= params.batches {
        return;
    }
    let at = offsets_of(product);
    let row = number / across % down * 4u;
    let column = number % across * 4u;
    //% for i in range(4)
    var sum${i} = vec4<${VALUE}>();
    //% endfor
    for (var k = 0u; k < params.inner; k += 4u) {
        //% for i in range(4)
        let a${i} = quad_a(at.a, row + ${0 if A_COLUMN_MAJOR else i}u, k + ${i if A_COLUMN_MAJOR else 0}u);
        let b${i} = quad_b(at.b, k + ${0 if B_COLUMN_MAJOR else i}u, column + ${i if B_COLUMN_MAJOR else 0}u);
        //% endfor
        //% for j in range(4)
        {
            //% if B_COLUMN_MAJOR
            let right = vec4<${VALUE}>(b0[${j}], b1[${j}], b2[${j}], b3[${j}]);
            //% else
            let right = b${j};
            //% endif
            //% for i in range(4)
            sum${i} += ${"a" ~ j ~ "[" ~ i ~ "]" if A_COLUMN_MAJOR else "a" ~ i ~ "[" ~ j ~ "]"} * right;
            //% endfor
        }
        //% endfor
    }
    let shift = vec4<${VALUE}>(
        //% for j in range(4)
        column_bias(at, column + ${j}u),
        //% endfor
    );
    //% for i in range(4)
    write_quad(at, row + ${i}u, column, sum${i}, shift);
    //% endfor
}

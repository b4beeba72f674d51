// Singular values of 3 by 3 matrices, a = u diag(s) v^T, by rotations of the columns from the right until they are
// perpendicular (Hestenes 1958; one-sided Jacobi). The matrix is never squared, so small singular values retain their digits
// (Demmel and Veselic 1992). u and v are rotations: s[0] >= s[1] >= |s[2]|, and s[2] has the sign of the determinant,
// which is what the mechanics of inverted elements wants (Irving, Teran and Fedkiw 2004).
// The reference implementation is `svd` of app/vertigrad/models/reference/mpm.py.

struct Svd {
    u: mat3x3f,
    s: vec3f,
    v: mat3x3f,
}

//% macro turned(p, q)
        {  // columns p and q, so that they are perpendicular
            let gamma = dot(b${p}, b${q});
            let alpha = dot(b${p}, b${p});
            let beta = dot(b${q}, b${q});
            let gap = beta - alpha;
            let tangent = select(-2.0, 2.0, gap >= 0.0) * gamma / (abs(gap) + sqrt(gap * gap + 4.0 * gamma * gamma) + 1e-37);
            let cosine = inverseSqrt(1.0 + tangent * tangent);
            let sine = cosine * tangent;
            let b = cosine * b${p} - sine * b${q};
            b${q} = sine * b${p} + cosine * b${q};
            b${p} = b;
            let v = cosine * v${p} - sine * v${q};
            v${q} = sine * v${p} + cosine * v${q};
            v${p} = v;
            worst = max(worst, gamma * gamma - 1e-13 * alpha * beta);
        }
//%- endmacro
//% macro ordered(p, q)
    if dot(b${p}, b${p}) < dot(b${q}, b${q}) {  // a quarter of a turn, so that v stays a rotation
        let b = b${p};
        b${p} = b${q};
        b${q} = -b;
        let v = v${p};
        v${p} = v${q};
        v${q} = -v;
    }
//%- endmacro

// A unit vector perpendicular to a unit vector.
fn perpendicular(a: vec3f) -> vec3f {
    let other = select(vec3f(1.0, 0.0, 0.0), vec3f(0.0, 1.0, 0.0), abs(a.x) > 0.6);
    return normalize(cross(a, other));
}

fn svd3(a: mat3x3f) -> Svd {
    var b0 = a[0];
    var b1 = a[1];
    var b2 = a[2];
    var v0 = vec3f(1.0, 0.0, 0.0);
    var v1 = vec3f(0.0, 1.0, 0.0);
    var v2 = vec3f(0.0, 0.0, 1.0);
    for (var sweep = 0; sweep < 8; sweep += 1) {  // each squares what is left; 3 to 5 do
        var worst = 0.0;
        ${turned(0, 1)}
        ${turned(0, 2)}
        ${turned(1, 2)}
        if worst <= 0.0 {
            break;
        }
    }
    ${ordered(0, 1)}
    ${ordered(0, 2)}
    ${ordered(1, 2)}
    let length0 = length(b0);
    let u0 = select(vec3f(1.0, 0.0, 0.0), b0 / max(length0, 1e-30), length0 > 1e-30);
    let rest = b1 - u0 * dot(u0, b1);
    let length1 = length(rest);
    let u1 = select(perpendicular(u0), rest / max(length1, 1e-30), length1 > max(1e-30, 1e-7 * length0));
    let u2 = cross(u0, u1);
    return Svd(mat3x3f(u0, u1, u2), vec3f(length0, dot(u1, b1), dot(u2, b2)), mat3x3f(v0, v1, v2));
}

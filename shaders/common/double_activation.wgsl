// The error function and activation functions of 64-bit numbers, to about 1e-15 of the value. Include common/math.wgsl,
// common/double.wgsl and common/double_powers.wgsl before it. Coefficients of the error function, and where they are
// used, are those of fdlibm (Sun Microsystems, 1993: s_erf).

// 1 - erf(z) for z from 1.25 on: e^(-z²) is taken in two factors, so that z² is exact in the first one.
fn double_erfc_far(z: f64) -> f64 {
    let s = 1.0lf / (z * z);
    var ratio = 0.0lf;
    if z < 2.857142857142857lf {
        ratio = (-9.86494403484714822705e-03lf + s * (-6.93858572707181764372e-01lf
            + s * (-1.05586262253232909814e+01lf + s * (-6.23753324503260060396e+01lf
                + s * (-1.62396669462573470355e+02lf + s * (-1.84605092906711035994e+02lf
                    + s * (-8.12874355063065934246e+01lf + s * (-9.81432934416914548592e+00lf))))))))
            / (1.0lf + s * (1.96512716674392571292e+01lf + s * (1.37657754143519042600e+02lf
                + s * (4.34565877475229228821e+02lf + s * (6.45387271733267880336e+02lf
                    + s * (4.29008140027567833386e+02lf + s * (1.08635005541779435134e+02lf
                        + s * (6.57024977031928170135e+00lf + s * (-6.04244152148580987438e-02lf)))))))));
    } else {
        ratio = (-9.86494292470009928597e-03lf + s * (-7.99283237680523006574e-01lf
            + s * (-1.77579549177547519889e+01lf + s * (-1.60636384855821916062e+02lf
                + s * (-6.37566443368389627722e+02lf + s * (-1.02509513161107724954e+03lf
                    + s * (-4.83519191608651397019e+02lf)))))))
            / (1.0lf + s * (3.03380607434824582924e+01lf + s * (3.25792512996573918826e+02lf
                + s * (1.53672958608443695994e+03lf + s * (3.19985821950859553908e+03lf
                    + s * (2.55305040643316442583e+03lf + s * (4.74528541206955367215e+02lf
                        + s * (-2.24409524465858183362e+01lf))))))));
    }
    let upper = f64(f32(z));
    return double_exp(-upper * upper - 0.5625lf) * double_exp((upper - z) * (upper + z) + ratio) / z;
}

// (erf(z) - c) for z from 0.84375 to 1.25, where c is the constant of `double_erf`.
fn double_erf_middle(z: f64) -> f64 {
    let s = z - 1.0lf;
    return (-2.36211856075265944077e-03lf + s * (4.14856118683748331666e-01lf + s * (-3.72207876035701323847e-01lf
        + s * (3.18346619901161753674e-01lf + s * (-1.10894694282396677476e-01lf
            + s * (3.54783043256182359371e-02lf + s * (-2.16637559486879084300e-03lf)))))))
        / (1.0lf + s * (1.06420880400844228286e-01lf + s * (5.40397917702171048937e-01lf
            + s * (7.18286544141962662868e-02lf + s * (1.26171219808761642112e-01lf
                + s * (1.36370839120290507362e-02lf + s * (1.19844998467991074170e-02lf)))))));
}

// erf(x) / x - 1 near 0.
fn double_erf_near(z: f64) -> f64 {
    return (1.28379167095512558561e-01lf + z * (-3.25042107247001499370e-01lf + z * (-2.84817495755985104766e-02lf
        + z * (-5.77027029648944159157e-03lf + z * (-2.37630166566501626084e-05lf)))))
        / (1.0lf + z * (3.97917223959155352819e-01lf + z * (6.50222499887672944485e-02lf
            + z * (5.08130628187576562776e-03lf + z * (1.32494738004321644526e-04lf
                + z * (-3.96022827877536812320e-06lf))))));
}

fn double_erf(x: f64) -> f64 {
    let z = abs(x);
    if double_is_nan(x) {
        return x;
    }
    if z < 0.84375lf {
        return x + x * double_erf_near(z * z);
    }
    var size = 1.0lf;
    if z < 1.25lf {
        size = 8.45062911510467529297e-01lf + double_erf_middle(z);
    } else if z < 6.0lf {
        size = 1.0lf - double_erfc_far(z);
    }
    return select(size, -size, x < 0.0lf);
}

fn double_erfc(x: f64) -> f64 {
    let z = abs(x);
    if double_is_nan(x) || z < 0.84375lf {
        return select(1.0lf - (x + x * double_erf_near(z * z)), 0.5lf - (x - 0.5lf
            + x * double_erf_near(z * z)), x > 0.25lf);
    }
    if z < 1.25lf {
        let more = double_erf_middle(z);
        return select((1.0lf - 8.45062911510467529297e-01lf) - more, 1.0lf + (8.45062911510467529297e-01lf
            + more), x < 0.0lf);
    }
    let tail = select(0.0lf, double_erfc_far(min(z, 28.0lf)), z < 28.0lf);
    return select(tail, 2.0lf - tail, x < 0.0lf);
}

// Activation functions of networks, as common/activation.wgsl has them in f32.

fn double_sigmoid(x: f64) -> f64 {
    let e = double_exp(-abs(x));
    return select(1.0lf, e, x < 0.0lf) / (1.0lf + e);
}

fn double_softplus(x: f64) -> f64 {
    return double_maximum(x, 0.0lf) + double_log1p(double_exp(-abs(x)));
}

fn double_gelu(x: f64) -> f64 {
    return 0.5lf * x * double_erfc(-x * 7.07106781186547524401e-01lf);
}

fn double_gelu_tanh(x: f64) -> f64 {
    return x * double_sigmoid(1.59576912160573071176lf * (x + 0.044715lf * x * x * x));
}

fn double_hard_sigmoid(x: f64, slope: f64, middle: f64) -> f64 {
    return double_maximum(double_minimum(slope * x + middle, 1.0lf), 0.0lf);
}

fn double_elu(x: f64, alpha: f64) -> f64 {
    return select(x, alpha * double_expm1(x), x < 0.0lf);
}

// Activation functions of one f32, true to about 1e-6 of the value; NaN stays NaN. Include common/math.wgsl before it.
// WGSL's own exp, tanh and sin are looser than that on some drivers, so what they are needed for is computed here.
// ops/activation.py lists these functions for Python and writes the calls. Polynomials are minimax fits of this project
// (Lawson's iteration, in float64); their error is next to them.

// The parts of e^x = 2 scale (1 + p): x less the nearest multiple of ln 2 goes through a polynomial (4e-9).
struct Exponential {
    p: f32,
    scale: f32,
}

fn exponential(x: f32) -> Exponential {
    let k = clamp(round(x * 1.44269504), -125.0, 128.0);
    var r = x - k * 0.693359375;
    r = r + k * 2.12194440e-4;
    let q = 0.5 + r * (1.6666518e-1 + r * (4.166621e-2 + r * (8.36895e-3 + r * 1.39506e-3)));
    return Exponential(r + r * r * q, bitcast<f32>(u32(i32(k) + 126) << 23u));
}

// It is the result that is held, not x: NVIDIA's compiler makes a maximum of select(x, c, x < c), which loses NaN.
fn precise_exp(x: f32) -> f32 {
    let e = exponential(x);
    return select(2.0 * (e.scale + e.scale * e.p), 0.0, x < -87.0);
}

fn precise_expm1(x: f32) -> f32 {
    let e = exponential(x);
    return select(2.0 * ((e.scale - 0.5) + e.scale * e.p), -1.0, x < -20.0);
}

// log(1 + u) for 0 <= u <= 1, as 2 artanh(u / (2 + u)) (5e-9).
fn log1p_to_one(u: f32) -> f32 {
    let s = u / (2.0 + u);
    let q = s * s;
    return 2.0 * (s + s * q * (3.3333206e-1 + q * (2.0010886e-1 + q * (1.3998932e-1 + q * 1.4015637e-1))));
}

// Cumulative distribution of the normal distribution at x: e^(-x²/2) times a polynomial in t = 1 / (1 + 0.3 |x|) (1.5e-7), a form that
// retains its digits in the tail, where 1 + erf has lost them.
fn normal_cdf(x: f32) -> f32 {
    let z = abs(x);
    let t = 1.0 / (1.0 + 0.3 * z);
    let low = 1.1962930e-1 + t * (1.2075396e-1 + t * (9.991349e-2 + t * 1.2856165e-1));
    let t4 = (t * t) * (t * t);
    let p = low + t4 * (-5.368367e-2 + t * (2.0635353e-1 + t * (-1.5720311e-1 + t * 3.567478e-2)));
    let below = t * p * precise_exp(-0.5 * z * z);
    return select(below, 1.0 - below, x > 0.0);
}

fn held(x: f32, low: f32, high: f32) -> f32 {
    return select(clamp(x, low, high), x, is_nan(x));
}

fn relu(x: f32) -> f32 {
    return select(max(x, 0.0), x, is_nan(x));
}

fn leaky_relu(x: f32, slope: f32) -> f32 {
    return select(x, slope * x, x < 0.0);
}

fn thresholded_relu(x: f32, threshold: f32) -> f32 {
    return select(x, 0.0, x <= threshold);
}

fn elu(x: f32, alpha: f32) -> f32 {
    return select(x, alpha * precise_expm1(x), x < 0.0);
}

fn celu(x: f32, alpha: f32) -> f32 {
    return select(x, alpha * precise_expm1(x / alpha), x < 0.0);
}

fn selu(x: f32, alpha: f32, gamma: f32) -> f32 {
    return gamma * elu(x, alpha);
}

fn sigmoid(x: f32) -> f32 {
    return 1.0 / (1.0 + precise_exp(-x));
}

fn hard_sigmoid(x: f32, slope: f32, middle: f32) -> f32 {
    return held(slope * x + middle, 0.0, 1.0);
}

fn silu(x: f32) -> f32 {
    return x / (1.0 + precise_exp(-x));
}

fn hard_swish(x: f32) -> f32 {
    return x * held(x * 1.66666667e-1 + 0.5, 0.0, 1.0);
}

fn gelu(x: f32) -> f32 {
    return x * normal_cdf(x);
}

// The form with tanh (Hendrycks and Gimpel 2016), by (1 + tanh u) / 2 = sigmoid(2u).
fn gelu_tanh(x: f32) -> f32 {
    return x / (1.0 + precise_exp(-1.59576912 * (x + 0.044715 * x * x * x)));
}

fn softplus(x: f32) -> f32 {
    return select(x, 0.0, x < 0.0) + log1p_to_one(precise_exp(-abs(x)));
}

fn softsign(x: f32) -> f32 {
    return x / (1.0 + abs(x));
}

// x tanh(log(1 + e^x)), by tanh(log y) = (y² - 1) / (y² + 1).
fn mish(x: f32) -> f32 {
    let e = precise_exp(select(x, 20.0, x > 20.0));
    let n = e * (e + 2.0);
    return x * (n / (n + 2.0));
}

// Near 0 an odd polynomial (4e-8), farther out by e^2x.
fn tanh_(x: f32) -> f32 {
    let z = abs(x);
    let s = z * z;
    let near = z + z * s * (-3.333296e-1 + s * (1.3320942e-1 + s * (-5.268415e-2 + s * 1.645876e-2)));
    let far = 1.0 - 2.0 / (1.0 + precise_exp(2.0 * z));
    let magnitude = select(near, far, z > 0.55);
    return select(magnitude, -magnitude, x < 0.0);
}

fn sine(x: f32) -> f32 {
    return precise_sin(x);
}

fn cosine(x: f32) -> f32 {
    return precise_cos(x);
}

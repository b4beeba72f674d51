// Derivatives of the functions in common/activation.wgsl, which is included before this, by x; at a corner that of one
// side, as ops/gradients/elementwise.py has them. ops/activation.py writes the calls.

fn relu_derivative(x: f32) -> f32 {
    return select(0.0, 1.0, x > 0.0);
}

fn leaky_relu_derivative(x: f32, slope: f32) -> f32 {
    return select(1.0, slope, x < 0.0);
}

fn thresholded_relu_derivative(x: f32, threshold: f32) -> f32 {
    return select(0.0, 1.0, x > threshold);
}

fn elu_derivative(x: f32, alpha: f32) -> f32 {
    return select(alpha * precise_exp(x), 1.0, x > 0.0);
}

fn celu_derivative(x: f32, alpha: f32) -> f32 {
    return select(precise_exp(x / alpha), 1.0, x > 0.0);
}

fn selu_derivative(x: f32, alpha: f32, gamma: f32) -> f32 {
    return gamma * elu_derivative(x, alpha);
}

fn sigmoid_derivative(x: f32) -> f32 {
    let s = sigmoid(x);
    return s * (1.0 - s);
}

fn hard_sigmoid_derivative(x: f32, slope: f32, middle: f32) -> f32 {
    let y = slope * x + middle;
    return select(0.0, slope, y > 0.0 && y < 1.0);
}

fn silu_derivative(x: f32) -> f32 {
    let s = sigmoid(x);
    return s + x * s * (1.0 - s);
}

fn hard_swish_derivative(x: f32) -> f32 {
    return select(select(x * 3.33333333e-1 + 0.5, 1.0, x > 3.0), 0.0, x < -3.0);
}

fn gelu_derivative(x: f32) -> f32 {
    return normal_cdf(x) + x * 3.98942280e-1 * precise_exp(-0.5 * x * x);
}

fn gelu_tanh_derivative(x: f32) -> f32 {
    let s = sigmoid(1.59576912 * (x + 0.044715 * x * x * x));
    return s + x * s * (1.0 - s) * 1.59576912 * (1.0 + 0.134145 * x * x);
}

fn softplus_derivative(x: f32) -> f32 {
    return sigmoid(x);
}

fn softsign_derivative(x: f32) -> f32 {
    let y = 1.0 + abs(x);
    return 1.0 / (y * y);
}

fn mish_derivative(x: f32) -> f32 {
    let e = precise_exp(select(x, 20.0, x > 20.0));
    let n = e * (e + 2.0);
    let t = n / (n + 2.0);
    return t + x * (1.0 - t * t) * sigmoid(x);
}

fn tanh_derivative(x: f32) -> f32 {
    let t = tanh_(x);
    return 1.0 - t * t;
}

fn sine_derivative(x: f32) -> f32 {
    return precise_cos(x);
}

fn cosine_derivative(x: f32) -> f32 {
    return -precise_sin(x);
}

fn clip_derivative(x: f32, low: f32, high: f32) -> f32 {
    return select(0.0, 1.0, x >= low && x <= high);
}

// Real spherical harmonics with the Condon-Shortley phase, degree by degree, from order -l to l, and their derivatives.
// The reference implementation is app/vertigrad/models/data/splat_formats/harmonics.py.

const FIRST_HARMONIC = 0.28209479177;

// Those of degree 0 to 3 in a direction, a unit vector; those above `degree` are 0.
fn harmonics_in(d: vec3f, degree: u32) -> array<f32, 16> {
    var w: array<f32, 16>;
    w[0] = FIRST_HARMONIC;
    if degree > 0u {
        w[1] = -0.4886025119 * d.y;
        w[2] = 0.4886025119 * d.z;
        w[3] = -0.4886025119 * d.x;
    }
    let s = d * d;
    if degree > 1u {
        w[4] = 1.0925484306 * d.x * d.y;
        w[5] = -1.0925484306 * d.y * d.z;
        w[6] = 0.3153915653 * (2.0 * s.z - s.x - s.y);
        w[7] = -1.0925484306 * d.x * d.z;
        w[8] = 0.5462742153 * (s.x - s.y);
    }
    if degree > 2u {
        w[9] = -0.5900435899 * d.y * (3.0 * s.x - s.y);
        w[10] = 2.8906114426 * d.x * d.y * d.z;
        w[11] = -0.4570457995 * d.y * (4.0 * s.z - s.x - s.y);
        w[12] = 0.3731763326 * d.z * (2.0 * s.z - 3.0 * s.x - 3.0 * s.y);
        w[13] = -0.4570457995 * d.x * (4.0 * s.z - s.x - s.y);
        w[14] = 1.4453057213 * d.z * (s.x - s.y);
        w[15] = -0.5900435899 * d.x * (s.x - 3.0 * s.y);
    }
    return w;
}

// The gradient by the direction of the sum of the harmonics up to `degree`, each times its factor in `f`.
fn harmonics_backward(d: vec3f, f: array<f32, 16>, degree: u32) -> vec3f {
    var by = vec3f(0.0);
    if degree > 0u { by += 0.4886025119 * vec3f(-f[3], -f[1], f[2]); }
    let s = d * d;
    if degree > 1u {
        by += 1.0925484306 * vec3f(d.y * f[4] - d.z * f[7], d.x * f[4] - d.z * f[5], -d.y * f[5] - d.x * f[7]);
        by += 0.6307831305 * f[6] * vec3f(-d.x, -d.y, 2.0 * d.z) + 1.0925484306 * f[8] * vec3f(d.x, -d.y, 0.0);
    }
    if degree > 2u {
        let xy = d.x * d.y;
        let difference = 3.0 * (s.x - s.y);
        by -= 0.5900435899 * (f[9] * vec3f(6.0 * xy, difference, 0.0) + f[15] * vec3f(difference, -6.0 * xy, 0.0));
        by += 2.8906114426 * f[10] * d.yzx * d.zxy;
        by -= 0.4570457995 * f[11] * vec3f(-2.0 * xy, 4.0 * s.z - s.x - 3.0 * s.y, 8.0 * d.y * d.z);
        by += 0.3731763326 * f[12] * vec3f(-6.0 * d.x * d.z, -6.0 * d.y * d.z, 6.0 * s.z - 3.0 * s.x - 3.0 * s.y);
        by -= 0.4570457995 * f[13] * vec3f(4.0 * s.z - 3.0 * s.x - s.y, -2.0 * xy, 8.0 * d.x * d.z);
        by += 1.4453057213 * f[14] * vec3f(2.0 * d.x * d.z, -2.0 * d.y * d.z, s.x - s.y);
    }
    return by;
}

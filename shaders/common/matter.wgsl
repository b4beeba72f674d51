// Four kinds of matter for the material point method: how a particle's strain changes in a step, and what stress it has.
// Include after common/svd3.wgsl; params must have dt and the fields of `MATTER_FIELDS` in models/mpm.wgsl.
// Stresses are Kirchhoff's [Pa]; lambda and mu are Lame's constants [Pa].
//     Water  a pressure K / 7 (J^-7 - 1) that never pulls (Tait; Becker and Teschner 2007), and a viscosity.
//     Jelly  fixed corotated elasticity (Stomakhin et al. 2012).
//     Snow   the same, with singular values held near 1 and a stiffness that grows with compression (Stomakhin et al. 2013).
//     Sand   St. Venant-Kirchhoff with logarithmic strains, and Drucker and Prager's cone (Klar et al. 2016); volume lost to
//            loosening is remembered (Tampubolon et al. 2017). Wet sand coheres until it has been loosened.
// The reference implementation is app/vertigrad/models/reference/mpm.py.

const WATER = 0u;
const JELLY = 1u;
const SNOW = 2u;
const SAND = 3u;

// Strain of a particle: the elastic part of its deformation, and one number: J of water, the plastic J of snow, what sand
// has gained in volume (a logarithm).
struct Matter {
    elastic: mat3x3f,
    memory: f32,
}

struct Loaded {
    matter: Matter,
    stress: mat3x3f,
    energy: f32,  // per volume at rest
}

fn diagonal(u: mat3x3f, values: vec3f, v: mat3x3f) -> mat3x3f {
    return mat3x3f(u[0] * values.x, u[1] * values.y, u[2] * values.z) * transpose(v);
}

fn trace(a: mat3x3f) -> f32 {
    return a[0][0] + a[1][1] + a[2][2];
}

fn snow_hardness(memory: f32) -> f32 {
    return clamp(exp(params.hardening * (1.0 - memory)), 0.02, ${HARDEST});
}

// Singular values after sand has slid: back to the cone of Drucker and Prager, whose tip is at the strain `tip`; beyond it
// sand has come apart, and has no stress.
fn slid_sand(logs: vec3f, mu: f32, lambda: f32, tip: f32) -> vec3f {
    let sum = logs.x + logs.y + logs.z;
    let shear = logs - sum / 3.0;
    let size = length(shear);
    if sum >= tip {
        return vec3f(0.0);
    }
    let beyond = size + (3.0 * lambda + 2.0 * mu) / (2.0 * mu) * (sum - tip) * params.slope;
    return select(logs - shear * (max(beyond, 0.0) / max(size, 1e-30)), logs, beyond <= 0.0);
}

// The particle after its neighborhood has moved with the velocity gradient `gradient` for a step; 0: as it is.
fn loaded(kind: u32, matter: Matter, gradient: mat3x3f) -> Loaded {
    let mu = params.mu[kind];
    let lambda = params.lambda[kind];
    let turn = params.dt * gradient;
    if kind == WATER {
        let j = clamp(matter.memory * (1.0 + trace(turn)), ${DENSEST}, ${LOOSEST});
        let squeezed = min(j, 1.0);
        let power = squeezed * squeezed * squeezed;
        let rise = 1.0 / (power * power * squeezed);
        let push = -lambda / 7.0 * (rise - 1.0) * j;
        let energy = lambda / 7.0 * ((rise * squeezed - 1.0) / 6.0 + squeezed - 1.0);
        let viscous = (gradient + transpose(gradient)) * (mu * j);
        let pressed = mat3x3f(push, 0.0, 0.0, 0.0, push, 0.0, 0.0, 0.0, push);
        return Loaded(Matter(matter.elastic, j), pressed + viscous, energy);
    }
    var elastic = matter.elastic + turn * matter.elastic;
    var memory = matter.memory;
    let f = svd3(elastic);
    if kind == SAND {
        let logs = log(max(f.s, vec3f(1e-3))) + memory / 3.0;
        let held = slid_sand(logs, mu, lambda, select(params.tip, 0.0, memory > 0.0));
        memory = max(logs.x + logs.y + logs.z - (held.x + held.y + held.z), 0.0);
        if any(held != logs) {
            elastic = diagonal(f.u, exp(held), f.v);
        }
        let sum = held.x + held.y + held.z;
        let energy = mu * dot(held, held) + 0.5 * lambda * sum * sum;
        return Loaded(Matter(elastic, memory), diagonal(f.u, 2.0 * mu * held + lambda * sum, f.u), energy);
    }
    var s = f.s;
    var hard = 1.0;
    if kind == SNOW {
        s = clamp(f.s, vec3f(1.0 - params.compression), vec3f(1.0 + params.stretch));
        if any(s != f.s) {
            elastic = diagonal(f.u, s, f.v);
            memory = clamp(memory * (f.s.x / s.x) * (f.s.y / s.y) * (f.s.z / s.z), 0.1, 10.0);
        }
        hard = snow_hardness(memory);
    }
    let j = s.x * s.y * s.z;
    let off = s - 1.0;
    let stress = hard * (2.0 * mu * off * s + lambda * (j - 1.0) * j);
    let energy = hard * (mu * dot(off, off) + 0.5 * lambda * (j - 1.0) * (j - 1.0));
    return Loaded(Matter(elastic, memory), diagonal(f.u, stress, f.u), energy);
}

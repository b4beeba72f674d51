"""The peer of `test_mpm_taichi`: MLS-MPM as in Taichi's published mpm3d example, for its CUDA backend.

Water, jelly and snow in three cubes; quadratic kernels, a singular value decomposition for each particle of jelly and
snow (the example decomposes water too, for which the volume suffices; that is omitted here), and sums on the grid by
atomic additions of floats, of which the order, and so the last bits, differ from run to run.
"""
# Taichi parses the kernel's source: the code uses only what Taichi supports, without annotations.
# ruff: noqa: N806, E741

import numpy as np

GRID = 128
EDGE = 0.286  # of each of three cubes: about 8 of a million particles a cell
DT = 1e-4


def program(ti, count):
    """A function that executes one step of the particles, their positions and materials; `ti` is initialized Taichi."""
    dx, n = 1.0 / GRID, count
    vol = (dx * 0.5) ** 3
    young, nu = 1000.0, 0.2
    mu0, la0 = young / (2 * (1 + nu)), young * nu / ((1 + nu) * (1 - 2 * nu))
    x, v = ti.Vector.field(3, ti.f32, n), ti.Vector.field(3, ti.f32, n)
    C, F = ti.Matrix.field(3, 3, ti.f32, n), ti.Matrix.field(3, 3, ti.f32, n)
    Jp, kind = ti.field(ti.f32, n), ti.field(ti.i32, n)
    gv, gm = ti.Vector.field(3, ti.f32, (GRID,) * 3), ti.field(ti.f32, (GRID,) * 3)

    @ti.kernel
    def step():
        for I in ti.grouped(gm):
            gv[I] = ti.Vector.zero(ti.f32, 3)
            gm[I] = 0.0
        ti.loop_config(block_dim=128)
        for p in x:
            Xp = x[p] / dx
            base = ti.cast(Xp - 0.5, ti.i32)
            fx = Xp - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            F[p] = (ti.Matrix.identity(ti.f32, 3) + DT * C[p]) @ F[p]
            h = ti.exp(10.0 * (1.0 - Jp[p]))
            if kind[p] == 1:
                h = 0.3
            mu, la = mu0 * h, la0 * h
            stress = ti.Matrix.zero(ti.f32, 3, 3)
            if kind[p] == 0:
                J = F[p].determinant()
                F[p] = ti.Matrix.identity(ti.f32, 3) * ti.pow(J, 1.0 / 3.0)
                stress = ti.Matrix.identity(ti.f32, 3) * la * J * (J - 1)
            else:
                U, sig, V = ti.svd(F[p])
                J = 1.0
                for d in ti.static(range(3)):
                    s = sig[d, d]
                    if kind[p] == 2:
                        s = ti.min(ti.max(sig[d, d], 1 - 2.5e-2), 1 + 4.5e-3)
                    Jp[p] *= sig[d, d] / s
                    sig[d, d] = s
                    J *= s
                if kind[p] == 2:
                    F[p] = U @ sig @ V.transpose()
                stress = 2 * mu * (F[p] - U @ V.transpose()) @ F[p].transpose()
                stress += ti.Matrix.identity(ti.f32, 3) * la * J * (J - 1)
            affine = (-DT * vol * 4 / dx**2) * stress + vol * C[p]
            for o in ti.static(ti.grouped(ti.ndrange(3, 3, 3))):
                dpos = (o - fx) * dx
                weight = 1.0
                for d in ti.static(range(3)):
                    weight *= w[o[d]][d]
                gv[base + o] += weight * (vol * v[p] + affine @ dpos)
                gm[base + o] += weight * vol
        for I in ti.grouped(gm):
            if gm[I] > 0:
                gv[I] /= gm[I]
            gv[I][1] -= DT * 9.8
            for d in ti.static(range(3)):
                if (I[d] < 3 and gv[I][d] < 0) or (I[d] > GRID - 3 and gv[I][d] > 0):
                    gv[I][d] = 0
        ti.loop_config(block_dim=128)
        for p in x:
            Xp = x[p] / dx
            base = ti.cast(Xp - 0.5, ti.i32)
            fx = Xp - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
            nv, nC = ti.Vector.zero(ti.f32, 3), ti.Matrix.zero(ti.f32, 3, 3)
            for o in ti.static(ti.grouped(ti.ndrange(3, 3, 3))):
                weight = 1.0
                for d in ti.static(range(3)):
                    weight *= w[o[d]][d]
                g = gv[base + o]
                nv += weight * g
                nC += (4 / dx * weight) * g.outer_product(o - fx)
            v[p], C[p] = nv, nC
            x[p] += DT * nv

    rng = np.random.default_rng(1)
    corner = np.array([[0.2, 0.06, 0.2], [0.55, 0.1, 0.55], [0.25, 0.5, 0.45]])
    which = np.repeat([0, 1, 2], [n // 3, n // 3, n - 2 * (n // 3)])
    x.from_numpy((corner[which] + EDGE * rng.random((n, 3))).astype(np.float32))
    v.fill(0)
    C.fill(0)
    Jp.fill(1)
    kind.from_numpy(which.astype(np.int32))
    F.from_numpy(np.tile(np.eye(3, dtype=np.float32), (n, 1, 1)))
    return step, x, kind

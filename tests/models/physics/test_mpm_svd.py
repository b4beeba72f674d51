"""Singular values in WGSL against NumPy's, for difficult matrices."""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad.gpu import Kernel, shader
from vertigrad.models.reference import mpm as mpm_reference
from vertigrad.tensor import Tensor

PROGRAM = """
@group(0) @binding(0) var<storage, read> source: array<f32>;
@group(0) @binding(1) var<storage, read_write> found: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let i = id.x;
    if 9u * i >= arrayLength(&source) {
        return;
    }
    let f = svd3(mat3x3f(
        source[9u * i], source[9u * i + 3u], source[9u * i + 6u],
        source[9u * i + 1u], source[9u * i + 4u], source[9u * i + 7u],
        source[9u * i + 2u], source[9u * i + 5u], source[9u * i + 8u],
    ));
    for (var column = 0u; column < 3u; column += 1u) {
        for (var row = 0u; row < 3u; row += 1u) {
            found[21u * i + 3u * row + column] = f.u[column][row];
            found[21u * i + 12u + 3u * row + column] = f.v[column][row];
        }
        found[21u * i + 9u + column] = f.s[column];
    }
}
"""


def decomposed(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    kernel = Kernel(shader.render("common/svd3.wgsl", {}) + PROGRAM, "main", "test of svd3")
    with Tensor.from_numpy(matrices.astype(np.float32)) as source, Tensor.empty((len(matrices), 21)) as found:
        kernel(len(matrices), source=source, found=found)
        rows = found.numpy().astype(float)
    return rows[:, :9].reshape(-1, 3, 3), rows[:, 9:12], rows[:, 12:].reshape(-1, 3, 3)


def rotations(count: int, random: np.random.Generator) -> np.ndarray:
    q, _ = np.linalg.qr(random.standard_normal((count, 3, 3)))
    return q * np.linalg.det(q)[:, None, None]


def composed(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Matrices with these singular values, randomly rotated."""
    return (rotations(len(values), random) * values[:, None]) @ rotations(len(values), random)


def cases() -> dict[str, np.ndarray]:
    random = np.random.default_rng(4)
    n = 400
    spread = 10.0 ** random.uniform(-6.0, 0.0, (n, 3))
    near = 1.0 + 10.0 ** random.uniform(-7.0, -1.0, (n, 1)) * random.standard_normal((n, 3))
    return {
        "any": random.standard_normal((n, 3, 3)),
        "inverted": composed(random.uniform(0.01, 2.0, (n, 3)) * [1.0, 1.0, -1.0], random),
        "nearly a rotation": composed(near, random),
        "a rotation": rotations(n, random),
        "two alike": composed(np.repeat(random.uniform(0.5, 2.0, (n, 2)), [2, 1], axis=1), random),
        "far apart": composed(spread, random),
        "flat": composed(np.column_stack([random.uniform(0.5, 2.0, (n, 2)), np.zeros(n)]), random),
        "a line": composed(np.column_stack([random.uniform(0.5, 2.0, n), np.zeros((n, 2))]), random),
        "large": 1e4 * random.standard_normal((n, 3, 3)),
        "small": 1e-4 * random.standard_normal((n, 3, 3)),
        "diagonal": np.array([np.diag(d) for d in ([1, 1, 1], [1, 2, 3], [3, 2, -1], [-1, -2, -3], [0, 0, 1])]),
        "nothing": np.zeros((2, 3, 3)),
        "a shear": np.array([[[1, x, 0], [0, 1, 0], [0, 0, 1]] for x in (1e-6, 0.1, 1.0, 30.0)], float),
    }


@pytest.mark.parametrize("case", cases())
def test_singular_values_are_those_of_numpy(steady, case: str) -> None:
    matrices = cases()[case].astype(np.float32).astype(float)
    u, s, v = decomposed(matrices)
    size = np.maximum(np.abs(np.linalg.svd(matrices)[1]).max(axis=1), 1e-30)
    _, expected, _ = mpm_reference.svd(matrices)
    assert np.abs((s - expected) / size[:, None]).max() < 2e-6
    assert np.abs(((u * s[:, None]) @ np.swapaxes(v, 1, 2) - matrices) / size[:, None, None]).max() < 4e-6
    for turn in (u, v):
        assert np.abs(np.swapaxes(turn, 1, 2) @ turn - np.eye(3)).max() < 4e-6
        assert np.abs(np.linalg.det(turn) - 1.0).max() < 4e-6, "not a rotation"
    assert (s[:, 0] >= s[:, 1] - 1e-6 * size).all()
    assert (s[:, 1] >= np.abs(s[:, 2]) - 1e-6 * size).all()


def test_small_singular_values_keep_their_digits(steady) -> None:
    """One-sided rotations find a column scaled by 1e-5 to full precision; a squared matrix would lose it."""
    random = np.random.default_rng(8)
    matrices = (rotations(300, random) + 0.2 * random.standard_normal((300, 3, 3))) * [1.0, 1e-2, 1e-5]
    matrices = matrices.astype(np.float32).astype(float)
    _, s, _ = decomposed(matrices)
    _, expected, _ = mpm_reference.svd(matrices)
    assert np.abs(s / expected - 1.0).max() < 1e-4

"""Normals of a grid of points, alone and in a plan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, ShapeError
from vertigrad.gpu import Plan

from .layouts import examples, layouts, seeds, values


def reference(positions: np.ndarray) -> np.ndarray:
    """Differences along columns and rows with the borders repeated; south × east, of length 1."""
    normals = np.cross(*edges(positions))
    return normals / np.linalg.norm(normals, axis=-1, keepdims=True)


def edges(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(south, east) of each point."""
    padded = np.pad(positions.astype(np.float64), ((1, 1), (1, 1), (0, 0)), mode="edge")
    return padded[2:, 1:-1] - padded[:-2, 1:-1], padded[1:-1, 2:] - padded[1:-1, :-2]


def sphere(rows: int, columns: int, radius: float) -> np.ndarray:
    """The upper part of a sphere around the origin, over x (columns) and z (rows)."""
    x, z = np.meshgrid(np.linspace(-0.6, 0.6, columns), np.linspace(-0.6, 0.6, rows))
    return (radius * np.stack([x, np.sqrt(1 - x**2 - z**2), z], axis=-1)).astype(np.float32)


@examples
@given(st.data(), st.integers(2, 9), st.integers(2, 9), seeds)
def test_any_layout(data: st.DataObject, rows: int, columns: int, seed: int):
    layout, target = data.draw(layouts((rows, columns, 3))), data.draw(layouts((rows, columns, 3)))
    a, x = layout.both(values(layout.whole, "f32", seed))
    out = target.tensor(Tensor.zeros(target.whole))
    assert ops.grid_normals(x, out) is out
    south, east = edges(a)
    sine = (
        np.linalg.norm(np.cross(south, east), axis=-1) / np.linalg.norm(south, axis=-1) / np.linalg.norm(east, axis=-1)
    )
    error = (
        8 * 2.0**-23 / sine
    )  # rounding errors of the edges (WGSL: half an ulp each) rotate the normal of a sharp corner more
    assert np.all(np.abs(out.numpy() - reference(a)).max(-1) <= error)


def test_a_flat_grid_over_x_and_z_faces_up():
    x, z = np.meshgrid(np.arange(5.0), np.arange(4.0))
    flat = np.stack([x, np.zeros_like(x), z], axis=-1).astype(np.float32)
    normals = ops.grid_normals(Tensor.from_numpy(flat)).numpy()
    assert np.array_equal(normals, np.broadcast_to(np.float32([0, 1, 0]), flat.shape))


@pytest.mark.parametrize("radius", [1e-12, 1.0, 1e12])
def test_normals_of_a_sphere_of_any_size_point_outwards(radius: float):
    points = sphere(60, 80, radius)
    normals = ops.grid_normals(Tensor.from_numpy(points)).numpy()
    np.testing.assert_allclose(normals, reference(points), atol=1e-5)
    inner = (slice(1, -1), slice(1, -1))
    outwards = points[inner] / np.linalg.norm(points[inner], axis=-1, keepdims=True)
    assert np.sum(normals[inner] * outwards, axis=-1).min() > 0.999


def test_where_there_is_no_surface_the_normal_is_up_and_nan_stays_nan():
    line = values((1, 6, 3), "f32", 1)
    assert np.array_equal(ops.grid_normals(Tensor.from_numpy(line)).numpy(), np.tile(np.float32([0, 1, 0]), (1, 6, 1)))
    torn = sphere(5, 5, 1.0)
    torn[2, 2] = np.nan
    found = np.isnan(ops.grid_normals(Tensor.from_numpy(torn)).numpy()).any(-1)
    assert {tuple(p) for p in np.argwhere(found)} == {(1, 2), (3, 2), (2, 1), (2, 3)}


def test_in_a_plan_normals_follow_the_positions_of_each_replay():
    state = Tensor.zeros((7, 8, 6), name="state")
    positions, normals = state[:, :, 3:6], Tensor.empty((7, 8, 3), name="normals")
    with Plan() as plan:
        with plan.recording():
            ops.grid_normals(positions, out=normals)
        for seed in (2, 3):
            points = sphere(7, 8, seed)
            positions[...] = points
            plan.replay()
            np.testing.assert_allclose(normals.numpy(), reference(points), atol=1e-5)


def test_normals_may_overwrite_positions_also_in_a_plan():
    points = sphere(6, 6, 1.0)
    x, y = Tensor.from_numpy(points), Tensor.from_numpy(points)
    with Plan() as plan:
        with plan.recording():
            ops.grid_normals(x, x)
        plan.replay()
    ops.grid_normals(y, y)
    for found in (x, y):
        np.testing.assert_allclose(found.numpy(), reference(points), atol=1e-5)


def test_invalid_operands_are_reported():
    for shape in ((4, 3), (4, 4, 2)):
        with pytest.raises(ShapeError, match=r"must be \(rows, columns, 3\)"):
            ops.grid_normals(Tensor.zeros(shape))
    with pytest.raises(DtypeError, match="must be f32"):
        ops.grid_normals(Tensor.zeros((4, 4, 3), "i32"))
    with pytest.raises(ShapeError, match=r"\(4, 5, 3\)"):
        ops.grid_normals(Tensor.zeros((4, 4, 3)), Tensor.zeros((4, 5, 3)))
    assert ops.grid_normals(Tensor.zeros((0, 4, 3))).shape == (0, 4, 3)

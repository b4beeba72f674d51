"""Splats on a mesh against the moments of its surface."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.data.splat_mesh import Params, SplatMesh, covariances
from vertigrad.tensor import Tensor

POSITIONS = np.float32([[0, 0, 0], [2, 0.1, 0], [0.3, 1.5, 0.4], [-1, -0.7, 2]])
INDEX = np.uint32([[0, 1, 2], [0, 3, 1], [2, 1, 3]])
NORMALS = np.float32([[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0]])


@pytest.fixture
def inputs(steady: Gpu) -> Iterator[dict[str, Tensor]]:
    with ExitStack() as stack:
        arrays = {"position": POSITIONS, "normal": NORMALS, "index": INDEX}
        yield {name: stack.enter_context(Tensor.from_numpy(array, name)) for name, array in arrays.items()}


def of(inputs: dict[str, Tensor], **params: Any) -> tuple[SplatMesh, dict[str, np.ndarray]]:
    model = SplatMesh("s", Params.model_validate(params), inputs, 0)
    return model, {name: tensor.numpy() for name, tensor in model.outputs().items()}


@pytest.mark.parametrize("each", [1, 2, 3, 7])
def test_moments_of_the_surface(inputs: dict[str, Tensor], each: int) -> None:
    model, got = of(inputs, subdivisions=each, thickness=1e-5)
    position = got["position"].astype(float).reshape(len(INDEX), each**2, 3)
    own = covariances(got["scale"].astype(float), got["rotation"].astype(float)).reshape(len(INDEX), each**2, 3, 3)
    corners = POSITIONS.astype(float)[INDEX]
    middle = corners.mean(axis=1)
    edges = corners - middle[:, None]
    expected = np.einsum("tij,tik->tjk", edges, edges) / 12  # of a uniform triangle
    offsets = position - middle[:, None]
    together = own.mean(axis=1) + np.einsum("tij,tik->tjk", offsets, offsets) / each**2
    assert np.allclose(position.mean(axis=1), middle, atol=1e-6)
    assert np.allclose(together, expected, atol=2e-6)
    assert all(one.holds for one in model.compare_with_reference())
    model.close()


def test_strokes_and_colors(inputs: dict[str, Tensor]) -> None:
    model, got = of(inputs, subdivisions=2, size_factor=2.0, elongation=3.0, color_variation=0.0, thickness=0.01)
    plain, before = of(inputs, subdivisions=2)
    assert np.allclose(got["scale"][:, :2], before["scale"][:, :2] * (6, 2), rtol=1e-5)
    assert np.allclose(got["scale"][:, 2], 0.01) and np.all(got["scale"][:, 0] >= got["scale"][:, 1])
    assert all(one.holds for one in model.compare_with_reference())
    model.close()
    plain.close()


def test_faces_towards_the_sun_are_bright(steady: Gpu) -> None:
    sun = np.float32([0.6, 0.0, 0.8])
    for direction, expected in ((1, (1.0, 0.5, 0.25)), (-1, (0.1, 0.2, 0.3))):
        arrays = {"position": POSITIONS, "normal": np.tile(direction * sun, (4, 1)), "index": INDEX}
        with ExitStack() as stack:
            tensors = {name: stack.enter_context(Tensor.from_numpy(array, name)) for name, array in arrays.items()}
            model, got = of(
                tensors, color_variation=0.0, light=(1.0, 0.5, 0.25), dark=(0.1, 0.2, 0.3), sun=(3.0, 0.0, 4.0)
            )
            assert np.allclose(got["color"], expected, atol=1e-4)
            model.close()


def test_the_wave_front_displaces_and_releases_and_time_is_periodic(inputs: dict[str, Tensor]) -> None:
    model, got = of(inputs, subdivisions=6, wave_height=0.5, frequency=0.5)
    plain, flat = of(inputs, subdivisions=6)
    away = np.linalg.norm(got["position"] - flat["position"], axis=1)
    assert all(one.holds for one in model.compare_with_reference())
    assert away.min() == 0.0 and 0.1 < away.max() <= 0.5
    for _ in range(3):
        model.step(0.3)
    saved = model.scalar_state()
    later = model.outputs()["position"].numpy()
    assert np.abs(later - got["position"]).max() > 0.05
    model.step(2.0)  # a whole period
    assert np.allclose(model.outputs()["position"].numpy(), later, atol=1e-4)
    model.reset()
    assert np.array_equal(model.outputs()["position"].numpy(), got["position"])
    model.load_scalar_state(saved)
    model.step(0.0)
    assert np.array_equal(model.outputs()["position"].numpy(), later)
    model.close()
    plain.close()


def test_triangles_without_area_give_no_nan(steady: Gpu) -> None:
    flat = POSITIONS.copy()
    flat[2] = flat[1]
    arrays = {"position": flat, "normal": NORMALS, "index": INDEX}
    with ExitStack() as stack:
        tensors = {name: stack.enter_context(Tensor.from_numpy(array, name)) for name, array in arrays.items()}
        model, got = of(tensors)
        sound = np.isfinite(got["rotation"]).all(axis=1) & np.isfinite(got["scale"]).all(axis=1)
        assert sound.tolist() == [False, True, False]
        model.close()


def test_other_shapes_are_refused(steady: Gpu) -> None:
    with Tensor.zeros((4, 3)) as position, Tensor.zeros((4, 3), "u32") as index, Tensor.zeros((5, 3)) as other:
        with pytest.raises(InputError, match=r"normal has the shape \(5, 3\)"):
            SplatMesh("s", Params(), {"position": position, "normal": other, "index": index}, 0)
        with pytest.raises(InputError, match="index is f32"):
            SplatMesh("s", Params(), {"position": position, "normal": position, "index": position}, 0)

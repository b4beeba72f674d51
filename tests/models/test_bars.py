"""Numbers as bars: boxes that are closed, face outward, and are as high as the numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.data.bars import CORNERS, Bars, Params

Make = Callable[..., Bars]
RANDOM = np.random.default_rng(4)


@pytest.fixture
def make(steady: Gpu) -> Iterator[Make]:
    created: list[Any] = []

    def make_model(values: Any, **params: Any) -> Bars:
        created.append(values if isinstance(values, Tensor) else Tensor.from_numpy(values, "values"))
        created.append(Bars("bars", Params(**params), {"values": created[-1]}, 0))
        return created[-1]

    yield make_model
    for thing in reversed(created):
        thing.close()


@pytest.mark.parametrize("shape", [(1,), (7,), (1, 1, 9), (3, 5)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_model_agrees_with_its_reference(make: Make, shape: tuple[int, ...], dtype: Any, gpu: Gpu) -> None:
    if dtype is np.float16 and "shader-f16" not in gpu.features:
        pytest.skip("this adapter has no f16")
    model = make(RANDOM.normal(size=shape).astype(dtype), size=3.0, width=0.5, height=2.0)
    for comparison in model.compare_with_reference():
        assert comparison.holds, str(comparison)


def test_each_box_is_closed_and_faces_outward(make: Make) -> None:
    values = np.array([[0.5, -2.0], [3.0, 1.0]], np.float32)
    outputs = {name: tensor.numpy() for name, tensor in make(values, size=2.0, width=0.5).outputs().items()}
    corners = outputs["position"][outputs["triangles"]].astype(float)
    crossed = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    facing = outputs["normal"][outputs["triangles"][:, 0]]
    assert np.all(np.sum(crossed * facing, axis=1) > 0.0)
    volumes = np.sum(corners[:, 0] * np.cross(corners[:, 1], corners[:, 2]), axis=1).reshape(4, -1).sum(axis=1) / 6.0
    np.testing.assert_allclose(volumes, np.abs(values.reshape(-1)) * 0.5**2, rtol=1e-5)
    heights = outputs["position"][:, 1].reshape(4, CORNERS)
    np.testing.assert_allclose(heights.max(axis=1), np.maximum(values.reshape(-1), 0.0))
    np.testing.assert_allclose(heights.min(axis=1), np.minimum(values.reshape(-1), 0.0))


def test_inputs_that_are_not_one_dimensional_are_rejected(make: Make) -> None:
    with pytest.raises(InputError, match=r"\(2, 2, 2\) are neither"):
        make(np.zeros((2, 2, 2), np.float32))
    with pytest.raises(InputError, match="bars need f32 or f16"):
        make(np.zeros(3, np.int32))


def test_a_step_follows_values_and_parameters(make: Make) -> None:
    values = Tensor.from_numpy(np.array([1.0, 2.0], np.float32))
    model = make(values)
    values.mul_(3.0)
    model._params.take(Params(height=0.5))
    model.step(0.0)
    assert model.outputs()["position"].numpy()[:, 1].max() == pytest.approx(3.0)
    assert {name: tensor.item() for name, tensor in model.diagnostics().items()} == {
        "lowest": 3.0,
        "highest": 6.0,
        "sum": 9.0,
    }

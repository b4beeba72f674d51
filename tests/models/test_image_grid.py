"""Channels of a tensor side by side in one image."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.data.image_grid import ImageGrid, Params

Make = Callable[..., ImageGrid]
RANDOM = np.random.default_rng(4)


@pytest.fixture
def make(steady: Gpu) -> Iterator[Make]:
    created: list[Any] = []

    def make_model(values: Any, **params: Any) -> ImageGrid:
        created.append(values if isinstance(values, Tensor) else Tensor.from_numpy(values, "values"))
        created.append(ImageGrid("grid", Params(**params), {"values": created[-1]}, 0))
        return created[-1]

    yield make_model
    for thing in reversed(created):
        thing.close()


@pytest.mark.parametrize("shape", [(6, 3, 5), (7, 4, 2), (1, 1, 9, 3, 3), (4, 6), (1, 2, 2), (2, 1, 1)])
@pytest.mark.parametrize("params", [{}, {"columns": 3, "gap": 0, "normalize": False}, {"columns": 100, "gap": 2}])
def test_the_model_agrees_with_its_reference(make: Make, shape: tuple[int, ...], params: dict[str, Any]) -> None:
    for comparison in make(RANDOM.normal(size=shape).astype(np.float32), **params).compare_with_reference():
        assert comparison.holds, str(comparison)


def test_channels_are_in_the_order_of_reading(make: Make) -> None:
    values = np.broadcast_to(np.arange(1, 6, dtype=np.float32)[:, None, None], (5, 1, 2)).copy()
    image = make(values, columns=3, gap=1, normalize=False).outputs()["image"].numpy()
    assert image.tolist() == [
        [1, 1, 0, 2, 2, 0, 3, 3, 0],
        [0] * 9,
        [4, 4, 0, 5, 5, 0, 0, 0, 0],
        [0] * 9,
    ]


def test_each_channel_is_scaled_to_its_own_range(make: Make) -> None:
    values = np.stack([np.linspace(-5, 3, 12), np.linspace(100, 101, 12), np.full(12, 7.0)]).reshape(3, 3, 4)
    model = make(values.astype(np.float32), columns=3, gap=0)
    image = model.outputs()["image"].numpy()
    assert [(part.min(), part.max()) for part in np.split(image, 3, axis=1)] == [(0, 1), (0, 1), (0, 0)]
    found = {name: tensor.item() for name, tensor in model.diagnostics().items()}
    assert (found["lowest"], found["highest"]) == (-5, 101)
    assert found["constant"] == pytest.approx(1 / 3)


def test_the_image_follows_its_input(make: Make) -> None:
    with Tensor.zeros((2, 2, 2)) as values:
        model = make(values, columns=2, gap=0, normalize=False)
        values.fill_(3)
        model.step(0.1)
        assert model.outputs()["image"].numpy().tolist() == [[3] * 4] * 2


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((2, 2, 2, 2), np.float32), r"\(2, 2, 2, 2\) are neither"),
        (np.zeros((3,), np.float32), r"\(3,\) are neither"),
        (np.zeros((2, 2), np.int32), "i32; an image grid needs f32 or f16"),
    ],
)
def test_other_tensors_are_rejected(make: Make, values: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(values)

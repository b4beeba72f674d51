"""The guarantee of a snapshot of a model: a restored model continues with the same bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vertigrad import ops
from vertigrad.models import Model
from vertigrad.tensor import Tensor


def outputs_of(model: Model) -> list[np.ndarray]:
    """All outputs."""
    return [tensor.numpy() for tensor in model.outputs().values()]


def assert_a_snapshot_holds(model: Model, run: Callable[[int], object]) -> None:
    """Run it, restore an earlier state, and run it again; `run` takes a number of steps."""
    run(5)
    saved, numbers = {name: tensor.numpy() for name, tensor in model.state().items()}, model.scalar_state()
    shown = outputs_of(model)
    run(4)
    first = outputs_of(model)
    assert not all(np.array_equal(a, b) for a, b in zip(shown, first, strict=True))
    run(3)
    for name, values in saved.items():
        with Tensor.from_numpy(values) as source:
            ops.assign(model.state()[name], source)
    model.load_scalar_state(numbers)
    assert all(np.array_equal(a, b) for a, b in zip(shown, outputs_of(model), strict=True))
    run(4)
    assert all(np.array_equal(a, b) for a, b in zip(first, outputs_of(model), strict=True))

"""What a snapshot of a model promises: given back, it goes on with the same bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vertigrad import ops
from vertigrad.models import Model
from vertigrad.tensor import Tensor


def seen(model: Model) -> list[np.ndarray]:
    """All outputs."""
    return [tensor.numpy() for tensor in model.outputs().values()]


def assert_a_snapshot_holds(model: Model, run: Callable[[int], object]) -> None:
    """Run it, go back to an earlier moment, and run it again; `run` takes a number of steps."""
    run(5)
    kept, numbers = {name: tensor.numpy() for name, tensor in model.state().items()}, model.scalar_state()
    shown = seen(model)
    run(4)
    first = seen(model)
    assert not all(np.array_equal(a, b) for a, b in zip(shown, first, strict=True))
    run(3)
    for name, values in kept.items():
        with Tensor.from_numpy(values) as given:
            ops.assign(model.state()[name], given)
    model.load_scalar_state(numbers)
    assert all(np.array_equal(a, b) for a, b in zip(shown, seen(model), strict=True))
    run(4)
    assert all(np.array_equal(a, b) for a, b in zip(first, seen(model), strict=True))

"""A network that learns while it is drawn: its gradients, how its loss falls, and that a run can be repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.learning.field_fit import FieldFit, Params

Make = Callable[..., FieldFit]
SMALL = {"resolution": 24, "width": 32, "frequencies": 24}


@pytest.fixture
def make(steady: Gpu) -> Iterator[Make]:
    made: list[FieldFit] = []

    def make_model(**params: object) -> FieldFit:
        made.append(FieldFit("learner", Params(**SMALL | params), {}, 3))
        return made[-1]

    yield make_model
    for model in made:
        model.close()


def loss(model: FieldFit) -> float:
    figures = model.diagnostics()
    found = figures["loss"].item()
    for tensor in figures.values():
        tensor.close()
    return float(found)


def test_values_and_gradients_agree_with_the_twin(make: Make) -> None:
    model = make(depth=3)
    for _ in range(3):
        model.step(1 / 60)
    for comparison in model.compare_with_twin():
        assert comparison.holds, str(comparison)


def test_the_loss_falls_twentyfold_in_a_hundred_steps(make: Make) -> None:
    model = make()
    before = loss(model)
    for _ in range(100):
        model.step(1 / 60)
    assert loss(model) < before / 20.0
    value, target = (model.outputs()[name].numpy() for name in ("value", "target"))
    np.testing.assert_allclose(model.outputs()["error"].numpy(), np.abs(value - target), atol=1e-6)
    assert float(np.mean((value - target) ** 2)) == pytest.approx(loss(model), rel=1e-4)


def test_the_same_seed_gives_the_same_bits(make: Make) -> None:
    found = []
    model = make()
    for _ in range(2):
        for _ in range(10):
            model.step(1 / 60)
        found.append({name: tensor.numpy() for name, tensor in model.state().items()})
        model.reset()
    assert all(np.array_equal(array, found[1][name]) for name, array in found[0].items())


def test_it_goes_on_from_a_snapshot_with_the_same_bits(make: Make) -> None:
    model = make()
    for _ in range(5):
        model.step(1 / 60)
    kept, numbers = {name: tensor.numpy() for name, tensor in model.state().items()}, model.numbers()
    model.step(1 / 60)
    wanted = model.outputs()["value"].numpy()
    for name, tensor in model.state().items():
        tensor.detach()[...] = kept[name]
    model.resume(numbers)
    model.step(1 / 60)
    assert np.array_equal(model.outputs()["value"].numpy(), wanted)


def test_nothing_is_learned_while_it_is_off_or_time_stands_still(make: Make) -> None:
    model = make()
    before = model.state()["learner.weight0"].numpy()
    model.step(0.0)
    model._params.take(Params(**SMALL, train=False))
    model.step(1 / 60)
    assert np.array_equal(model.state()["learner.weight0"].numpy(), before)
    model._params.take(Params(**SMALL, rate=0.1))
    model.step(1 / 60)
    assert not np.array_equal(model.state()["learner.weight0"].numpy(), before)


def test_files_that_cannot_be_learned_are_refused(make: Make, tmp_path: Path) -> None:
    np.save(tmp_path / "line.npy", np.zeros(5))
    np.save(tmp_path / "nan.npy", np.full((5, 5), np.nan))
    (tmp_path / "noise.npz").write_bytes(b"no archive")
    for name, told in (
        ("line.npy", "two axes"),
        ("nan.npy", "not finite"),
        ("noise.npz", "cannot be read|can be read"),
    ):
        with pytest.raises(InputError, match=told):
            make(data=tmp_path / name)

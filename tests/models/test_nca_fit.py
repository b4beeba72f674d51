"""A neural cellular automaton trained to grow an image: gradients, decrease of the loss, and reproducible runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.inside import Observed
from vertigrad.models.learning.nca_fit import COLORS, HOLD, LARGEST, PAPER, NcaFit, Params
from vertigrad.models.learning.nca_fit_images import IMAGES, image
from vertigrad.models.reference import nca_fit as reference

Make = Callable[..., NcaFit]
SMALL: dict[str, Any] = {
    **{"resolution": 14, "channels": 6, "hidden": 16, "steps": 9},
    **{"image": "heart", "learning_rate": 0.01, "steps_per_second": 60.0, "playback_rate": 60.0},
}


@pytest.fixture
def make(steady: Gpu) -> Iterator[Make]:
    created: list[NcaFit] = []

    def make_model(**params: Any) -> NcaFit:
        created.append(NcaFit("cells", Params(**SMALL | params), {}, 3))
        return created[-1]

    yield make_model
    for model in created:
        model.close()


def loss(model: NcaFit) -> float:
    statistics = model.diagnostics()
    found = float(statistics["loss"].item())
    for tensor in statistics.values():
        tensor.close()
    return found


def run(model: NcaFit, steps: int) -> None:
    for _ in range(steps):
        model.step(1 / 60)


def test_the_gradient_of_the_reference_is_correct() -> None:
    """Against central differences of the growth, in float64, and its cells against a sum over neighbors."""
    random = np.random.default_rng(8)
    state = random.normal(size=(5, 6, 4))
    first, second, weights = (
        random.normal(size=(7, 12)),
        random.normal(size=(4, 7)) * 0.2,
        random.normal(size=state.shape),
    )

    def total(first: np.ndarray, second: np.ndarray) -> float:
        return float(np.sum(weights * reference.grown(state, first, second, 3)[-1]))

    found = reference.gradients(reference.grown(state, first, second, 3), weights, first, second)
    for which, at in ((0, (2, 5)), (0, (6, 11)), (0, (0, 0)), (1, (1, 3)), (1, (3, 6))):
        sides = []
        for step in (1e-6, -1e-6):
            layers = [first.copy(), second.copy()]
            layers[which][at] += step
            sides.append(total(layers[0], layers[1]))
        assert found[which][at] == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-5, abs=1e-7)
    around = np.pad(state, [(1, 1), (1, 1), (0, 0)])
    kernel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]) / 8.0
    along, down = reference.differences(state)
    for row, column in ((0, 0), (2, 3), (4, 5)):
        patch = around[row : row + 3, column : column + 3]
        np.testing.assert_allclose(along[row, column], np.einsum("ij,ijk->k", kernel, patch))
        np.testing.assert_allclose(down[row, column], np.einsum("ji,ijk->k", kernel, patch))


def test_gradients_between_steps_of_growth(make: Make) -> None:
    model, other = make(steps=5), make(steps=5)
    element = 4 * 14 * 14 + 6 * 14 + 8  # of a channel, by row and column
    names = [f"gradient of grown.5[{element}]{by}" for by in ("", " by grown.3", " by one")]
    model.inside.observe(Observed((*names, "grown.3", "gradients.grown.5")))
    run(model, 3)
    run(other, 3)
    for ours, theirs in zip(model.state().values(), other.state().values(), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())  # looking changes nothing
    one, two = model._one.numpy().astype(float), model._two.numpy().astype(float)
    states = reference.grown(model._cell.numpy().astype(float).reshape(14, 14, 6), one, two, 5)
    found = {name: tensor.numpy().astype(float) for name, tensor in model.inside.tensors().items()}
    np.testing.assert_allclose(found["grown.3"], states[3].transpose(2, 0, 1), rtol=1e-4, atol=1e-5)
    for name, first in ((names[0], 0), (names[1], 3)):
        away = np.random.default_rng(0).normal(size=states[0].shape)
        ends = [reference.grown(states[first] + h * away, one, two, 5 - first)[-1][6, 8, 4] for h in (1e-4, -1e-4)]
        along = float(np.sum(found[name] * away.transpose(2, 0, 1)))
        assert along == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-3)
    rows, columns = np.nonzero(np.abs(found[names[1]]).sum(0))
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (4, 8, 6, 10)  # two steps reach two cells
    seed = np.zeros_like(states[0])
    seed[6, 8, 4] = 1.0
    by_one, _ = reference.gradients(states, seed, one, two)
    np.testing.assert_allclose(found[names[2]], by_one, rtol=1e-3, atol=1e-6)
    by_image = np.zeros_like(states[0])
    target = model._target_cells.numpy().astype(float).reshape(14, 14, COLORS)
    by_image[..., :COLORS] = 2.0 * (states[5][..., :COLORS] - target) / target.size
    with pytest.raises(InputError, match="cannot be set to zero"):
        model.inside.observe(Observed(("grown.3",), {"grown.3": (0,)}))
    np.testing.assert_allclose(found["gradients.grown.5"], by_image.transpose(2, 0, 1), rtol=1e-3, atol=1e-7)


def test_growth_and_gradients_agree_with_the_reference(make: Make) -> None:
    model = make(
        resolution=12, steps=11
    )  # so that the corners are reached, and checkpoint segments have different lengths
    for steps in (0, 8):
        run(model, steps)
        for comparison in model.compare_with_reference():
            assert comparison.holds, str(comparison)


def test_perception_and_its_transpose(make: Make) -> None:
    model, random = make(), np.random.default_rng(6)
    cells, perceived = random.normal(size=(196, 6)).astype(np.float32), random.normal(size=(196, 18)).astype(np.float32)
    with Tensor.from_numpy(cells) as x, Tensor.from_numpy(perceived) as y:
        ours, back = model._perceived(x).numpy().astype(float), model._perceive_backward(y).numpy().astype(float)
    np.testing.assert_allclose(
        ours, reference.perceived(cells.reshape(14, 14, 6).astype(float)).reshape(196, 18), atol=1e-6
    )
    assert np.sum(ours * perceived) == pytest.approx(np.sum(back * cells), rel=1e-5)


@pytest.mark.turns(4)
def test_the_loss_falls_tenfold_in_ninety_steps(make: Make) -> None:
    model = make()
    before = loss(model)
    assert before == pytest.approx(np.mean((image("heart", 14) - _seeded(14)) ** 2), rel=1e-4)
    run(model, 90)
    assert loss(model) < before / 10.0


def _seeded(side: int) -> np.ndarray:
    start = np.zeros((side, side, COLORS))
    start[side // 2, side // 2, 3] = 1.0
    return start


@pytest.mark.turns(4)
def test_the_output_is_the_growth_from_one_cell(make: Make) -> None:
    """Cells that are not reached yet have the background color; after a while the growth restarts."""
    model = make()
    run(model, 30 - 9 - 1)
    model._params.take(Params(**SMALL, train=False))
    run(model, 9 + HOLD + 1 - 20)
    assert np.count_nonzero(model.outputs()["height"].numpy()) == 1
    first, second = model.state()["one"].numpy().astype(float), model.state()["two"].numpy().astype(float)
    seed = model._cell.numpy().astype(float).reshape(14, 14, 6)
    states = reference.grown(seed, first, second, 9)
    for step in range(1, 12):
        run(model, 1)
        cells = states[min(step, 9)]
        alpha = np.clip(cells[..., 3:4], 0.0, 1.0)
        perceived = np.clip(cells[..., :3] + PAPER * (1.0 - alpha), 0.0, 1.0)
        np.testing.assert_allclose(model.outputs()["image"].numpy(), perceived, atol=1e-4)
        np.testing.assert_allclose(model.outputs()["height"].numpy(), alpha[..., 0], atol=1e-4)
        np.testing.assert_allclose(model.outputs()["radius"].numpy(), alpha.reshape(-1) * LARGEST / 14, atol=1e-5)
        away = np.abs(np.indices((14, 14)) - 7).max(0)
        assert not model.outputs()["height"].numpy()[away > step].any()


@pytest.mark.turns(4)
def test_the_same_seed_gives_the_same_bits(make: Make) -> None:
    model, found = make(), []
    for _ in range(2):
        run(model, 8)
        found.append({name: tensor.numpy() for name, tensor in model.state().items()})
        model.reset()
    assert all(np.array_equal(array, found[1][name]) for name, array in found[0].items())


@pytest.mark.turns(4)
def test_it_continues_from_a_snapshot_with_the_same_bits(make: Make) -> None:
    model = make(steps_per_second=40.0, playback_rate=25.0)
    run(model, 7)
    saved, numbers = {name: tensor.numpy() for name, tensor in model.state().items()}, model.scalar_state()
    run(model, 5)
    expected = {name: tensor.numpy() for name, tensor in model.state().items()}
    run(model, 3)
    for name, tensor in model.state().items():
        tensor.detach()[...] = saved[name]
    model.load_scalar_state(numbers)
    run(model, 5)
    for name, tensor in model.state().items():
        assert np.array_equal(tensor.numpy(), expected[name]), name


def test_nothing_is_trained_while_disabled_or_paused(make: Make) -> None:
    model = make()
    run(model, 2)
    before = model.state()["two"].numpy()
    model.step(0.0)
    model._params.take(Params(**SMALL, train=False))
    run(model, 2)
    assert np.array_equal(model.state()["two"].numpy(), before)
    model._params.take(Params(**SMALL))
    run(model, 1)
    assert not np.array_equal(model.state()["two"].numpy(), before)


@pytest.mark.parametrize("name", IMAGES)
def test_images_are_empty_at_the_edge_and_symmetric(name: str) -> None:
    created = image(name, 28)
    assert created.shape == (28, 28, 4) and created.min() >= 0.0 and created.max() <= 1.0
    edge = np.concatenate([created[0], created[-1], created[:, 0], created[:, -1]])
    assert not edge.any() and 0.15 < created[..., 3].mean() < 0.7
    if name == "butterfly":
        np.testing.assert_allclose(created, created[:, ::-1])

"""A source of waves reconstructed by gradients through the simulation: gradient, convergence, and reproducible runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor
from vertigrad.gpu import Gpu
from vertigrad.models.learning.wave_source import HOLD, POWER_STEPS, Params, WaveSource
from vertigrad.models.learning.wave_source_scene import GAP, LIFT, LOUD, bay, beginning, smoothing_kernel
from vertigrad.models.learning.wave_source_waves import Waves
from vertigrad.models.parts import Parts
from vertigrad.models.reference import wave_source as reference
from vertigrad.tensor.graph import no_grad

Make = Callable[..., WaveSource]
SMALL: dict[str, Any] = {"resolution": 32, "steps": 40, "receivers": 10, "drops": 2, "steps_per_second": 60.0}


@pytest.fixture
def make(steady: Gpu) -> Iterator[Make]:
    created: list[WaveSource] = []

    def make_model(**params: Any) -> WaveSource:
        created.append(WaveSource("waves", Params(**SMALL | params), {}, 4))
        return created[-1]

    yield make_model
    for model in created:
        model.close()


def statistics(model: WaveSource) -> dict[str, float]:
    found = model.diagnostics()
    values = {name: float(tensor.item()) for name, tensor in found.items()}
    for tensor in found.values():
        tensor.close()
    return values


def run(model: WaveSource, steps: int) -> None:
    for _ in range(steps):
        model.step(1 / 60)


def test_the_gradient_through_the_waves_is_that_of_finite_differences(steady: Gpu) -> None:
    """Of a weighted sum of received signals, by the initial state: at receivers, at the edge, in a corner, anywhere."""
    random = np.random.default_rng(2)
    initial = beginning(random, 32, 7, 2, 0.5)
    medium, steps = initial.medium.astype(np.float32).astype(float), 30
    start, weights = random.normal(size=(32, 32)), random.normal(size=(steps, 7))

    def heard(array: np.ndarray) -> float:
        return float(np.sum(weights * reference.heard(array, medium, initial.receiver_cells, steps)))

    parts = Parts("waves")
    waves = Waves(initial.medium, initial.receiver_cells, parts)
    with Tensor.from_numpy(start.astype(np.float32)) as x, Tensor.from_numpy(weights.astype(np.float32)) as factors:
        x.requires_grad = True
        waves.heard(x, steps).backward(factors)
        assert x.grad is not None
        found = x.grad.numpy()
        x.grad = None
    parts.close()
    receiver_cells = [divmod(int(initial.receiver_cells[0]), 32), (0, 9), (31, 31), (16, 16), (4, 20)]
    for at in receiver_cells:
        sides = []
        for step in (0.5, -0.5):  # the received signals are linear: any step size is valid
            moved = start.copy()
            moved[at] += step
            sides.append(heard(moved))
        assert found[at] == pytest.approx(sides[0] - sides[1], rel=1e-4, abs=1e-5 * float(np.abs(found).max()))


def test_checkpoint_memory_grows_with_the_square_root_of_the_steps(steady: Gpu) -> None:
    initial = beginning(np.random.default_rng(2), 48, 4, 1, 0.0)
    parts = Parts("waves")
    waves, held = Waves(initial.medium, initial.receiver_cells, parts), []
    with Tensor.zeros((48, 48)) as start:
        start.requires_grad = True
        for steps in (64, 256):
            steady.wait_idle()
            before = steady.tracker.live_bytes
            heard = waves.heard(start, steps)
            steady.wait_idle()
            held.append(steady.tracker.live_bytes - before)
            del heard
    parts.close()
    state = 4 * (2 * 48**2 + 256 * 4)  # bytes of one of the longer run
    assert 14 * state < held[1] < 24 * state and held[1] < 2.6 * held[0]


def test_it_agrees_with_the_reference_before_and_after(make: Make) -> None:
    model = make(noise=0.1)
    for steps in (0, 30):
        run(model, steps)
        for comparison in model.compare_with_reference():
            assert comparison.holds, str(comparison)


def largest_eigenvalue(model: WaveSource) -> float:
    """Of the second derivatives of the loss, by the power method in float64."""
    initial, steps = model._beginning, model._params.steps
    medium, side = initial.medium.astype(np.float32).astype(float), model._params.resolution
    kernel, shape, direction = smoothing_kernel(side), bay(side), model._direction.numpy().astype(float)
    length = 0.0
    for _ in range(POWER_STEPS):
        heard = reference.heard(reference.blurred(direction * shape, kernel), medium, initial.receiver_cells, steps)
        scale = 2.0 / (heard.size * model._power)
        gradients = reference.gradients(scale * heard, medium, initial.receiver_cells)
        direction = reference.blurred(gradients, kernel) * shape
        length = float(np.linalg.norm(direction))
        direction /= length
    return length


def test_the_steepest_direction_is_searched_for_in_the_first_step_and_changes_nothing_else(make: Make) -> None:
    """It takes as long as six training steps, which the first image need not wait for."""
    model, still = make(steps_per_second=0.1), make(steps_per_second=0.1, train=False)
    assert model._has_factor == 0
    run(model, 1)
    run(still, 1)
    assert (model._has_factor, still._has_factor) == (1, 0)
    assert 1.0 / model._factor.item() == pytest.approx(largest_eigenvalue(model), rel=1e-4)
    for name, tensor in still.state().items():
        if name != "factor":
            np.testing.assert_array_equal(model.state()[name].numpy(), tensor.numpy(), err_msg=name)


def test_a_model_with_the_state_of_another_one_need_not_search_again(make: Make) -> None:
    first, second = make(), make()
    run(first, 4)
    with no_grad():
        for name, tensor in first.state().items():
            second.state()[name][...] = tensor.numpy()
    second.load_scalar_state(first.scalar_state())
    second._direction.fill_(0.0)  # of which no steepest one would be found
    run(first, 3)
    run(second, 3)
    np.testing.assert_array_equal(first.outputs()["found"].numpy(), second.outputs()["found"].numpy())


@pytest.mark.turns(3)
def test_the_loss_decreases_300_times_in_50_steps_and_the_drops_are_found(make: Make) -> None:
    model = make(learning_rate=0.6)
    first = statistics(model)
    assert first["loss"] == pytest.approx(1.0) and first["error"] == pytest.approx(1.0) and first["distance"] > 0.2
    run(model, 50)
    last = statistics(model)
    assert last["loss"] < 1.0 / 300.0 and last["distance"] < 0.02 and last["error"] < 0.35
    initial, outputs = model._beginning, {name: tensor.numpy() for name, tensor in model.outputs().items()}
    np.testing.assert_allclose(outputs["drop"][2:, [0, 2]] - [GAP, 0.0], initial.drops, atol=1e-6)
    for (x, z), sign in zip(initial.drops, initial.signs, strict=True):
        row, column = (round((value + 1.0) * 31 / 2) for value in (z, x))
        assert sign * outputs["found"][row, column] > 0.5


@pytest.mark.turns(3)
def test_the_residual_is_the_noise(make: Make) -> None:
    model = make(noise=0.3, learning_rate=0.6)
    run(model, 50)
    found = statistics(model)
    assert 0.2 * 0.09 < found["loss"] < 1.0 * 0.09
    receivers = model.outputs()["mismatch"].numpy()
    assert np.array_equal(receivers[:10], receivers[10:])
    assert float(np.mean(receivers**2)) == pytest.approx(found["loss"], rel=1e-4)
    lines = model.outputs()["trace_wave"].numpy()
    distance = np.sqrt(np.mean((lines[10:] - lines[:10]).astype(float) ** 2, axis=1) / model._power)
    np.testing.assert_allclose(receivers[:10], distance, rtol=1e-4)
    np.testing.assert_allclose(model.outputs()["trace"].numpy()[..., 1], LOUD * lines, rtol=1e-6)


@pytest.mark.turns(3)
def test_too_high_a_learning_rate_overshoots_and_exceeds_the_limit(make: Make) -> None:
    calm, wild = make(learning_rate=1.0), make(learning_rate=2.0)
    for model in (calm, wild):
        run(model, 36)
    bound = WaveSource.limits["loss"].bound
    assert statistics(calm)["loss"] < 0.01 and statistics(wild)["loss"] > bound


def test_the_same_seed_gives_the_same_bits(make: Make) -> None:
    model, found = make(noise=0.1), []
    for _ in range(2):
        run(model, 6)
        found.append({name: tensor.numpy() for name, tensor in model.state().items()})
        model.reset()
    other = make(noise=0.1)
    run(other, 6)
    found.append({name: tensor.numpy() for name, tensor in other.state().items()})
    for again in found[1:]:
        assert all(np.array_equal(array, again[name]) for name, array in found[0].items())


def test_it_continues_from_a_snapshot_with_the_same_bits(make: Make) -> None:
    model = make(steps_per_second=20.0)
    run(model, HOLD + 5)
    saved, numbers = {name: tensor.numpy() for name, tensor in model.state().items()}, model.scalar_state()
    run(model, 7)
    expected = {name: tensor.numpy() for name, tensor in model.outputs().items()}
    run(model, 4)
    for name, tensor in model.state().items():
        tensor.detach()[...] = saved[name]
    model.load_scalar_state(numbers)
    run(model, 7)
    for name, tensor in model.outputs().items():
        assert np.array_equal(tensor.numpy(), expected[name]), name


def test_both_ponds_show_their_waves_from_the_initial_state(make: Make) -> None:
    """First the initial state, then the waves after the elapsed steps, then the initial state again."""
    model = make(learning_rate=0.6, height=2.0)
    run(model, 10)
    model._params.take(Params(**SMALL, train=False, height=2.0))
    run(model, HOLD - 11)
    before = model.outputs()["found"].numpy()
    np.testing.assert_array_equal(model.outputs()["wave"].numpy(), before)
    run(model, 1 + 9)
    medium, receiver_cells = model._beginning.medium, model._beginning.receiver_cells
    for start, prefix, rows in ((before, "", slice(10, 20)), (model._beginning.start, "true_", slice(0, 10))):
        old = now = start.astype(float)
        for _ in range(9):
            old, now = reference.stepped(old, now, medium)
        shown = {name: tensor.numpy() for name, tensor in model.outputs().items()}
        np.testing.assert_allclose(shown[f"{prefix}wave"], now, atol=1e-5)
        np.testing.assert_allclose(shown[f"{prefix}position"][..., 1], 2.0 * now, atol=2e-5)
        heights = shown["receiver"][rows, 1]
        np.testing.assert_allclose(heights, 2.0 * now.reshape(-1)[receiver_cells] + LIFT, atol=2e-5)
    run(model, SMALL["steps"] - 9 + 1)
    np.testing.assert_array_equal(model.outputs()["wave"].numpy(), before)


def test_nothing_is_trained_while_disabled_or_paused(make: Make) -> None:
    model = make()
    run(model, 2)
    before = model.outputs()["found"].numpy()
    model.step(0.0)
    model._params.take(Params(**SMALL, train=False))
    run(model, 3)
    assert np.array_equal(model.outputs()["found"].numpy(), before)
    model._params.take(Params(**SMALL))
    run(model, 1)
    assert not np.array_equal(model.outputs()["found"].numpy(), before)

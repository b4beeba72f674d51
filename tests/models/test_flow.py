"""The flow against its NumPy reference, and against its training target: noise that becomes a shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from vertigrad import resources
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.neural.flow import Flow, Params

Make = Callable[..., Flow]
WEIGHTS = resources.path("assets", "weights", "flow.safetensors")


@pytest.fixture
def make(steady: Gpu) -> Iterator[Make]:
    created: list[Flow] = []

    def make_model(seed: int = 0, **values: object) -> Flow:
        created.append(Flow("test", Params(**{"count": 800, "morph_speed": 1.0, "hold_time": 0.5, **values}), {}, seed))
        return created[-1]

    yield make_model
    for model in created:
        model.close()


def position(model: Flow) -> np.ndarray:
    return model.outputs()["position"].numpy()


def test_a_step_agrees_with_the_reference(make: Make) -> None:
    model = make()
    model.step(0.4)
    for comparison in model.compare_with_reference():
        assert comparison.holds, str(comparison)


def test_the_start_is_a_normal_distribution(make: Make) -> None:
    points = position(make(seed=5))
    np.testing.assert_array_equal(points, np.random.default_rng(5).standard_normal((800, 3)).astype(np.float32))


def test_where_it_starts_is_stored(make: Make, steady: Gpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A software adapter takes seconds for it, longer than for all else before the first image."""
    if steady.adapter.kind != "software":
        pytest.skip("GPUs compute it")
    monkeypatch.setenv("VERTIGRAD_CACHE", str(tmp_path))
    replayed, replay = list[float](), Flow._replay

    def noted(model: Flow, step: float) -> None:
        replayed.append(step)
        replay(model, step)

    monkeypatch.setattr(Flow, "_replay", noted)
    first, steps = make(initial_time=0.7), len(replayed)
    second = make(initial_time=0.7)
    assert len(replayed) == steps > 5
    for _ in range(2):
        for name, tensor in first.outputs().items():
            np.testing.assert_array_equal(second.outputs()[name].numpy(), tensor.numpy())
        assert (second._now, second.scalar_state()) == (first._now, first.scalar_state())
        for model in (first, second):
            model.step(0.1)
    for seed, time in ((1, 0.7), (0, 0.8)):
        make(seed=seed, initial_time=time)
    assert len(list((tmp_path / "flows").iterdir())) == 3


def test_it_may_start_on_the_way(make: Make) -> None:
    """As after a step from noise to that time, and time continues from there."""
    noise, later = make(), make(initial_time=0.75)
    noise.step(0.75)
    np.testing.assert_array_equal(position(later), position(noise))
    for model in (noise, later):
        model.step(0.2)
    np.testing.assert_array_equal(position(later), position(noise))
    assert later.scalar_state() == noise.scalar_state()


@pytest.mark.turns(4)
@pytest.mark.parametrize("shape", [0, 1])
def test_noise_becomes_the_training_curves(make: Make, shape: int) -> None:
    """Half of the points end within 0.12 of the trefoil, or of the rings: the noise has no points near them."""
    model = make(count=500, shape=tuple(float(index == shape) for index in range(3)))
    t = np.linspace(0, 2 * np.pi, 2000)
    circle = np.stack([np.cos(t), np.sin(t), np.zeros_like(t)], 1) * 0.85
    curves = [
        0.5 * np.stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)], 1),
        np.concatenate([circle - (0.9, 0, 0), circle[:, [0, 2, 1]], np.add(circle, (0.9, 0, 0))]),
    ]

    def near() -> float:
        distance = position(model)[:, None] - curves[shape][None]
        return float(np.mean(np.linalg.norm(distance, axis=2).min(axis=1) < 0.12))

    before = near()
    for _ in range(60):
        model.step(1.0 / 60.0)
    assert before < 0.12
    assert near() > 0.5


@pytest.mark.turns(4)
def test_a_cycle_ends_at_its_start_and_the_next_shape_follows(make: Make) -> None:
    model = make(count=500)
    start = position(model)
    for _ in range(149):
        model.step(1.0 / 60.0)
    assert np.sqrt(np.mean((position(model) - start) ** 2)) < 0.1, "time ran back"
    model.step(1.0 / 60.0 + 1e-9)
    assert model.scalar_state()["turn"] == 1
    np.testing.assert_allclose(position(model), start, atol=1e-3)


@pytest.mark.turns(3)
def test_the_same_seed_gives_the_same_bits(make: Make) -> None:
    first, second, other = make(seed=1), make(seed=1), make(seed=2)
    for model in (first, second, other):
        for _ in range(5):
            model.step(0.05)
    np.testing.assert_array_equal(position(first), position(second))
    assert (position(first) != position(other)).any()


@pytest.mark.turns(4)
def test_a_snapshot_gives_the_same_bits_again(make: Make) -> None:
    model = make()
    model.step(0.9)
    saved, numbers = {name: tensor.numpy() for name, tensor in model.state().items()}, model.scalar_state()
    for _ in range(3):
        model.step(0.4)
    later = position(model)
    for name, tensor in model.state().items():
        tensor[...] = saved[name]
    model.load_scalar_state(numbers)
    for _ in range(3):
        model.step(0.4)
    np.testing.assert_array_equal(position(model), later)


def test_a_step_of_no_length_asks_the_network_once(make: Make) -> None:
    """The velocity of its middle is that of its start: the same bits as by two evaluations."""
    model = make()
    model.step(0.3)
    model._replay(0.0)
    once = model._points.numpy()
    model._at_rest = model._plan
    model._replay(0.0)
    np.testing.assert_array_equal(model._points.numpy(), once)
    assert once[:, 7].any()


@pytest.mark.turns(4)
def test_a_long_step_is_divided(make: Make) -> None:
    once, often = make(count=500, morph_speed=0.9), make(count=500, morph_speed=0.9)
    once.step(1.0)
    for _ in range(60):
        often.step(1.0 / 60.0)
    assert np.median(np.linalg.norm(position(once) - position(often), axis=1)) < 0.03


def test_a_rate_of_zero_is_constant(make: Make) -> None:
    model = make(morph_speed=0.0)
    start = position(model)
    for _ in range(3):
        model.step(1.0)
    np.testing.assert_array_equal(position(model), start)


def test_weights_are_reloaded_while_it_runs(make: Make, tmp_path: Path) -> None:
    weights = {name: array.copy() for name, array in load_file(WEIGHTS).items()}
    save_file(weights, tmp_path / "net.safetensors")
    model = make(weights=tmp_path / "net.safetensors")
    model.step(0.3)
    start = position(model)
    weights["layer3.weight"] *= 0.0
    weights["layer3.bias"] = np.array([1.0, 0.0, 0.0], np.float32)
    save_file(weights, tmp_path / "net.safetensors")
    assert model.reload_file("weights")
    model.step(0.1)
    np.testing.assert_allclose(position(model) - start, np.tile([0.1, 0.0, 0.0], (800, 1)), atol=1e-5)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda w: w.pop("layer1.bias"), "not the network of a flow"),
        (lambda w: w.update({"layer0.weight": np.zeros((64, 5), np.float32)}), r"layer 0: weight \(64, 5\)"),
        (
            lambda w: w.update(
                {"layer3.weight": np.zeros((2, 64), np.float32), "layer3.bias": np.zeros(2, np.float32)}
            ),
            "gives 2 values",
        ),
    ],
)
def test_files_of_other_networks_are_refused(
    make: Make, tmp_path: Path, damage: Callable[[dict[str, np.ndarray]], object], message: str
) -> None:
    weights = load_file(WEIGHTS)
    damage(weights)
    save_file(weights, tmp_path / "net.safetensors")
    with pytest.raises(InputError, match=message):
        make(weights=tmp_path / "net.safetensors")

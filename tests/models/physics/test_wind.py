"""The wind: its reference, zero divergence, requested speeds, drifting eddies; and a cloth in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from vertigrad import Sync, resources
from vertigrad.gpu import Gpu
from vertigrad.models.physics.wind import Params, Wind
from vertigrad.models.reference.wind import SIDE, Lattice, noise
from vertigrad.scene import load
from vertigrad.scene.stage import Stage

FRAME = 1.0 / 60.0
Make = Callable[..., Wind]


@pytest.fixture
def make(steady: Gpu) -> Iterator[Make]:
    created: list[Wind] = []

    def make_model(seed: int = 0, **values: object) -> Wind:
        created.append(Wind("test", Params(**values), {}, seed))  # type: ignore[arg-type]
        return created[-1]

    yield make_model
    for model in created:
        model.close()


def velocities(model: Wind) -> np.ndarray:
    return model.outputs()["velocity"].numpy().astype(float)


@pytest.mark.parametrize(
    "values",
    [
        {"resolution": 12},
        {"resolution": 14, "size": (3.0, 1.5, 2.0), "center": (5.0, -2.0, 1.0), "octaves": 1, "floor": True},
        {"resolution": 9, "octaves": 6, "eddy": 0.5, "mean": (-4.0, 1.0, 2.0), "turnover": 3.0},
        {"resolution": 4, "size": (1.0, 0.1, 0.1), "turbulence": 20.0},
    ],
)
def test_a_step_equals_the_reference(make: Make, values: dict[str, object]) -> None:
    model = make(seed=3, **values)
    for _ in range(7):
        model.step(FRAME)
    for comparison in model.compare_with_reference():
        assert comparison.holds, str(comparison)


def test_the_divergence_is_zero(make: Make) -> None:
    """Central differences commute, so the divergence is only rounding (Bridson et al. 2007)."""
    model = make(resolution=20, eddy=1.0, turbulence=3.0)
    v, cell = velocities(model), 4.0 / 20
    inner = slice(1, -1)
    along = [np.gradient(v[..., component], cell, axis=2 - component)[inner, inner, inner] for component in range(3)]
    assert np.abs(along[0]).max() > 1.0, "slopes are large, their sum is not"
    assert np.abs(sum(along)).max() < 1e-4
    values = model.diagnostics()
    assert values["divergence"].item() == pytest.approx(np.abs(sum(along)).max(), abs=3e-6)  # rounding differs
    for tensor in values.values():
        tensor.close()


def test_speeds_are_as_requested(make: Make) -> None:
    """Mean and root mean square over a box of many eddies."""
    model = make(
        seed=1, resolution=48, size=(12.0, 12.0, 12.0), eddy=1.5, octaves=1, mean=(3.0, -1.0, 0.5), turbulence=2.0
    )
    v = velocities(model)
    np.testing.assert_allclose(v.mean(axis=(0, 1, 2)), [3.0, -1.0, 0.5], atol=0.1)
    eddies = v - [3.0, -1.0, 0.5]
    assert np.sqrt(np.mean(np.sum(eddies**2, axis=-1))) == pytest.approx(2.0, rel=0.08)
    components = eddies.reshape(-1, 3).std(axis=0)
    np.testing.assert_allclose(components, 2.0 / np.sqrt(3.0), rtol=0.15)
    np.testing.assert_allclose(model.outputs()["speed"].numpy(), np.linalg.norm(v, axis=-1), rtol=1e-5)


def test_nothing_blows_through_the_floor(make: Make) -> None:
    """The upward speed next to it decreases with the height of the lowest cells."""
    shares = []
    for resolution in (16, 32):
        model = make(resolution=resolution, size=(4.0, 2.0, 4.0), octaves=1, floor=True, mean=(0.0, 0.0, 0.0))
        upwards = velocities(model)[..., 1].std(axis=(0, 2))
        shares.append(upwards[0] / upwards[resolution // 4])
    assert shares[0] < 0.3
    assert shares[1] < 0.6 * shares[0]


def test_eddies_drift_with_the_mean_wind(make: Make) -> None:
    """With constant eddies, the field one cell downwind is that of an earlier time."""
    values = {"resolution": 16, "size": (4.0, 4.0, 4.0), "mean": (2.5, 0.0, 0.0)}
    model = make(turnover=0.0, **values)
    before = velocities(model)
    for _ in range(6):
        model.step(FRAME)  # 0.25 m in all: a cell
    np.testing.assert_allclose(velocities(model)[:, :, 1:], before[:, :, :-1], atol=1e-4)
    turning = make(turnover=2.0, **values)
    for _ in range(6):
        turning.step(FRAME)
    assert np.abs(velocities(turning)[:, :, 1:] - before[:, :, :-1]).max() > 0.3


def test_the_noise_is_periodic_and_smooth_at_cell_boundaries() -> None:
    gradients = Lattice.random(2).at(0.3)[0]
    positions = np.random.default_rng(0).random((200, 3)) * SIDE
    np.testing.assert_allclose(
        noise(gradients, positions + np.array([SIDE, -SIDE, 0])), noise(gradients, positions), atol=1e-12
    )
    corners = np.floor(positions)
    np.testing.assert_allclose(noise(gradients, corners), 0.0, atol=1e-15)
    near = 1e-5 * np.eye(3)[0]
    slopes = [(noise(gradients, corners + k * near) - noise(gradients, corners)) / (k * 1e-5) for k in (-1, 1)]
    np.testing.assert_allclose(slopes[0], slopes[1], atol=1e-3)


def test_the_same_seed_gives_the_same_bits_also_after_a_snapshot(make: Make) -> None:
    one, two, other = make(seed=5, resolution=8), make(seed=5, resolution=8), make(seed=6, resolution=8)
    for model in (one, two, other):
        for _ in range(5):
            model.step(FRAME)
    assert np.array_equal(velocities(one), velocities(two))
    assert not np.array_equal(velocities(one), velocities(other))
    numbers = one.scalar_state()
    for _ in range(5):
        one.step(FRAME)
    later = velocities(one)
    two.step(1.0)
    two.load_scalar_state(numbers)
    for _ in range(5):
        two.step(FRAME)
    assert np.array_equal(velocities(two), later)
    one.reset()
    for _ in range(10):
        one.step(FRAME)
    assert np.array_equal(velocities(one), later)


def test_the_flag_of_the_packaged_scene_reads_the_block_of_the_wind(steady: Gpu) -> None:
    """Two frames: the flag reads the wind's tensor, and no geometry is copied."""
    stage = Stage(load(resources.path("scenes", "flag.toml")), steady)
    flag, wind = stage.instances["flag"].model, stage.instances["wind"].model
    assert flag._wind.owner is wind.outputs()["velocity"].owner  # type: ignore[attr-defined]
    block, before = wind.outputs()["velocity"].block.id, stage.instances["flag"].outputs["position"].numpy()
    steady.sync(Sync.WAIT)
    for _ in range(2):
        stage.step(FRAME)
    steady.sync(Sync.WAIT)
    assert wind.outputs()["velocity"].block.id == block
    moved = stage.instances["flag"].outputs["position"].numpy() - before
    assert np.isfinite(moved).all()
    assert np.abs(moved).max() > 1e-4
    stage.close()

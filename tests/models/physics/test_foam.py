"""Spray, foam and bubbles: the reference, where they are generated, how they move and how long they last."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import numpy as np
import pytest

from vertigrad import ops
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.physics.fluid import Fluid
from vertigrad.models.physics.fluid import Params as FluidParams
from vertigrad.models.physics.foam import Foam, Params
from vertigrad.models.reference.obstacle import Obstacle, rotation
from vertigrad.tensor import Tensor

from .. import extremes

Make = Callable[..., Foam]
STEP = 1.0 / 60.0
SPACING = 0.05
SPRAY, FOAM, BUBBLE = 1.0, 2.0, 3.0


@pytest.fixture
def make(steady: Gpu) -> Iterator[Make]:
    created: list[Foam | Tensor] = []

    def make_model(positions: np.ndarray, velocities: np.ndarray, seed: int = 1, **values: object) -> Foam:
        arrays = {"position": positions, "velocity": velocities}
        arrays |= {name: values.pop(name) for name in ("floor", "obstacle") if name in values}
        tensors = {name: Tensor.from_numpy(array.astype(np.float32)) for name, array in arrays.items()}
        created.extend(tensors.values())
        model = Foam("test", Params(**{"spacing": SPACING, "capacity": 2048, **values}), tensors, seed)  # type: ignore[arg-type]
        created.append(model)
        return model

    yield make_model
    for one in reversed(created):
        one.close()


def block(n: int = 12) -> np.ndarray:
    """A cube of fluid, a bit uneven, with its lowest corner at the origin."""
    grid = np.stack(np.meshgrid(*3 * [np.arange(n) + 0.5], indexing="ij"), -1).reshape(-1, 3)
    return SPACING * (grid + np.random.default_rng(0).uniform(-0.1, 0.1, grid.shape))


def colliding(positions: np.ndarray, speed: float = 3.0) -> np.ndarray:
    """Two halves that meet in the middle."""
    middle = 0.5 * (positions[:, 0].min() + positions[:, 0].max())
    velocities = np.zeros_like(positions)
    velocities[:, 0] = np.where(positions[:, 0] < middle, speed, -speed)
    return velocities


def placed(model: Foam, positions: np.ndarray, velocities: np.ndarray) -> None:
    """Put particles in the pool, of full life, instead of all that is in it."""
    first = np.zeros((model._params.capacity, 4), np.float32)
    first[: len(positions)] = np.column_stack([positions, np.ones(len(positions))])
    faster = np.zeros_like(first)
    faster[: len(velocities), :3] = velocities
    for tensor, array in ((model._positions, first), (model._velocities, faster)):
        with Tensor.from_numpy(array) as values:
            ops.assign(tensor, values)


def kinds(model: Foam) -> np.ndarray:
    return model.outputs()["kind"].numpy()


def take(model: Foam, steps: int) -> None:
    for _ in range(steps):
        model.step(STEP)


def diagnostics_of(model: Foam) -> dict[str, float]:
    found = {}
    for name, tensor in model.diagnostics().items():
        with tensor:
            found[name] = float(tensor.numpy().item())
    return found


def test_a_step_agrees_with_the_reference(make: Make) -> None:
    """Potentials of a jet that breaks, and particles of all kinds, with walls and a moving obstacle."""
    positions = block()
    velocities = colliding(positions) + np.random.default_rng(1).normal(0.0, 0.5, positions.shape)
    velocities[:, 1] += 3.0 * (positions[:, 1] > 0.5)
    corners = np.array([[[0, 0, 0], [0.6, 0, 0]], [[0, 0, 0.6], [0.6, 0, 0.6]]])
    ball = Obstacle(
        2,
        np.array([0.5, 0.6, 0.3]),
        1.0,
        np.full(3, 0.1),
        rotation((0, 0, 0)),
        np.ones(3),
        np.ones(3),
        np.zeros((0, 0, 0)),
    ).header()
    model = make(positions, velocities, floor=corners, obstacle=ball, wave_crest=(0.02, 0.5))
    take(model, 4)
    high = positions[:40] + np.array([0.0, 0.7, 0.0])
    placed(model, np.concatenate([positions[::7], high]), np.ones((len(positions[::7]) + 40, 3)))
    comparisons = model.compare_with_reference()
    assert {one.name for one in comparisons} == {"potentials", "positions", "velocities"}
    assert all(one.holds for one in comparisons), "\n".join(map(str, comparisons))
    found = set(kinds(model))
    assert {SPRAY, FOAM, BUBBLE} <= found
    potentials = model._tensors["potentials"].numpy()
    assert (potentials.max(0)[:3] > 0.1).all(), "all three potentials are met"


def test_a_fluid_at_rest_or_in_common_motion_has_no_foam(make: Make) -> None:
    positions = block()
    for velocities in (np.zeros_like(positions), np.tile([0.0, -8.0, 0.0], (len(positions), 1))):
        model = make(positions, velocities, trapped_air_rate=1e4, wave_crest_rate=1e4, wave_crest=(3.0, 6.0))
        take(model, 10)
        assert diagnostics_of(model)["occupancy"] == 0.0
        assert not model.outputs()["radius"].numpy().any()


def test_foam_is_where_streams_collide_and_the_pool_is_bounded(make: Make) -> None:
    positions = block()
    model = make(positions, colliding(positions))
    take(model, 3)
    there = model.outputs()["radius"].numpy() > 0.0
    found = model.outputs()["position"].numpy()[there]
    assert 20 < len(found) < 2048
    assert np.abs(found[:, 0] - 0.3).max() < 5 * SPACING, "only where the halves meet"
    full = make(positions, colliding(positions), capacity=64, trapped_air_rate=1e4)
    take(full, 3)
    assert diagnostics_of(full)["occupancy"] == 1.0 > Foam.limits["occupancy"].bound
    assert np.isfinite(full.outputs()["position"].numpy()).all()


def test_the_same_seed_gives_the_same_bits(make: Make) -> None:
    positions = block(8)
    runs = [make(positions, colliding(positions), seed=seed) for seed in (3, 3, 4)]
    for model in runs:
        take(model, 3)
    first, again, other = (model.outputs()["position"].numpy() for model in runs)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    runs[0].reset()
    take(runs[0], 3)
    np.testing.assert_array_equal(runs[0].outputs()["position"].numpy(), again)


def test_spray_falls_foam_moves_along_and_bubbles_rise(make: Make) -> None:
    positions = block()
    velocities = np.tile([0.5, 0.0, 0.0], (len(positions), 1))
    model = make(positions, velocities, trapped_air_rate=0.0, wave_crest_rate=0.0)
    start = np.array([[0.3, 2.0, 0.3], [0.3, 0.6, 0.3], [0.3, 0.3, 0.3]])  # above, at the surface, inside
    placed(model, start, np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    take(model, 12)
    assert kinds(model)[:3].tolist() == [SPRAY, FOAM, BUBBLE]
    moved = model.outputs()["position"].numpy()[:3] - start
    time = 12 * STEP
    fall = 0.5 * 9.81 * time * (time + STEP)  # in steps, each with the velocity at its end
    assert moved[0] == pytest.approx([time, 2.0 * time - fall, 0.0], abs=1e-4)
    assert moved[1] == pytest.approx([0.5 * time, 0.0, 0.0], abs=1e-5)
    assert moved[2, 0] == pytest.approx(0.5 * time, abs=0.02)
    rise = 2.0 * 9.81 * STEP / (1.0 - np.exp(-40.0 * STEP))  # terminal
    assert 0.7 * rise * time < moved[2, 1] < rise * time


def test_each_kind_has_its_lifetime(make: Make) -> None:
    positions = block()
    model = make(
        positions,
        np.zeros_like(positions),
        trapped_air_rate=0.0,
        spray_lifetime=0.1,
        foam_lifetime=0.2,
        bubble_lifetime=0.4,
        buoyancy=0.0,
    )
    placed(model, np.array([[0.3, 9.0, 0.3], [0.3, 0.6, 0.3], [0.3, 0.3, 0.3]]), np.zeros((3, 3)))
    alive = []
    for _ in range(30):
        model.step(STEP)
        alive.append(model.outputs()["radius"].numpy()[:3] > 0.0)
    np.testing.assert_allclose(np.sum(alive, 0), [5, 11, 23], atol=1.01)
    assert not model.outputs()["kind"].numpy().any()


@pytest.mark.turns(4)
def test_a_dam_that_breaks_makes_foam_which_ends(steady: Gpu) -> None:
    """With the fluid itself: none before the water hits the wall, much after, and none when it is long at rest."""
    params = FluidParams(spacing=0.1, tank=(1.6, 1.2, 0.4), column=(0.6, 1.0, 0.4))  # type: ignore[arg-type]
    with closing(Fluid("water", params, {}, 1)) as water:
        inputs = {name: water.outputs()[name] for name in ("position", "velocity", "radius", "floor")}
        values = Params(capacity=1024, spray_lifetime=0.3, foam_lifetime=0.3, bubble_lifetime=0.3)
        with closing(Foam("foam", values, inputs, 1)) as foam:
            assert foam.spacing == pytest.approx(0.1)
            counts = []
            for _ in range(75):
                water.step(STEP)
                foam.step(STEP)
                counts.append(diagnostics_of(foam)["occupancy"])
            assert max(counts[:10]) == 0.0
            assert max(counts) > 0.02
            there = foam.outputs()["radius"].numpy() > 0.0
            found = foam.outputs()["position"].numpy()[there]
            assert (found >= -1e-6).all() and (found[:, [0, 2]] <= [1.6 + 1e-6, 0.4 + 1e-6]).all()


def test_inputs_of_other_shapes_are_refused(make: Make) -> None:
    positions = block(4)
    with pytest.raises(InputError, match="64 positions and 63 velocities"):
        make(positions, positions[1:])
    with pytest.raises(InputError, match="must be f32 of shape \\(n, 3\\)"):
        make(positions[:, :2], positions)
    with pytest.raises(InputError, match="floor is f32 of shape \\(4, 3\\)"):
        make(positions, positions, floor=np.zeros((4, 3)))
    with pytest.raises(InputError, match="obstacle is a grid"):
        make(positions, positions, obstacle=np.zeros((4, 4, 4)))


def test_parameters_at_their_ends_are_finite_or_reported(make: Make) -> None:
    positions = block(5)
    ends = [(spec.name, end) for spec in Params.specs() if spec.name != "capacity" for end in extremes.ends(spec)]
    assert len(ends) > 20
    for name, end in ends:
        model = make(positions, colliding(positions), capacity=64, **{name: end})
        take(model, 1)
        assert not extremes.broken(model) or extremes.exceeded(model), f"{name} = {end}"

"""The flock: its reference, order and noise, each rule separately, obstacles and predators, bounds and gestures."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.models.interaction import Gesture, Interaction
from vertigrad.models.physics.flock import Flock, Params
from vertigrad.models.reference import flock as flock_reference

from ..snapshots import assert_a_snapshot_holds

STEP = 1.0 / 60.0
# Each rule separately: no other forces, and no noise.
ALONE = {
    **{"separation": 0.0, "alignment": 0.0, "cohesion": 0.0, "leveling": 0.0, "noise": 0.0, "flee_radius": 0.0},
    **{"field_of_view": 360.0, "max_acceleration": 1e3},
}
Make = Callable[..., Flock]


@pytest.fixture
def make() -> Iterator[Make]:
    created: list[Flock] = []

    def make_model(count: int, seed: int = 3, **values: object) -> Flock:
        created.append(Flock("flock", Params.parse({"count": count, **values}), {}, seed))
        return created[-1]

    yield make_model
    for model in created:
        model.close()


def position(model: Flock, positions: object, velocities: object) -> None:
    for name, values in (("positions", positions), ("velocities", velocities)):
        rows = np.zeros((len(np.asarray(values)), 4), np.float32)
        rows[:, :3] = values
        with Tensor.from_numpy(rows) as target:
            ops.assign(model.state()[name], target)


def run(model: Flock, steps: int) -> None:
    for _ in range(steps):
        model.step(STEP)


def output(model: Flock, name: str) -> np.ndarray:
    return model.outputs()[name].numpy().astype(float)


def measured(model: Flock) -> dict[str, float]:
    found = {}
    for name, tensor in model.diagnostics().items():
        found[name] = tensor.item()
        tensor.close()
    return found


# The reference --------------------------------------------------------------------------------------------------------

PULL = Interaction(Gesture.DRAG, (0, 0, 9), (0, 0, -1), (1.0, 0.5, 0.0), (2.0, 0.0, 1.0), 6.0, 0.7)
CASES = {
    "as it is": ({}, None),
    "periodic": ({"bounds": "periodic", "perception_radius": 3.0, "alignment": 8.0}, PULL._replace(strength=-1.0)),
    "an obstacle": ({"obstacle_radius": 4.0, "field_of_view": 120.0, "noise": 1.0, "flee_radius": 8.0}, PULL),
    "near as radius": (
        {"separation_radius": 50.0, "perception_radius": 2.0, "speed_variation": 1.0, "max_acceleration": 100.0},
        None,
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("count", [1, 2, 65, 700])
def test_a_step_equals_the_reference(make: Make, case: str, count: int) -> None:
    values, interaction = CASES[case]
    model = make(count, width=16.0, height=12.0, **values)
    model.interact(interaction)
    run(model, 12)
    for comparison in model.compare_with_reference():
        assert comparison.holds, str(comparison)


def test_the_number_of_visible_neighbors_equals_the_reference(make: Make) -> None:
    model = make(500, width=14.0, height=14.0, bounds="periodic", perception_radius=3.0)
    run(model, 5)
    positions, velocities, fields = output(model, "position"), output(model, "velocity"), model._fields()
    run(model, 1)
    neighbors = flock_reference.step(positions, velocities, fields, True, np.arange(500))[2]
    assert np.array_equal(output(model, "neighbors"), neighbors)
    assert 5 < neighbors.mean() < 100


def test_a_radius_changed_while_it_flies_is_followed(make: Make) -> None:
    model = make(400, width=20.0, height=20.0, perception_radius=2.0)
    for radius in (5.0, 0.7):
        model._params.perception_radius = radius
        run(model, 3)
        for comparison in model.compare_with_reference():
            assert comparison.holds, str(comparison)


# Order -----------------------------------------------------------------------------------------------------------


@pytest.mark.turns(4)
def test_order_falls_with_noise(make: Make) -> None:
    """Vicsek et al. 1995, figure 2: where birds only align, at one speed in a periodic box, the order falls from near 1
    to that of chance, 1 / sqrt(birds), as the noise grows; in three dimensions as Czirók, Vicsek and Vicsek 1999."""
    orders = []
    for noise in (0.0, 3.0, 5.0, 30.0):
        only = {**ALONE, "alignment": 60.0, "speed_variation": 0.0, "bounds": "periodic", "noise": noise, "speed": 12.0}
        model = make(512, width=8.0, height=8.0, perception_radius=1.5, **only)
        run(model, 120)
        found = measured(model)
        orders.append(found["polarization"])
        velocity = output(model, "velocity")
        headings = velocity / np.linalg.norm(velocity, axis=1, keepdims=True)
        assert found["polarization"] == pytest.approx(np.linalg.norm(headings.mean(0)), abs=1e-5)
        assert found["speed"] == pytest.approx(12.0, rel=1e-5)
    print("\norder:", *(f"{order:.3f}" for order in orders))
    assert orders[0] > 0.98
    assert orders[0] > orders[1] + 0.02 > orders[2] + 0.1 > orders[3] + 0.1
    assert orders[3] < 3.5 / np.sqrt(512)


# Each rule separately --------------------------------------------------------------------------------------------


def pair(make: Make, distance: float, **values: float) -> Flock:
    model = make(2, **{**ALONE, "speed_variation": 1.0, "speed": 1.0, **values})
    position(model, [[-0.5 * distance, 0, 0], [0.5 * distance, 0, 0]], [[0, 1.0, 0], [0, 1.0, 0.4]])
    return model


def test_birds_that_are_too_close_separate(make: Make) -> None:
    for distance, parts in ((0.5, True), (1.5, False)):
        model = pair(make, distance, separation=20.0, separation_radius=1.0)
        run(model, 6)
        x = output(model, "position")[:, 0]
        assert bool(x[1] - x[0] > 1.05 * distance) is parts
        assert x.sum() == pytest.approx(0.0, abs=1e-5), "each as much as the other"


def test_visible_birds_attract_each_other(make: Make) -> None:
    for distance, come in ((2.0, True), (3.0, False)):
        model = pair(make, distance, cohesion=5.0, perception_radius=2.5)
        run(model, 6)
        x = output(model, "position")[:, 0]
        assert bool(x[1] - x[0] < 0.99 * distance) is come


def test_visible_birds_align(make: Make) -> None:
    model = pair(make, 1.0, alignment=4.0)
    run(model, 15)
    velocity = output(model, "velocity")
    assert velocity[1, 2] - velocity[0, 2] == pytest.approx(0.4 * (1.0 - 8.0 * STEP) ** 15, rel=1e-3)
    assert velocity[:, 2].sum() == pytest.approx(0.4, abs=1e-5)


def test_birds_behind_are_not_visible(make: Make) -> None:
    model = make(2, **{**ALONE, "alignment": 4.0, "field_of_view": 180.0, "speed_variation": 1.0, "speed": 1.0})
    position(model, [[0, 0, 0], [1.0, 0, 0]], [[1.0, 0, 0], [1.0, 0.5, 0]])
    run(model, 1)
    assert output(model, "neighbors").tolist() == [1.0, 0.0]
    assert output(model, "velocity")[:, 1] == pytest.approx([0.5 * 4.0 * STEP, 0.5], rel=1e-5)


def test_acceleration_is_limited(make: Make) -> None:
    model = make(
        600,
        width=12.0,
        height=12.0,
        max_acceleration=5.0,
        separation=500.0,
        noise=0.0,
        speed_variation=1.0,
        obstacle_radius=0.0,
    )
    before = output(model, "velocity")
    run(model, 1)
    change = np.linalg.norm(output(model, "velocity") - before, axis=1)
    assert change.max() <= 5.0 * STEP * (1 + 1e-4)
    assert np.median(change) > 4.9 * STEP


# Obstacles, predators--------------------------------------------------------------------------------------------


@pytest.mark.turns(3)
def test_birds_fly_round_an_obstacle(make: Make) -> None:
    touched = []
    for agility in (60.0, 0.0):
        model = make(
            200,
            **{
                **ALONE,
                "max_acceleration": agility,
                "obstacle_center": (0.0, 0.0, 0.0),
                "obstacle_radius": 4.0,
                "speed": 10.0,
            },
        )
        random = np.random.default_rng(1)
        starts = np.column_stack([np.full(200, -15.0), random.uniform(-3.5, 3.5, (200, 2))])
        position(model, starts, np.tile([10.0, 0.0, 0.0], (200, 1)))
        nearest = np.full(200, np.inf)
        for _ in range(150):
            model.step(STEP)
            nearest = np.minimum(nearest, np.linalg.norm(output(model, "position"), axis=1))
        assert nearest.min() > 4.0 - 1e-4, "none within it"
        touched.append((nearest < 4.0 + 1e-3).mean())
        assert output(model, "position")[:, 0].mean() > 4.0, "they get past it"
    assert touched[0] < 0.05 and touched[1] > 0.8


@pytest.mark.turns(4)
def test_birds_flee_the_predator(make: Make) -> None:
    near = []
    for fear in (0.0, 10.0):
        model, met = make(1500, width=40.0, height=40.0, flee_radius=fear), 0
        for _ in range(20):
            run(model, 10)
            away = np.linalg.norm(output(model, "position") - output(model, "predator"), axis=1)
            met += int((away < 6.0).sum())
        near.append(met)
    print(f"\nmeetings with the predator: {near[0]} who do not fear it, {near[1]} who do")
    assert near[0] > 100 and near[1] < 0.5 * near[0]


def test_birds_turn_back_or_wrap_around(make: Make) -> None:
    for bounds, most in (("turn back", 1.05), ("periodic", 1.0 + 1e-6)):
        model = make(500, width=30.0, height=20.0, bounds=bounds, flee_radius=0.0)
        farthest = 0.0
        for _ in range(6):
            run(model, 20)
            farthest = max(farthest, float(np.abs(output(model, "position") / [15.0, 10.0, 15.0]).max()))
        assert 0.7 < farthest < most


# Gestures, bits, corners -----------------------------------------------------------------------------------------


def test_the_drag_tool_attracts_or_repels_birds(make: Make) -> None:
    mean = []
    for strength in (1.0, 0.0, -1.0):
        model = make(300, width=30.0, height=30.0, flee_radius=0.0)
        model.interact(
            Interaction(Gesture.DRAG, (0, 0, 9), (0, 0, -1), (0.0, 0.0, 0.0), radius=20.0, strength=strength)
        )
        run(model, 40)
        mean.append(float(np.linalg.norm(output(model, "position"), axis=1).mean()))
    assert mean[0] < 0.9 * mean[1] and mean[2] > 1.1 * mean[1]


def test_the_same_seed_gives_the_same_bits(make: Make) -> None:
    def bits(model: Flock) -> list[np.ndarray]:
        return [tensor.numpy() for tensor in model.outputs().values()]

    model = make(900, seed=5, width=20.0, height=20.0)
    other = make(900, seed=6, width=20.0, height=20.0)
    for one in (model, other):
        run(one, 20)
    first = bits(model)
    assert not np.array_equal(first[0], bits(other)[0])
    model.reset()
    assert model.outputs()["speed"].numpy() == pytest.approx(10.0)
    for _ in range(10):
        model.step(2 * STEP)
    assert all(np.array_equal(a, b) for a, b in zip(first, bits(model), strict=True))


def test_a_snapshot_continues_with_the_same_bits(make: Make) -> None:
    model = make(500, width=20.0, height=20.0, time_step=0.01)
    assert_a_snapshot_holds(model, lambda steps: run(model, steps))


def test_a_closed_model_leaks_nothing(steady) -> None:
    model = Flock("flock", Params(count=100), {}, 0)
    model.step(STEP)
    measured(model)
    model.close()
    model.close()


CORNERS = {
    "wild": {
        "separation": 1e3,
        "alignment": 1e3,
        "cohesion": 1e3,
        "max_acceleration": 1e3,
        "speed": 100.0,
        "noise": 100.0,
    },
    "still": {"speed": 0.0, "speed_variation": 0.0},
    "all in one position": {"separation": 0.0, "cohesion": 1e3, "perception_radius": 100.0, "time_step": 1 / 15},
    "no room": {"width": 1.0, "height": 1.0, "obstacle_radius": 1e3, "bounds": "periodic"},
    "a wide box": {"width": 1e4, "height": 1.0, "perception_radius": 0.1, "separation_radius": 0.01},
}


@pytest.mark.turns(3)
@pytest.mark.parametrize("corner", CORNERS)
def test_corners_stay_finite(make: Make, corner: str) -> None:
    model = make(200, **CORNERS[corner])
    run(model, 150)
    assert np.isfinite(list(measured(model).values())).all()
    for name, tensor in model.outputs().items():
        assert np.isfinite(tensor.numpy()).all(), name


def test_a_bird_banks_as_far_as_its_turn_requires(make: Make) -> None:
    """One bird that turns at a constant rate: the tangent of its bank is centripetal acceleration over gravity."""
    model = make(
        count=1, width=30.0, height=30.0, noise=0.0, leveling=0.0, flee_radius=0.0, speed=10.0, speed_variation=0.0
    )
    banks, headings, speeds = [], [], []
    for _ in range(240):
        model.step(1 / 60)
        headings.append(output(model, "heading")[0])
        speeds.append(float(output(model, "speed")[0]))
        banks.append(float(output(model, "bank")[0]))
    headings = np.array(headings, np.float64)
    right = np.cross(headings[1:], (0.0, 1.0, 0.0))
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    target = np.arctan2(np.einsum("ij,ij->i", np.diff(headings, axis=0), right) * speeds[1:] * 60.0, 9.81)
    expected = [banks[0]]
    for angle in target:
        expected.append(expected[-1] + (angle - expected[-1]) * (1.0 - np.exp(-1 / 60 / 0.2)))
    assert np.abs(target).max() > 0.3
    assert np.abs(np.array(banks) - expected).max() < 0.02


def test_a_murmuration_is_dense_in_two_bodies_and_flies_one_way(make: Make) -> None:
    """Half of the birds are in less than a quarter of the volume that all of them fill; none is outside of the box."""
    model = make(4000, start="murmuration")
    where, headings = output(model, "position"), output(model, "heading")
    counts = np.sort(np.histogramdd(where, bins=[np.arange(-42.0, 43.0, 6.0)] * 3)[0].ravel())[::-1]
    filled = np.count_nonzero(counts)
    assert np.searchsorted(np.cumsum(counts), 2000.0) < 0.25 * filled
    assert (np.abs(where) < (40.0, 22.0, 40.0)).all()
    assert measured(model)["polarization"] > 0.8
    assert headings[:, 0].min() > 0.0
    along = np.histogram(where[:, 0], bins=24)[0]
    waist = along[8:16].argmin() + 8
    assert along[waist] < 0.5 * min(along[:waist].max(), along[waist:].max()), "two bodies"

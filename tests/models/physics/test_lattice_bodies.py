"""Bodies that the flow of `lattice_boltzmann` moves: no momentum is lost, and light ones are stable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.gpu import Gpu
from vertigrad.models.reference import lattice_boltzmann as reference
from vertigrad.models.reference.lattice_bodies import depth
from vertigrad.models.reference.obstacle import HEADER, Obstacle, Obstacles
from vertigrad.scene import load
from vertigrad.scene.stage import Stage

from ..conftest import Make
from .among import FRAME, among, run

SIDE = 64
EDGE, STEP = 3.0 / SIDE, 1.0 / 900.0  # of a cell [m], of a step [s]
WATER = 1000.0
STREAM = 0.05  # [cells/step]
# Nothing drives it but a force of 4e-8 in each cell and step; the kinematic viscosity is 0.02.
BOX: dict[str, Any] = {
    **{"rows": SIDE, "columns": SIDE, "ends": "periodic", "sides": "periodic"},
    **{"speed": 0.001, "size": 0.26, "reynolds": 0.8, "density": WATER},
}
OFF_GRID = (0.13 * EDGE, 0.0, -0.21 * EDGE)
WIDE = 16.6 * EDGE


@pytest.fixture
def flowing(make: Make) -> Make:
    """Create a flow from its obstacles and its parameters, as `among` does."""

    def make_flow(*bodies: dict[str, Any], **values: Any) -> Any:
        placed = [{"size": (WIDE,) * 3, "position": OFF_GRID, **body} for body in bodies]
        return among(make, "lattice_boltzmann", *placed, **{**BOX, **values})

    return make_flow


def start(flow: Any, speed: float) -> None:
    """A uniform stream along x around the obstacles."""
    u = np.stack([np.full((SIDE, SIDE), speed), np.zeros((SIDE, SIDE))])
    uniform = np.where(distance(flow) > 0.0, reference._equilibrium(np.zeros((SIDE, SIDE)), u), 0.0)
    flow._now[...] = uniform.reshape(9, -1).astype(np.float32)


def push(flow: Any, velocity: tuple[float, float] = (0.0, 0.0), spin: float = 0.0) -> None:
    """Give the first body a velocity [cells/step] and a spin [rad/step]."""
    motion = np.array([velocity[0] * EDGE, 0.0, velocity[1] * EDGE, 0.0, 0.0, spin, 0.0]) / STEP
    array = bodies_tensor(flow).numpy()
    array[20:23], array[24:27] = motion[:3], motion[4:7]
    with Tensor.from_numpy(array) as pushed:
        ops.assign(bodies_tensor(flow), pushed)


def bodies_tensor(flow: Any) -> Tensor:
    return flow._tensors["bodies"]


def bodies(flow: Any) -> tuple[Obstacle, ...]:
    return Obstacles.of(bodies_tensor(flow).numpy()).all


def distance(flow: Any) -> np.ndarray:
    return flow.outputs()["distance"].numpy()


def speeds(flow: Any) -> np.ndarray:
    """Of bodies along columns and rows (n, 2) [cells/step]."""
    return np.array([body.velocity[[0, 2]] * STEP / EDGE for body in bodies(flow)])


def masses(flow: Any) -> np.ndarray:
    """Of bodies, relative to the fluid in a cell; 0 of those that nothing moves."""
    found = [0.0 if one.rigid is None else one.rigid.mass / (WATER * depth(one) * EDGE**2) for one in bodies(flow)]
    return np.array(found)


def populations(flow: Any) -> np.ndarray:
    return flow._now.numpy().astype(float).reshape(9, flow._params.rows, flow._params.columns)


def fluid_momentum(flow: Any) -> np.ndarray:
    """In lattice units, of each cell of fluid (rows, columns, 2)."""
    return np.einsum("kyx,kc->yxc", populations(flow), reference.C) * (distance(flow) > 0.0)[..., None]


def momentum(flow: Any) -> np.ndarray:
    return fluid_momentum(flow).sum(axis=(0, 1)) + masses(flow) @ speeds(flow)


def driven(flow: Any, frames: int) -> np.ndarray:
    """Momentum that the force which drives the flow gives it in so many frames."""
    return np.array([flow._values()["force"] * np.count_nonzero(distance(flow) > 0.0) * 15 * frames, 0.0])


def agrees(flow: Any) -> None:
    for comparison in flow.compare_with_reference():
        assert comparison.holds, str(comparison)


BODIES = [
    ({"shape": "cylinder", "density": 0.5 * WATER}, "regularized"),
    ({"shape": "cylinder", "density": 0.02 * WATER}, "regularized"),
    ({"shape": "sphere", "density": 0.02 * WATER}, "trt"),
    ({"shape": "box", "density": 2.0 * WATER, "rotation": (0.0, 30.0, 0.0)}, "trt"),
]


@pytest.mark.parametrize(("body", "collision"), BODIES)
def test_a_stream_takes_a_body_along_without_losing_momentum(
    flowing: Make, body: dict[str, Any], collision: str
) -> None:
    """Also one of 2 % of the fluid's density, for which a step that does not solve for its velocity is unstable."""
    flow = flowing(body, collision=collision)
    start(flow, STREAM)
    before, area = momentum(flow), np.count_nonzero(distance(flow) <= 0.0)
    assert masses(flow)[0] == pytest.approx(body["density"] / WATER * area, rel=0.03), "a sphere weighs as a cylinder"
    fastest = 0.0
    for frame in range(1, 28):
        run(flow, 1)
        np.testing.assert_allclose(momentum(flow), before + driven(flow, frame), atol=1e-3 * before[0])
        fastest = max(fastest, float(np.abs(speeds(flow)).max()))
        stream = fluid_momentum(flow)[..., 0].sum() / (SIDE**2 - area)
    ratio = speeds(flow)[0, 0] / stream
    assert fastest < 1.15 * STREAM
    assert (0.85 if body["density"] < WATER else 0.6) < ratio < 1.1
    assert bodies(flow)[0].position[0] > 10.0 * EDGE, "it goes along"
    assert bodies(flow)[0].position[1] == 0.0
    agrees(flow)


def test_a_body_reaches_the_speed_of_a_channel_and_stays_before_its_end(flowing: Make) -> None:
    flow = flowing(
        {"shape": "cylinder", "density": 0.3 * WATER, "size": (0.3, 0.2, 0.3), "position": (-1.0, 0.0, 0.0)},
        **{"rows": 48, "columns": 96, "ends": "open", "sides": "slip", "speed": 0.08, "reynolds": 100.0},
    )
    edge, found = 3.0 / 96, []
    for _ in range(24):
        run(flow, 1)
        found.append(bodies(flow)[0].velocity[0] * STEP / edge)
    assert np.mean(found[12:18]) == pytest.approx(0.08, rel=0.1)
    run(flow, 40)
    assert 1.1 < bodies(flow)[0].position[0] < 1.5 - 0.15 - 2 * edge + 0.01
    assert np.isfinite(populations(flow)).all()
    agrees(flow)


def test_a_body_at_rest_in_a_fluid_at_rest_stays_there(flowing: Make) -> None:
    flow = flowing({"shape": "box", "density": 100.0}, reynolds=1e5)
    assert flow._values()["force"] < 1e-10
    start(flow, 0.0)
    placed = bodies(flow)[0].position
    run(flow, 6)
    np.testing.assert_allclose(bodies(flow)[0].position, placed, atol=1e-6)
    assert np.abs(populations(flow)).max() < 1e-7 and np.abs(speeds(flow)).max() < 1e-7


def test_what_has_no_density_is_as_without_bodies(flowing: Make) -> None:
    """The same bits, next to a body that the plane does not cut; and nothing is dispatched that was not before."""
    away = {"shape": "sphere", "size": (0.2, 0.2, 0.2), "density": 500.0, "position": (0.0, 5.0, 0.0)}
    fixed = {"shape": "cylinder"}
    alone, together = flowing(fixed), flowing(fixed, away)
    for flow in (alone, together):
        start(flow, STREAM)
        run(flow, 4)
    np.testing.assert_array_equal(populations(alone), populations(together))
    assert not speeds(together).any()
    assert together.outputs()["obstacle_force"].numpy()[0, 0] > 0.0, "the stream pushes it"
    assert len(alone._pair) == 4 and len(together._pair) == 14
    assert not len(alone._bodies._rigid._update) and not len(alone._bodies._rigid._show)


def test_the_force_on_an_obstacle_is_what_the_fluid_loses(flowing: Make) -> None:
    flow = flowing({"shape": "cylinder"}, {"density": 500.0, "size": (0.1,) * 3, "position": (0.0, 5.0, 0.0)})
    start(flow, STREAM)
    run(flow, 8)
    before = fluid_momentum(flow).sum(axis=(0, 1))
    flow._meeting.replay(**flow._values())
    ops.assign(flow._now, flow._next)
    lost = before - fluid_momentum(flow).sum(axis=(0, 1))
    newton = WATER * depth(bodies(flow)[0]) * EDGE**3 / STEP**2
    force = flow._tensors["body_answers"].numpy()[0, 0]
    assert force[0] > 100.0
    np.testing.assert_allclose(force[[0, 2]], lost * newton, atol=0.005 * force[0])


@pytest.mark.parametrize("density", [20.0, 2000.0])
def test_a_body_that_turns_turns_the_fluid_around_it(flowing: Make, density: float) -> None:
    """Angular momentum is conserved while the fluid at the borders is still at rest."""
    flow = flowing({"shape": "box", "density": density, "size": (0.5, 0.2, 0.4)})
    start(flow, 0.0)
    push(flow, spin=0.006)
    row, column = np.indices((SIDE, SIDE))

    def turning() -> tuple[float, float]:
        body = bodies(flow)[0]
        at = body.position[[0, 2]] / EDGE + 0.5 * (SIDE - 1)
        moved = fluid_momentum(flow)
        assert body.rigid is not None
        own = body.rigid.inertia[1] / (WATER * depth(body) * EDGE**4) * body.spin[1] * STEP
        arms = (row - at[1]) * moved[..., 0] - (column - at[0]) * moved[..., 1]
        return own, float(arms.sum())

    before = turning()[0]
    for frame in range(1, 7):
        run(flow, 1)
        own, around = turning()
        assert 0.0 < own < before and around > 0.0
        arm = -bodies(flow)[0].position[2] / EDGE  # of the force that drives the flow
        expected = before + driven(flow, frame)[0] * arm
        assert own + around == pytest.approx(expected, rel=1e-3 if frame < 3 else 0.05), "sound has not met the borders"
    assert own < (0.95 if density > WATER else 0.3) * before
    assert bodies(flow)[0].axes[0] @ [0.0, 0.0, -1.0] > 0.005, "it has turned around y"
    agrees(flow)


def test_bodies_push_each_other_through_the_fluid_and_at_contacts(flowing: Make) -> None:
    """One that comes from the left takes a lighter one along; cells between them meet both."""
    small = {"shape": "cylinder", "size": (0.3, 0.2, 0.3), "density": 0.3 * WATER, "position": (-0.05, 0.0, 0.0)}
    flow = flowing({**small, "density": 2.0 * WATER, "position": (-0.4, 0.0, 0.01)}, small)
    start(flow, 0.0)
    push(flow, (0.15, 0.0))
    before = momentum(flow)
    for frame in range(1, 9):
        run(flow, 1)
        np.testing.assert_allclose(momentum(flow), before + driven(flow, frame), atol=1e-3 * before[0])
        first, second = (body.position for body in bodies(flow))
        assert second[0] - first[0] > 0.3 - 0.1 * EDGE, "they do not overlap"
        agrees(flow)
    assert speeds(flow)[1, 0] > 0.02


def test_a_body_stays_in_the_channel(flowing: Make) -> None:
    flow = flowing(
        {"shape": "box", "size": (0.4, 0.2, 0.4), "density": 5000.0, "position": (0.0, 0.0, 1.0)}, sides="slip"
    )
    start(flow, 0.0)
    push(flow, (0.0, 0.15))
    run(flow, 20)
    assert 1.2 < bodies(flow)[0].position[2] < 1.5 - 0.2 + 0.01
    agrees(flow)


def test_painted_walls_are_no_part_of_a_body(flowing: Make) -> None:
    """Fluid between a wall and a body pushes the body alone."""
    flow = flowing({"shape": "cylinder", "density": 200.0})
    painted = np.zeros((SIDE, SIDE), np.float32)
    painted[24:40, 42:44] = 1.0  # a cell from the body
    flow._painted[...] = painted
    flow._obstruct.replay(**flow._values())
    flow._bodies.begin()
    start(flow, STREAM)
    for _ in range(4):
        run(flow, 1)
        agrees(flow)
    assert np.isfinite(populations(flow)).all() and np.abs(speeds(flow)).max() < 0.2


def test_a_light_body_that_is_put_elsewhere_is_not_thrown_away(flowing: Make) -> None:
    """It does not take over the momentum of all the fluid where it is put."""
    flow = flowing({"shape": "cylinder", "density": 20.0})
    start(flow, STREAM)
    flow.obstacles[0]._params.position = (-0.9, 0.0, 0.5)
    fastest = []
    for _ in range(6):
        run(flow, 1)
        fastest.append(np.abs(speeds(flow)).max())
    assert max(fastest) < 2.0 * STREAM
    assert bodies(flow)[0].position[0] > -0.9


def test_a_restored_state_goes_on_with_the_same_bits(flowing: Make) -> None:
    flow = flowing({"shape": "box", "density": 300.0})
    start(flow, STREAM)
    run(flow, 2)
    saved, scalars = {name: tensor.numpy() for name, tensor in flow.state().items()}, flow.scalar_state()
    ends = []
    for _ in range(2):
        run(flow, 3)
        ends.append({name: tensor.numpy() for name, tensor in flow.state().items()})
        for name, array in saved.items():
            with Tensor.from_numpy(array) as earlier:
                ops.assign(flow.state()[name], earlier)
        flow.load_scalar_state(scalars)
    for name in ends[0]:
        np.testing.assert_array_equal(ends[0][name], ends[1][name], name)


def test_what_another_medium_moves_is_not_moved_twice(make: Make) -> None:
    ball = make("obstacle", size=(0.4, 0.4, 0.4), position=(0.1, 0.1, 0.0), density=500.0)
    tank = {"tank": (0.8, 1.0, 0.8), "corner": (-0.4, -0.5, -0.4), "column": (0.8, 0.2, 0.8), "spacing": 0.1}
    water = make("fluid", {"obstacle": ball.outputs()["obstacle"]}, **tank)
    flow = make("lattice_boltzmann", {"obstacle": water.outputs()["obstacle"]}, **BOX)
    assert flow._bodies.count == 0
    for _ in range(12):
        ball.step(FRAME)
        water.step(FRAME)
        flow.step(FRAME)
    found = Obstacle.of(water.outputs()["obstacle"].numpy())
    row, column = np.argwhere(distance(flow) <= 0.0).mean(axis=0)
    np.testing.assert_allclose(
        (np.array([column, row]) - 0.5 * (SIDE - 1)) * EDGE, found.position[[0, 2]], atol=0.3 * EDGE
    )
    assert bodies_tensor(flow).size == HEADER


SCENE = f"""
version = 1
[models.ball]
type = "obstacle"
size = [0.6, 0.6, 0.6]
[models.flow]
type = "lattice_boltzmann"
rows = {SIDE}
columns = {SIDE}
inputs = {{ obstacle = "ball.obstacle" }}
"""


def test_an_obstacle_becomes_a_body_while_a_scene_runs(steady: Gpu, tmp_path: Path) -> None:
    """What is recorded depends on whether there are bodies, and not on their densities."""
    stage = Stage(load(tmp_path / "scene.toml", text=SCENE), steady)
    try:
        flows, steps = [], []
        for density in (0.0, 300.0, 400.0, 0.0):
            stage.change("ball", "density", density)
            for _ in range(3):
                stage.step(FRAME)
            flows.append(stage.instances["flow"].model)
            steps.append((len(flows[-1]._pair), flows[-1]._tensors["poses"].numpy()[0, 0] > 0.001))  # type: ignore[attr-defined]
        assert steps == [(4, False), (14, True), (14, True), (4, False)]
        assert flows[1] is flows[2]
    finally:
        stage.close()

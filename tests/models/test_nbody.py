"""The n-body model: its reference, Kepler's orbit, and conservation laws of gravity."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest

import vertigrad
from vertigrad import Tensor, resources
from vertigrad.gpu import Gpu, Kernel
from vertigrad.models.interaction import Gesture, Interaction
from vertigrad.models.physics import gravity_bodies, nbody
from vertigrad.models.physics.galaxy import Bodies
from vertigrad.models.physics.nbody import NBody, Params
from vertigrad.models.stepping import no_dropped_time
from vertigrad.scene import load
from vertigrad.scene.stage import Stage

from . import gravity as gravity_reference
from .bodies import bodies, random_bodies

STEP = 1.0 / 60.0


@pytest.fixture
def make() -> Iterator[object]:
    created: list[NBody] = []

    def make_model(start: Bodies, **values: float) -> NBody:
        model = NBody("test", Params(count=max(2, len(start.masses)), **values), {}, 0, start)
        created.append(model)
        return model

    yield make_model
    for model in created:
        model.close()


@pytest.mark.parametrize("count", [2, 63, 64, 65, 1000])
def test_a_step_equals_the_reference_for_any_count(make, count: int) -> None:
    start = random_bodies(count)
    model = make(start, softening=0.05, time_scale=1.2)
    for _ in range(3):
        model.step(STEP)
    doubles = [np.asarray(a, float) for a in (start.positions, start.velocities, start.masses)]
    positions, velocities = gravity_reference.leapfrog(*doubles, softening=0.05, dt=0.02, steps=3)
    np.testing.assert_allclose(model.outputs()["position"].numpy(), positions, rtol=0, atol=2e-6)
    np.testing.assert_allclose(model.outputs()["velocity"].numpy(), velocities, rtol=0, atol=2e-5)
    speeds = np.linalg.norm(velocities, axis=1)
    np.testing.assert_allclose(model.outputs()["speed"].numpy(), speeds, rtol=0, atol=2e-5)


def test_the_reference_detects_a_wrong_force_at_the_start_of_a_step(make) -> None:
    model = make(random_bodies(300), softening=0.05)
    assert all(comparison.holds for comparison in model.compare_with_reference())
    model._accelerations.fill_(0.0)
    assert not all(comparison.holds for comparison in model.compare_with_reference())


@pytest.mark.parametrize("each", [1, 2, 16])
@pytest.mark.parametrize("count", [1023, 1024, 1025, 1153])
def test_invocations_with_several_bodies_equal_the_reference(make, monkeypatch, each: int, count: int) -> None:
    monkeypatch.setattr(nbody, "bodies_each", lambda count: each)
    model = make(random_bodies(count), softening=0.05)
    for comparison in model.compare_with_reference():
        assert comparison.holds, str(comparison)


def test_the_number_of_bodies_per_invocation(steady: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, few, some, many in (("software", 1, 16, 16), ("discrete", 1, 1, 2)):
        monkeypatch.setattr(steady, "adapter", dataclasses.replace(steady.adapter, kind=kind))
        assert [nbody.bodies_each(count) for count in (255, 256, 1 << 15)] == [few, some, many]


@pytest.mark.turns(3)
def test_two_bodies_follow_the_kepler_orbit(make) -> None:
    """Semi-major axis 1, eccentricity 0.5, masses 1 and 0.5 (Binney & Tremaine 2008, section 3.1)."""
    first, second, eccentricity = 1.0, 0.5, 0.5
    total = first + second
    distance, speed = 1.0 + eccentricity, np.sqrt(total * (1.0 - eccentricity) / (1.0 + eccentricity))
    shares = np.array([[-second / total], [first / total]])
    start = bodies(shares * [[distance, 0, 0]], shares * [[0, speed, 0]], [first, second])
    period = 2.0 * np.pi / np.sqrt(total)
    steps = 4000
    model = make(start, softening=1e-4, time_scale=period / steps / STEP)
    radii = []
    for step in range(steps):
        model.step(STEP)
        if step % 100 == 99:
            points = model.outputs()["position"].numpy().astype(float)
            radii.append(np.linalg.norm(points[1] - points[0]))
    points = model.outputs()["position"].numpy().astype(float)
    assert np.linalg.norm((points[1] - points[0]) - [distance, 0, 0]) < 2e-3, "the orbit does not close after a period"
    assert min(radii) == pytest.approx(1.0 - eccentricity, rel=2e-3)
    assert max(radii) == pytest.approx(1.0 + eccentricity, rel=2e-3)
    angle = np.linspace(0.025, 1.0, 40) * 2.0 * np.pi
    anomaly = angle + np.pi  # the start is the apocenter
    eccentric = anomaly.copy()
    for _ in range(50):  # Kepler's equation by Newton's method
        eccentric -= (eccentric - eccentricity * np.sin(eccentric) - anomaly) / (1.0 - eccentricity * np.cos(eccentric))
    np.testing.assert_allclose(radii, 1.0 - eccentricity * np.cos(eccentric), atol=3e-3)


@pytest.mark.parametrize(("each", "count"), [(1, 500), (2, 150), (16, 1153)])
def test_diagnostics_are_those_of_the_reference(make, monkeypatch: pytest.MonkeyPatch, each: int, count: int) -> None:
    monkeypatch.setattr(nbody, "bodies_each", lambda count: each)
    start = random_bodies(count)
    model = make(start, softening=0.05)
    measured = {name: tensor.item() for name, tensor in model.diagnostics().items()}
    energy = gravity_reference.energy(start.positions, start.velocities, start.masses, 0.05)
    assert measured["kinetic"] == pytest.approx(energy.kinetic, rel=1e-5)
    assert measured["potential"] == pytest.approx(energy.potential, rel=1e-5)
    assert measured["energy"] == pytest.approx(energy.total, rel=1e-4)
    momentum = np.linalg.norm(gravity_reference.momentum(start.velocities, start.masses))
    assert measured["momentum"] == pytest.approx(momentum, rel=1e-4)


def energy_drift(model: NBody) -> float:
    measured = {name: tensor.item() for name, tensor in model.diagnostics().items()}
    return measured["energy_drift"]


def test_a_frame_is_divided_into_steps_by_the_softening(make) -> None:
    """The same model time in few frames and in many, with the same steps, gives the same orbits."""
    start = random_bodies(200)
    few, many = (make(start, softening=0.05, time_scale=60.0) for _ in range(2))
    steps, length = few.clocks[0].divide(60.0 * STEP, few.max_time_step)
    assert steps > 10 and few.max_time_step <= 0.05
    few.step(STEP)
    for _ in range(steps):
        many.step(length / 60.0)
    np.testing.assert_array_equal(few.outputs()["position"].numpy(), many.outputs()["position"].numpy())


def test_a_small_softening_takes_more_steps_and_keeps_the_energy(make) -> None:
    start = NBody.first(Params(count=256), 7)
    lengths = []
    for softening in (0.3, 0.1, 0.04):
        model = make(start, softening=softening, time_scale=6.0)
        lengths.append(model.max_time_step)
        for _ in range(30):
            model.step(STEP)
        assert energy_drift(model) < model.limits["energy_drift"].bound
        assert model.clocks[0].dropped == 0.0
    assert lengths[0] == 0.05 and lengths[1] > 2.0 * lengths[2]


def test_steps_too_long_for_the_forces_are_reported(make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gravity_bodies, "CROSSED", 1e6)
    model = make(NBody.first(Params(count=256), 7), softening=0.01, time_step=0.5, time_scale=30.0)
    for _ in range(30):
        model.step(STEP)
    assert energy_drift(model) > model.limits["energy_drift"].bound


@pytest.mark.turns(4)
@pytest.mark.parametrize(("softening", "rate", "seconds"), [(0.05, 3.0, 5), (1e-4, 3.0, 5), (0.2, 100.0, 1)])
def test_the_energy_error_of_close_pairs_is_reported(make, softening: float, rate: float, seconds: int) -> None:
    """Where the limit of close pairs is not exceeded, energy stays; where it is, that was said at the start."""
    start = NBody.first(Params(count=64), 7)
    model = make(start, softening=softening, time_scale=rate)
    flagged = model.diagnostics()["cfl"].item() > model.limits["cfl"].bound
    before = gravity_reference.energy(start.positions, start.velocities, start.masses, softening).total
    with no_dropped_time():
        for _ in range(60 * seconds):
            model.step(STEP)
    now = [model.outputs()[name].numpy() for name in ("position", "velocity", "mass")]
    lost = abs(gravity_reference.energy(*now, softening).total / before - 1.0)
    assert energy_drift(model) == pytest.approx(lost, rel=0.02, abs=1e-4)
    assert flagged == (softening == 1e-4)
    assert flagged or lost < 0.01, "bodies stay bound at any rate"


@pytest.mark.turns(4)
def test_an_energy_error_of_half_a_percent_is_reported(make) -> None:
    """A hundred times as fast, in half a second."""
    model = make(NBody.first(Params(count=512), 7), time_scale=100.0)
    with no_dropped_time():
        for _ in range(30):
            model.step(STEP)
    assert model.limits["energy_drift"].bound < energy_drift(model) < 0.01


def test_the_number_of_steps_for_a_softening_near_zero_is_limited_by_deflections(make) -> None:
    start = NBody.first(Params(count=64), 7)
    models = [make(start, softening=softening) for softening in (0.1, 0.01, 1e-3, 1e-4)]
    lengths = [model.max_time_step for model in models]
    assert lengths[0] > lengths[1] >= lengths[2] == lengths[3] > 1e-4
    pairs = [model.diagnostics()["cfl"].item() for model in models]
    assert pairs[0] == pytest.approx(1.0) and 1.001 < pairs[2] < pairs[3]
    shorter = make(start, softening=0.01, time_step=1e-4)
    assert shorter.max_time_step == pytest.approx(1e-4)
    assert shorter.diagnostics()["cfl"].item() < 1.0, "a smaller time step resolves closer pairs"


@pytest.mark.turns(4)
def test_pairs_that_meet_at_the_softening_keep_the_energy(make) -> None:
    """Two bodies at rest fall through each other, many times."""
    start = bodies([[0.5, 0.0, 0.0], [-0.5, 0.0, 0.0]], np.zeros((2, 3)), [0.5, 0.5])
    model = make(start, softening=0.1, time_scale=3.0)
    assert model.diagnostics()["cfl"].item() <= model.limits["cfl"].bound
    passed, drifts = 0, []
    for _ in range(150):
        before = model.outputs()["position"].numpy()[0, 0]
        model.step(STEP)
        passed += before * model.outputs()["position"].numpy()[0, 0] < 0.0
        drifts.append(energy_drift(model))
    assert passed >= 3
    assert max(drifts[-5:]) < 0.02 and np.median(drifts) < 5e-3


def test_forces_of_the_start_are_computed_in_the_first_step_also_after_going_back(make) -> None:
    """The first image waits neither for them nor for the energy."""
    model = make(random_bodies(100), softening=0.2)
    assert not model.state()["accelerations"].numpy().any()
    start = {name: tensor.numpy() for name, tensor in model.state().items()}, model.scalar_state()
    model.step(STEP)
    after = model.outputs()["velocity"].numpy()
    assert model.state()["accelerations"].numpy().any() and energy_drift(model) < 1e-5
    for name, tensor in model.state().items():
        tensor[...] = start[0][name]
    model.load_scalar_state(start[1])
    model.step(STEP)
    np.testing.assert_array_equal(model.outputs()["velocity"].numpy(), after)
    model.reset()
    assert energy_drift(model) == 0.0, "measured before the first step"


def test_the_energy_reference_is_reset_after_external_changes(make) -> None:
    """An interaction and another softening change the energy: from then on the new one is to be conserved."""
    model = make(random_bodies(100), softening=0.2, time_scale=1.0)
    model.step(0.0)
    before = model.state()["reference"].item()
    model.interact(Interaction(Gesture.DRAG, (0, 0, 9), (0, 0, -1), (0.5, 0.0, 0.0), radius=0.3, strength=5.0))
    for _ in range(10):
        model.step(STEP)
    assert energy_drift(model) == 0.0
    model.interact(None)
    model.step(STEP)
    assert abs(model.state()["reference"].item() / before - 1.0) > 0.05
    assert energy_drift(model) < 1e-5
    model._params.change("softening", 0.4)
    model.step(0.0)
    assert energy_drift(model) < 1e-5
    numbers = model.scalar_state()
    model.load_scalar_state(model.scalar_state() | {"conserved": 0.0})
    assert energy_drift(model) == 0.0
    model.load_scalar_state(numbers)
    assert model.scalar_state() == {"conserved": 0.4, "remainder": 0.0}


def test_reset_restores_the_initial_bits_and_repeats_the_run(make) -> None:
    model = make(random_bodies(300), softening=0.05)
    first = model.outputs()["position"].numpy()
    for _ in range(5):
        model.step(STEP)
    moved = model.outputs()["position"].numpy()
    assert not np.array_equal(first, moved)
    model.reset()
    assert np.array_equal(model.outputs()["position"].numpy(), first)
    for _ in range(5):
        model.step(STEP)
    assert np.array_equal(model.outputs()["position"].numpy(), moved)


@pytest.mark.turns(4)
def test_the_shipped_scene_with_fewer_bodies_conserves_energy_and_momentum() -> None:
    """1,000 steps of leapfrog: energy drifts by less than 0.1 %, momentum is constant up to rounding.

    With a sixteenth of the bodies, which takes a 256th of the time, and so with four times the softening: the number of
    bodies within it is that of the scene.
    """
    gpu = vertigrad.gpu()
    scene = load(resources.path("scenes", "nbody.toml"), sets=["galaxy.count=512", "galaxy.softening=0.48"])
    stage = Stage(scene, gpu)
    (instance,) = stage.instances.values()
    params, outputs = instance.params, instance.outputs

    def state() -> tuple[float, np.ndarray, float]:
        positions, velocities, masses = (outputs[name].numpy() for name in ("position", "velocity", "mass"))
        measured = {name: tensor.item() for name, tensor in instance.model.diagnostics().items()}
        speed = float(masses @ np.linalg.norm(velocities, axis=1))
        assert np.isfinite(positions).all()
        return measured["energy"], gravity_reference.momentum(velocities, masses), speed

    energy, momentum, _ = state()
    drifts = []
    for step in range(1000):
        stage.step(STEP)
        gpu.sync(vertigrad.Sync.FLUSH)
        if step % 50 == 49:
            gpu.sync()
            now, momentum_now, speed = state()
            drifts.append(abs(now / energy - 1.0))
            assert np.linalg.norm(momentum_now - momentum) < 1e-5 * speed
    stage.close()
    print(f"\n{params.count} bodies, 1000 steps: energy drift at most {max(drifts):.2e}")  # type: ignore[attr-defined]
    assert max(drifts) < 1e-3


def test_energy_of_more_bodies_than_iterations_of_llvmpipe(gpu: Gpu) -> None:
    """It ends all loops of an invocation after 65,535 iterations: the last of these bodies comes later."""
    count = 70_000
    start = np.zeros((count, 4), np.float32)
    start[0, 3], start[-1] = 1.0, (3.0, 0.0, 0.0, 5.0)
    defines = {"TILE": 64, "UNROLL": 2, "EACH": nbody.bodies_each(count)}
    with Tensor.from_numpy(start) as rows, Tensor.zeros((count, 4)) as resting, Tensor.zeros((count, 2)) as energies:
        fields = {"count": count, "first_workgroup": 0, "softening": 1e-3, "dt": 0.0}
        tool = {"tool_point": (0.0, 0.0, 0.0), "tool_mass": 0.0, "tool_softening": 1.0}
        kernel = Kernel.load("models/nbody.wgsl", "energy", defines)
        kernel(64, bodies=rows, moving=resting, energies=energies, **fields, **tool)
        assert energies.numpy()[0].tolist() == pytest.approx([0.0, -0.5 * 5.0 / 3.0], rel=1e-5)

"""The n-body model: its twin, Kepler's orbit, and what gravity must conserve."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import vertigrad
from vertigrad import resources
from vertigrad.models.physics import gravity_twin, nbody
from vertigrad.models.physics.galaxy import Bodies
from vertigrad.models.physics.nbody import NBody, Params
from vertigrad.scene import load
from vertigrad.scene.stage import Stage

from .bodies import bodies, random_bodies

STEP = 1.0 / 60.0


@pytest.fixture
def make() -> Iterator[object]:
    made: list[NBody] = []

    def make_model(start: Bodies, **values: float) -> NBody:
        model = NBody("test", Params(count=max(2, len(start.masses)), **values), {}, 0, start)
        made.append(model)
        return model

    yield make_model
    for model in made:
        model.close()


@pytest.mark.parametrize("count", [2, 63, 64, 65, 1000])
def test_a_step_equals_the_twin_for_any_count(make, count: int) -> None:
    start = random_bodies(count)
    model = make(start, softening=0.05, rate=1.2)
    for _ in range(3):
        model.step(STEP)
    doubles = [np.asarray(a, float) for a in (start.positions, start.velocities, start.masses)]
    positions, velocities = gravity_twin.leapfrog(*doubles, softening=0.05, dt=0.02, steps=3)
    np.testing.assert_allclose(model.outputs()["position"].numpy(), positions, rtol=0, atol=2e-6)
    np.testing.assert_allclose(model.outputs()["velocity"].numpy(), velocities, rtol=0, atol=2e-5)
    speeds = np.linalg.norm(velocities, axis=1)
    np.testing.assert_allclose(model.outputs()["speed"].numpy(), speeds, rtol=0, atol=2e-5)


@pytest.mark.parametrize("count", [1023, 1024, 1025, 1151, 1153])
def test_the_kernel_for_many_bodies_equals_the_twin(make, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """From MANY on each invocation adds up the forces of two bodies; here from 1024 on."""
    monkeypatch.setattr(nbody, "MANY", 1024)
    model = make(random_bodies(count), softening=0.05)
    for comparison in model.compare_with_twin():
        assert comparison.holds, str(comparison)


def test_two_bodies_follow_the_kepler_orbit(make) -> None:
    """Semi-major axis 1, eccentricity 0.5, masses 1 and 0.5 (Binney & Tremaine 2008, section 3.1)."""
    first, second, eccentricity = 1.0, 0.5, 0.5
    total = first + second
    apart, speed = 1.0 + eccentricity, np.sqrt(total * (1.0 - eccentricity) / (1.0 + eccentricity))
    shares = np.array([[-second / total], [first / total]])
    start = bodies(shares * [[apart, 0, 0]], shares * [[0, speed, 0]], [first, second])
    period = 2.0 * np.pi / np.sqrt(total)
    steps = 4000
    model = make(start, softening=1e-4, rate=period / steps / STEP)
    radii = []
    for step in range(steps):
        model.step(STEP)
        if step % 100 == 99:
            places = model.outputs()["position"].numpy().astype(float)
            radii.append(np.linalg.norm(places[1] - places[0]))
    places = model.outputs()["position"].numpy().astype(float)
    assert np.linalg.norm((places[1] - places[0]) - [apart, 0, 0]) < 2e-3, "the orbit does not close after a period"
    assert min(radii) == pytest.approx(1.0 - eccentricity, rel=2e-3)
    assert max(radii) == pytest.approx(1.0 + eccentricity, rel=2e-3)
    angle = np.linspace(0.025, 1.0, 40) * 2.0 * np.pi
    anomaly = angle + np.pi  # the start is the apocentre
    eccentric = anomaly.copy()
    for _ in range(50):  # Kepler's equation by Newton's method
        eccentric -= (eccentric - eccentricity * np.sin(eccentric) - anomaly) / (1.0 - eccentricity * np.cos(eccentric))
    np.testing.assert_allclose(radii, 1.0 - eccentricity * np.cos(eccentric), atol=3e-3)


def test_diagnostics_are_those_of_the_twin(make) -> None:
    start = random_bodies(500)
    model = make(start, softening=0.05)
    measured = {name: tensor.item() for name, tensor in model.diagnostics().items()}
    energy = gravity_twin.energy(start.positions, start.velocities, start.masses, 0.05)
    assert measured["kinetic"] == pytest.approx(energy.kinetic, rel=1e-5)
    assert measured["potential"] == pytest.approx(energy.potential, rel=1e-5)
    assert measured["energy"] == pytest.approx(energy.total, rel=1e-4)
    momentum = np.linalg.norm(gravity_twin.momentum(start.velocities, start.masses))
    assert measured["momentum"] == pytest.approx(momentum, rel=1e-4)


def test_reset_returns_to_the_first_bits_and_reruns_them(make) -> None:
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


def test_the_shipped_scene_conserves_energy_and_momentum() -> None:
    """1,000 steps of leapfrog: energy drifts by less than 0.1 %, momentum stays at rounding.

    With an eighth of the bodies, which takes a 64th of the time, and so with twice the softening: as many bodies are
    within it then as in the scene.
    """
    gpu = vertigrad.gpu()
    scene = load(resources.path("scenes", "nbody.toml"), sets=["galaxy.count=1024", "galaxy.softening=0.24"])
    stage = Stage(scene, gpu)
    (actor,) = stage.actors.values()
    params, outputs = actor.params, actor.outputs

    def state() -> tuple[float, np.ndarray, float]:
        positions, velocities, masses = (outputs[name].numpy() for name in ("position", "velocity", "mass"))
        measured = {name: tensor.item() for name, tensor in actor.model.diagnostics().items()}
        speed = float(masses @ np.linalg.norm(velocities, axis=1))
        assert np.isfinite(positions).all()
        return measured["energy"], gravity_twin.momentum(velocities, masses), speed

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

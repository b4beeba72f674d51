"""`NBody`: gravitating bodies, every pair: two disc galaxies falling towards each other."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from ... import ops, params
from ...gpu import Kernel, Plan
from ...params import angle, integer, number
from ...tensor import Tensor
from ..base import Comparison, Model, OutputSpec, compare
from ..touch import Gesture, Touch
from . import gravity_bodies
from .galaxy import SOFTENING, Bodies, luminous_count
from .gravity_twin import accelerations

SHADER = "models/nbody.wgsl"
COMPARED = 256  # bodies compared with the twin, whose cost grows with their number times that of all
TILE = 64
MANY = 1 << 15  # bodies from which on there are threads enough although each adds up the forces of two


class Params(params.Params):
    """Units: G = 1; one unit of length is the larger disc's scale length, one of mass its mass (see `galaxy`)."""

    count: int = integer(
        8192, min=2, max=1 << 20, scale="log", rebuild=True, auto=True, doc="bodies, of which a third is dark halo"
    )
    softening: float = number(
        SOFTENING, min=1e-4, max=10.0, soft_min=0.01, soft_max=1.0, scale="log", doc="length below which gravity fades"
    )
    rate: float = number(
        3.0, min=0.0, max=100.0, soft_max=6.0, unit="1/s", doc="units of model time in a second; a step is rate / 60"
    )
    mass_ratio: float = number(0.7, min=0.05, max=1.0, rebuild=True, doc="mass of the second galaxy over the first")
    pericentre: float = number(1.8, min=0.1, max=8.0, rebuild=True, doc="how near they pass, as two points would")
    inclination: float = angle(
        25.0, min=0.0, max=180.0, rebuild=True, doc="first disc to the orbit; 180 turns against it"
    )
    inclination_2: float = angle(50.0, min=0.0, max=180.0, rebuild=True, doc="second disc to the orbit")


class NBody(Model):
    """All-pairs gravity with leapfrog steps; position, velocity and mass lie interleaved and are drawn from there.

    The number of bodies is unbounded, their pairs cost count² interactions a step. The same seed gives the same start;
    on one adapter it gives the same run, bit for bit: nothing is added up in an order that could change. A hand that
    drags is one more body for the forces: as heavy as the touch is strong, and softened by its radius.
    """

    Params = Params
    gestures = frozenset({Gesture.DRAG})

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        n, stars = params.count, luminous_count(params.count, params.mass_ratio)
        return gravity_bodies.output_specs(n, stars)

    def __init__(self, name: str, params: Params, inputs: Mapping[str, Tensor], seed: int, start: Bodies | None = None):
        """`start` gives the bodies, instead of two galaxies made from `seed`; all of them count as stars."""
        self._params = params
        self._touch: Touch | None = None
        stars = luminous_count(params.count, params.mass_ratio) if start is None else len(start.masses)
        with ExitStack() as stack:  # closes what was made if something that follows cannot be
            self._make(name, gravity_bodies.galaxies(params, seed) if start is None else start, stack)
            self._views = gravity_bodies.outputs(self._bodies, self._velocities, self._galaxy, stars)
            stack.callback(lambda: [view.close() for view in self._views.values()])
            self.reset()
            self._held = stack.pop_all()

    def step(self, dt: float) -> None:
        self._step.replay(
            dt=dt * self._params.rate, softening=self._params.softening, **gravity_bodies.hand(self._touch)
        )

    def touch(self, touch: Touch | None) -> None:
        self._touch = touch

    def outputs(self) -> dict[str, Tensor]:
        return self._views

    def diagnostics(self) -> dict[str, Tensor]:
        """`kinetic`, `potential` and total `energy` (f32 sums); lengths of `momentum` and `drift_of_centre`."""
        self._energy.replay(dt=0.0, softening=self._params.softening, **gravity_bodies.hand(None))
        return gravity_bodies.diagnostics(self._energies, self._bodies, self._velocities)

    def compare_with_twin(self) -> list[Comparison]:
        """A kick-drift-kick step of `COMPARED` bodies spread over all, in float64."""
        dt = self._params.rate / 60.0
        pick = np.linspace(0, self._count - 1, min(self._count, COMPARED)).astype(int)
        before, speed = self._bodies.numpy().astype(float), self._velocities.numpy().astype(float)[pick, :3]
        touch = self._touch
        self._step.replay(dt=dt, softening=self._params.softening, **gravity_bodies.hand(touch))
        after = self._bodies.numpy().astype(float)

        def pull(bodies: np.ndarray) -> np.ndarray:
            places = bodies[pick, :3]
            force = accelerations(bodies[:, :3], bodies[:, 3], self._params.softening, at=places)
            if touch is not None:
                point, mass = np.array([touch.point]), np.array([touch.strength])
                force += accelerations(point, mass, touch.radius, at=places)
            return force

        speed = speed + 0.5 * dt * pull(before)
        position = before[pick, :3] + dt * speed
        force = pull(after)
        speed = speed + 0.5 * dt * force
        return [
            compare("position", after[pick, :3], position, 1e-6),
            compare("velocity", self._velocities.numpy()[pick, :3], speed, 1e-5),
            compare("acceleration", self._accelerations.numpy()[pick, :3], force, 1e-5),
        ]

    def reset(self) -> None:
        ops.assign(self._bodies, self._first_bodies)
        ops.assign(self._velocities, self._first_velocities)
        with Plan(f"{self.name}.start") as first_force:
            self._record_kick(first_force)
            first_force.replay(dt=0.0, softening=self._params.softening, **gravity_bodies.hand(None))

    def state(self) -> dict[str, Tensor]:
        return {"bodies": self._bodies, "velocities": self._velocities, "accelerations": self._accelerations}

    def numbers(self) -> dict[str, float]:
        return {}

    def resume(self, numbers: Mapping[str, float]) -> None:
        pass

    def reread(self, name: str) -> bool:
        return False

    def close(self) -> None:
        self._held.close()

    # inside -----------------------------------------------------------------------------------------------------

    def _make(self, name: str, start: Bodies, stack: ExitStack) -> None:
        self.name, n = name, len(start.masses)
        self._count, held = n, stack.enter_context
        bodies = np.column_stack([start.positions, start.masses]).astype(np.float32)
        speeds = np.linalg.norm(start.velocities, axis=1)
        velocities = np.column_stack([start.velocities, speeds]).astype(np.float32)
        self._first_bodies = held(Tensor.from_numpy(bodies, f"{name}.first_bodies"))
        self._first_velocities = held(Tensor.from_numpy(velocities, f"{name}.first_velocities"))
        self._galaxy = held(Tensor.from_numpy(start.galaxy.astype(np.float32), f"{name}.galaxy"))
        self._bodies = held(Tensor.empty((n, 4), name=f"{name}.bodies"))
        self._velocities = held(Tensor.empty((n, 4), name=f"{name}.velocities"))
        self._accelerations = held(Tensor.empty((n, 4), name=f"{name}.accelerations"))
        self._energies = held(Tensor.empty((n, 2), name=f"{name}.energies"))
        self._step = held(Plan(f"{name}.step"))
        moving: dict[str, Any] = {"velocities": self._velocities, "accelerations": self._accelerations}
        self._step.dispatch(_kernel("drift"), n, count=n, drifting=self._bodies, **moving)
        self._record_kick(self._step)
        self._energy = held(Plan(f"{name}.energy"))
        reading: dict[str, Any] = {"bodies": self._bodies, "moving": self._velocities}
        self._energy.dispatch(
            _kernel("energy"), n, count=n, energies=self._energies, overwrites=("energies",), **reading
        )

    def _record_kick(self, plan: Plan) -> None:
        moving: dict[str, Any] = {"velocities": self._velocities, "accelerations": self._accelerations}
        n, each = self._count, 2 if self._count >= MANY else 1
        kernel = _kernel("kick", each)
        plan.dispatch(kernel, -(-n // each), count=n, bodies=self._bodies, overwrites=("accelerations",), **moving)


def _kernel(entry: str, each: int = 1) -> Kernel:
    return Kernel.load(SHADER, entry, {"TILE": TILE, "UNROLL": 32, "EACH": each})

"""`NBody`: gravitating bodies, every pair: two disc galaxies falling towards each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import params
from ...gpu import Kernel, Plan, gpu
from ...params import angle, integer, number
from ..base import Comparison, compare
from ..parts import Parts
from ..reference.gravity import accelerations
from .galaxy import SOFTENING, Bodies, luminous_count
from .gravity_bodies import GravityModel, galaxies, hand

SHADER = "models/nbody.wgsl"
COMPARED = 256  # bodies compared with the reference, whose cost grows with their number times that of all
TILE = 64
MANY = 1 << 15  # bodies from which on there are threads enough although each adds up the forces of two
SOFTWARE_MANY, SOFTWARE_EACH = 1 << 8, 16  # on a software adapter, where reading a body takes longer than its force


class Params(params.Params):
    """Units: G = 1; one unit of length is the larger disc's scale length, one of mass its mass (see `galaxy`)."""

    count: int = integer(
        8192, min=2, max=1 << 20, scale="log", rebuild=True, auto=True, doc="bodies, of which a third is dark halo"
    )
    softening: float = number(
        SOFTENING,
        min=1e-4,
        max=10.0,
        slider_min=0.01,
        slider_max=1.0,
        scale="log",
        doc="length below which gravity fades",
    )
    rate: float = number(3.0, min=0.0, max=100.0, slider_max=6.0, unit="1/s", doc="units of model time in a second")
    time_step: float = number(
        0.05, min=1e-4, max=1.0, scale="log", doc="longest step in model time; a small softening makes it shorter"
    )
    mass_ratio: float = number(0.7, min=0.05, max=1.0, rebuild=True, doc="mass of the second galaxy over the first")
    pericenter: float = number(1.8, min=0.1, max=8.0, rebuild=True, doc="how near they pass, as two points would")
    inclination: float = angle(
        25.0, min=0.0, max=180.0, rebuild=True, doc="first disc to the orbit; 180 turns against it"
    )
    inclination_2: float = angle(50.0, min=0.0, max=180.0, rebuild=True, doc="second disc to the orbit")


class NBody(GravityModel):
    """All-pairs gravity with leapfrog steps; position, velocity and mass lie interleaved and are drawn from there.

    The number of bodies is unbounded, their pairs cost count² interactions a step. The same seed gives the same start;
    on one adapter it gives the same run, bit for bit: nothing is added up in an order that could change. A hand that
    drags is one more body for the forces: as heavy as the touch is strong, and softened by its radius.
    """

    Params = Params

    @staticmethod
    def stars(params: Params) -> int:
        return luminous_count(params.count, params.mass_ratio)

    @staticmethod
    def first(params: Params, seed: int) -> Bodies:
        return galaxies(params, seed)

    def compare_with_reference(self) -> list[Comparison]:
        """A kick-drift-kick step of `COMPARED` bodies spread over all, in float64."""
        dt = self.longest_step
        pick = np.linspace(0, self._count - 1, min(self._count, COMPARED)).astype(int)
        before, speed = self._bodies.numpy().astype(float), self._velocities.numpy().astype(float)[pick, :3]
        touch = self._touch
        self._step.replay(dt=dt, softening=self._params.softening, **hand(touch))
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

    # inside -----------------------------------------------------------------------------------------------------

    def _record(self, parts: Parts) -> None:
        self._step, self._force, self._energy = parts.plans("step", "force", "energy")
        n, each = self._count, bodies_each(self._count)
        moving: dict[str, Any] = {"velocities": self._velocities, "accelerations": self._accelerations}
        self._step.dispatch(_kernel("drift"), n, count=n, drifting=self._bodies, **moving)
        self._record_kick(self._step)
        self._record_kick(self._force)
        reading: dict[str, Any] = {"bodies": self._bodies, "moving": self._velocities}
        kernel = _kernel("energy", each)
        self._energy.dispatch(
            kernel, -(-n // each), count=n, energies=self._energies, overwrites=("energies",), **reading
        )

    def _record_kick(self, plan: Plan) -> None:
        moving: dict[str, Any] = {"velocities": self._velocities, "accelerations": self._accelerations}
        n, each = self._count, bodies_each(self._count)
        kernel = _kernel("kick", each)
        plan.dispatch(kernel, -(-n // each), count=n, bodies=self._bodies, overwrites=("accelerations",), **moving)

    def _still(self) -> dict[str, Any]:
        return {"dt": 0.0, "softening": self._params.softening, **hand(None)}


def bodies_each(count: int) -> int:
    """How many bodies one invocation works on."""
    if gpu().adapter.kind == "software":
        return SOFTWARE_EACH if count >= SOFTWARE_MANY else 1
    return 2 if count >= MANY else 1


def _kernel(entry: str, each: int = 1) -> Kernel:
    return Kernel.load(SHADER, entry, {"TILE": TILE, "UNROLL": 32 if each < SOFTWARE_EACH else 2, "EACH": each})

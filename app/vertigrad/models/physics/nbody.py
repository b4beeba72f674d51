"""`NBody`: gravitating bodies, every pair: two disc galaxies falling towards each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...gpu import Kernel, Plan, gpu
from ...params import integer
from ..base import Comparison, compare
from ..parts import Parts
from ..reference.gravity import accelerations
from .galaxy import Bodies, luminous_count
from .gravity_bodies import GravityModel, GravityParams, galaxies, tool_uniforms

SHADER = "models/nbody.wgsl"
COMPARED = 256  # bodies compared with the reference, whose cost grows with their number times that of all
TILE = 64
MANY = 1 << 15  # bodies from which on there are threads enough although each adds up the forces of two
SOFTWARE_MANY, SOFTWARE_EACH = 1 << 8, 16  # on a software adapter, where reading a body takes longer than its force


class Params(GravityParams):
    """Every pair of bodies counts, so there are fewer."""

    count: int = integer(
        8192, min=2, max=1 << 20, scale="log", rebuild=True, auto=True, doc="number of bodies; a third are dark halo"
    )


class NBody(GravityModel):
    """All-pairs gravity with leapfrog steps; position, velocity and mass are interleaved and drawn without a copy.

    A step costs count² interactions. The same seed gives the same initial state, and on one GPU the same run bit for
    bit: sums have a fixed order. The drag tool acts as one more body, with the tool's strength as its mass and the
    tool's radius as its softening.
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
        dt = self.max_time_step
        pick = np.linspace(0, self._count - 1, min(self._count, COMPARED)).astype(int)
        before, speed = self._bodies.numpy().astype(float), self._velocities.numpy().astype(float)[pick, :3]
        interaction = self._interaction
        self._step.replay(dt=dt, softening=self._params.softening, **tool_uniforms(interaction))
        after = self._bodies.numpy().astype(float)

        def acceleration_of(bodies: np.ndarray) -> np.ndarray:
            positions = bodies[pick, :3]
            force = accelerations(bodies[:, :3], bodies[:, 3], self._params.softening, at=positions)
            if interaction is not None:
                point, mass = np.array([interaction.point]), np.array([interaction.strength])
                force += accelerations(point, mass, interaction.radius, at=positions)
            return force

        speed = speed + 0.5 * dt * acceleration_of(before)
        position = before[pick, :3] + dt * speed
        force = acceleration_of(after)
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
        return {"dt": 0.0, "softening": self._params.softening, **tool_uniforms(None)}


def bodies_each(count: int) -> int:
    """How many bodies one invocation works on."""
    if gpu().adapter.kind == "software":
        return SOFTWARE_EACH if count >= SOFTWARE_MANY else 1
    return 2 if count >= MANY else 1


def _kernel(entry: str, each: int = 1) -> Kernel:
    return Kernel.load(SHADER, entry, {"TILE": TILE, "UNROLL": 32 if each < SOFTWARE_EACH else 2, "EACH": each})

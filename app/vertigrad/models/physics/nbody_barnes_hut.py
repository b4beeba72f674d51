"""`NBodyBarnesHut`: gravity among hundreds of thousands of bodies by a Barnes-Hut tree: galaxies, or a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...params import choice, integer, number
from ..base import Comparison, compare
from ..parts import Parts
from ..reference.gravity import accelerations
from .barnes_hut_tree import BarnesHutTree, kernel
from .galaxy import Bodies, luminous_count
from .gravity_bodies import GravityModel, GravityParams, galaxies, tool_uniforms
from .plummer import plummer

COMPARED = 256  # bodies compared with the reference, whose cost grows with their number times that of all


class Params(GravityParams):
    """A cluster has the units of `plummer`, galaxies those of `galaxy`."""

    count: int = integer(32768, min=2, max=1 << 22, scale="log", rebuild=True, auto=True, doc="number of bodies")
    start: str = choice(
        "galaxies",
        ("galaxies", "cluster"),
        rebuild=True,
        doc="initial state: two disc galaxies that collide, or a Plummer sphere in equilibrium",
    )
    theta: float = number(
        0.7, min=0.05, max=1.0, doc="opening angle: radius over distance up to which a node acts as one body"
    )


class NBodyBarnesHut(GravityModel):
    """Gravity with leapfrog steps by a Barnes-Hut tree, which is rebuilt at each step: see `barnes_hut_tree`.

    A step costs about count · log(count). The median relative error of the forces is 1e-4 at theta = 0.5, 5e-4 at 0.7
    and 2e-3 at 1 (20,000 bodies in two galaxies); forces are not exactly antisymmetric, so momentum is conserved only
    to that accuracy. The same seed gives the same bits on one GPU. The drag tool acts as one more body, with the tool's
    strength as its mass.
    """

    Params = Params

    @staticmethod
    def stars(params: Params) -> int:
        return params.count if params.start == "cluster" else luminous_count(params.count, params.mass_ratio)

    @staticmethod
    def first(params: Params, seed: int) -> Bodies:
        if params.start == "cluster":
            return plummer(params.count, seed=seed)
        return galaxies(params, seed)

    def compare_with_reference(self) -> list[Comparison]:
        """A kick-drift-kick step of `COMPARED` bodies spread over all, in float64, by all pairs.

        The bounds are twice the errors that were measured, and half of those of nodes without moments.
        """
        dt = self.max_time_step
        pick = np.linspace(0, self._count - 1, min(self._count, COMPARED)).astype(int)
        before, speed = self._bodies.numpy().astype(float), self._velocities.numpy().astype(float)[pick, :3]
        first = self._accelerations.numpy().astype(float)[pick, :3]
        self._step.replay(**self._still() | {"dt": dt} | tool_uniforms(None))
        after = self._bodies.numpy().astype(float)
        force = accelerations(after[:, :3], after[:, 3], self._params.softening, at=after[pick, :3])
        position = before[pick, :3] + dt * (speed + 0.5 * dt * first)
        speed = speed + 0.5 * dt * (first + force)
        bound = 0.008 * self._params.theta**3 + 1e-5
        return [
            compare("position", after[pick, :3], position, 1e-6),
            compare("velocity", self._velocities.numpy()[pick, :3], speed, bound),
            compare("acceleration", self._accelerations.numpy()[pick, :3], force, bound),
        ]

    # inside -----------------------------------------------------------------------------------------------------

    def _record(self, parts: Parts) -> None:
        self._tree = BarnesHutTree(self._bodies, parts)
        self._step, self._force, self._energy = parts.plans("step", "force", "energy")
        moving: dict[str, Any] = {"velocities": self._velocities, "accelerations": self._accelerations}
        still = {"dt": 0.0, **tool_uniforms(None)}
        nothing = {"softening": 0.0, "theta": 0.0, **still}
        stepping = {**nothing, "count": self._count}
        del stepping["dt"]
        self._step.dispatch(kernel("drift"), self._count, drifting=self._bodies, **moving, **stepping)
        self._tree.record(self._step, nothing)
        self._tree.walk(self._step, "kick", {}, **moving)
        self._tree.record(self._force, nothing)
        self._tree.walk(self._force, "kick", still, **moving)
        self._tree.record(self._energy, nothing)
        self._tree.walk(self._energy, "energy", still, moving=self._velocities, energies=self._energies)

    def _still(self) -> dict[str, float]:
        return {"softening": self._params.softening, "theta": self._params.theta}

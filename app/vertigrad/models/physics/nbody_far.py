"""`NBodyFar`: gravitating bodies by the hundred thousand, what is far away taken together: galaxies, or a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import params
from ...params import angle, choice, integer, number
from ..base import Comparison, compare
from ..parts import Parts
from ..reference.gravity import accelerations
from .far_tree import FarTree, kernel
from .galaxy import SOFTENING, Bodies, luminous_count
from .gravity_bodies import GravityModel, galaxies, hand
from .plummer import plummer

COMPARED = 256  # bodies compared with the reference, whose cost grows with their number times that of all


class Params(params.Params):
    """Units: G = 1; lengths and masses are those of `galaxy` for galaxies, of `plummer` for a cluster."""

    count: int = integer(32768, min=2, max=1 << 22, scale="log", rebuild=True, auto=True, doc="bodies")
    start: str = choice(
        "galaxies", ("galaxies", "cluster"), rebuild=True, doc="two discs that meet, or a Plummer sphere in equilibrium"
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
    theta: float = number(
        0.7,
        min=0.05,
        max=1.0,
        doc="how large a group of bodies may look to be taken as a whole: its radius over its distance",
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


class NBodyFar(GravityModel):
    """Gravity with leapfrog steps as of `NBody`, through a tree that is built anew at each step: see `far_tree`.

    A step costs about count · log(count). Forces err by 1e-4 of themselves at theta = 0.5, by 5e-4 at 0.7, by 2e-3 at 1
    (the median of 20,000 bodies in two galaxies), and do not quite balance, so momentum is kept to that only. The same
    seed gives the same bits on one adapter. A hand that drags is one more body, as heavy as the touch is strong.
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
        dt = self.longest_step
        pick = np.linspace(0, self._count - 1, min(self._count, COMPARED)).astype(int)
        before, speed = self._bodies.numpy().astype(float), self._velocities.numpy().astype(float)[pick, :3]
        first = self._accelerations.numpy().astype(float)[pick, :3]
        self._step.replay(**self._still() | {"dt": dt} | hand(None))
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
        self._tree = FarTree(self._bodies, parts)
        self._step, self._force, self._energy = parts.plans("step", "force", "energy")
        moving: dict[str, Any] = {"velocities": self._velocities, "accelerations": self._accelerations}
        still = {"dt": 0.0, **hand(None)}
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

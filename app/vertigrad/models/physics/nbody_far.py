"""`NBodyFar`: gravitating bodies by the hundred thousand, what is far away taken together: galaxies, or a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from ... import ops, params
from ...gpu import Plan
from ...params import angle, choice, integer, number
from ...tensor import Tensor
from ..base import Comparison, Model, OutputSpec, compare
from ..touch import Gesture, Touch
from . import gravity_bodies
from .far_tree import FarTree, kernel
from .galaxy import SOFTENING, Bodies, luminous_count
from .gravity_twin import accelerations
from .plummer import plummer

COMPARED = 256  # bodies compared with the twin, whose cost grows with their number times that of all


class Params(params.Params):
    """Units: G = 1; lengths and masses are those of `galaxy` for galaxies, of `plummer` for a cluster."""

    count: int = integer(32768, min=2, max=1 << 22, scale="log", rebuild=True, auto=True, doc="bodies")
    start: str = choice(
        "galaxies", ("galaxies", "cluster"), rebuild=True, doc="two discs that meet, or a Plummer sphere in equilibrium"
    )
    softening: float = number(
        SOFTENING, min=1e-4, max=10.0, soft_min=0.01, soft_max=1.0, scale="log", doc="length below which gravity fades"
    )
    theta: float = number(
        0.7,
        min=0.05,
        max=1.0,
        doc="how large a group of bodies may look to be taken as a whole: its radius over its distance",
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


class NBodyFar(Model):
    """Gravity with leapfrog steps as of `NBody`, through a tree that is built anew at each step: see `far_tree`.

    A step costs about count · log(count). Forces err by 1e-4 of themselves at theta = 0.5, by 5e-4 at 0.7, by 2e-3 at 1
    (the median of 20,000 bodies in two galaxies), and do not quite balance, so momentum is kept to that only. The same
    seed gives the same bits on one adapter. A hand that drags is one more body, as heavy as the touch is strong.
    """

    Params = Params
    gestures = frozenset({Gesture.DRAG})

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        n, stars = params.count, _stars(params)
        return gravity_bodies.output_specs(n, stars)

    def __init__(self, name: str, params: Params, inputs: Mapping[str, Tensor], seed: int, start: Bodies | None = None):
        """`start` gives the bodies, instead of those made from `seed`; all of them count as stars."""
        self.name, self._params = name, params
        self._touch: Touch | None = None
        stars = _stars(params) if start is None else len(start.masses)
        with ExitStack() as stack:  # closes what was made if something that follows cannot be
            self._make(_bodies(params, seed) if start is None else start, stack)
            self._record(stack)
            self._views = gravity_bodies.outputs(self._bodies, self._velocities, self._galaxy, stars)
            stack.callback(lambda: [view.close() for view in self._views.values()])
            self.reset()
            self._held = stack.pop_all()

    def step(self, dt: float) -> None:
        self._step.replay(dt=dt * self._params.rate, **self._gravity(), **gravity_bodies.hand(self._touch))

    def touch(self, touch: Touch | None) -> None:
        self._touch = touch

    def outputs(self) -> dict[str, Tensor]:
        return self._views

    def diagnostics(self) -> dict[str, Tensor]:
        """`kinetic`, `potential` and total `energy` (f32 sums); lengths of `momentum` and `drift_of_centre`."""
        self._energy.replay(**self._gravity())
        return gravity_bodies.diagnostics(self._energies, self._bodies, self._velocities)

    def compare_with_twin(self) -> list[Comparison]:
        """A kick-drift-kick step of `COMPARED` bodies spread over all, in float64, by all pairs.

        The bounds are twice the errors that were measured, and half of those of nodes without moments.
        """
        dt = self._params.rate / 60.0
        pick = np.linspace(0, self._count - 1, min(self._count, COMPARED)).astype(int)
        before, speed = self._bodies.numpy().astype(float), self._velocities.numpy().astype(float)[pick, :3]
        first = self._accelerations.numpy().astype(float)[pick, :3]
        self._step.replay(dt=dt, **self._gravity(), **gravity_bodies.hand(None))
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

    def reset(self) -> None:
        ops.assign(self._bodies, self._first_bodies)
        ops.assign(self._velocities, self._first_velocities)
        self._force.replay(**self._gravity())

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

    def _make(self, start: Bodies, stack: ExitStack) -> None:
        n, name, held = len(start.masses), self.name, stack.enter_context
        self._count = n
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
        self._tree = FarTree(self._bodies, name, stack)

    def _record(self, stack: ExitStack) -> None:
        """A step; the force alone; the energy."""
        self._step, self._force, self._energy = (
            stack.enter_context(Plan(f"{self.name}.{what}")) for what in ("step", "force", "energy")
        )
        moving: dict[str, Any] = {"velocities": self._velocities, "accelerations": self._accelerations}
        still = {"dt": 0.0, **gravity_bodies.hand(None)}
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

    def _gravity(self) -> dict[str, float]:
        return {"softening": self._params.softening, "theta": self._params.theta}


def _stars(params: Params) -> int:
    return params.count if params.start == "cluster" else luminous_count(params.count, params.mass_ratio)


def _bodies(params: Params, seed: int) -> Bodies:
    if params.start == "cluster":
        return plummer(params.count, seed=seed)
    return gravity_bodies.galaxies(params, seed)

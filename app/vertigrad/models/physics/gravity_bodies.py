"""What the n-body models have in common: their bodies, what they give and tell, and the drag tool."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ... import ops, params
from ...gpu import Plan
from ...params import angle, number
from ...tensor import Tensor
from ..base import DiagnosticSpec, Limit, OutputSpec
from ..interaction import Gesture, Interaction
from ..model_bases import NoReloadModel
from ..parts import Parts
from ..stepping import FixedStep
from .galaxy import SOFTENING, Bodies, colliding_discs

CROSSED = 0.62  # of the softening that a body of root mean square speed may cross in a step


class GravityParams(params.Params):
    """Units: G = 1; one unit of length is the larger disc's scale length, one of mass its mass (see `galaxy`)."""

    count: int
    softening: float = number(
        SOFTENING,
        min=1e-4,
        max=10.0,
        slider_min=0.01,
        slider_max=1.0,
        scale="log",
        doc="Plummer softening length: gravity is weaker at shorter distances",
    )
    time_scale: float = number(
        3.0, min=0.0, max=100.0, slider_max=6.0, unit="1/s", doc="model time that passes per second of simulated time"
    )
    time_step: float = number(
        0.05, min=1e-4, max=1.0, scale="log", doc="longest time step, in model time; shorter for a small softening"
    )
    mass_ratio: float = number(
        0.7, min=0.05, max=1.0, rebuild=True, doc="mass of the second galaxy, relative to the first"
    )
    pericenter: float = number(
        1.8, min=0.1, max=8.0, rebuild=True, doc="closest approach of the galaxies, if both were point masses"
    )
    inclination: float = angle(
        25.0, min=0.0, max=180.0, rebuild=True, doc="first disc, relative to the orbit; 180 is retrograde"
    )
    inclination_2: float = angle(
        50.0, min=0.0, max=180.0, rebuild=True, doc="second disc, relative to the orbit; 180 is retrograde"
    )


class GravityModel(NoReloadModel):
    """Bodies (n, 4), positions with masses, and velocities (n, 4) with speeds: interleaved, and drawn from there.

    A frame is divided into equal leapfrog steps, none longer than `time_step` nor than typical bodies need to cross
    `CROSSED` of the softening: a higher rate or speed takes more of them. Left to say are how forces are worked out,
    and which bodies there are at first.
    """

    gestures = frozenset({Gesture.DRAG})
    limits: ClassVar[Mapping[str, Limit]] = {
        "energy_drift": Limit(0.01, "energy is not conserved: raise softening, or lower time_step")
    }
    _params: Any
    _step: Plan
    _force: Plan  # the first accelerations
    _energy: Plan
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "kinetic": DiagnosticSpec("kinetic energy, summed in f32"),
        "potential": DiagnosticSpec("potential energy, summed in f32"),
        "energy": DiagnosticSpec("`kinetic` and `potential` together"),
        "energy_drift": DiagnosticSpec(
            "relative change of the energy since the last interaction or change of softening"
        ),
        "time_step": DiagnosticSpec("longest time step, in model time"),
        "momentum": DiagnosticSpec("magnitude of the total momentum"),
        "drift_of_center": DiagnosticSpec("distance of the center of mass from the origin, times the total mass"),
    }

    @staticmethod
    @abstractmethod
    def stars(params: Any) -> int:
        """How many of the bodies shine: the first ones."""

    @staticmethod
    @abstractmethod
    def first(params: Any, seed: int) -> Bodies:
        """The bodies at the start."""

    @abstractmethod
    def _record(self, parts: Parts) -> None:
        """Make the plans."""

    @abstractmethod
    def _still(self) -> dict[str, Any]:
        """Fields of the plans for forces and energies; a step takes `dt` and the interaction besides."""

    @classmethod
    def output_specs(cls, params: Any) -> Mapping[str, OutputSpec]:
        count, stars = params.count, cls.stars(params)
        return {
            "position": OutputSpec((count, 3), "f32", "positions of the bodies"),
            "velocity": OutputSpec((count, 3), "f32", "velocities of the bodies"),
            "speed": OutputSpec((count,), "f32", "magnitude of the velocity"),
            "mass": OutputSpec((count,), "f32", "masses of the bodies"),
            "galaxy": OutputSpec((count,), "f32", "galaxy of each body, 0 or 1"),
            "star_position": OutputSpec((stars, 3), "f32", "positions without the dark halo"),
            "star_speed": OutputSpec((stars,), "f32", "speeds without the dark halo"),
            "star_galaxy": OutputSpec((stars,), "f32", "galaxies without the dark halo"),
        }

    def __init__(self, name: str, params: Any, inputs: Mapping[str, Tensor], seed: int, start: Bodies | None = None):
        """`start` gives the bodies, instead of those made from `seed`; all of them count as stars."""
        self.name, self._params = name, params
        self._clock = FixedStep()
        self.clocks = (self._clock,)
        self._conserved = 0.0  # softening for which `_reference` is the energy that is to stay; 0: it changes
        stars = self.stars(params) if start is None else len(start.masses)
        with self._building() as parts:
            start = self.first(params, seed) if start is None else start
            self._scale = Scale.of(start)
            self._make(start, parts)
            self._record(parts)
            self._views = parts.views(self._output_views(stars))
            self.reset()

    def step(self, dt: float) -> None:
        steps, length = self._clock.divide(dt * self._params.time_scale, self.max_time_step)
        values = self._still() | {"dt": length} | tool_uniforms(self._interaction)
        for _ in range(steps):
            self._step.replay(**values)
        if self._interaction is not None:
            self._conserved = 0.0
        elif self._conserved != self._params.softening:
            self._conserve()

    @property
    def max_time_step(self) -> float:
        """The longest leapfrog step, in model time."""
        reach = max(self._params.softening, self._scale.deflection)
        return min(self._params.time_step, CROSSED * reach / self._scale.speed)

    def outputs(self) -> dict[str, Tensor]:
        return self._views

    def diagnostics(self) -> dict[str, Tensor]:
        with self._measured() as sums:
            kinetic, potential = sums[0].contiguous(), sums[1].contiguous()
        energy = kinetic + potential
        with ops.absolute(energy / self._reference - 1.0) as drift:
            drifted = drift * float(self._conserved > 0.0)
        return {
            "kinetic": kinetic,
            "potential": potential,
            "energy": energy,
            "energy_drift": drifted,
            "time_step": Tensor.full(1, self.max_time_step),
            "momentum": _mass_weighted_length(self._velocities, self._bodies),
            "drift_of_center": _mass_weighted_length(self._bodies, self._bodies),
        }

    def reset(self) -> None:
        ops.assign(self._bodies, self._first_bodies)
        ops.assign(self._velocities, self._first_velocities)
        self._force.replay(**self._still())
        self._conserve()

    def state(self) -> dict[str, Tensor]:
        moving = {"velocities": self._velocities, "accelerations": self._accelerations}
        return {"bodies": self._bodies, **moving, "reference": self._reference}

    def numbers(self) -> dict[str, float]:
        return {"conserved": self._conserved}

    def resume(self, numbers: Mapping[str, float]) -> None:
        self._conserved = numbers["conserved"]

    # inside -----------------------------------------------------------------------------------------------------

    def _make(self, start: Bodies, parts: Parts) -> None:
        self._count = n = len(start.masses)
        speeds = np.linalg.norm(start.velocities, axis=1)
        self._first_bodies = parts.copied("first_bodies", np.column_stack([start.positions, start.masses]))
        self._first_velocities = parts.copied("first_velocities", np.column_stack([start.velocities, speeds]))
        self._galaxy = parts.copied("galaxy", start.galaxy.astype(np.float32))
        self._bodies = parts.empty("bodies", n, 4)
        self._velocities = parts.empty("velocities", n, 4)
        self._accelerations = parts.empty("accelerations", n, 4)
        self._energies = parts.empty("energies", n, 2)
        self._reference = parts.empty("reference")

    def _measured(self) -> Tensor:
        """Kinetic and potential energy (2,), now."""
        self._energy.replay(**self._still())
        return ops.sum(self._energies, axis=0)

    def _conserve(self) -> None:
        """The energy that there is now is what further steps should keep."""
        with self._measured() as sums, ops.sum(sums) as energy:
            ops.assign(self._reference, energy)
        self._conserved = self._params.softening

    def _output_views(self, stars: int) -> dict[str, Tensor]:
        views = {
            "position": self._bodies[:, 0:3],
            "velocity": self._velocities[:, 0:3],
            "speed": self._velocities[:, 3],
            "mass": self._bodies[:, 3],
            "galaxy": self._galaxy[:],
        }
        return views | {f"star_{column}": views[column][:stars] for column in ("position", "speed", "galaxy")}


class Scale(NamedTuple):
    """Typical `speed` of bodies, and a tenth of the distance at which the typical mass turns one round that has it."""

    speed: float
    deflection: float

    @staticmethod
    def of(start: Bodies) -> Scale:
        """The root mean square of speeds; of bodies at rest, that to which they fall (Binney & Tremaine 2008, 4.8)."""
        masses = start.masses.astype(float)
        away = start.positions - start.positions.mean(axis=0)
        radius = math.sqrt(np.square(away).sum(axis=1).mean())
        moving = np.square(start.velocities.astype(float)).sum(axis=1).mean()
        squared = max(moving, masses.sum() / (2.0 * max(radius, 1e-6)), 1e-12)
        typical = float(masses @ masses) / max(masses.sum(), 1e-12)
        return Scale(math.sqrt(squared), float(0.1 * typical / squared))


def galaxies(params: Any, seed: int) -> Bodies:
    """The two galaxies that the parameters of a model describe."""
    return colliding_discs(
        params.count,
        seed=seed,
        mass_ratio=params.mass_ratio,
        pericenter=params.pericenter,
        inclinations=(params.inclination, params.inclination_2),
        softening=params.softening,
    )


def tool_uniforms(interaction: Interaction | None) -> dict[str, Any]:
    """The uniforms of the drag tool, whose mass is 0 without an interaction."""
    if interaction is None:
        return {"tool_point": (0.0, 0.0, 0.0), "tool_mass": 0.0, "tool_softening": 1.0}
    return {"tool_point": interaction.point, "tool_mass": interaction.strength, "tool_softening": interaction.radius}


def _mass_weighted_length(vectors: Tensor, bodies: Tensor) -> Tensor:
    with ops.sum(vectors[:, 0:3] * bodies[:, 3:4], axis=0) as total, ops.sum(total * total) as square:
        return ops.sqrt(square)

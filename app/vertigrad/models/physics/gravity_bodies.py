"""What the n-body models have in common: their bodies, their outputs and reports, and the drag tool."""

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
from ..base import Comparison, DiagnosticSpec, Limit, OutputSpec, compare
from ..interaction import NO_INTERACTION, Gesture, Interaction
from ..kernels import parameters
from ..model_bases import NamedTensorsModel
from ..parts import Parts
from ..quantities import log_number
from ..reference.gravity import accelerations
from ..stepping import FixedStep
from .galaxy import SOFTENING, Bodies, colliding_discs, luminous_count

COMPARED = 256  # bodies compared with the reference, whose cost grows with their number times that of all
FRAME = 1.0 / 60.0  # seconds of a frame at playback speed 1
CROSSED = 0.62  # of the softening that typical bodies may cross in a step, where two of them meet


class GravityParams(params.Params):
    """Units: G = 1; one unit of length is the larger disc's scale length, one of mass its mass (see `galaxy`)."""

    count: int
    softening: float = log_number(
        SOFTENING,
        "Plummer softening length: gravity is weaker at shorter distances",
        min=1e-4,
        max=10.0,
        slider_min=0.01,
        slider_max=1.0,
    )
    time_scale: float = number(
        3.0, min=0.0, max=100.0, slider_max=6.0, unit="1/s", doc="model time that passes per second of simulated time"
    )
    time_step: float = log_number(
        0.05, "longest time step, in model time; shorter for a small softening", min=1e-4, max=1.0
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


AT_START = -1.0  # of `GravityModel.conserved`: accelerations and energy are not computed yet


class GravityModel(NamedTensorsModel):
    """Bodies (n, 4), positions with masses, and velocities (n, 4) with speeds: interleaved, and drawn from there.

    A frame is divided into equal leapfrog steps, none longer than `time_step` nor than two typical bodies that meet
    need to cross `CROSSED` of the softening: a higher time scale or speed takes more of them. Where the softening is
    below a twentieth of the distance at which typical bodies deflect each other by 90°, steps are those for that
    distance, and the limit `cfl` says so: then only a smaller `time_step` resolves the closest pairs. Subclasses
    compute the forces.
    """

    gestures = frozenset({Gesture.DRAG})
    limits: ClassVar[Mapping[str, Limit]] = {
        "cfl": Limit(
            1.001, "close pairs change the energy, as steps are too long for them: raise softening, or lower time_step"
        ),
        "energy_drift": Limit(1e-3, "energy is not conserved: raise softening, or lower time_step"),
    }
    saved = ("bodies", "velocities", "accelerations", "reference")
    scalars = ("conserved",)
    force_parameters: ClassVar[tuple[str, ...]] = ("softening",)  # those that kernels take
    is_exact: ClassVar[bool] = True  # forces are sums over all pairs
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
        "cfl": DiagnosticSpec("`time_step` relative to what two typical bodies that meet need to cross the softening"),
        "momentum": DiagnosticSpec("magnitude of the total momentum"),
        "drift_of_center": DiagnosticSpec("distance of the center of mass from the origin, times the total mass"),
    }

    @staticmethod
    def stars(params: Any) -> int:
        """How many of the bodies shine: the first ones."""
        return luminous_count(params.count, params.mass_ratio)

    @staticmethod
    def first(params: Any, seed: int) -> Bodies:
        """The bodies at the start: two galaxies, unless a subclass has others."""
        return colliding_discs(
            params.count,
            seed=seed,
            mass_ratio=params.mass_ratio,
            pericenter=params.pericenter,
            inclinations=(params.inclination, params.inclination_2),
            softening=params.softening,
        )

    @abstractmethod
    def _force_bound(self) -> float:
        """The relative error of forces that is accepted."""

    @abstractmethod
    def _record(self, parts: Parts) -> None:
        """Add kernels to the plans; `drifting` and `moving` are names of bodies and velocities as well."""

    @classmethod
    def output_specs(cls, params: Any) -> Mapping[str, OutputSpec]:
        count, stars = params.count, cls.stars(params)
        return {
            "position": OutputSpec((count, 3), "f32", "positions of the bodies", "bodies", slice(3)),
            "velocity": OutputSpec((count, 3), "f32", "velocities of the bodies", "velocities", slice(3)),
            "speed": OutputSpec((count,), "f32", "magnitude of the velocity", "velocities", 3),
            "mass": OutputSpec((count,), "f32", "masses of the bodies", "bodies", 3),
            "galaxy": OutputSpec((count,), "f32", "galaxy of each body, 0 or 1"),
            "star_position": OutputSpec((stars, 3), "f32", "positions without the dark halo", "stars", slice(3)),
            "star_speed": OutputSpec((stars,), "f32", "speeds without the dark halo", "star_velocities", 3),
            "star_galaxy": OutputSpec((stars,), "f32", "galaxies without the dark halo", "star_galaxies"),
            "star_radius": OutputSpec(
                (stars,), "f32", "distances of stars from the center of their galaxy, at the start"
            ),
        }

    def __init__(self, name: str, params: Any, inputs: Mapping[str, Tensor], seed: int, start: Bodies | None = None):
        """`start` gives the bodies, instead of those drawn from `seed`; all of them count as stars."""
        self._start = start
        self.clocks = (FixedStep(),)
        self._conserved = (
            0.0  # softening for which `_reference` is the energy that is to stay; 0: it changes; or AT_START
        )
        super().__init__(name, params, inputs, seed)

    def step(self, dt: float) -> None:
        steps, length = self.clocks[0].divide(dt * self._params.time_scale, self._frame_part)
        fields = self._fields(length, self._tool())
        self._begin()
        for _ in range(steps):
            self._step.replay(**fields)
        if self._interaction is not None:
            self._conserved = 0.0
        elif self._conserved != self._params.softening:
            self._conserve()

    @property
    def max_time_step(self) -> float:
        """The longest leapfrog step, in model time."""
        return min(self._params.time_step, self._scale.crossing_time(self._params.softening, self._scale.deflection))

    @property
    def _frame_part(self) -> float:
        """The longest step that divides a frame evenly: several frames at once are then the same steps."""
        frame, longest = FRAME * self._params.time_scale, self.max_time_step
        return frame / math.ceil(frame / longest * (1.0 - 1e-9)) if frame > 0.0 else longest

    def diagnostics(self) -> dict[str, Tensor]:
        self._energy.replay(**self._fields())
        kinetic, potential = self._sums[0].contiguous(), self._sums[1].contiguous()
        energy, referenced = kinetic + potential, self._conserved > 0.0
        return {
            "kinetic": kinetic,
            "potential": potential,
            "energy": energy,
            "energy_drift": ops.absolute(energy / self._reference - 1.0) if referenced else Tensor.full(1, 0.0),
            "time_step": Tensor.full(1, self.max_time_step),
            "cfl": Tensor.full(1, self.max_time_step / self._scale.crossing_time(self._params.softening)),
            "momentum": _mass_weighted_length(self._velocities, self._bodies),
            "drift_of_center": _mass_weighted_length(self._bodies, self._bodies),
        }

    def compare_with_reference(self) -> list[Comparison]:
        """A kick-drift-kick step of `COMPARED` bodies spread over all, in float64, by all pairs."""
        dt, tool, softening = self.max_time_step, self._tool(), self._params.softening
        pick = np.linspace(0, self._count - 1, min(self._count, COMPARED)).astype(int)
        self._begin()
        before, speed = self._bodies.numpy().astype(float), self._velocities.numpy().astype(float)[pick, :3]
        first = self._accelerations.numpy().astype(float)[pick, :3]
        self._step.replay(**self._fields(dt, tool))
        after = self._bodies.numpy().astype(float)

        def acceleration_of(bodies: np.ndarray) -> np.ndarray:
            at = bodies[pick, :3]
            force = accelerations(bodies[:, :3], bodies[:, 3], softening, at=at)
            return force + accelerations(np.array([tool.point]), np.array([tool.strength]), tool.radius, at=at)

        if self.is_exact:
            first = acceleration_of(before)
        force = acceleration_of(after)
        position = before[pick, :3] + dt * (speed + 0.5 * dt * first)
        speed, bound = speed + 0.5 * dt * (first + force), self._force_bound()
        return [
            compare("position", after[pick, :3], position, 1e-6),
            compare("velocity", self._velocities.numpy()[pick, :3], speed, bound),
            compare("acceleration", self._accelerations.numpy()[pick, :3], force, bound),
        ]

    def reset(self) -> None:
        ops.assign(self._bodies, self._first_bodies)
        ops.assign(self._velocities, self._first_velocities)
        ops.assign(self._accelerations, 0.0)
        ops.assign(self._reference, 0.0)
        self._conserved = AT_START

    def _begin(self) -> None:
        """Compute the accelerations and the energy of the start, if this is it; the first image waits for neither."""
        if self._conserved == AT_START:
            self._force.replay(**self._fields())
            self._conserve()

    def _create(self, parts: Parts) -> None:
        start = self.first(self._params, self._seed) if self._start is None else self._start
        self._scale = Scale.of(start)
        self._count = n = len(start.masses)
        speeds = np.linalg.norm(start.velocities, axis=1)
        self._first_bodies = parts.copied("first_bodies", np.column_stack([start.positions, start.masses]))
        self._first_velocities = parts.copied("first_velocities", np.column_stack([start.velocities, speeds]))
        self._bodies, self._velocities = parts.empty("bodies", n, 4), parts.empty("velocities", n, 4)
        self._accelerations, self._energies = parts.empty("accelerations", n, 4), parts.empty("energies", n, 2)
        self._sums, self._reference = parts.empty("sums", 2), parts.empty("reference")
        galaxy = parts.copied("galaxy", start.galaxy.astype(np.float32))
        stars = self.stars(self._params) if self._start is None else n
        shining = {"stars": self._bodies, "star_velocities": self._velocities, "star_galaxies": galaxy}
        self._tensors |= parts.views({name: tensor[:stars] for name, tensor in shining.items()})
        parts.copied("star_radius", radii(start.positions[:stars], start.galaxy[:stars]))
        self._tensors |= {"drifting": self._bodies, "moving": self._velocities}
        self._step, self._force, self._energy, self._keep = parts.plans("step", "force", "energy", "keep")
        self._record(parts)
        with self._energy.recording():
            ops.sum(self._energies, axis=0, out=self._sums)
        with self._keep.recording():
            ops.sum(self._sums, out=self._reference)

    def _fields(self, dt: float = 0.0, tool: Interaction = NO_INTERACTION) -> dict[str, Any]:
        """Fields of the kernels for a step of `dt`; the drag tool is a body."""
        body = {"tool_point": tool.point, "tool_mass": tool.strength, "tool_softening": tool.radius}
        return {"dt": dt, **parameters(self._params, *self.force_parameters), **body}

    def _conserve(self) -> None:
        """The energy that there is now is what further steps should keep."""
        self._energy.replay(**self._fields())
        self._keep.replay()
        self._conserved = self._params.softening


class Scale(NamedTuple):
    """Typical `speed` and `mass` of bodies, and a twentieth of the distance at which they deflect each other by 90°."""

    speed: float
    mass: float
    deflection: float

    def crossing_time(self, softening: float, least: float = 0.0) -> float:
        """The time that two bodies that meet need for `CROSSED` of the softening, or of `least` if that is more.

        They fall into each other's softened potential: v² + 4 m / softening.
        """
        distance = max(softening, least)
        return CROSSED * distance / math.sqrt(self.speed**2 + 4.0 * self.mass / distance)

    @staticmethod
    def of(start: Bodies) -> Scale:
        """The root mean square of speeds; of bodies at rest, that to which they fall (Binney & Tremaine 2008, 4.8)."""
        masses = start.masses.astype(float)
        away = start.positions - start.positions.mean(axis=0)
        radius = math.sqrt(np.square(away).sum(axis=1).mean())
        moving = np.square(start.velocities.astype(float)).sum(axis=1).mean()
        squared = max(moving, masses.sum() / (2.0 * max(radius, 1e-6)), 1e-12)
        typical = float(masses @ masses / max(masses.sum(), 1e-12))
        return Scale(math.sqrt(squared), typical, 0.1 * typical / squared)


def radii(positions: np.ndarray, galaxies: np.ndarray) -> np.ndarray:
    """Distances (n,) of positions (n, 3) from the mean of those of the same galaxy (n,)."""
    distances = np.zeros(len(positions), np.float32)
    for one in np.unique(galaxies):
        inside = galaxies == one
        distances[inside] = np.linalg.norm(positions[inside] - positions[inside].mean(axis=0), axis=1)
    return distances


def _mass_weighted_length(vectors: Tensor, bodies: Tensor) -> Tensor:
    return ops.l2(ops.sum(vectors[:, 0:3] * bodies[:, 3:4], axis=0))

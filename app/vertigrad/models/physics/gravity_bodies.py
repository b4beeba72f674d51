"""What the n-body models have in common: their bodies, what they give and tell, and how a hand pulls."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from ... import ops
from ...gpu import Plan
from ...tensor import Tensor
from ..base import OutputSpec
from ..built import TimelessModel
from ..parts import Parts
from ..touch import Gesture, Touch
from .galaxy import Bodies, colliding_discs


class GravityModel(TimelessModel):
    """Bodies (n, 4), places with masses, and velocities (n, 4) with speeds: interleaved, and drawn from there.

    Left to say are how forces are worked out, and which bodies there are at first.
    """

    gestures = frozenset({Gesture.DRAG})
    _params: Any
    _step: Plan
    _force: Plan  # the first accelerations
    _energy: Plan

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
        """The fields of the plans that do not move anything."""

    @classmethod
    def output_specs(cls, params: Any) -> Mapping[str, OutputSpec]:
        count, stars = params.count, cls.stars(params)
        return {
            "position": OutputSpec((count, 3), "f32", "where each body is"),
            "velocity": OutputSpec((count, 3), "f32", "how it moves"),
            "speed": OutputSpec((count,), "f32", "length of its velocity"),
            "mass": OutputSpec((count,), "f32", "its mass"),
            "galaxy": OutputSpec((count,), "f32", "which galaxy it came from, 0 or 1"),
            "star_position": OutputSpec((stars, 3), "f32", "positions without the dark halo"),
            "star_speed": OutputSpec((stars,), "f32", "speeds without the dark halo"),
            "star_galaxy": OutputSpec((stars,), "f32", "galaxies without the dark halo"),
        }

    def __init__(self, name: str, params: Any, inputs: Mapping[str, Tensor], seed: int, start: Bodies | None = None):
        """`start` gives the bodies, instead of those made from `seed`; all of them count as stars."""
        self.name, self._params = name, params
        stars = self.stars(params) if start is None else len(start.masses)
        with self._building() as parts:
            self._make(self.first(params, seed) if start is None else start, parts)
            self._record(parts)
            self._views = parts.views(self._look(stars))
            self.reset()

    def outputs(self) -> dict[str, Tensor]:
        return self._views

    def diagnostics(self) -> dict[str, Tensor]:
        """`kinetic`, `potential` and total `energy` (f32 sums); lengths of `momentum` and `drift_of_centre`."""
        self._energy.replay(**self._still())
        with ops.sum(self._energies, axis=0) as sums:
            kinetic, potential = sums[0].contiguous(), sums[1].contiguous()
        return {
            "kinetic": kinetic,
            "potential": potential,
            "energy": kinetic + potential,
            "momentum": _mass_weighted_length(self._velocities, self._bodies),
            "drift_of_centre": _mass_weighted_length(self._bodies, self._bodies),
        }

    def reset(self) -> None:
        ops.assign(self._bodies, self._first_bodies)
        ops.assign(self._velocities, self._first_velocities)
        self._force.replay(**self._still())

    def state(self) -> dict[str, Tensor]:
        return {"bodies": self._bodies, "velocities": self._velocities, "accelerations": self._accelerations}

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

    def _look(self, stars: int) -> dict[str, Tensor]:
        views = {
            "position": self._bodies[:, 0:3],
            "velocity": self._velocities[:, 0:3],
            "speed": self._velocities[:, 3],
            "mass": self._bodies[:, 3],
            "galaxy": self._galaxy[:],
        }
        return views | {f"star_{column}": views[column][:stars] for column in ("position", "speed", "galaxy")}


def galaxies(params: Any, seed: int) -> Bodies:
    """The two galaxies that the parameters of a model describe."""
    return colliding_discs(
        params.count,
        seed=seed,
        mass_ratio=params.mass_ratio,
        pericentre=params.pericentre,
        inclinations=(params.inclination, params.inclination_2),
        softening=params.softening,
    )


def hand(touch: Touch | None) -> dict[str, Any]:
    """The hand as the forces know it; one that is nowhere has no mass."""
    if touch is None:
        return {"hand": (0.0, 0.0, 0.0), "hand_mass": 0.0, "hand_softening": 1.0}
    return {"hand": touch.point, "hand_mass": touch.strength, "hand_softening": touch.radius}


def _mass_weighted_length(vectors: Tensor, bodies: Tensor) -> Tensor:
    with ops.sum(vectors[:, 0:3] * bodies[:, 3:4], axis=0) as total, ops.sum(total * total) as square:
        return ops.sqrt(square)

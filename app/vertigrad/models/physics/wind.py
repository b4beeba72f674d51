"""`Wind`: the velocities of the air in a box, with eddies that turn and drift; for what can be blown about."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ... import ops, params
from ...params import integer, switch, vector
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, OutputSpec, compare
from ..kernels import Kernels
from ..model_bases import NamedTensorsModel
from ..parts import Parts
from ..quantities import amount, array_size, log_number
from ..reference import wind as reference

SHADER = "models/wind.wgsl"
RECURS = 8.0  # turns after which all gradients have turned an integer number of times


class Params(params.Params):
    """A box of air, y up; lengths in meters."""

    resolution: int = array_size(32, "cells along the longest side", min=4, max=256)
    size: tuple[float, ...] = vector((4.0, 4.0, 4.0), min=0.01, max=1e4, rebuild=True, unit="m", doc="size of the box")
    center: tuple[float, ...] = vector((0.0, 0.0, 0.0), rebuild=True, unit="m", doc="center of the box")
    mean: tuple[float, ...] = vector(
        (3.0, 0.0, 0.0), min=-60.0, max=60.0, slider_min=-10.0, slider_max=10.0, unit="m/s", doc="mean wind velocity"
    )
    turbulence: float = amount(1.5, "root mean square speed of the eddies", max=60.0, slider_max=8.0, unit="m/s")
    eddy: float = log_number(1.5, "size of the largest eddies", min=0.05, max=1e3, slider_max=10.0, unit="m")
    octaves: int = integer(3, min=1, max=6, doc="number of octaves: each has eddies of half the size")
    turnover: float = amount(0.5, "rate at which eddies change", max=20.0, slider_max=3.0, unit="1/s")
    floor: bool = switch(False, doc="no flow through the bottom of the box")


class Wind(NamedTensorsModel):
    """Curl noise (Bridson et al. 2007): divergence-free by central differences, with eddies that drift.

    A function of time and seed alone: the same seed gives the same bits on one GPU. Cells are cubes, velocities are at
    their centers. Eddies smaller than two cells are not resolved: raise the resolution or lower the octaves.
    """

    Params = Params
    saved = ("velocity", "speed")
    scalars = ("turn", "drift")
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "mean_speed": DiagnosticSpec("mean speed", "m/s"),
        "max_speed": DiagnosticSpec("largest speed", "m/s"),
        "divergence": DiagnosticSpec("largest divergence between neighboring cells", "1/s"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        nx, ny, nz = _cells(params)
        return {
            "velocity": OutputSpec((nz, ny, nx, 3), "f32", "air velocity at cell centers [m/s]"),
            "speed": OutputSpec((nz, ny, nx), "f32", "magnitude of the velocity [m/s]"),
            "position": OutputSpec((nz, ny, nx, 3), "f32", "cell centers [m]"),
        }

    def step(self, dt: float) -> None:
        p = self._params
        span = reference.SIDE * p.eddy  # the lattice repeats after this, and so do the octaves
        self._turn = math.fmod(self._turn + dt * p.turnover / RECURS, 1.0)
        self._drift = [math.fmod(d + m * dt, span) for d, m in zip(self._drift, p.mean, strict=True)]
        self._plan.replay(**self._values())

    def diagnostics(self) -> dict[str, Tensor]:
        self._check.replay(**self._values())
        return {
            **{"mean_speed": ops.mean(self._speeds), "max_speed": ops.max(self._speeds)},
            "divergence": ops.max(self._divergences),
        }

    def compare_with_reference(self) -> list[Comparison]:
        """All of the box, in float64, a sixtieth of a second later."""
        self.step(1.0 / 60.0)
        expected = reference.velocities(
            self._lattice, self._values() | {"size": self._size, "low": self._low, "cell": self._cell}
        )
        speeds = np.linalg.norm(expected, axis=-1)
        return [
            compare("velocity", self._velocities.numpy(), expected, 1e-4),
            compare("speed", self._speeds.numpy(), speeds, 1e-4),
        ]

    def reset(self) -> None:
        self._turn, self._drift = 0.0, [0.0, 0.0, 0.0]
        self.step(0.0)

    def _create(self, parts: Parts) -> None:
        params, self._size = self._params, _cells(self._params)
        self._cell = max(params.size) / params.resolution
        self._low = tuple(c - 0.5 * n * self._cell for c, n in zip(params.center, self._size, strict=True))
        self._lattice = reference.Lattice.random(self._seed)
        x, y, z = self._size
        axes = parts.copied("axes", self._lattice.rows())
        gradients = parts.zeros("gradients", 3 * reference.SIDE**3, 4)
        potential = parts.zeros("potential", z + 2, y + 2, x + 2, 4)
        self._velocities, self._speeds = parts.zeros("velocity", z, y, x, 3), parts.zeros("speed", z, y, x)
        self._divergences = parts.zeros("divergences", z, y, x)
        parts.copied("position", self._middles())

        self._plan, self._check = parts.plans("step", "divergence")
        bound = {"turned": gradients, "field": potential, "moving": self._velocities}
        bound |= {"velocities": self._velocities, "speeds": self._speeds}
        constants = {"size": self._size, "low": self._low, "cell": self._cell}
        add = Kernels(SHADER, self._tensors | bound, constants, {"SIDE": reference.SIDE}).add
        add(self._plan, "spin", len(axes), "turned")
        add(self._plan, "raise", (x + 2) * (y + 2) * (z + 2), "potential")
        add(self._plan, "curl", x * y * z, "velocities", "speeds")
        add(self._check, "diverge", x * y * z, "divergences")

    def _values(self) -> dict[str, Any]:
        p = self._params
        return {
            **{"octaves": p.octaves, "drift": tuple(self._drift), "eddy": p.eddy, "mean": p.mean, "turn": self._turn},
            **{"strength": reference.strength(p.turbulence, p.octaves), "bounded": int(p.floor)},
        }

    def _middles(self) -> np.ndarray:
        along = [low + (np.arange(n) + 0.5) * self._cell for low, n in zip(self._low, self._size, strict=True)]
        z, y, x = np.meshgrid(*reversed(along), indexing="ij")
        return np.stack([x, y, z], axis=-1).astype(np.float32)


def _cells(params: Params) -> tuple[int, int, int]:
    """Cells along x, y and z: cubes, as many as fit the box best."""
    edge = max(params.size) / params.resolution
    x, y, z = (max(4, round(length / edge)) for length in params.size)
    return x, y, z

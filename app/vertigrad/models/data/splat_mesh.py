"""`SplatMesh`: Gaussian splats on the triangles of a mesh."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ... import ops, params
from ...errors import InputError
from ...params import color, integer, number, vector
from ...params.color_space import linear
from ...tensor import Tensor, f32, u32
from ..base import Comparison, DiagnosticSpec, OutputSpec, compare
from ..kernels import Kernels, parameters
from ..model_bases import NamedTensorsModel
from ..parts import Parts
from ..quantities import log_number
from ..reference.splat_fit import axes_of
from . import splat_file

SHADER = "models/splat_mesh.wgsl"
COMPARED = 500  # splats that the reference works out


class Params(params.Params):
    """How many splats there are, how large they are, and how they are colored."""

    subdivisions: int = integer(1, min=1, max=64, slider_max=8, rebuild=True, doc="subdivisions of each triangle edge")
    size_factor: float = log_number(
        1.0, "scale of the splats; 1: as large as their part of the triangle", min=0.01, max=100.0, slider_max=4.0
    )
    elongation: float = log_number(1.0, "stretch along the longer axis", min=0.1, max=100.0, slider_max=6.0)
    thickness: float = log_number(0.003, "standard deviation along the normal", min=1e-6, max=1e3, slider_max=0.1)
    opacity: float = number(0.9, min=0.0, max=1.0, doc="opacity at the center")
    light: tuple[float, float, float] = color("#ffd9a0", doc="color of splats that face the sun")
    dark: tuple[float, float, float] = color("#2b2a5c", doc="color of splats that face away from the sun")
    color_variation: float = number(0.4, min=0.0, max=2.0, doc="random variation of colors")
    sun: tuple[float, ...] = vector((0.5, 0.7, 0.5), doc="direction toward the light")
    wave_height: float = number(
        0.0, min=-1e3, max=1e3, slider_min=0.0, slider_max=1.0, doc="height by which a traveling wave lifts splats"
    )
    wave_vector: tuple[float, ...] = vector((0.5, 0.0, 0.0), doc="wave vector, in periods per unit of length")
    frequency: float = number(
        0.1, min=-100.0, max=100.0, slider_min=-1.0, slider_max=1.0, unit="1/s", doc="frequency of the wave"
    )


class SplatMesh(NamedTensorsModel):
    """One splat for each part of a triangle, with the covariance of its area: flat, and as long and wide as that.

    A triangle without an area, or with a corner that is not finite, makes splats that are not finite; the layer leaves
    those out.
    """

    Params = Params
    saved = ("position", "scale", "rotation", "opacity", "color")
    scalars = ("turn",)
    inputs: ClassVar[Mapping[str, str]] = {
        "position": "vertices (n, 3)",
        "normal": "their unit normals (n, 3)",
        "index": "three vertices for each triangle (m, 3)",
    }
    required_inputs: ClassVar[frozenset[str]] = frozenset(inputs)
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "largest": DiagnosticSpec("largest standard deviation"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        return splat_file.output_specs(None)

    def step(self, dt: float) -> None:
        self._turn = math.fmod(self._turn + dt * self._params.frequency, 1.0)
        self._plan.update(**self._values())

    def diagnostics(self) -> dict[str, Tensor]:
        return {"largest": ops.max(self._views["scale"])}

    def compare_with_reference(self) -> list[Comparison]:
        """Compare some of the splats without the wave, in float64: positions, and covariances as matrices."""
        self._plan.update(**self._values() | {"wave_height": 0.0})
        total = len(self._views["position"])
        pick = np.random.default_rng(0).integers(0, total, min(COMPARED, total))
        ours = {key: tensor.numpy()[pick].astype(float) for key, tensor in self._views.items()}
        position, covariance = self._reference(pick)
        self.step(0.0)
        return [
            compare("position", ours["position"], position, 1e-5),
            compare("covariance", covariances(ours["scale"], ours["rotation"]), covariance, 1e-4),
        ]

    def reset(self) -> None:
        self._turn = 0.0
        self.step(0.0)

    def _create(self, parts: Parts) -> None:
        inputs = self._inputs
        _check(inputs)
        count = inputs["index"].shape[0] * self._params.subdivisions**2
        specs = splat_file.output_specs(count)
        outputs = {key: parts.empty(key, count, *spec.shape[1:]) for key, spec in specs.items()}  # type: ignore[misc]
        tensors = outputs | {"vertices": inputs["position"], "normals": inputs["normal"], "index": inputs["index"]}
        constants = {f"{name}_strides": tensors[name].strides[0] // 4 for name in ("vertices", "normals")}
        constants |= {"count": count, "subdivisions": self._params.subdivisions}
        self._plan = parts.plan("step")
        Kernels(SHADER, tensors, constants).add(self._plan, "main", count, *outputs)

    def _values(self) -> dict[str, Any]:
        p = self._params
        length = math.hypot(*p.sun)
        return {
            **parameters(p, "size_factor", "elongation", "thickness", "opacity"),
            **parameters(p, "wave_height", "wave_vector", "color_variation"),
            "phase": self._turn,
            "sun": tuple(s / length for s in p.sun) if length else (0.0, 1.0, 0.0),
            "light": linear(p.light),
            "dark": linear(p.dark),
        }

    def _reference(self, pick: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Middles and covariances of splats that no front lifts."""
        p, n = self._params, self._params.subdivisions
        corners = self._inputs["position"].numpy().astype(float)[self._inputs["index"].numpy()[pick // n**2]]
        barycentric = np.array([_part(part, n) for part in pick % n**2])
        parts = np.einsum("pij,pjk->pik", barycentric, corners)
        middle = parts.mean(axis=1)
        offsets = parts - middle[:, None]
        covariance = np.einsum("pij,pik->pjk", offsets, offsets) / 12.0 * p.size_factor**2
        values, axes = np.linalg.eigh(covariance)
        values = values * (1.0, 1.0, p.elongation**2)
        values[:, 0] = p.thickness**2
        return middle, np.einsum("pij,pj,pkj->pik", axes, values, axes)


def covariances(scale: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """The matrices (n, 3, 3) of splats, given their standard deviations (n, 3) and quaternions x, y, z, w (n, 4)."""
    axes = axes_of(rotation) * scale[:, None, :]
    return axes @ axes.transpose(0, 2, 1)


def _part(part: int, n: int) -> np.ndarray:
    """The corners (3, 3) of a part of a triangle, in barycentric coordinates."""
    row = 0
    while part >= 2 * (n - row) - 1:
        part -= 2 * (n - row) - 1
        row += 1
    column, upside_down = divmod(part, 2)
    at = np.array([column, row], float)
    steps = [(1, 0), (0, 1), (1, 1)] if upside_down else [(0, 0), (1, 0), (0, 1)]
    second, third = (at + np.array(steps)).T / n
    return np.stack([1 - second - third, second, third], axis=1)


def _check(inputs: Mapping[str, Tensor]) -> None:
    for name, dtype in (("position", f32), ("normal", f32), ("index", u32)):
        tensor = inputs[name]
        if tensor.ndim != 2 or tensor.shape[1] != 3 or tensor.dtype is not dtype or not tensor.size:
            raise InputError(f"{name} is {tensor.dtype} of shape {tensor.shape}; it must be {dtype}, (rows, 3)")
    if not inputs["index"].is_contiguous:
        raise InputError("index is not contiguous; call .contiguous() first")
    if inputs["normal"].shape != inputs["position"].shape:
        raise InputError(f"normal has the shape {inputs['normal'].shape}, position {inputs['position'].shape}")

"""`NeuralField`: a coordinate network evaluated on a grid each frame; its output is the surface that is drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ... import ops, params
from ...errors import InputError
from ...gpu import Kernel, gpu
from ...params import file, number
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, OutputSpec, compare
from ..kernels import Kernels, parameters
from ..model_bases import NamedTensorsModel
from ..parts import Parts
from ..quantities import amount, array_size
from ..reference.neural_field import GOLDEN, Field, load, surface

SHADER = "models/neural_field.wgsl"
POINTS = 4096  # points of a workgroup times the width of the network, as in the shader
WIDEST = 256
# Points and quads of outputs of a thread. llvmpipe loads from memory for each lane by itself: more sums, fewer loads.
HARDWARE = 4, 1
SOFTWARE = 16, 4


class Params(params.Params):
    """Surface and oscillation of the relief."""

    weights: Path = file(
        "assets/weights/neural_field.safetensors", suffixes=[".safetensors"], doc="the trained network"
    )
    resolution: int = array_size(224, "vertices along each side of the grid", min=2, max=4096)
    extent: float = number(1.0, min=1e-3, max=1e3, scale="log", doc="half the edge length of the surface")
    height: float = number(0.4, min=-100.0, max=100.0, slider_min=0.0, slider_max=2.0, doc="height per unit of relief")
    coarse: float = number(
        1.0, min=-8.0, max=8.0, slider_min=0.0, slider_max=2.0, doc="amplitude of the low-frequency band: hills"
    )
    middle: float = number(
        1.0, min=-8.0, max=8.0, slider_min=0.0, slider_max=2.0, doc="amplitude of the middle band: ridges"
    )
    fine: float = number(
        1.0, min=-8.0, max=8.0, slider_min=0.0, slider_max=4.0, doc="amplitude of the high-frequency band: gullies"
    )
    amplitude: float = amount(
        0.1, "relative amplitude by which each frequency band oscillates; 0: static relief", max=10.0, slider_max=0.4
    )
    frequency: float = amount(0.1, "frequency of the oscillation", max=10.0, slider_max=1.0, unit="Hz")


class NeuralField(NamedTensorsModel):
    """Heights over a square from a network with several frequency bands, evaluated at each step on the GPU.

    A pure function of parameters and time: the same values give the same bits on one GPU. Bands beyond the third have
    amplitude 1.
    """

    Params = Params
    saved = ("position", "normal", "elevation")
    scalars = ("cycle",)
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "lowest": DiagnosticSpec("lowest elevation", "m"),
        "highest": DiagnosticSpec("highest elevation", "m"),
        "mean": DiagnosticSpec("mean elevation", "m"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        side = params.resolution
        return {
            "position": OutputSpec((side, side, 3), "f32", "vertices of the surface, y up"),
            "normal": OutputSpec((side, side, 3), "f32", "unit normals of the surface"),
            "elevation": OutputSpec((side, side), "f32", "elevation in meters"),
        }

    def step(self, dt: float) -> None:
        values = self._params
        self._cycle = (self._cycle + values.frequency * dt) % 1.0
        self._plan.update(
            **parameters(values, "extent", "height", "amplitude"),
            cycle=2.0 * math.pi * self._cycle,
            blend=self._blend(),
            metres_per_unit=self._field.metres_per_unit,
            mean_m=self._field.mean_m,
        )

    def diagnostics(self) -> dict[str, Tensor]:
        heights = self._views["elevation"]
        return {"lowest": ops.min(heights), "highest": ops.max(heights), "mean": ops.mean(heights)}

    def compare_with_reference(self) -> list[Comparison]:
        """The whole surface as it is at this time, in float64."""
        self.step(0.0)
        values, field = self._params, self._field
        positions, normals = surface(
            field,
            values.resolution,
            self._blend()[: field.bands],
            extent=values.extent,
            height=values.height,
            amplitude=values.amplitude,
            frequency=1.0,
            time=self._cycle,
            dtype=np.float64,
        )
        return [
            compare("position", self._views["position"].numpy(), positions, 1e-5),
            compare("height", self._views["position"].numpy()[..., 1], positions[..., 1], 1e-5),
            compare("normal", self._views["normal"].numpy(), normals, 1e-4),
        ]

    def reset(self) -> None:
        self._cycle = 0.0
        self.step(0.0)

    def reload_file(self, name: str) -> bool:
        field, old = _read(self._params.weights), self._field
        if _kernel_defines(field) != _kernel_defines(old):
            return False
        self._weights[...] = pack(field)
        self._field = field
        return True

    def _blend(self) -> tuple[float, ...]:
        """The amplitude of each band, padded to whole vectors."""
        values, bands = self._params, self._field.bands
        amplitudes = (values.coarse, values.middle, values.fine)[:bands]
        return amplitudes + (1.0,) * (-(-bands // 4) * 4 - len(amplitudes))

    def _create(self, parts: Parts) -> None:
        side = self._params.resolution
        self._field = _read(self._params.weights)
        self._weights = parts.copied("weights", pack(self._field))
        position, normal = (parts.empty(what, side, side, 3) for what in ("position", "normal"))
        outputs = {"positions": position, "elevations": parts.empty("elevation", side, side)}
        defines, constants = _kernel_defines(self._field), {"resolution": side, "step": np.float32(2.0 / (side - 1))}
        groups = -(-side * side // (POINTS // padded_width(self._field.width)))
        threads = groups * Kernel.load(SHADER, defines=defines).interface.workgroup[0]
        self._plan = parts.plan("step")
        kernels = Kernels(SHADER, outputs | {"weights": self._weights}, constants, defines)
        kernels.add(self._plan, "main", threads, *outputs)
        with self._plan.recording():
            ops.grid_normals(position, out=normal)


def _read(weights: Path) -> Field:
    field = load(weights)
    if field.width > WIDEST:
        raise InputError(f"{weights}: layers of {field.width} neurons; {WIDEST} at most are supported")
    return field


def _kernel_defines(field: Field) -> dict[str, Any]:
    width = padded_width(field.width)
    points, quads = SOFTWARE if gpu().adapter.kind == "software" else HARDWARE
    sizes = {"WIDTH": width, "LAYERS": field.layers, "BANDS": field.bands}
    return {**sizes, "ACTIVATION": field.activation, "EACH_POINTS": points, "EACH_QUADS": quads}


def padded_width(width: int) -> int:
    """The width the kernel works with: a power of two from 16, the neurons added having weights of zero."""
    return max(16, 1 << (width - 1).bit_length())


def pack(field: Field) -> np.ndarray:
    """The weights in the order and padding of shaders/models/neural_field.wgsl, float32, shape (n, 4)."""
    parts = [part for band in range(field.bands) for part in _band(field, band)]
    return np.concatenate([part.ravel() for part in parts]).astype(np.float32).reshape(-1, 4)


def _band(field: Field, band: int) -> Iterator[np.ndarray]:
    width = padded_width(field.width)
    yield _padded(np.array([field.sway[band]]), (4,))
    for index in range(field.layers - 1):
        weight, bias = field.layer(band, index, np.float64)
        inputs = 2 if index == 0 else width
        yield _padded(weight.T, (inputs, width))
        yield _padded(bias, (width,))
        if index == 0:
            neurons = band * field.width + np.arange(field.width)
            yield _padded(2.0 * np.pi * ((neurons * GOLDEN) % 1.0), (width,))
    weight, bias = field.layer(band, field.layers - 1, np.float64)
    yield _padded(weight[0], (width,))
    yield _padded(bias, (4,))


def _padded(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    grown = np.zeros(shape)
    grown[tuple(slice(n) for n in values.shape)] = values
    return grown

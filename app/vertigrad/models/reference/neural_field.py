"""NumPy reference of the `neural_field` model: reads its weights, evaluates it, makes its surface.

The network. Every band is a small perceptron over (u, v) in [−1, 1]²; the relief is their blend:

    h₀ = f(W₀ · (u, v) + b₀ + p)        p: the perturbation, one number per neuron
    hᵢ = f(Wᵢ · hᵢ₋₁ + bᵢ)              f: sine or ReLU
    band = W_last · h_last + b_last
    H = Σ_k blend_k · band_k

The perturbation shifts each neuron of the first layer to and fro, each at its own phase of a common cycle:

    p_j = amplitude · sway_k · sin(2π · frac(frequency · time) + φ_j),   φ_j = 2π · frac(j · 0.61803398875),

with j counting through the neurons of all bands (j = k · width + neuron). Under a sine the first layer is a
set of plane waves, and p_j is how far wave j has traveled, in radians. The weights file gives each band's
sway such that a small amplitude is the fraction of its relief by which the band changes; without it the fine
band is torn to noise by shifts that the coarse one hardly shows. Amplitude 0 leaves the trained relief, bit
for bit: p is then exactly zero, and it is added to b₀ before anything else.

Everything is computed in the dtype of the coordinates, float32 or float64.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from ...errors import InputError

FORMAT = "vertigrad.neural_field"
VERSION = "1"
GOLDEN = 0.61803398875
CHUNK = 8192  # points computed at a time, so that their hidden layers stay in the cache

_ACTIVATIONS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "sine": np.sin,
    "relu": lambda argument: np.maximum(argument, 0),
}


@dataclass(frozen=True)
class Field:
    """The weights of a network and their metadata from its file.

    `tensors` holds float32 `band{k}.layer{i}.weight` (out, in) and `band{k}.layer{i}.bias` (out,). `sway` has
    a number per band [rad]. Elevation [m] is `mean_m + metres_per_unit · H`; `side_east_m` and `side_south_m`
    are the lengths on the ground of the sides along u and v (0: unknown).
    """

    tensors: Mapping[str, np.ndarray]
    activation: str
    bands: int
    layers: int
    width: int
    band_names: tuple[str, ...]
    sway: tuple[float, ...]
    metres_per_unit: float = 1.0
    mean_m: float = 0.0
    side_east_m: float = 0.0
    side_south_m: float = 0.0

    def layer(self, band: int, index: int, dtype: np.dtype | type) -> tuple[np.ndarray, np.ndarray]:
        """Weight (out, in) and bias (out,) of one layer."""
        name = f"band{band}.layer{index}"
        return self.tensors[f"{name}.weight"].astype(dtype), self.tensors[f"{name}.bias"].astype(dtype)


def tensor_shapes(bands: int, layers: int, width: int) -> dict[str, tuple[int, ...]]:
    """Name and shape of every tensor that a file with these sizes must hold, in the order of the network."""
    sizes = [2, *[width] * (layers - 1), 1]
    shapes: dict[str, tuple[int, ...]] = {}
    for band in range(bands):
        for index in range(layers):
            shapes[f"band{band}.layer{index}.weight"] = (sizes[index + 1], sizes[index])
            shapes[f"band{band}.layer{index}.bias"] = (sizes[index + 1],)
    return shapes


def load(path: str | Path) -> Field:
    """The network in a safetensors file.

    Raises `InputError` listing everything that is wrong with the file: metadata that is missing or out of
    range, tensors that are missing, unexpected, of the wrong shape or type, or not finite.
    """
    text, tensors, others = _read(Path(path))
    problems: list[str] = []
    for name, known in {"format": [FORMAT], "version": [VERSION], "activation": list(_ACTIVATIONS)}.items():
        if text.get(name) not in known:
            expected = " or ".join(_quoted(value) for value in known)
            problems.append(f"metadata: {name} must be {expected}, not {_quoted(text.get(name))}")
    sizes = _sizes(text, problems)
    names = _listed(text, "band_names", [f"band {band}" for band in range(sizes[0])], problems)
    sway = [_number("sway", entry, problems) for entry in _listed(text, "sway", ["1"] * sizes[0], problems)]
    numbers = {name: _number(name, text.get(name, default), problems) for name, default in _NUMBERS.items()}
    if all(sizes):
        problems += _tensor_problems(tensors, others, tensor_shapes(*sizes))
    if problems:
        raise InputError("\n  ".join([f"{path}: not the weights of a neural field", *problems]))
    return Field(tensors, text["activation"], *sizes, tuple(names), tuple(sway), **numbers)


_SIZES = {"bands": (1, 16), "layers": (2, 16), "width": (1, 4096)}
_NUMBERS = {"metres_per_unit": "1", "mean_m": "0", "side_east_m": "0", "side_south_m": "0"}


def _read(path: Path) -> tuple[dict[str, str], dict[str, np.ndarray], dict[str, str]]:
    """Metadata, the float32 tensors, and the types of all others, for which NumPy may have no name."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        with safe_open(path, framework="numpy") as file:
            types = {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118
            tensors = {name: file.get_tensor(name) for name, kind in types.items() if kind == "F32"}
            return file.metadata() or {}, tensors, {name: types[name] for name in set(types) - set(tensors)}
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path}: not a readable safetensors file ({error})") from error


def _quoted(value: str | None) -> str:
    return "missing" if value is None else json.dumps(value)


def _sizes(text: Mapping[str, str], problems: list[str]) -> tuple[int, int, int]:
    """Bands, layers and width; 0, and a problem noted, where the file has no usable number."""
    sizes = [0, 0, 0]
    for at, (name, (least, most)) in enumerate(_SIZES.items()):
        value = text.get(name)
        if value is not None and value.isascii() and value.isdigit() and least <= int(value) <= most:
            sizes[at] = int(value)
        else:
            expected = f"an integer from {least} to {most}"
            problems.append(f"metadata: {name} must be {expected}, not {_quoted(value)}")
    return sizes[0], sizes[1], sizes[2]


def _listed(text: Mapping[str, str], name: str, default: list[str], problems: list[str]) -> list[str]:
    """An entry per band; `default` (one entry per band) where the file has none."""
    entries = text[name].split(",") if name in text else default
    if default and len(entries) != len(default):
        problems.append(f"metadata: {name} has {len(entries)} entries for {len(default)} bands")
    return entries


def _number(name: str, value: str, problems: list[str]) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        problems.append(f"metadata: {name} must hold finite numbers, not {_quoted(value)}")
    return number


def _tensor_problems(
    tensors: Mapping[str, np.ndarray], others: Mapping[str, str], shapes: Mapping[str, tuple[int, ...]]
) -> Iterator[str]:
    for name, shape in shapes.items():
        tensor = tensors.get(name)
        if name in others:
            yield f"{name}: expected type F32, got {others[name]}"
        elif tensor is None:
            yield f"{name}: missing; expected F32 {shape}"
        elif tensor.shape != shape:
            yield f"{name}: expected shape {shape}, got {tensor.shape}"
        elif not np.isfinite(tensor).all():
            yield f"{name}: has values that are not finite"
    for name in sorted({*tensors, *others} - set(shapes)):
        yield f"{name}: unexpected"


def grid(resolution: int, dtype: np.dtype | type = np.float32) -> np.ndarray:
    """(u, v) of a square grid, shape (resolution², 2): rows from v = −1 (north), columns from u = −1 (west).

    Coordinate i is `i · step − 1`, with `step = 2 / (resolution − 1)` rounded to `dtype` first.
    """
    step = np.asarray(2 / (resolution - 1), dtype)
    line = np.arange(resolution).astype(dtype) * step - np.asarray(1, dtype)
    v, u = np.meshgrid(line, line, indexing="ij")
    return np.stack([u.ravel(), v.ravel()], axis=1)


def perturbation(field: Field, amplitude: float, frequency: float, time: float) -> np.ndarray:
    """p of the module's formula, float64, shape (bands, width)."""
    neurons = np.arange(field.bands * field.width)
    phases = 2 * np.pi * ((neurons * GOLDEN) % 1.0)
    cycle = 2 * np.pi * ((frequency * time) % 1.0)
    shifts = np.sin(cycle + phases).reshape(field.bands, field.width)
    return amplitude * np.array(field.sway)[:, None] * shifts


def bands(field: Field, uv: np.ndarray, shifts: np.ndarray | None = None) -> np.ndarray:
    """Output of every band at `uv` (n, 2), shape (bands, n).

    `shifts` (bands, width) is added to the biases of the first layers.
    """
    chunks = [uv[start : start + CHUNK] for start in range(0, max(1, len(uv)), CHUNK)]
    shifts = np.zeros((field.bands, field.width)) if shifts is None else shifts
    outputs = [[_band(field, band, chunk, shifts[band]) for chunk in chunks] for band in range(field.bands)]
    return np.stack([np.concatenate(parts) for parts in outputs])


def _band(field: Field, band: int, uv: np.ndarray, shift: np.ndarray) -> np.ndarray:
    activation = _ACTIVATIONS[field.activation]
    signal = uv
    for index in range(field.layers):
        weight, bias = field.layer(band, index, uv.dtype)
        if index == 0:
            bias = bias + shift.astype(uv.dtype)
        signal = signal @ weight.T + bias
        if index < field.layers - 1:
            signal = activation(signal)
    return signal[:, 0]


def evaluate(
    field: Field,
    uv: np.ndarray,
    blend: Sequence[float],
    amplitude: float = 0.0,
    frequency: float = 1.0,
    time: float = 0.0,
) -> np.ndarray:
    """H at `uv` (n, 2), shape (n,), in units of the relief.

    `blend` has one weight per band; `frequency` [1/s] and `time` [s] matter by their product alone.
    """
    if len(blend) != field.bands:
        raise InputError(f"blend has {len(blend)} weights; the network has {field.bands} bands")
    shifts = perturbation(field, amplitude, frequency, time)
    heights = np.zeros(len(uv), uv.dtype)
    for weight, band in zip(blend, bands(field, uv, shifts), strict=True):
        heights += np.asarray(weight, uv.dtype) * band
    return heights


def surface(
    field: Field,
    resolution: int,
    blend: Sequence[float],
    *,
    extent: float = 1.0,
    height: float = 1.0,
    amplitude: float = 0.0,
    frequency: float = 1.0,
    time: float = 0.0,
    dtype: np.dtype | type = np.float32,
) -> tuple[np.ndarray, np.ndarray]:
    """Positions and normals of the relief over a square, both (resolution, resolution, 3), y up.

    x = extent · u (east), y = height · H, z = extent · v (south): a right-handed frame.
    """
    uv = grid(resolution, dtype)
    heights = evaluate(field, uv, blend, amplitude, frequency, time)
    scale, lift = np.asarray(extent, dtype), np.asarray(height, dtype)
    points = np.stack([scale * uv[:, 0], lift * heights, scale * uv[:, 1]], axis=1)
    positions = points.reshape(resolution, resolution, 3)
    return positions, normals(positions)


def normals(positions: np.ndarray) -> np.ndarray:
    """Unit normals (rows, columns, 3) of a grid of points of that shape; they point up if z grows with r.

    With P the points, east = P[r, c+1] − P[r, c−1] and south = P[r+1, c] − P[r−1, c]; at a border the point
    itself stands in for the missing neighbor. The normal is south × east, divided by its length.
    """
    row, column = np.indices(positions.shape[:2])
    last_row, last_column = positions.shape[0] - 1, positions.shape[1] - 1
    east = positions[row, np.minimum(column + 1, last_column)] - positions[row, np.maximum(column - 1, 0)]
    south = positions[np.minimum(row + 1, last_row), column] - positions[np.maximum(row - 1, 0), column]
    normal = np.cross(south, east)
    return normal / np.linalg.norm(normal, axis=-1, keepdims=True)

"""Resampling along any axes, with the coordinates and the filters of ONNX's Resize.

The position of a result in x, and how much it takes of which elements, depend on sizes alone: so both are tables, made
here in float64 and uploaded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import Tensor, f16, f32, f64
from ..tensor.doubles import on_gpu
from . import launch
from .define import Operand
from .differentiable import differentiable
from .elementwise import assign

MODES = ("nearest", "linear", "cubic")
COORDINATES = {  # result number o, and the sizes and scale of the axis, as a position in x
    "half_pixel": lambda o, n, m, s: (o + 0.5) / s - 0.5,
    "half_pixel_symmetric": lambda o, n, m, s: n / 2 * (1 - m / (s * n)) + (o + 0.5) / s - 0.5,
    "pytorch_half_pixel": lambda o, n, m, s: (o + 0.5) / s - 0.5 if s * n != 1 else 0 * o - 0.5,
    "align_corners": lambda o, n, m, s: o * (n - 1) / (s * n - 1) if s * n != 1 else 0 * o,
    "asymmetric": lambda o, n, m, s: o / s,
    "tf_half_pixel_for_nn": lambda o, n, m, s: (o + 0.5) / s,
}
ROUNDING: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda position: np.ceil(position - 0.5),
    "round_prefer_ceil": lambda position: np.floor(position + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}
CROPPING = "tf_crop_and_resize"  # the coordinates that take a region
LONGEST = 1 << 24  # elements of an axis of the result: its table is computed on the host
MOST_TAPS = 64  # elements of a result that one kernel sums up; more, and it goes axis by axis


class Axis(NamedTuple):
    """How one axis is resampled: for each result the elements of x, and the weight of each.

    Both have the shape (results, taps); an index of −1 stands for a result outside of x.
    """

    indices: np.ndarray
    weights: np.ndarray

    def transposed(self, size: int) -> Axis:
        """The backward pass: for each of `size` elements of x the results it is part of, and its weight in each."""
        result, tap = np.nonzero((self.indices >= 0) & (self.weights != 0))
        element, weight = self.indices[result, tap], self.weights[result, tap]
        order = np.argsort(element, kind="stable")
        counts = np.bincount(element, minlength=size)
        column = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        indices = np.full((size, max(counts.max(initial=0), 1)), -1, np.int32)
        weights = np.zeros(indices.shape, np.float32)
        indices[element[order], column] = result[order]
        weights[element[order], column] = weight[order]
        return Axis(np.where(indices < 0, indices[:, :1], indices), weights)


class Resampling(NamedTuple):
    """The options of `resize`, which documents them."""

    mode: str
    coordinates: str
    rounding: str
    cubic: float
    antialias: bool
    exclude_outside: bool
    region: Sequence[tuple[float, float]] | None
    keep: str


@differentiable
def resize(
    x: Operand,
    size: Sequence[int] | None = None,
    *,
    scale: Sequence[float] | None = None,
    axes: Sequence[int] | None = None,
    mode: str = "linear",
    coordinates: str = "half_pixel",
    rounding: str = "round_prefer_floor",
    cubic: float = -0.75,
    antialias: bool = False,
    exclude_outside: bool = False,
    region: Sequence[tuple[float, float]] | None = None,
    outside: float = 0.0,
    keep: str = "stretch",
    out: Tensor | None = None,
) -> Tensor:
    """x with `axes` (all of them) resampled to `size`, or to ⌊size · scale⌋.

    `mode` is "nearest" (any element type; `rounding` says which of two), "linear" or "cubic" (Keys' kernel with the
    parameter `cubic`), of floats. `coordinates` is one of `COORDINATES`, or "tf_crop_and_resize": `region` then gives
    for each axis the part of x, from 0 to 1, that is resampled, and what is outside of x is `outside`. With
    `antialias` the filter is as wide as what a result stands for when x shrinks; `exclude_outside` leaves out elements
    beyond the border instead of repeating the last. `keep` "not_larger" and "not_smaller" scale all axes alike, within
    or around `size`. Raises `ShapeError`, `DtypeError`.
    """
    with launch.tensors(x) as (source,):
        how = Resampling(mode, coordinates, rounding, cubic, antialias, exclude_outside, region, keep)
        shape, tables = tables_of(source.shape, size, scale, axes, how)
        if mode != "nearest" and not source.dtype.is_real:
            raise DtypeError(f"resize: {mode} of {source.dtype}; cast it first with .to('f32')")
        out = launch.prepare_output("resize", shape, source.dtype, out)
        if out.size and not source.size:
            raise ShapeError(f"resize: {source.shape} has no elements to make {shape} of")
        if out.size:
            resample(launch.copy_if_aliased(source, out), tables, outside, out)
    return out


def tables_of(
    x_shape: Sequence[int],
    size: Sequence[int] | None,
    scale: Sequence[float] | None,
    axes: Sequence[int] | None,
    how: Resampling,
) -> tuple[tuple[int, ...], dict[int, Axis]]:
    """For `resize` and its gradient: the shape of the result, and how each axis that changes is resampled."""
    named = [launch.normal_axis(a, len(x_shape)) for a in (range(len(x_shape)) if axes is None else axes)]
    _check(named, size, scale, how)
    sizes, scales = _sizes([x_shape[a] for a in named], size, scale, how.keep)
    if max(sizes, default=0) > LONGEST:
        raise ShapeError(f"resize: {x_shape} to the sizes {sizes}; an axis has {LONGEST:,} elements at most")
    tables: dict[int, Axis] = {}
    for i, axis in enumerate(named):
        part = how.region[i] if how.region is not None and how.coordinates == CROPPING else None
        n, m, s = x_shape[axis], sizes[i], scales[i]
        if n == m and math.isclose(s, 1) and part in (None, (0, 1)):
            continue
        tables[axis] = _table(_where(how.coordinates, n, m, s, part), n, s, how, part is not None)
    shape = list(x_shape)
    for axis, m in zip(named, sizes, strict=True):
        shape[axis] = m
    return tuple(shape), tables


def resample(x: Tensor, tables: dict[int, Axis], outside: float, out: Tensor) -> None:
    """Write x to `out`, the axes of `tables` resampled; `outside` is the value outside of x."""
    if not tables:
        assign(out, x)
    elif math.prod(table.indices.shape[1] for table in tables.values()) <= MOST_TAPS:
        _launch(x, tables, outside, out)
    else:
        axis = min(tables, key=lambda a: len(tables[a].indices) / x.shape[a])  # what shrinks most first
        shape = [len(tables[axis].indices) if i == axis else n for i, n in enumerate(x.shape)]
        rest = {a: table for a, table in tables.items() if a != axis}
        if not rest:
            return _launch(x, tables, outside, out)
        with Tensor.empty(shape, f32 if x.dtype is f16 else x.dtype, temporary=True) as part:
            _launch(x, {axis: tables[axis]}, outside, part)
            resample(part, rest, outside, out)


# inside -------------------------------------------------------------------------------------------------------------


def _check(axes: Sequence[int], size: Sequence[int] | None, scale: Sequence[float] | None, how: Resampling) -> None:
    requested = size if size is not None else scale
    if (size is None) == (scale is None) or requested is None or len(requested) != len(axes):
        raise ShapeError(
            f"resize: a size or a scale for each of the axes {tuple(axes)}, not size {size}, scale {scale}"
        )
    if not all(0 <= one < math.inf for one in requested) or (scale is not None and min(scale, default=1) <= 0):
        raise ShapeError(f"resize: sizes {size} and scales {scale} must be positive")
    known = [*COORDINATES, CROPPING]
    if how.mode not in MODES or how.coordinates not in known or how.rounding not in ROUNDING:
        raise ShapeError(
            f"resize: mode {how.mode!r} ({', '.join(MODES)}), coordinates {how.coordinates!r} ({', '.join(known)}), "
            f"rounding {how.rounding!r} ({', '.join(ROUNDING)})"
        )
    if (how.region is None or len(how.region) != len(axes)) and how.coordinates == CROPPING:
        raise ShapeError("resize: tf_crop_and_resize needs the part of each axis, (start, end), as `region`")
    if how.mode == "nearest" and how.antialias:
        raise ShapeError("resize: the nearest element cannot be smoothed; use linear or cubic with antialias")


def _sizes(
    lengths: Sequence[int], size: Sequence[int] | None, scale: Sequence[float] | None, keep: str
) -> tuple[list[int], list[float]]:
    if size is None:
        scales = [float(s) for s in scale or ()]
        return [int(s * n) for n, s in zip(lengths, scales, strict=True)], scales
    scales = [m / max(n, 1) for n, m in zip(lengths, size, strict=True)]
    if keep == "stretch" or not scales:
        return [int(m) for m in size], scales
    if keep not in ("not_larger", "not_smaller"):
        raise ShapeError(f'resize: keep is "stretch", "not_larger" or "not_smaller", not {keep!r}')
    one = min(scales) if keep == "not_larger" else max(scales)
    return [int(one * n + 0.5) for n in lengths], [one] * len(lengths)


def _where(coordinates: str, n: int, m: int, s: float, part: tuple[float, float] | None) -> np.ndarray:
    o = np.arange(m, dtype=np.float64)
    if part is None:
        return COORDINATES[coordinates](o, n, m, s) if m else o
    start, end = part
    wide = s * n
    inner = o * (end - start) * (n - 1) / (wide - 1) if wide != 1 else 0 * o + (end - start) * (n - 1) / 2
    return inner + start * (n - 1)


def _table(position: np.ndarray, n: int, s: float, how: Resampling, cropped: bool) -> Axis:
    if how.mode == "nearest":
        is_integer = position == np.floor(position)
        found = np.where(is_integer, position, ROUNDING[how.rounding](position))[:, None]
        indices, weights = found, np.ones_like(found)
    else:
        reach = 1 if how.mode == "linear" else 2
        shrink = min(s, 1.0) if how.antialias else 1.0
        first = math.floor(-reach / shrink) + 1
        before = np.ceil(position) - 1  # the element on the left, also where the position is one itself
        taps = np.arange(first, 2 - first)
        distance = (taps - (position - before)[:, None]) * shrink
        weights = _filter(how.mode, np.abs(distance), how.cubic)
        indices = before[:, None] + taps
        if how.exclude_outside:
            weights = np.where((indices < 0) | (indices >= n), 0.0, weights)
        if how.exclude_outside or how.antialias:
            total = weights.sum(1, keepdims=True)
            weights = weights / np.where(total == 0, 1, total)
    indices = np.clip(indices, 0, max(n - 1, 0))
    if cropped:
        indices[(position < 0) | (position > n - 1)] = -1
    return Axis(indices.astype(np.int32), weights)


def _filter(mode: str, x: np.ndarray, a: float) -> np.ndarray:
    """The weight at a distance: a triangle, or Keys' cubic ("Cubic convolution interpolation", 1981)."""
    if mode == "linear":
        return np.clip(1 - x, 0, 1)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _launch(x: Tensor, tables: dict[int, Axis], outside: float, out: Tensor) -> None:
    taps = [tables[a].indices.shape[1] if a in tables else 0 for a in range(x.ndim)]
    lengths = [tables[a].indices.size if a in tables else 0 for a in range(x.ndim)]
    starts = [sum(lengths[:a]) for a in range(x.ndim)]
    indices = np.concatenate([table.indices.ravel() for _, table in sorted(tables.items())])
    weights = np.concatenate([table.weights.ravel() for _, table in sorted(tables.items())])
    weights = weights if x.dtype is f64 else weights.astype(np.float32)
    weighted = max(taps) > 1 or bool((weights != 1).any())
    value = "f32" if x.dtype.kind == "float" else {"bool": "bool", "u8": "u32"}.get(x.dtype.name, x.dtype.name)
    kernel = Kernel.load(
        "ops/resize.wgsl",
        defines={
            **{"X": x.dtype.name, "OUT": out.dtype.name, "VALUE": value, "RANK": x.ndim, "TAPS": tuple(taps)},
            **{"WEIGHTED": weighted, "OUTSIDE": bool((indices < 0).any())},
        },
    )
    with launch.tensors(indices) as (where,), on_gpu(weights) as how_much:
        kernel(
            out.size,
            overwrites=("out",),
            indices=where,
            count=out.size,
            outside=float(outside) if x.dtype.is_real else int(outside),
            shape=launch.padded(out.shape, 1),
            starts=launch.padded(starts, 0),
            weights=how_much if weighted else None,
            **launch.strided(launch.padded_strides, x=x, out=out),
        )

"""Encodings of points for coordinate networks: what a network gets instead of the coordinates.

They are operations of their own, and go in front of `ops.mlp` in one kernel with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..errors import DtypeError, InputError, ShapeError
from ..gpu import Kernel
from ..tensor import Tensor, f16, f32
from . import launch
from .differentiable import attached, require_free, requires_gradient
from .functions import Operand

MOST_LEVELS = 32  # as the uniform of the shaders holds
MOST_DIMENSIONS = 4


NO_TABLES: Mapping[str, Any] = {"tables": None, "resolutions": [0] * MOST_LEVELS}


@dataclass(frozen=True)
class PositionalEncoding:
    """Sines and cosines of rising frequency (Mildenhall et al. 2020, "NeRF", equation 4).

    Features: the coordinates themselves if `include`, then for f = 0 … `frequencies` − 1 the sines sin(2ᶠ π x) of all
    coordinates and their cosines.
    """

    frequencies: int
    include: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.frequencies <= 64:
            raise InputError(f"positional encoding: {self.frequencies} frequencies; there may be 1 to 64")

    def features(self, dimensions: int) -> int:
        """How many there are for points of so many coordinates."""
        return dimensions * (2 * self.frequencies + bool(self.include))

    def defines(self) -> dict[str, Any]:
        """Values for the shaders."""
        return {"ENCODING": "frequency", "COUNT": self.frequencies, "INCLUDE": bool(self.include), "TABLES": ""}

    def arguments(self) -> Mapping[str, Any]:
        """Tensors and uniform fields for the shaders."""
        return NO_TABLES


@dataclass(frozen=True, eq=False)
class HashEncoding:
    """Features stored in grids of several resolutions (Müller et al. 2022, "Instant Neural Graphics Primitives").

    `tables` (levels, entries, features of a level), f32 or f16 and contiguous, are the parameters; a level has 1, 2 or
    4 features. Level l divides an axis into N_l = ⌊coarsest · bˡ⌋ cells, b such that the last has `finest` (equations 2
    and 3); coordinates go from 0 to 1, and what is outside has the features of the border. A level whose corners fit
    into its table stores each in an entry of its own (the first coordinate counts fastest); others share entries by a
    hash.
    Raises `ShapeError`, `DtypeError`, `InputError`.
    """

    tables: Tensor
    coarsest: int
    finest: int

    def __post_init__(self) -> None:
        shape = self.tables.shape
        if len(shape) != 3 or shape[2] not in (1, 2, 4) or not 1 <= shape[0] <= MOST_LEVELS or not shape[1]:
            raise ShapeError(
                f"hash encoding: tables have shape {shape}; it must be (levels up to {MOST_LEVELS}, entries, 1, 2 or 4)"
            )
        if self.tables.dtype not in (f32, f16):
            raise DtypeError(f"hash encoding: tables are {self.tables.dtype}; they must be f32 or f16")
        if not self.tables.is_contiguous or self.tables.offset % (shape[2] * self.tables.itemsize):
            raise ShapeError("hash encoding: the tables must be contiguous; pass tables.contiguous()")
        if not 1 <= self.coarsest <= self.finest <= 1 << 24:
            raise InputError(f"hash encoding: {self.coarsest} to {self.finest} cells; 1 ≤ coarsest ≤ finest ≤ 2²⁴")

    @property
    def resolutions(self) -> list[int]:
        """Cells along an axis, for each level."""
        levels = self.tables.shape[0]
        growth = math.log(self.finest / self.coarsest) / max(levels - 1, 1)
        return [math.floor(self.coarsest * math.exp(growth * level) + 1e-6) for level in range(levels)]

    def features(self, dimensions: int) -> int:
        """How many there are, for points of any number of coordinates."""
        return self.tables.shape[0] * self.tables.shape[2]

    def defines(self) -> dict[str, Any]:
        """Values for the shaders."""
        levels, entries, features = self.tables.shape
        sizes = {"LEVELS": levels, "ENTRIES": entries, "FEATURES": features}
        return {"ENCODING": "hash", "TABLES": self.tables.dtype.name, **sizes}

    def arguments(self) -> dict[str, Any]:
        """Tensors and uniform fields for the shaders."""
        resolutions = self.resolutions
        return {"tables": self.tables, "resolutions": resolutions + [0] * (MOST_LEVELS - len(resolutions))}


Encoding: TypeAlias = PositionalEncoding | HashEncoding

# What a shader must be given although it has nothing of the kind.
NO_ENCODING: Mapping[str, Any] = {
    "ENCODING": "",
    "TABLES": "",
    **dict.fromkeys(("COUNT", "LEVELS", "ENTRIES", "FEATURES"), 1),
    "INCLUDE": False,
}


def positional_encoding(x: Operand, frequencies: int, *, include: bool = True, out: Tensor | None = None) -> Tensor:
    """Features (points, n) of points (points, coordinates), f32 or f16; see `PositionalEncoding`."""
    return encode(x, PositionalEncoding(frequencies, include), out=out)


def hash_encoding(x: Operand, tables: Tensor, coarsest: int, finest: int, *, out: Tensor | None = None) -> Tensor:
    """Features (points, levels · features of one) of points (points, coordinates), f32 or f16; see `HashEncoding`."""
    return encode(x, HashEncoding(tables, coarsest, finest), out=out)


def encode(x: Operand, encoding: Encoding, *, out: Tensor | None = None) -> Tensor:
    """Features of points by `encoding`, of the points' element type, into `out` or a new tensor.

    Gradients flow to the points and to the tables of a hash grid. Raises `ShapeError` and `DtypeError` if the points
    are not (points, 1 to 4 coordinates) of f32 or f16.
    """
    tables = encoding.tables if isinstance(encoding, HashEncoding) else None
    if requires_gradient((x, tables)):
        parameters = {"x": x, "tables": tables, "encoding": encoding, "out": out}
        require_free("encode", (x, tables), out)
        return attached("encode", parameters, lambda: encode(x, encoding, out=out))
    with launch.tensors(x) as (points,):
        count, dimensions = check_points("encoding", points)
        features = encoding.features(dimensions)
        dtype = points.dtype if out is None or out.dtype not in (f32, f16) else out.dtype
        out = launch.prepare_output("encoding", (count, features), dtype, out)
        if count:
            _launch(launch.copy_if_aliased(points, out), encoding, out)
    return out


def check_points(name: str, x: Tensor) -> tuple[int, int]:
    """(points, coordinates). Raises `ShapeError` or `DtypeError`."""
    if x.ndim != 2 or not 1 <= x.shape[1] <= MOST_DIMENSIONS:
        raise ShapeError(
            f"{name}: points have shape {x.shape}; it must be (points, 1 to {MOST_DIMENSIONS} coordinates)"
        )
    if x.dtype not in (f32, f16):
        raise DtypeError(f"{name}: points are {x.dtype}; they must be f32 or f16")
    return x.shape[0], x.shape[1]


def _launch(x: Tensor, encoding: Encoding, out: Tensor) -> None:
    count, dimensions = x.shape
    own = {"X": x.dtype.name, "OUT": out.dtype.name, "DIMENSIONS": dimensions}
    kernel = Kernel.load("ops/encoding.wgsl", defines={**NO_ENCODING, **encoding.defines(), **own})
    kernel(
        count * (dimensions if isinstance(encoding, PositionalEncoding) else encoding.tables.shape[0]),
        overwrites=("out",),
        count=count,
        **launch.strided(x=x, out=out),
        **encoding.arguments(),
    )

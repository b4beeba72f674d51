"""Matrices of weights as the kernels in shaders/language read them: rows of 16-byte chunks of f16, bf16 or int4.

A weight of int4 is `first · q + second`, q from 0 to 15, with two f16 for each group of weights of a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from ..errors import InputError

Format: TypeAlias = Literal["f16", "bf16", "int4"]
CHUNK = {"f16": 8, "bf16": 8, "int4": 32}  # weights in 16 bytes
GROUPS = (64, 32)  # sizes of the groups that int4 weights are quantized in: the first that divides a row
ROWS = 4  # that a kernel reads together: rows are filled up with zeros to a multiple


class Quantized(NamedTuple):
    """Weights of 4 bits (rows, inner), u8 from 0 to 15; `first` and `second` (rows, inner / group) are f16."""

    q: np.ndarray
    first: np.ndarray
    second: np.ndarray

    @property
    def group(self) -> int:
        """Neighboring weights of a row that share their factors."""
        return self.q.shape[1] // self.first.shape[1]

    def values(self) -> np.ndarray:
        """The weights as f32 (rows, inner)."""
        first, second = (np.repeat(part.astype(np.float32), self.group, axis=1) for part in (self.first, self.second))
        return first * self.q + second


@dataclass(frozen=True)
class Packed:
    """A matrix of `rows` times `inner` weights; `words` and `scales` are u32, rows filled up to a multiple of 4."""

    format: Format
    rows: int
    inner: int
    words: np.ndarray
    scales: np.ndarray | None = None

    @property
    def group(self) -> int:
        """Weights that share two factors; 0 where there are none."""
        return 0 if self.scales is None else self.inner // self.scales.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes that a product with a vector reads."""
        return self.words.nbytes + (0 if self.scales is None else self.scales.nbytes)


def quantize(weights: np.ndarray, group: int | None = None) -> Quantized:
    """The nearest weights of 4 bits between the smallest and the largest of each group. Raises `InputError`."""
    rows, inner = weights.shape
    size = group or next((n for n in GROUPS if inner % n == 0), 0)
    if not size or inner % size:
        raise InputError(f"rows of {inner} weights cannot be divided into groups of {size or GROUPS[-1]}")
    groups = weights.astype(np.float32).reshape(rows, inner // size, size)
    lowest, highest = groups.min(-1), groups.max(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        second = lowest.astype(np.float16)
        first = ((highest - second.astype(np.float32)) / 15).astype(np.float16)
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise InputError("weights that are not finite, or beyond 65504, cannot be quantized")
    step = np.where(first == 0, 1, first).astype(np.float32)
    q = np.clip(np.rint((groups - second[..., None].astype(np.float32)) / step[..., None]), 0, 15)
    return Quantized(q.astype(np.uint8).reshape(rows, inner), first, second)


def pack(weights: np.ndarray | Quantized, format: Format) -> Packed:
    """A matrix (rows, inner) in `format`: f32, f16, or bf16 as u16 of the upper halves of f32, or quantized already.

    Raises `InputError` for weights beyond f16, and for rows that do not divide into chunks of 32.
    """
    if isinstance(weights, Quantized):
        return _pack_int4(weights)
    inner = weights.shape[1]
    if inner % 32:
        raise InputError(f"rows of {inner} weights are not supported: their number must be a multiple of 32")
    if format == "int4":
        return _pack_int4(quantize(as_f32(weights)))
    if format == "bf16":
        halves = weights if weights.dtype == np.uint16 else _rounded_to_bf16(weights)
    else:
        halves = _as_f16(weights).view(np.uint16)
    filled = _filled(halves)
    return Packed(format, weights.shape[0], inner, filled.view(np.uint32))


def as_f32(weights: np.ndarray) -> np.ndarray:
    """f32 of any of the forms that `pack` takes; u16 are bf16."""
    if weights.dtype == np.uint16:
        return (weights.astype(np.uint32) << 16).view(np.float32)
    return weights.astype(np.float32, copy=False)


def _as_f16(weights: np.ndarray) -> np.ndarray:
    if weights.dtype == np.float16:
        return weights
    values = as_f32(weights)
    with np.errstate(over="ignore"):
        halves = values.astype(np.float16)
    if not np.isfinite(halves).all():
        raise InputError("weights that are not finite, or beyond 65504, do not fit f16; use bf16")
    return halves


def _rounded_to_bf16(weights: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(weights, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def _pack_int4(found: Quantized) -> Packed:
    rows, inner = found.q.shape
    if inner % 32 or found.group % 32:
        raise InputError(f"rows of {inner} weights in groups of {found.group}: both must be multiples of 32")
    words = found.q[:, 0::2] | (found.q[:, 1::2] << 4)
    scales = np.stack([found.first, found.second], axis=-1).astype(np.float16).view(np.uint16).reshape(rows, -1)
    return Packed("int4", rows, inner, _filled(words).view(np.uint32), _filled(scales).view(np.uint32))


def _filled(array: np.ndarray) -> np.ndarray:
    missing = -array.shape[0] % ROWS
    return np.ascontiguousarray(np.pad(array, ((0, missing), (0, 0))) if missing else array)

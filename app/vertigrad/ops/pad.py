"""Tensors continued, repeated and rearranged: pad, tile, depth and space, triangles, one-hot vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import Tensor, dtype_of
from ..tensor.dtype import check_value
from . import launch
from .define import Operand
from .differentiable import differentiable
from .elementwise import assign, fused
from .functions import equal, where
from .window import pairs

MODES = ("constant", "edge", "reflect", "wrap")


@differentiable
def pad(
    x: Operand,
    padding: int | Sequence[int] | Sequence[tuple[int, int]],
    mode: str = "constant",
    value: float = 0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """x continued by `padding` elements on either side of each axis, or by a number or a pair (begin, end) for each.

    What is negative is cut off first. `mode` is "constant" (`value`), "edge" (the outermost element), "reflect" (about
    it) or "wrap". Raises `ShapeError`, `DtypeError` if x cannot hold `value`.
    """
    with launch.tensors(x) as (source,):
        if mode not in MODES:
            raise ShapeError(f"pad: the mode is one of {MODES}, not {mode!r}")
        sides = pairs("pad", padding, source.ndim)
        shape = tuple(n + b + e for n, (b, e) in zip(source.shape, sides, strict=True))
        if min(shape, default=0) < 0:
            raise ShapeError(f"pad: {padding} cuts more than all from {source.shape}")
        cut = tuple(slice(max(-b, 0), n - max(-e, 0)) for n, (b, e) in zip(source.shape, sides, strict=True))
        inner = source[cut]
        if mode == "constant":
            check_value(value, source.dtype)
        elif not inner.size and 0 not in shape:
            raise ShapeError(f"pad: {source.shape} has no elements to continue")
        out = launch.prepare_output("pad", shape, source.dtype, out)
        if not inner.size:
            return assign(out, value) if out.size else out
        if out.size:
            _launch_pad(launch.copy_if_aliased(inner, out), [max(b, 0) for b, _ in sides], mode, value, out)
    return out


@differentiable
def tile(x: Operand, repeats: int | Sequence[int], *, out: Tensor | None = None) -> Tensor:
    """x repeated `repeats` times along each axis; axes of 1 are put before those of x if there are more repeats."""
    with launch.tensors(x) as (source,):
        times = (int(repeats),) if isinstance(repeats, int | np.integer) else tuple(map(int, repeats))
        if any(t < 0 for t in times):
            raise ShapeError(f"tile: repeats {repeats} must not be negative")
        times = (1,) * (source.ndim - len(times)) + times
        source = source[(None,) * (len(times) - source.ndim)]
        shape = tuple(n * t for n, t in zip(source.shape, times, strict=True))
        out = launch.prepare_output("tile", shape, source.dtype, out)
        if out.size:
            _repeat(launch.copy_if_aliased(source, out), times, out)
    return out


@differentiable
def depth_to_space(x: Operand, block: int, *, channels_first: bool = False, out: Tensor | None = None) -> Tensor:
    """(N, C · block², H, W) as (N, C, H · block, W · block).

    The channels count blocks, then C ("DCR" of ONNX); with `channels_first` C, then blocks ("CRD").
    """
    with launch.tensors(x) as (source,):
        if source.ndim != 4 or block < 1 or source.shape[1] % block**2:
            raise ShapeError(f"depth_to_space: {source.shape} is not (n, channels · {block}², height, width)")
        n, depth, height, width = source.shape
        channels = depth // block**2
        out = launch.prepare_output("depth_to_space", (n, channels, height * block, width * block), source.dtype, out)
        if out.size:
            source = launch.copy_if_aliased(source, out)
            if channels_first:
                parts = launch.split_axis(launch.split_axis(source, 1, channels), 2, block).permute(0, 1, 4, 2, 5, 3)
            else:
                parts = launch.split_axis(launch.split_axis(source, 1, block), 2, block).permute(0, 3, 4, 1, 5, 2)
            assign(launch.split_axis(launch.split_axis(out, 2, height), 4, width), parts)
    return out


@differentiable
def space_to_depth(x: Operand, block: int, *, out: Tensor | None = None) -> Tensor:
    """(N, C, H · block, W · block) as (N, C · block², H, W), the inverse of `depth_to_space`."""
    with launch.tensors(x) as (source,):
        if source.ndim != 4 or block < 1 or source.shape[2] % block or source.shape[3] % block:
            raise ShapeError(f"space_to_depth: {source.shape} does not divide into blocks of {block}")
        n, channels, height, width = source.shape
        shape = (n, channels * block**2, height // block, width // block)
        out = launch.prepare_output("space_to_depth", shape, source.dtype, out)
        if out.size:
            source = launch.copy_if_aliased(source, out)
            parts = launch.split_axis(launch.split_axis(source, 2, height // block), 4, width // block)
            assign(launch.split_axis(launch.split_axis(out, 1, block), 2, block), parts.permute(0, 3, 5, 1, 2, 4))
    return out


def tril(x: Operand, k: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The last two axes with 0 above diagonal number `k`, which counts upwards from the main one."""
    return _triangle("tril", x, lambda row, column: column - row <= k, out)


def triu(x: Operand, k: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The last two axes with 0 below diagonal number `k`."""
    return _triangle("triu", x, lambda row, column: column - row >= k, out)


@differentiable
def one_hot(
    indices: Operand,
    depth: int,
    axis: int = -1,
    *,
    on: float = 1,
    off: float = 0,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """`on` at the index along a new `axis` of size `depth`, else `off`; f32 unless `dtype` is given.

    Indices count from the end where they are negative; all is `off` where one is out of range.
    """
    with launch.tensors(indices) as (index,):
        kind = dtype_of("f32" if dtype is None else dtype)
        for value in (on, off):
            check_value(value, kind)
        at = launch.normal_axis(axis, index.ndim + 1)
        out = launch.prepare_output("one_hot", (*index.shape[:at], depth, *index.shape[at:]), kind, out)
        whole = (slice(None),) * at
        signed = index.dtype.kind != "uint"
        steps = np.arange(depth, dtype=np.int32 if signed else np.uint32).reshape(-1, *[1] * (index.ndim - at))

        def chosen(i: Any, step: Any) -> Any:
            i = i.to("i32" if signed else "u32")
            return where(equal(where(i < 0, i + depth, i) if signed else i, step), on, off).to(kind)

        return fused(chosen, index[(*whole, None)], steps, out=out) if out.size else out


# inside -------------------------------------------------------------------------------------------------------------


def _launch_pad(x: Tensor, begin: Sequence[int], mode: str, value: float, out: Tensor) -> None:
    kernel = Kernel.load("ops/pad.wgsl", defines={"DTYPE": x.dtype.name, "RANK": x.ndim, "MODE": mode})
    kernel(
        out.size,
        overwrites=("out",),
        count=out.size,
        value=float(value) if x.dtype.is_real else int(value),
        shape=launch.padded(out.shape, 1),
        size=launch.padded(x.shape, 1),
        begin=launch.padded(begin, 0),
        **launch.strided(launch.padded_strides, x=x, out=out),
    )


def _repeat(x: Tensor, times: Sequence[int], out: Tensor) -> None:
    """Write x, repeated, to `out`; axis by axis if a kernel cannot walk them all."""
    wide = [axis for axis, t in enumerate(times) if t > 1]
    if sum(n > 1 for n in x.shape) + len(wide) > launch.MAX_RANK and len(wide) > 1:
        last = wide[-1]
        shape = (*x.shape[:last], x.shape[last] * times[last], *x.shape[last + 1 :])
        with Tensor.empty(shape, x.dtype, temporary=True) as part:
            _repeat(x, [t if axis == last else 1 for axis, t in enumerate(times)], part)
            return _repeat(part, [1 if axis == last else t for axis, t in enumerate(times)], out)
    for axis in reversed(wide):
        out = launch.split_axis(out, axis, times[axis])
        x = x[(*[slice(None)] * axis, None)]
    assign(out, x)


def _triangle(name: str, x: Operand, is_inside: Any, out: Tensor | None) -> Tensor:
    with launch.tensors(x, composed=True) as (source,):
        if source.ndim < 2:
            raise ShapeError(f"{name}: {source.shape} has no matrix along its last two axes")
        launch.require_fits(name, source.shape, source.dtype, out)
        rows = np.arange(source.shape[-2], dtype=np.int32)[:, None]
        columns = np.arange(source.shape[-1], dtype=np.int32)
        zero = False if source.dtype.kind == "bool" else 0
        return fused(lambda v, r, c: where(is_inside(r, c), v, zero), source, rows, columns, out=out)


def require_integers(name: str, indices: Tensor) -> None:
    """Raise `DtypeError` unless they can be indices."""
    if indices.dtype.kind not in ("int", "uint"):
        raise DtypeError(f"{name}: indices must be i32, u32 or u8, not {indices.dtype}")

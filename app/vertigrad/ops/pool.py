"""Pooling over one to three spatial axes of a tensor (N, C, ...spatial); padding counts as nothing.

For pooling over whole axes see `global_max_pool` and its siblings, which reduce.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import Tensor, f32, i32
from . import launch
from .define import Operand
from .differentiable import differentiable
from .elementwise import fused
from .functions import absolute, power
from .reduce import max as largest
from .reduce import mean
from .reduce import sum as total
from .window import Padding, Sizes, Window, per_axis


@differentiable
def max_pool(
    x: Operand,
    size: Sizes,
    *,
    stride: Sizes | None = None,
    padding: Padding = 0,
    dilation: Sizes = 1,
    ceil: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The largest element in each window of `size`; NaN if there is one, the least number where there is none at all.

    The stride is 1 along each axis where none is given, as ONNX has it. With `ceil` a last window may reach beyond the
    padding. Any type but bool. Raises `ShapeError` and `DtypeError`.
    """
    with launch.tensors(x) as (source,):
        window = _window("max_pool", source, size, stride, padding, dilation)
        out = launch.destination("max_pool", _shape(source, window, ceil), source.dtype, out)
        _launch("max", source, window, out)
    return out


@differentiable
def max_pool_with_places(
    x: Operand,
    size: Sizes,
    *,
    stride: Sizes | None = None,
    padding: Padding = 0,
    dilation: Sizes = 1,
    ceil: bool = False,
    by_column: bool = False,
    out: Tensor | None = None,
    places: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`max_pool`, and where in the flattened x the first of the largest elements lies (i32; −1 where there is none).

    With `by_column` a place counts along the first spatial axis first (`storage_order` 1 of ONNX).
    """
    with launch.tensors(x) as (source,):
        window = _window("max_pool", source, size, stride, padding, dilation)
        shape = _shape(source, window, ceil)
        out = launch.destination("max_pool", shape, source.dtype, out)
        places = launch.destination("max_pool", shape, i32, places)
        _launch("max", source, window, out, places=places, by_column=int(by_column))
    return out, places


@differentiable
def average_pool(
    x: Operand,
    size: Sizes,
    *,
    stride: Sizes | None = None,
    padding: Padding = 0,
    dilation: Sizes = 1,
    ceil: bool = False,
    count_padding: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each window's elements, f32 or f16; with `count_padding` zeros of the padding are among them."""
    with launch.tensors(x) as (source,):
        window = _window("average_pool", source, size, stride, padding, dilation)
        out = _float_destination("average_pool", source, _shape(source, window, ceil), out)
        _launch("mean", source, window, out, counts_padding=int(count_padding))
    return out


def max_pool_gradient(
    gradient: Tensor,
    places: Tensor,
    shape: tuple[int, ...],
    size: Sizes,
    *,
    stride: Sizes | None = None,
    padding: Padding = 0,
    dilation: Sizes = 1,
    ceil: bool = False,
) -> Tensor:
    """What `gradient` of `max_pool_with_places` of x of `shape` is by x, the windows' `places` being known."""
    out = Tensor.empty(shape, gradient.dtype, "gradient", temporary=True)
    window = _window("max_pool", out, size, stride, padding, dilation)
    if out.size:
        kernel = Kernel.load("ops/pool_gradient.wgsl", defines={"DTYPE": gradient.dtype.name})
        kernel(
            out.size,
            overwrites=("out",),
            gradient=gradient.contiguous(),
            places=places.contiguous(),
            out=out,
            count=out.size,
            size=launch.three(shape[2:], 1),
            outs=launch.three(places.shape[2:], 1),
            step=launch.three(window.stride, 1),
            begin=launch.three(window.begin, 0),
            reach=launch.three(window.extent, 1),
        )
    return out


@differentiable
def lp_pool(
    x: Operand,
    size: Sizes,
    *,
    p: float = 2,
    stride: Sizes | None = None,
    padding: Padding = 0,
    dilation: Sizes = 1,
    ceil: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """(Σ |x|ᵖ)^(1/p) over each window, f32 or f16."""
    with launch.tensors(x) as (source,):
        window = _window("lp_pool", source, size, stride, padding, dilation)
        out = _float_destination("lp_pool", source, _shape(source, window, ceil), out)
        _launch("lp", source, window, out, power=p)
    return out


def global_max_pool(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest element of each channel, with spatial axes of 1."""
    return largest(x, tuple(range(2, x.ndim)), True, out=out)


def global_average_pool(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The mean of each channel, with spatial axes of 1."""
    return mean(x, tuple(range(2, x.ndim)), True, out=out)


def global_lp_pool(x: Tensor, p: float = 2, *, out: Tensor | None = None) -> Tensor:
    """(Σ |x|ᵖ)^(1/p) of each channel, with spatial axes of 1."""
    with fused(lambda v: power(absolute(v), p), x) as powers, total(powers, tuple(range(2, x.ndim)), True) as sums:
        return power(sums, 1.0 / p, out=out)


def _window(name: str, x: Tensor, size: Sizes, stride: Sizes | None, padding: Padding, dilation: Sizes) -> Window:
    if x.ndim < 3:
        raise ShapeError(f"{name}: x {x.shape} must be (n, channels, ...spatial)")
    sizes = per_axis(name, "size", size, x.ndim - 2)
    return Window.of(name, x.shape[2:], sizes, 1 if stride is None else stride, padding, dilation)


def _shape(x: Tensor, window: Window, ceil: bool) -> tuple[int, ...]:
    return (*x.shape[:2], *window.results(x.shape[2:], ceil))


def _float_destination(name: str, x: Tensor, shape: tuple[int, ...], out: Tensor | None) -> Tensor:
    return launch.destination(name, shape, x.dtype if x.dtype.kind == "float" else f32, out)


def _launch(
    kind: str,
    x: Tensor,
    window: Window,
    out: Tensor,
    *,
    places: Tensor | None = None,
    counts_padding: int = 0,
    by_column: int = 0,
    power: float = 2,
) -> None:
    if x.dtype.kind == "bool":
        raise DtypeError(f"{kind} pooling of bools; cast them first with .to()")
    if not out.size:
        return
    if math.prod(x.shape) >= 1 << 31:
        raise ShapeError(f"pooling of {x.size} elements; places are i32")
    value = "f32" if kind != "max" or x.dtype.kind == "float" else "i32" if x.dtype is i32 else "u32"
    source = launch.apart(x, out)
    arguments: dict[str, Any] = {"places_offset": 0, "places_strides": [0] * 8}
    if places is not None:
        arguments = {"places": places, "places_strides": _eight(places)}
    kernel = Kernel.load(
        "ops/pool.wgsl",
        defines={
            "X": source.dtype.name,
            "OUT": out.dtype.name,
            "VALUE": value,
            "KIND": kind,
            "PLACES": places is not None,
        },
    )
    kernel(
        out.size,
        overwrites=("out", "places"),
        x=source,
        out=out,
        count=out.size,
        channels=x.shape[1],
        counts_padding=counts_padding,
        by_column=by_column,
        power=power,
        least=-math.inf if value == "f32" else np.iinfo(x.dtype.numpy).min,
        size=launch.three(x.shape[2:], 1),
        window=launch.three(window.size, 1),
        outs=launch.three(out.shape[2:], 1),
        step=launch.three(window.stride, 1),
        spread=launch.three(window.dilation, 1),
        begin=launch.three(window.begin, 0),
        end=launch.three(window.end, 0),
        x_strides=_eight(source),
        out_strides=_eight(out),
        **arguments,
    )


def _eight(tensor: Tensor) -> list[int]:
    """Strides in elements: of batch and channel, a gap, and those of three spatial axes."""
    strides = launch.element_strides(tensor)
    return [*strides[:2], 0, 0, *launch.three(strides[2:], 0), 0]

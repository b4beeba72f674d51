"""Pooling over one to three spatial axes of a tensor (N, C, ...spatial); padding is left out.

For pooling over whole axes see `global_max_pool` and its siblings, which reduce.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np

from ..deprecation import renamed_arguments
from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import Tensor, f32, i32
from . import launch, paths
from .define import Operand
from .differentiable import differentiable
from .elementwise import assign, fused
from .functions import absolute, power
from .reduce import max as largest
from .reduce import mean
from .reduce import sum as total
from .window import Padding, Sizes, Window, per_axis

MOST_ALONE = 1 << 14  # elements of a window, each an iteration of up to three loops: llvmpipe ends all loops of an
SOFTWARE_UNROLL = 16  # invocation after 65,535 iterations together; elements that an iteration takes of larger windows

_with_old_names = renamed_arguments(size="kernel_size", ceil="ceil_mode")  # up to version 0.1


class _Options(TypedDict, total=False):
    stride: Sizes | None
    padding: Padding
    dilation: Sizes
    ceil_mode: bool
    column_major: bool
    out: Tensor | None


@overload
def max_pool(
    x: Operand, kernel_size: Sizes, *, return_indices: Literal[False] = False, **options: Unpack[_Options]
) -> Tensor: ...
@overload
def max_pool(
    x: Operand, kernel_size: Sizes, *, return_indices: Literal[True], **options: Unpack[_Options]
) -> tuple[Tensor, Tensor]: ...
@_with_old_names
@differentiable
def max_pool(
    x: Operand,
    kernel_size: Sizes,
    *,
    stride: Sizes | None = None,
    padding: Padding = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    column_major: bool = False,
    out: Tensor | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest element of each window; NaN if there is one, the lowest value where the window is all padding.

    The stride is 1 along each axis where none is given, as in ONNX. With `ceil_mode` a last window may reach beyond the
    padding. `return_indices` adds the index of the first largest element in the flattened x (i32; −1 where there is
    none), row-major, or with `column_major` as `storage_order` 1 of ONNX. Any type but bool. Raises `ShapeError` and
    `DtypeError`.
    """
    with launch.tensors(x) as (source,):
        window, shape = _window("max_pool", source, kernel_size, stride, padding, dilation, ceil_mode)
        out = launch.prepare_output("max_pool", shape, source.dtype, out)
        indices = Tensor.empty(shape, i32, temporary=True) if return_indices else None
        _launch("max", source, window, out, indices=indices, column_major=int(column_major))
    return out if indices is None else (out, indices)


def max_pool_with_places(x: Operand, size: Sizes, **options: Any) -> tuple[Tensor, Tensor]:
    """Old name of `max_pool` with `return_indices`."""
    warnings.warn("max_pool_with_places is now max_pool(..., return_indices=True)", FutureWarning, stacklevel=2)
    places = options.pop("places", None)
    if "by_column" in options:
        options["column_major"] = options.pop("by_column")
    values, indices = max_pool(x, size, **options, return_indices=True)
    return values, indices if places is None else assign(places, indices)


@renamed_arguments(size="kernel_size", ceil="ceil_mode", count_padding="count_include_pad")
@differentiable
def average_pool(
    x: Operand,
    kernel_size: Sizes,
    *,
    stride: Sizes | None = None,
    padding: Padding = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each window's elements, f32 or f16; with `count_include_pad` zeros of the padding are among them."""
    with launch.tensors(x) as (source,):
        window, shape = _window("average_pool", source, kernel_size, stride, padding, dilation, ceil_mode)
        out = _prepare_float_output("average_pool", source, shape, out)
        _launch("mean", source, window, out, count_include_pad=int(count_include_pad))
    return out


def max_pool_gradient(
    gradient: Tensor,
    indices: Tensor,
    shape: tuple[int, ...],
    kernel_size: Sizes,
    *,
    stride: Sizes | None = None,
    padding: Padding = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The gradient of `max_pool` by x of `shape`, from that of the result and the `indices` it returned."""
    out = Tensor.empty(shape, gradient.dtype, "gradient", temporary=True)
    window, _ = _window("max_pool", out, kernel_size, stride, padding, dilation, ceil_mode)
    if out.size:
        kernel = Kernel.load("ops/pool_gradient.wgsl", defines={"DTYPE": gradient.dtype.name})
        kernel(
            out.size,
            overwrites=("out",),
            gradient=gradient.contiguous(),
            indices=indices.contiguous(),
            out=out,
            count=out.size,
            size=launch.three(shape[2:], 1),
            outs=launch.three(indices.shape[2:], 1),
            step=launch.three(window.stride, 1),
            begin=launch.three(window.begin, 0),
            reach=launch.three(window.extent, 1),
        )
    return out


@_with_old_names
@differentiable
def lp_pool(
    x: Operand,
    kernel_size: Sizes,
    *,
    p: float = 2,
    stride: Sizes | None = None,
    padding: Padding = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """(Σ |x|ᵖ)^(1/p) over each window, f32 or f16."""
    with launch.tensors(x) as (source,):
        window, shape = _window("lp_pool", source, kernel_size, stride, padding, dilation, ceil_mode)
        out = _prepare_float_output("lp_pool", source, shape, out)
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


def _window(
    name: str, x: Tensor, kernel_size: Sizes, stride: Sizes | None, padding: Padding, dilation: Sizes, ceil_mode: bool
) -> tuple[Window, tuple[int, ...]]:
    """The window, and the shape of the result."""
    if x.ndim < 3:
        raise ShapeError(f"{name}: x {x.shape} must be (n, channels, ...spatial)")
    sizes = per_axis(name, "kernel_size", kernel_size, x.ndim - 2)
    window = Window.of(name, x.shape[2:], sizes, 1 if stride is None else stride, padding, dilation)
    return window, (*x.shape[:2], *window.output_shape(x.shape[2:], ceil_mode))


def _prepare_float_output(name: str, x: Tensor, shape: tuple[int, ...], out: Tensor | None) -> Tensor:
    return launch.prepare_output(name, shape, x.dtype if x.dtype.is_real else f32, out)


def _launch(
    kind: str,
    x: Tensor,
    window: Window,
    out: Tensor,
    *,
    indices: Tensor | None = None,
    count_include_pad: int = 0,
    column_major: int = 0,
    power: float = 2,
) -> None:
    if x.dtype.kind == "bool":
        raise DtypeError(f"{kind} pooling of bools; cast them first with .to()")
    if not out.size:
        return
    if math.prod(x.shape) >= 1 << 31:
        raise ShapeError(f"pooling of {x.size} elements; indices are i32")
    value = launch.word_type(x.dtype) if kind == "max" or x.dtype.is_real else "f32"
    source = launch.copy_if_aliased(x, out)
    kernel = Kernel.load(
        "ops/pool.wgsl",
        defines={
            "X": source.dtype.name,
            "OUT": out.dtype.name,
            "VALUE": value,
            "KIND": kind,
            "INDICES": indices is not None,
            "UNROLL": _unroll(window),
        },
    )
    kernel(
        out.size,
        overwrites=("out", "indices"),
        count=out.size,
        channels=x.shape[1],
        count_include_pad=count_include_pad,
        is_column_major=column_major,
        power=power,
        least=-math.inf if x.dtype.is_real else np.iinfo(x.dtype.numpy).min,
        size=launch.three(x.shape[2:], 1),
        window=launch.three(window.size, 1),
        outs=launch.three(out.shape[2:], 1),
        step=launch.three(window.stride, 1),
        spread=launch.three(window.dilation, 1),
        begin=launch.three(window.begin, 0),
        end=launch.three(window.end, 0),
        **launch.strided(launch.spatial_strides, x=source, out=out, indices=indices),
    )


def _unroll(window: Window) -> int:
    """How many elements of a window one iteration takes."""
    is_long = paths.is_software() and math.prod(window.size) > MOST_ALONE
    return SOFTWARE_UNROLL if is_long else 1

"""What the kernels of `ops` share: operands and outputs prepared, axes merged, strides in elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from ..errors import DtypeError, GradientError, LayoutError, ShapeError
from ..tensor import DType, Tensor, graph
from ..tensor.operators import Arithmetic, call
from ..tensor.shape import merge_axes
from .differentiable import require_no_gradient, requires_gradient

MAX_RANK = 8
OptionalTensor = TypeVar("OptionalTensor", Tensor, Tensor | None)


@contextmanager
def operands(*values: Any) -> Iterator[list[Any]]:
    """`values`, with arrays uploaded for as long as the block runs; tensors, expressions, numbers and None stay."""
    uploaded: list[Tensor] = []

    def ready(value: Any) -> Any:
        if value is None or isinstance(value, Arithmetic) or is_number(value):
            return value
        uploaded.append(Tensor.from_numpy(value))
        return uploaded[-1]

    try:
        yield [ready(value) for value in values]
    finally:
        for tensor in uploaded:
            tensor.close()


@contextmanager
def tensors(*values: Any, composed: bool = False) -> Iterator[list[Any]]:
    """As `operands`, for operations on tensors, or None, alone. Raises `DtypeError` for a number or an expression.

    Raises `GradientError` if gradients flow to one, unless the operation is `composed` of others that pass them on.
    """
    with operands(*values) as ready:
        for value in ready:
            if value is not None and not isinstance(value, Tensor):
                raise DtypeError(
                    f"a tensor or an array is needed here, not {'the number ' * is_number(value)}{value!r}"
                )
        if not composed:
            require_no_gradient("this operation", ready)
        yield ready


def prepare_output(name: str, shape: tuple[int, ...], dtype: DType, out: Tensor | None) -> Tensor:
    """`out` if it has this shape and element type, or a new tensor if it is None.

    Raises `ShapeError` or `DtypeError` if it does not fit, `LayoutError` if its elements overlap.
    """
    if out is None:
        return Tensor.empty(shape, dtype, temporary=True)
    if out.shape != shape:
        raise ShapeError(f"{name}: a result of shape {shape} is not written to a tensor of shape {out.shape}")
    if out.dtype is not dtype:
        raise DtypeError(f"{name}: a result of {dtype} is not written to a tensor of {out.dtype}")
    require_distinct(name, out)
    return out


def require_distinct(name: str, out: Tensor) -> None:
    """Raise `LayoutError` if elements of `out` share memory because an axis was expanded.

    Raises `GradientError` if gradients flow to it: who writes it with a rule for them does so inside of `no_grad`.
    """
    if requires_gradient((out,)):
        raise GradientError(
            f"{name} into tensor {out.name or 'unnamed'!r}: gradients flow to it, and {name} does not pass them on; "
            "write it inside of vertigrad.no_grad(), or take the result as a tensor of its own"
        )
    if any(n > 1 and stride == 0 for n, stride in zip(out.shape, out.strides, strict=True)):
        raise LayoutError(
            f"{name}: tensor {out.name or 'unnamed'!r} of shape {out.shape} repeats elements (strides {out.strides}), "
            "so it cannot be written; write the tensor that was expanded"
        )


def require_fits(name: str, shape: tuple[int, ...], dtype: DType, out: Tensor | None) -> None:
    """Raise as `prepare_output`, for an operation composed of others: gradients may flow to `out`."""
    if out is not None:
        with graph.no_grad():
            prepare_output(name, shape, dtype, out)


def deliver(name: str, result: Tensor, out: Tensor | None) -> Tensor:
    """What was composed of other operations, or `out` with its values; raises as `prepare_output`."""
    require_fits(name, result.shape, result.dtype, out)
    return result if out is None else call("assign", out, result)


def copy_if_aliased(value: OptionalTensor, *outputs: Tensor) -> OptionalTensor:
    """`value`, or a copy of it if writing `outputs` could change it: one dispatch cannot read and write one block."""
    if value is None or all(value.owner is not out.owner for out in outputs):
        return value
    return call("copy", value)


@contextmanager
def packed(out: Tensor) -> Iterator[Tensor]:
    """`out`, or a contiguous tensor whose values it gets at the end: for kernels that write without strides."""
    if out.is_contiguous:
        yield out
        return
    with Tensor.empty(out.shape, out.dtype, temporary=True) as target:
        yield target
        call("assign", out, target)


def split_axis(tensor: Tensor, axis: int, first: int) -> Tensor:
    """`axis` as two axes, `first` long and the rest: a view, whatever the strides are. `first` must divide it."""
    shape, strides = tensor.shape, tensor.strides
    rest = shape[axis] // first
    layout = tensor.layout._replace(
        shape=(*shape[:axis], first, rest, *shape[axis + 1 :]),
        strides=(*strides[:axis], strides[axis] * rest, strides[axis], *strides[axis + 1 :]),
    )
    return tensor.as_strided(layout)


def element_strides(tensor: Tensor) -> tuple[int, ...]:
    """Strides in elements instead of bytes; 0 along axes of 1, whose strides may be anything."""
    return tuple(s // tensor.itemsize if n > 1 else 0 for n, s in zip(tensor.shape, tensor.strides, strict=True))


def strided(of: Callable[[Tensor], Any] = element_strides, /, **tensors: Tensor | None) -> dict[str, Any]:
    """Arguments of a kernel for tensors with the fields NAME_strides, a number for one axis; None for no tensor.

    `of` gives the strides in the form that the kernel takes.
    """
    found: dict[str, Any] = dict(tensors)
    for name, tensor in tensors.items():
        if tensor is not None:
            strides = of(tensor)
            found[f"{name}_strides"] = strides[0] if len(strides) == 1 else strides
    return found


def word_type(dtype: DType) -> str:
    """The WGSL type that values of `dtype` are worked on in: of 32 bits, but for f64."""
    return {"float": "f32", "double": "f64", "int": "i32"}.get(dtype.kind, "u32")


def padded(values: Sequence[int], fill: int) -> list[int]:
    """`values` filled up to the eight that a uniform holds. Raises `ShapeError` beyond."""
    if len(values) > MAX_RANK:
        raise ShapeError(f"{len(values)} axes that cannot be merged; kernels take {MAX_RANK}")
    return [*values, *[fill] * (MAX_RANK - len(values))]


def padded_strides(tensor: Tensor) -> list[int]:
    """Strides in elements, filled up with 0."""
    return padded(element_strides(tensor), 0)


def three(values: Sequence[int], fill: int) -> list[int]:
    """What there is for one to three spatial axes as z, y, x, with `fill` for axes that are not there."""
    return [*[fill] * (3 - len(values)), *values]


def spatial_strides(tensor: Tensor, first: Sequence[int] = (0, 1)) -> list[int]:
    """Strides in elements: of the axes in `first`, a gap up to four, and those of three spatial axes."""
    strides = element_strides(tensor)
    spatial = [stride for axis, stride in enumerate(strides) if axis not in first]
    return [*(strides[axis] for axis in first), *[0] * (4 - len(first)), *three(spatial, 0), 0]


def merged(shape: Sequence[int], **strides: Sequence[int]) -> tuple[int, dict[str, Any]]:
    """How many axes `merge_axes` leaves of `shape`, and the uniform fields shape and NAME_strides."""
    sizes, rows = merge_axes(shape, list(strides.values()))
    fields = {f"{name}_strides": padded(row, 0) for name, row in zip(strides, rows, strict=True)}
    return len(sizes), {"shape": padded(sizes, 1), **fields}


def normal_axes(axis: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """`axis` as sorted axis numbers from 0; None means all. Raises `ShapeError`."""
    if axis is None:
        return tuple(range(rank))
    named = tuple(axis) if isinstance(axis, Sequence) else (axis,)
    axes = sorted(normal_axis(a, rank) for a in named)
    if len(set(axes)) != len(axes):
        raise ShapeError(f"axis {axis} names an axis twice")
    return tuple(axes)


def normal_axis(axis: int, rank: int) -> int:
    """`axis` counted from 0. Raises `ShapeError`."""
    if not -rank <= axis < rank:
        raise ShapeError(f"axis {axis} is outside of {rank} axes")
    return axis % rank


def is_number(value: Any) -> bool:
    """Whether `value` is a Python or NumPy number, or an array of one without axes, to be passed as a uniform."""
    if isinstance(value, np.ndarray | np.generic):
        return value.ndim == 0 and value.dtype.kind in "biuf"
    return not isinstance(value, Tensor) and hasattr(value, "__float__") and getattr(value, "ndim", 0) == 0


def as_scalar(value: Any) -> Any:
    """`value`, as a NumPy number if it is an array of one without axes: its kind determines the dtype."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value

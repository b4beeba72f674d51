"""Stable sorting along an axis: keys, their indices, or pairs of keys and values; and top-k.

A radix sort of 32-bit keys, eight bits at a time: digits are counted tile by tile, the counts added up, and every key
goes to its index (see shaders/ops/radix_sort.wgsl). Floats are ordered as by `numpy.sort(kind="stable")`: −0
equals 0 and NaN comes last. It comes last in a falling order too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel, gpu
from ..tensor import DType, Tensor, f32, f64, i32, u32
from . import launch, paths
from .differentiable import differentiable
from .elementwise import assign
from .functions import Operand
from .gather import take_along_axis
from .lines import Lines
from .scans import scan
from .sorting_doubles import order_of_doubles

WORKGROUP = 256
DIGIT = 8  # bits
KEYS = (u32, i32, f32)


@differentiable
def sort(keys: Operand, axis: int = -1, *, descending: bool = False, out: Tensor | None = None) -> Tensor:
    """`keys` (u32, i32, f32 or f64) in order along `axis`. Raises `DtypeError` for other types."""
    with launch.tensors(keys) as (array,):
        if array.dtype is f64:
            return _of_doubles(array, axis, descending, out)[0]
        target = _target("sort", array, array.dtype, axis, out)
        _sort(_Pass(launch.copy_if_aliased(_last(array, axis), target), None, target, None), descending)
    return _result(target, axis, out)


@differentiable
def argsort(
    keys: Operand, axis: int = -1, *, descending: bool = False, key_bits: int = 32, out: Tensor | None = None
) -> Tensor:
    """Indices along `axis` of the keys in order, i32 (or u32, in `out`); the sort is stable.

    u32 keys below 2^`key_bits` take a pass for each eight bits. Raises `DtypeError`.
    """
    with launch.tensors(keys) as (array,):
        if array.dtype is f64:
            return launch.deliver("argsort", order_of_doubles(array, axis, descending, argsort), out)
        target = _target("argsort", array, _index_type(out), axis, out)
        _sort(_Pass(launch.copy_if_aliased(_last(array, axis), target), None, None, target), descending, key_bits)
    return _result(target, axis, out)


@differentiable
def sort_pairs(
    keys: Operand,
    values: Operand | None = None,
    axis: int = -1,
    *,
    descending: bool = False,
    key_bits: int = 32,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Keys in order along `axis`, and `values` of the same shape (32 bits each) in the order of their keys.

    Without `values`, the indices of the keys. Otherwise as `argsort`. Raises `ShapeError`, `DtypeError`.
    """
    sorted_keys, sorted_values = out or (None, None)
    with launch.tensors(*([keys] if values is None else [keys, values])) as (array, *others):
        if array.dtype is f64 and not others and out is None:
            return _of_doubles(array, axis, descending)
        dtype = others[0].dtype if others else _index_type(sorted_values)
        targets = (
            _target("sort_pairs", array, array.dtype, axis, sorted_keys),
            _target("sort_pairs", array, dtype, axis, sorted_values),
        )
        moved = [launch.copy_if_aliased(_last(tensor, axis), *targets) for tensor in (array, *others)]
        _sort(_Pass(moved[0], moved[1] if others else None, *targets), descending, key_bits)
    return _result(targets[0], axis, sorted_keys), _result(targets[1], axis, sorted_values)


@differentiable
def topk(x: Operand, k: int, axis: int = -1, *, largest: bool = True) -> tuple[Tensor, Tensor]:
    """The `k` largest (or smallest) of `x` along `axis` in falling (rising) order, and their indices (i32).

    NaN is taken after all numbers in both orders. Raises `ShapeError` if there are not so many, and `DtypeError`.
    """
    with launch.tensors(x) as (array,):
        at = launch.normal_axis(axis, array.ndim)
        if not 0 <= k <= array.shape[at]:
            raise ShapeError(f"topk: {k} of {array.shape[at]} elements along axis {axis}")
        values, indices = sort_pairs(array, axis=axis, descending=largest)
    few = (*[slice(None)] * at, slice(k))
    return values[few], indices[few]


def _of_doubles(x: Tensor, axis: int, descending: bool, out: Tensor | None = None) -> tuple[Tensor, Tensor]:
    order = order_of_doubles(x, axis, descending, argsort)
    return take_along_axis(x, order, axis, out=out), order


def _index_type(out: Tensor | None) -> DType:
    return u32 if out is not None and out.dtype is u32 else i32


def _target(name: str, keys: Tensor, dtype: DType, axis: int, out: Tensor | None) -> Tensor:
    """What is written, with `axis` last: `out` if it is contiguous then, else a new tensor."""
    if out is not None:
        moved = _last(launch.prepare_output(name, keys.shape, dtype, out), axis)
        if moved.is_contiguous:
            return moved
    return Tensor.empty(_last(keys, axis).shape, dtype, temporary=True)


def _result(target: Tensor, axis: int, out: Tensor | None) -> Tensor:
    if out is None or target.owner is out.owner:
        return _back(target, axis) if out is None else out
    return assign(out, _back(target, axis))


def _last(tensor: Tensor, axis: int) -> Tensor:
    """A view with `axis` last."""
    at = launch.normal_axis(axis, tensor.ndim)
    return tensor.permute(*(i for i in range(tensor.ndim) if i != at), at)


def _back(tensor: Tensor, axis: int) -> Tensor:
    """The inverse of that view."""
    at = launch.normal_axis(axis, tensor.ndim)
    order = list(range(tensor.ndim - 1))
    order.insert(at, tensor.ndim - 1)
    return tensor.permute(*order) if at != tensor.ndim - 1 else tensor


def _check(keys: Tensor, values: Tensor | None) -> None:
    if keys.dtype not in KEYS:
        raise DtypeError(f"sort: keys are {keys.dtype}; they must be u32, i32 or f32: use .to() first")
    if values is not None and values.shape != keys.shape:
        raise ShapeError(f"sort: values have shape {values.shape}, keys {keys.shape}; they must be the same")
    if values is not None and values.itemsize != 4:
        raise DtypeError(f"sort: values are {values.dtype}; they must have 32 bits")


class _Work(NamedTuple):
    """How a sort is divided: lines, keys of a line and of an invocation, tiles of a line, digits, subgroup size."""

    lines: int
    count: int
    items: int
    tiles: int
    digits: int
    subgroup: int

    @staticmethod
    def of(shape: tuple[int, ...], key_bits: int) -> _Work:
        subgroup = paths.path().subgroup
        *others, count = shape
        items = _items(subgroup)
        if count <= WORKGROUP * items // 4:
            items //= 4
        return _Work(math.prod(others), count, items, -(-count // (WORKGROUP * items)), -(-key_bits // DIGIT), subgroup)

    @property
    def fields(self) -> dict[str, Any]:
        return {"count": self.count, "lines": self.lines, "tiles": self.tiles}


def _items(subgroup: int) -> int:
    """Keys for each invocation: as many as workgroup memory has room for next to the counters."""
    if not subgroup:
        return 8
    counters = WORKGROUP // subgroup * 128 * 4 + 4 * WORKGROUP * 4
    room = gpu().limits["max-compute-workgroup-storage-size"] - counters
    return 16 if room >= 16 * WORKGROUP * 4 else 8


class _Pass(NamedTuple):
    """One pass, or a whole sort: what is read and written; None where there is nothing."""

    keys: Tensor
    values: Tensor | None
    sorted_keys: Tensor | None
    sorted_values: Tensor | None


def _sort(whole: _Pass, descending: bool, key_bits: int = 32) -> None:
    keys = whole.keys
    _check(keys, whole.values)
    if not 0 < key_bits <= 32 or (key_bits < 32 and (keys.dtype is not u32 or descending)):
        raise ShapeError(f"sort: key_bits is {key_bits}; 1 to 32, less than 32 for rising u32 keys alone")
    if not keys.size:
        return
    work = _Work.of(keys.shape, key_bits)
    flip = 0xFFFFFFFF if descending else 0
    if work.tiles == 1:
        _launch("whole", work, keys, whole, first=True, end=work.digits * DIGIT, flip=flip)
        return
    with ExitStack() as stack:

        def scratch(count: int) -> Tensor:
            return stack.enter_context(Tensor.empty(count, u32, temporary=True))

        counts, starts = (scratch(work.lines * (1 << DIGIT) * work.tiles) for _ in range(2))
        for number, step in enumerate(_passes(work, whole, scratch)):
            first, shift = number == 0, number * DIGIT
            reading = _Pass(step.keys, None, None, None)
            _launch("digits", work, keys, reading, first, counts=counts, shift=shift, flip=flip)
            scan("sum", counts.reshape(work.lines, -1), exclusive=True, out=starts.reshape(work.lines, -1))
            _launch("scatter", work, keys, step, first, starts=starts, shift=shift, flip=flip)


def _passes(work: _Work, whole: _Pass, scratch: Callable[[int], Tensor]) -> list[_Pass]:
    """Keys alternate between two buffers, so that the last pass writes the results."""
    keys, values, sorted_keys, sorted_values = whole
    first = sorted_keys if sorted_keys is not None and work.digits > 1 else scratch(keys.size)
    key_buffers = [first, scratch(keys.size)]
    value_buffers = [sorted_values, scratch(keys.size) if sorted_values is not None else None]
    passes = []
    for number in range(work.digits):
        to = (work.digits - 1 - number) % 2
        last = number == work.digits - 1
        passes.append(_Pass(keys, values, sorted_keys if last else key_buffers[to], value_buffers[to]))
        keys, values = key_buffers[to], value_buffers[to]
    return passes


def _launch(entry: str, work: _Work, array: Tensor, step: _Pass, first: bool, **others: Any) -> None:
    """Record one kernel; `array` are the caller's keys, whose type is compared."""
    values_kind = "none" if step.sorted_values is None else "indices" if step.values is None else "values"
    arguments: dict[str, Any] = {"shift": 0, "end": 0, **work.fields, **others}
    if first:
        tensors = {"keys": step.keys} | ({} if step.values is None else {"values": step.values})
        arguments |= Lines.along(step.keys.ndim - 1, list(tensors.values())).fields(*tensors)
    kernel = Kernel.load(
        "ops/radix_sort.wgsl",
        entry,
        {
            "KEY": array.dtype.name,
            "FIRST": first,
            "VALUES": values_kind,
            "WITH_KEYS": step.sorted_keys is not None,
            "ITEMS": work.items,
            "SUBGROUP": work.subgroup,
        },
    )
    arguments |= {name: None if tensor is None else tensor.bitcast(u32) for name, tensor in step._asdict().items()}
    written = ("sorted_keys", "sorted_values", "counts")
    kernel(work.lines * work.tiles * WORKGROUP, overwrites=written, **arguments)

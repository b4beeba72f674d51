"""Stable sorting along an axis: keys, their indices, or pairs of keys and values; and top-k.

A radix sort of 32-bit keys, eight bits at a time: digits are counted tile by tile, the counts added up, and every key
goes to its place (see shaders/ops/radix_sort.wgsl). Floats are ordered as by `numpy.sort(kind="stable")`: −0
equals 0 and NaN comes last. It comes last in a falling order too.

`sort`, `argsort` and `sort_pairs` work now; `record_sort` adds the same to a plan, which holds the scratch memory.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, NamedTuple

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel, Plan, gpu
from ..tensor import Tensor, f32, i32, u32
from . import launch, paths
from .differentiable import differentiable
from .functions import Operand
from .lines import Launch, Lines, words
from .scans import running_sum

WORKGROUP = 256
DIGIT = 8  # bits
KEYS = (u32, i32, f32)


@differentiable
def sort(keys: Operand, axis: int = -1, *, descending: bool = False) -> Tensor:
    """`keys` (u32, i32 or f32) in order along `axis`, as a new tensor. Raises `DtypeError` for other types."""
    with launch.tensors(keys) as (array,):
        moved = _last(array, axis)
        out = Tensor.empty(moved.shape, array.dtype, temporary=True)
        add_sort(Kernel.__call__, moved, None, out, None, descending)
    return _back(out, axis)


@differentiable
def argsort(keys: Operand, axis: int = -1, *, descending: bool = False) -> Tensor:
    """Indices (i32) along `axis` of the keys in order; of equal keys the first comes first. Raises `DtypeError`."""
    with launch.tensors(keys) as (array,):
        moved = _last(array, axis)
        out = Tensor.empty(moved.shape, i32, temporary=True)
        add_sort(Kernel.__call__, moved, None, None, out, descending)
    return _back(out, axis)


@differentiable
def sort_pairs(
    keys: Operand, values: Operand | None = None, axis: int = -1, *, descending: bool = False
) -> tuple[Tensor, Tensor]:
    """Keys in order along `axis`, and `values` of the same shape (32 bits each) in the order of their keys.

    Without `values`, the indices (i32) of the keys. Raises `ShapeError`, `DtypeError`.
    """
    with ExitStack() as stack:
        array = stack.enter_context(launch.tensors(*([keys] if values is None else [keys, values])))
        moved = [_last(tensor, axis) for tensor in array]
        dtype = array[1].dtype if values is not None else i32
        sorted_keys = Tensor.empty(moved[0].shape, array[0].dtype, temporary=True)
        sorted_values = Tensor.empty(moved[0].shape, dtype, temporary=True)
        add_sort(
            Kernel.__call__, moved[0], moved[1] if values is not None else None, sorted_keys, sorted_values, descending
        )
    return _back(sorted_keys, axis), _back(sorted_values, axis)


@differentiable
def topk(x: Operand, k: int, axis: int = -1, *, largest: bool = True) -> tuple[Tensor, Tensor]:
    """The `k` largest (or smallest) of `x` along `axis` in falling (rising) order, and their indices (i32).

    NaN is taken after all numbers either way. Raises `ShapeError` if there are not so many, and `DtypeError`.
    """
    with launch.tensors(x) as (array,):
        at = launch.normal_axis(axis, array.ndim)
        if not 0 <= k <= array.shape[at]:
            raise ShapeError(f"topk: {k} of {array.shape[at]} elements along axis {axis}")
        values, indices = sort_pairs(array, axis=axis, descending=largest)
    few = (*[slice(None)] * at, slice(k))
    return values[few], indices[few]


def record_sort(
    plan: Plan,
    keys: Tensor,
    values: Tensor | None = None,
    *,
    sorted_keys: Tensor | None = None,
    sorted_values: Tensor | None = None,
    descending: bool = False,
    key_bits: int = 32,
) -> None:
    """Add to `plan` the sort of `keys` along their last axis into `sorted_keys`, `sorted_values` or both.

    Without `values`, `sorted_values` (32 bits) are the indices of the keys. Results are contiguous tensors of the shape
    of the keys. u32 keys below 2^`key_bits` take a pass for each eight bits. Raises `ShapeError`, `DtypeError`, and
    `LayoutError` if what is written is a view of what is read.
    """
    if not 0 < key_bits <= 32 or (key_bits < 32 and (keys.dtype is not u32 or descending)):
        raise ShapeError(f"record_sort: key_bits is {key_bits}; 1 to 32, less than 32 for rising u32 keys alone")
    add_sort(plan.dispatch, keys, values, sorted_keys, sorted_values, descending, key_bits)


def _last(tensor: Tensor, axis: int) -> Tensor:
    """A view with `axis` last."""
    at = launch.normal_axis(axis, tensor.ndim)
    return tensor.permute(*(i for i in range(tensor.ndim) if i != at), at)


def _back(tensor: Tensor, axis: int) -> Tensor:
    """The view whose last axis is `axis` again."""
    at = launch.normal_axis(axis, tensor.ndim)
    order = list(range(tensor.ndim - 1))
    order.insert(at, tensor.ndim - 1)
    return tensor.permute(*order) if at != tensor.ndim - 1 else tensor


def _check(keys: Tensor, others: dict[str, Tensor | None]) -> None:
    if keys.dtype not in KEYS:
        raise DtypeError(f"sort: keys are {keys.dtype}; they must be u32, i32 or f32: use .to() first")
    if not keys.ndim:
        raise ShapeError("sort: a tensor without axes has no order")
    for name, tensor in others.items():
        if tensor is None:
            continue
        if tensor.shape != keys.shape:
            raise ShapeError(f"sort: {name} have shape {tensor.shape}, keys {keys.shape}; they must be the same")
        if tensor.itemsize != 4:
            raise DtypeError(f"sort: {name} are {tensor.dtype}; they must have 32 bits")
    written = others["sorted_keys"]
    if written is not None and written.dtype is not keys.dtype:
        raise DtypeError(f"sort: sorted_keys are {written.dtype}, keys {keys.dtype}; they must be the same")


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
        count, lines = shape[-1], 1
        for n in shape[:-1]:
            lines *= n
        items = _items(subgroup)
        if count <= WORKGROUP * items // 4:
            items //= 4
        return _Work(lines, count, items, -(-count // (WORKGROUP * items)), -(-key_bits // DIGIT), subgroup)

    @property
    def fields(self) -> dict[str, Any]:
        return {"count": self.count, "lines": self.lines, "tiles": self.tiles}


def _items(subgroup: int) -> int:
    """Keys for each invocation: as many as workgroup memory has room for beside the counters."""
    if not subgroup:
        return 8
    counters = WORKGROUP // subgroup * 128 * 4 + 4 * WORKGROUP * 4
    room = gpu().limits["max-compute-workgroup-storage-size"] - counters
    return 16 if room >= 16 * WORKGROUP * 4 else 8


class _Pass(NamedTuple):
    """One pass: what is read and written; None where there is nothing."""

    keys: Tensor
    values: Tensor | None
    sorted_keys: Tensor | None
    sorted_values: Tensor | None


def add_sort(
    launch_: Launch,
    keys: Tensor,
    values: Tensor | None,
    sorted_keys: Tensor | None,
    sorted_values: Tensor | None,
    descending: bool,
    key_bits: int = 32,
) -> None:
    """For kernels that come after it, and for the functions above: record the sort of `keys` along their last axis."""
    _check(keys, {"values": values, "sorted_keys": sorted_keys, "sorted_values": sorted_values})
    if sorted_keys is None and sorted_values is None:
        raise ShapeError("sort: there is nothing to write; give sorted_keys or sorted_values")
    if values is not None and sorted_values is None:
        raise ShapeError("sort: values are given, but no sorted_values to write them to")
    if not keys.size:
        return
    work = _Work.of(keys.shape, key_bits)
    flip = 0xFFFFFFFF if descending else 0
    if work.tiles == 1:
        step = _Pass(keys, values, sorted_keys, sorted_values)
        _launch(launch_, "whole", work, keys, step, first=True, end=work.digits * DIGIT, flip=flip)
        return
    with ExitStack() as stack:

        def scratch(count: int) -> Tensor:
            return stack.enter_context(Tensor.empty(count, u32))

        counts, starts = (scratch(work.lines * (1 << DIGIT) * work.tiles) for _ in range(2))
        for number, step in enumerate(_passes(work, keys, values, sorted_keys, sorted_values, scratch)):
            first, shift = number == 0, number * DIGIT
            reading = _Pass(step.keys, None, None, None)
            _launch(launch_, "digits", work, keys, reading, first, counts=counts, shift=shift, flip=flip)
            running_sum(launch_, counts.reshape(work.lines, -1), starts.reshape(work.lines, -1))
            _launch(launch_, "scatter", work, keys, step, first, starts=starts, shift=shift, flip=flip)


def _passes(
    work: _Work,
    keys: Tensor,
    values: Tensor | None,
    sorted_keys: Tensor | None,
    sorted_values: Tensor | None,
    scratch: Any,
) -> list[_Pass]:
    """Keys alternate between two buffers, so that the last pass writes the results."""
    indices = [
        (sorted_keys if sorted_keys is not None and work.digits > 1 else scratch(keys.size)),
        scratch(keys.size),
    ]
    value_buffers = [sorted_values, scratch(keys.size) if sorted_values is not None else None]
    passes = []
    for number in range(work.digits):
        to = (work.digits - 1 - number) % 2
        last = number == work.digits - 1
        passes.append(_Pass(keys, values, sorted_keys if last else indices[to], value_buffers[to]))
        keys, values = indices[to], value_buffers[to]
    return passes


def _launch(launch_: Launch, entry: str, work: _Work, array: Tensor, step: _Pass, first: bool, **others: Any) -> None:
    """Record one kernel; `array` are the caller's keys, whose type is compared."""
    values_kind = "none" if step.sorted_values is None else "indices" if step.values is None else "given"
    unused = dict.fromkeys(
        ("keys_offset", "values_offset", "sorted_keys_offset", "sorted_values_offset", "shift", "end"), 0
    )
    arguments: dict[str, Any] = {**unused, **work.fields, **others}
    if first:
        arguments |= _stride_fields(step)
    buffers = {
        "keys": step.keys,
        "values": step.values,
        "sorted_keys": step.sorted_keys,
        "sorted_values": step.sorted_values,
    }
    written = [
        name for name in ("sorted_keys", "sorted_values", "counts") if buffers.get(name, others.get(name)) is not None
    ]
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
    with ExitStack() as stack:
        for name, tensor in buffers.items():
            if tensor is not None:
                arguments[name] = stack.enter_context(words(tensor))
        launch_(kernel, work.lines * work.tiles * WORKGROUP, overwrites=written, **arguments)


def _stride_fields(step: _Pass) -> dict[str, Any]:
    """The uniform fields with the strides of the caller's keys and values."""
    tensors = [step.keys] if step.values is None else [step.keys, step.values]
    lines = Lines.along(step.keys.ndim - 1, tensors)
    fields: dict[str, Any] = {
        "line_axes": len(lines.shape),
        "shape": launch.padded(lines.shape, 1),
        "keys_step": lines.steps[0],
        "keys_strides": launch.padded(lines.strides[0], 0),
    }
    if step.values is not None:
        fields |= {"values_step": lines.steps[1], "values_strides": launch.padded(lines.strides[1], 0)}
    return fields

"""Reductions with NumPy's meaning of `axis` and `keepdims`, read in place whatever the strides are.

f32 and f16 are summed in f32, f64 in f64, over several running totals and a tree; integers wrap at 32 bits. Sums and
products of bool and u8 are u32, means of integers f32, indices i32. The order of operations depends on shapes alone:
the same input gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from ..errors import ShapeError
from ..gpu import Kernel
from ..tensor import DType, Tensor, bool_, f32, f64, i32, u32
from . import launch
from .differentiable import differentiable
from .elementwise import assign
from .functions import Operand

Axes: TypeAlias = int | Sequence[int] | None

WORKGROUP = 256
SHORT = 32  # elements an output has at most if one invocation makes it alone
CHUNK = 16384  # elements of an output that one workgroup takes when the work is split: 64 an invocation
FEW_GROUPS = 1024  # workgroups under which the work is split
COLUMNS = 16  # outputs that a workgroup makes together when outputs are closer to each other than their elements


class Fold(NamedTuple):
    """A reduction in WGSL: how partial results a and b become one (by type of value, "" for all others).

    `empty_value` is the result for no elements; None if there is none. `result_kind` is the kind of result: "same"
    type, "number" (small types widened), "float", "bool" or "index"; an index is found by `before`: whether a is
    chosen over b. With `only_finite`, which is for floats, elements that are not finite do not count.
    """

    combine: dict[str, str]
    empty_value: float | None
    result_kind: str = "same"
    identity: float = 0
    before: str = ""
    only_finite: bool = False


FOLDS = {
    "sum": Fold({"": "a + b"}, 0, "number"),
    "prod": Fold({"": "a * b"}, 1, "number", 1),
    "mean": Fold({"": "a + b"}, math.nan, "float"),
    "min": Fold({"f32": "minimum_f(a, b)", "f64": "double_minimum(a, b)", "": "min(a, b)"}, None, identity=math.inf),
    "max": Fold({"f32": "maximum_f(a, b)", "f64": "double_maximum(a, b)", "": "max(a, b)"}, None, identity=-math.inf),
    "finite_min": Fold({"": "min(a, b)"}, None, identity=math.inf, only_finite=True),
    "finite_max": Fold({"": "max(a, b)"}, None, identity=-math.inf, only_finite=True),
    "any": Fold({"": "a | b"}, 0, "bool"),
    "all": Fold({"": "a & b"}, 1, "bool", 1),
    "argmin": Fold({"": ""}, None, "index", before="a < b"),
    "argmax": Fold({"": ""}, None, "index", before="a > b"),
}
_FIXED = {"index": i32, "bool": bool_}
_VALUES = {"float": "f32", "double": "f64", "int": "i32"}  # all other kinds are worked on as u32
_INTEGERS = {"i32": np.int32, "u32": np.uint32}


class Reduction(Protocol):
    """A function that makes one value of many, in `out` or a new tensor."""

    def __call__(
        self, a: Operand, axis: Axes = None, keepdims: bool = False, *, out: Tensor | None = None
    ) -> Tensor: ...


def _reduction(name: str, doc: str) -> Reduction:
    def function(a: Operand, axis: Axes = None, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
        return _reduce(name, a, axis, keepdims, out)

    function.__name__, function.__qualname__, function.__doc__ = name, name, doc
    return differentiable(function)


def finite_range(a: Tensor, axis: Axes = None, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The smallest and the largest finite value of floats along `axis`; inf and -inf where there is none."""
    return _reduce("finite_min", a, axis, keepdims, None), _reduce("finite_max", a, axis, keepdims, None)


def sum_to(a: Tensor, shape: Sequence[int]) -> Tensor:
    """`a` summed over the axes along which a tensor of `shape` was repeated to the shape of `a`."""
    shape = tuple(shape)
    if a.shape == shape:
        return a
    ahead = a.ndim - len(shape)
    repeated = [axis for axis, size in enumerate(shape, ahead) if size == 1 and a.shape[axis] != 1]
    axes = (*range(ahead), *repeated)
    return (sum(a, axes, keepdims=True) if axes else a).reshape(*shape)


def _shape(source: Tensor, axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    return tuple(1 if i in axes else n for i, n in enumerate(source.shape) if keepdims or i not in axes)


def _without(out: Tensor, axes: tuple[int, ...], rank: int) -> Tensor:
    """`out` without the axes of 1 that were retained."""
    return out[tuple(0 if i in axes else slice(None) for i in range(rank))]


def _reduce(name: str, a: Any, axis: Axes, keepdims: bool, out: Tensor | None) -> Tensor:
    fold = FOLDS[name]
    with launch.tensors(a) as (source,):
        axes = launch.normal_axes(axis, source.ndim)
        out = launch.prepare_output(name, _shape(source, axes, keepdims), _result_dtype(fold, source.dtype), out)
        if not math.prod(source.shape[i] for i in axes):
            if fold.empty_value is None:
                raise ShapeError(f"{name} of no elements: shape {source.shape} along axis {axis}")
            assign(out, fold.empty_value)
        elif out.size:
            target = _without(out, axes, source.ndim) if keepdims else out
            _launch(fold, launch.copy_if_aliased(source, out), axes, target)
    return out


def _result_dtype(fold: Fold, dtype: DType) -> DType:
    if fold.result_kind in _FIXED:
        return _FIXED[fold.result_kind]
    if dtype.is_real or fold.result_kind == "same":
        return dtype
    if fold.result_kind == "float":
        return f32
    return i32 if dtype is i32 else u32


class _Layout(NamedTuple):
    """Merged outer and reduced axes, with their strides in elements."""

    outer: list[int]
    reduced: list[int]
    source_strides: list[int]
    source_steps: list[int]
    out_strides: list[int]

    @staticmethod
    def of(source: Tensor, axes: tuple[int, ...], out: Tensor, ordered: bool) -> _Layout:
        """Axes with long strides come first, so that neighbors in a workgroup read neighbors in memory.

        With `ordered` the reduced axes stay as they are: indices are counted along them.
        """
        strides = launch.element_strides(source)
        distinct = [i for i in range(source.ndim) if i not in axes]
        out_strides = dict(zip(distinct, launch.element_strides(out), strict=True))
        distinct.sort(key=lambda i: -abs(strides[i]))
        inner = list(axes) if ordered else sorted(axes, key=lambda i: -abs(strides[i]))
        outer, (source_strides, target_strides) = launch.merge_axes(
            [source.shape[i] for i in distinct], [[strides[i] for i in distinct], [out_strides[i] for i in distinct]]
        )
        reduced, (steps,) = launch.merge_axes([source.shape[i] for i in inner], [[strides[i] for i in inner]])
        return _Layout(outer, reduced, source_strides, steps, target_strides)

    @property
    def column_major(self) -> bool:
        """Whether outputs are closer together than the elements of one: columns are reduced."""
        return bool(self.outer and self.reduced) and abs(self.source_strides[-1]) < abs(self.source_steps[-1])

    def fields(self) -> dict[str, Any]:
        """The uniform fields."""
        return {
            "outer_axes": len(self.outer),
            "reduced_axes": len(self.reduced),
            "outer": launch.padded(self.outer, 1),
            "reduced": launch.padded(self.reduced, 1),
            "source_strides": launch.padded(self.source_strides, 0),
            "source_steps": launch.padded(self.source_steps, 0),
            "out_strides": launch.padded(self.out_strides, 0),
        }


class _Work(NamedTuple):
    """How one pass is divided: outputs of a workgroup, invocations for each of them, and chunks of the elements."""

    columns: int
    rows: int
    chunk: int
    chunks: int

    @staticmethod
    def of(count: int, outputs: int, column_major: bool, may_split: bool) -> _Work:
        """For `count` elements of each output."""
        if count <= SHORT:
            return _Work(WORKGROUP, 1, count, 1)
        columns = 1
        while column_major and columns < outputs and columns < COLUMNS:
            columns *= 2
        chunk = CHUNK // columns
        if may_split and count > 2 * chunk and -(-outputs // columns) < FEW_GROUPS:
            return _Work(columns, WORKGROUP // columns, chunk, -(-count // chunk))
        return _Work(columns, WORKGROUP // columns, count, 1)


def _launch(fold: Fold, source: Tensor, axes: tuple[int, ...], out: Tensor) -> None:
    """One pass, or two with partial results between them."""
    layout = _Layout.of(source, axes, out, ordered=bool(fold.before))
    count, outputs = math.prod(layout.reduced), out.size
    by_source = fold.result_kind in ("same", "index", "number") or (source.dtype is f64 and fold.result_kind == "float")
    kind = source.dtype.kind if by_source else fold.result_kind
    common = {"outputs": outputs, "divisor": count, **layout.fields()}
    work = _Work.of(count, outputs, layout.column_major, may_split=True)
    if work.chunks == 1:
        return _pass(
            fold, kind, (source.dtype.name, out.dtype.name), work, source=source, out=out, count=count, **common
        )
    words = work.chunks * outputs * (2 if fold.before else 1) * (2 if source.dtype is f64 else 1)
    with Tensor.empty(words, u32, temporary=True) as partial:
        _pass(fold, kind, (source.dtype.name, "partial"), work, source=source, out=partial, count=count, **common)
        work, count = _Work.of(work.chunks, outputs, column_major=True, may_split=False), work.chunks
        _pass(fold, kind, ("partial", out.dtype.name), work, source=partial, out=out, count=count, **common)


def _pass(fold: Fold, kind: str, dtypes: tuple[str, str], work: _Work, **arguments: Any) -> None:
    """Record one pass from elements or partial results of `dtypes[0]` to those of `dtypes[1]`."""
    value = _VALUES.get(kind, "u32")
    is_strided = dtypes[0] == "partial" or arguments["reduced_axes"] <= 1
    kernel = Kernel.load(
        "ops/reduce.wgsl",
        defines={
            "COLUMNS": work.columns,
            "ROWS": work.rows,
            "FROM": dtypes[0],
            "TO": dtypes[1],
            "VALUE": value,
            "LIFT": _lift(fold, value),
            "COMBINE": fold.combine.get(value, fold.combine[""]),
            "FINISH": _finish(fold, dtypes[1]),
            "ARG": bool(fold.before),
            "BEFORE": _before(fold, value),
            "EVEN": is_strided,
        },
    )
    kernel(
        -(-arguments["outputs"] // work.columns) * work.chunks * WORKGROUP,
        overwrites=("out",),
        identity=_identity(fold, value),
        chunk=work.chunk,
        chunks=work.chunks,
        **arguments,
    )


def _before(fold: Fold, value: str) -> str:
    """Whether a is chosen over b; NaN is before all numbers."""
    is_nan = {"f32": "is_nan", "f64": "double_is_nan"}.get(value)
    return fold.before if is_nan is None else f"({fold.before} || {is_nan}(a)) && !{is_nan}(b)"


def _lift(fold: Fold, value: str) -> str:
    """An element as the WGSL type `value`."""
    if fold.only_finite:
        return f"select(params.identity, {value}(x), !is_nan({value}(x)) && !is_inf({value}(x)))"
    return "u32(bool(x))" if fold.result_kind == "bool" else f"{value}(x)"


def _finish(fold: Fold, to: str) -> str:
    """What a total becomes when it is stored as `to`."""
    if fold.before:
        return "i32(total.at)"
    total = "total / params.divisor" if fold.result_kind == "float" else "total"
    return {"f16": f"f16({total})", "bool": f"{total} != 0u"}.get(to, total)


def _identity(fold: Fold, value: str) -> float:
    if math.isinf(fold.identity) and value in _INTEGERS:
        limits = np.iinfo(_INTEGERS[value])
        return limits.max if fold.identity > 0 else limits.min
    return fold.identity


sum = _reduction("sum", "Sum over `axis`; 0 of no elements.")
prod = _reduction("prod", "Product over `axis`; 1 of no elements.")
mean = _reduction("mean", "Arithmetic mean over `axis`; NaN of no elements.")
min = _reduction("min", "Smallest value along `axis`, NaN if there is one. Raises `ShapeError` for no elements.")
max = _reduction("max", "Largest value along `axis`, NaN if there is one. Raises `ShapeError` for no elements.")
any = _reduction("any", "Whether any value along `axis` is not 0.")
all = _reduction("all", "Whether no value along `axis` is 0.")
argmin = _reduction(
    "argmin",
    "Index of the first smallest value (or NaN) along `axis`, counted over all axes named. Raises `ShapeError`.",
)
argmax = _reduction(
    "argmax",
    "Index of the first largest value (or NaN) along `axis`, counted over all axes named. Raises `ShapeError`.",
)

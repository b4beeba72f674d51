"""Running totals along an axis: sums, products, smallest and largest values, up to an element or before it.

Read in place whatever the strides are. Sums and products of bool and u8 are u32, integers wrap at 32 bits, f16 is added
up in f32. The order of operations depends on the length of a line alone: the same input gives the same bits, on every
path (see `paths`). Rounding errors grow as those of some 20 additions, and one more for each 8192 elements before.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

from ..errors import DtypeError
from ..gpu import Kernel
from ..tensor import DType, Tensor, f16, f32, f64, i32, u32
from . import launch, paths
from .concat import concatenate
from .creation import full
from .differentiable import differentiable
from .elementwise import assign, copy
from .functions import Operand, add, maximum, minimum, multiply
from .lines import Lines
from .reduce import any as any_

WORKGROUP = 256
ROW = 1024  # elements of a row of a tile, and rows, as in the shader
ROWS = 8
SPIN_LIMIT = 100  # polls, some tens of microseconds: longer than a workgroup that runs takes
SHORT = 64  # elements of a line that one invocation takes alone
MANY_LINES = 4096  # lines side by side from which on one invocation takes each, however long they are
RECORD = 16  # words from what a tile publishes to what the next does


class Running(NamedTuple):
    """A running total in WGSL: a and b as one, and what changes nothing, by type of value."""

    combine: dict[str, str]
    identity: dict[str, str]
    widens: bool

    def defines(self, value: str) -> dict[str, str]:
        """Values for a shader that computes in the type `value`."""
        return {
            "VALUE": value,
            "COMBINE": self.combine.get(value) or self.combine[""],
            "IDENTITY": self.identity.get(value) or self.identity[""],
        }


_LEAST = {"f32": "bitcast<f32>(0xff800000u)", "i32": "(-2147483647i - 1i)", "u32": "0u"}
_MOST = {"f32": "bitcast<f32>(0x7f800000u)", "i32": "2147483647i", "u32": "4294967295u"}
RUNNING = {
    "sum": Running(
        {"": "a + b"}, {"f32": "bitcast<f32>(0x80000000u)", "": "0"}, True
    ),  # -0: it keeps a sign, 0 does not
    "prod": Running({"": "a * b"}, {"": "1"}, True),
    "min": Running({"f32": "minimum_f(a, b)", "": "min(a, b)"}, _MOST, False),
    "max": Running({"f32": "maximum_f(a, b)", "": "max(a, b)"}, _LEAST, False),
    "count": Running({"": "a + b"}, {"": "0"}, True),  # of what is not 0; see running_count
}
_JOINS = {"sum": add, "prod": multiply, "min": minimum, "max": maximum}
_FIRST = {"sum": 0.0, "prod": 1.0, "min": math.inf, "max": -math.inf}
WORDS = {"f32": f32, "i32": i32, "u32": u32}


@differentiable
def scan(
    how: str,
    x: Operand,
    axis: int = -1,
    *,
    exclusive: bool = False,
    reverse: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Running total along `axis`, in the shape of `x`; `how` is "sum", "prod", "min" or "max".

    With `exclusive` an element's own value is left out: the first is 0, 1, or the value that no other is beyond. With
    `reverse` it runs from the end. Raises `ShapeError`, and `DtypeError` if `out` is of another type than the result.
    """
    with launch.tensors(x) as (source,):
        out = launch.prepare_output(f"scan {how}", source.shape, result_type(how, source.dtype), out)
        at = launch.normal_axis(axis, source.ndim)
        if out.size and source.dtype is f64:
            return _of_doubles(how, source, at, exclusive, reverse, out)
        if out.size:
            source, target = launch.copy_if_aliased(source, out), out
            if reverse:
                backwards = (*[slice(None)] * at, slice(None, None, -1))
                source, target = source[backwards], target[backwards]
            _launch(how, source, target, Lines.along(at, (source, target), ordered=False), exclusive)
    return out


class RunningTotal(Protocol):
    """`scan` of one kind, into `out` or a new tensor."""

    def __call__(
        self, x: Operand, axis: int = -1, *, exclusive: bool = False, reverse: bool = False, out: Tensor | None = None
    ) -> Tensor: ...


def _running_total(name: str, how: str, doc: str) -> RunningTotal:
    def function(
        x: Operand, axis: int = -1, *, exclusive: bool = False, reverse: bool = False, out: Tensor | None = None
    ) -> Tensor:
        return scan(how, x, axis, exclusive=exclusive, reverse=reverse, out=out)

    function.__name__, function.__qualname__, function.__doc__ = name, name, doc
    return function


cumsum = _running_total("cumsum", "sum", "Running sum along `axis`; see `scan`.")
cumprod = _running_total("cumprod", "prod", "Running product along `axis`; see `scan`.")
cummax = _running_total("cummax", "max", "Largest value so far along `axis`, NaN from the first NaN on; see `scan`.")
cummin = _running_total("cummin", "min", "Smallest value so far along `axis`, NaN from the first NaN on; see `scan`.")


def result_type(how: str, dtype: DType) -> DType:
    """The element type of running totals of `dtype`."""
    if how not in RUNNING or how == "count":
        raise DtypeError(f"no running total is called {how!r}; there are sum, prod, min and max")
    if RUNNING[how].widens and not dtype.is_real and dtype is not i32:
        return u32
    if dtype.itemsize == 1 or dtype.kind == "bool":
        return u32
    return dtype


def _of_doubles(how: str, x: Tensor, at: int, exclusive: bool, reverse: bool, out: Tensor) -> Tensor:
    """In f64, which the kernel does not have: 1, 2, 4, ... elements are joined to those after them."""
    whole = (slice(None),) * at
    found = copy(x[(*whole, slice(None, None, -1))] if reverse else x)
    count, step = x.shape[at], 1
    while step < count:
        both = _JOINS[how](found[(*whole, slice(step, None))], found[(*whole, slice(None, -step))])
        found = concatenate([found[(*whole, slice(None, step))], both], at)
        step *= 2
    if exclusive:
        first = full((*x.shape[:at], 1, *x.shape[at + 1 :]), _FIRST[how], f64)
        found = concatenate([first, found[(*whole, slice(None, -1))]], at)
    return assign(out, found[(*whole, slice(None, None, -1))] if reverse else found)


def running_count(mask: Tensor, ordinals: Tensor) -> None:
    """For kernels that come after it: how many of `mask`, in row-major order, are not 0, up to each; contiguous u32."""
    shape, (strides,) = launch.merge_axes(mask.shape, [launch.element_strides(mask)])
    if len(shape) > 1:  # not evenly spaced: laid in a row first
        with any_(mask, ()) as truth:
            return running_count(truth, ordinals)
    step = strides[0] if strides else 0
    _launch("count", mask, ordinals, Lines(mask.size, (step, 1), [], [[], []]), False)


def _launch(how: str, source: Tensor, out: Tensor, lines: Lines, exclusive: bool) -> None:
    alone = lines.count <= SHORT or (lines.column_major and lines.number >= MANY_LINES)
    rows = 1 if lines.count <= ROW else ROWS
    tiles = -(-lines.count // (ROW * rows))
    defines = _defines(how, source, out, exclusive) | {
        "VECTOR": not alone and how != "count" and _in_vectors(lines, source, out),
        "ROWS": rows,
    }
    fields = {"count": lines.count, "lines": lines.number, "tiles": tiles, **lines.fields("source", "out")}
    if alone or tiles == 1:
        kernel = Kernel.load("ops/scan.wgsl", "serial" if alone else "whole", defines)
        threads = lines.number * (1 if alone else WORKGROUP)
        kernel(threads, overwrites=("out",), source=source, out=out, **fields)
    else:
        in_passes = _chained if paths.path().chained else _in_three_passes
        in_passes(defines, lines.number * tiles, source, out, fields)


def _defines(how: str, source: Tensor, out: Tensor, exclusive: bool) -> dict[str, Any]:
    value = "u32" if how == "count" else launch.word_type(source.dtype)
    running = RUNNING[how].defines(value)
    return running | {
        "FROM": source.dtype.name,
        "TO": out.dtype.name,
        "LIFT": "u32(bool(x))" if how == "count" else f"{value}(x)",
        "START": "0" if how == "sum" and exclusive else running["IDENTITY"],
        "FINISH": "f16(total)" if out.dtype is f16 else "total",
        "EXCLUSIVE": exclusive,
        "SPIN_LIMIT": SPIN_LIMIT,
        "RECORD": RECORD,
        "SUBGROUP": paths.path().subgroup,
    }


def _in_vectors(lines: Lines, source: Tensor, out: Tensor) -> bool:
    """Whether both can be read and written four elements at a time."""
    even = all(n % 4 == 0 for n in (lines.count, *lines.strides[0], *lines.strides[1]))
    plain = all(t.dtype in WORDS.values() and t.offset % 16 == 0 and t.is_contiguous for t in (source, out))
    return even and plain and lines.steps == (1, 1)


def _chained(defines: dict[str, Any], tiles: int, source: Tensor, out: Tensor, fields: dict[str, Any]) -> None:
    """One pass; what was published for an earlier scan is cleared before."""
    kernel = Kernel.load("ops/scan.wgsl", "chained", defines)
    with Tensor.empty(RECORD * tiles, u32, temporary=True) as published:
        assign(published, 0)
        kernel(tiles * WORKGROUP, overwrites=("out",), source=source, out=out, published=published, **fields)


def _in_three_passes(defines: dict[str, Any], tiles: int, source: Tensor, out: Tensor, fields: dict[str, Any]) -> None:
    """Totals of the tiles, what comes before each, and the tiles again."""
    totals, spine, spread = (Kernel.load("ops/scan.wgsl", entry, defines) for entry in ("totals", "spine", "spread"))
    with Tensor.empty(tiles, WORDS[defines["VALUE"]], temporary=True) as partial:
        threads, arguments = tiles * WORKGROUP, {"source": source, **fields}
        totals(threads, overwrites=("partial",), partial=partial, **arguments)
        spine(fields["lines"] * WORKGROUP, partial=partial, **fields)
        spread(threads, overwrites=("out",), out=out, prefixes=partial, **arguments)

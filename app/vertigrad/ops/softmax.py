"""Softmax, its logarithm, and hardmax along any axis of f32 or f16, computed in f32, or of f64."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import DtypeError
from ..gpu import Kernel
from ..tensor import Tensor, f64
from . import launch, paths
from .define import Operand
from .differentiable import differentiable
from .elementwise import copy, fused
from .functions import divide, exp, log
from .lines import Lines
from .reduce import argmax
from .reduce import max as largest
from .reduce import sum as total

WORKGROUP = 256
COLUMNS = 16  # vectors that a workgroup makes together when they are closer to each other than their elements
CACHED = 16  # elements that an invocation keeps from the first pass for the second
WIDE_FROM = 128  # elements of a vector from which on invocations read four at a time


@differentiable
def softmax(x: Operand, axis: int = -1, *, out: Tensor | None = None) -> Tensor:
    """e^x / Σ e^x along `axis`, whatever the size of x; NaN where all elements are −∞ or one is NaN or +∞."""
    return _softmax("soft", x, axis, out)


@differentiable
def log_softmax(x: Operand, axis: int = -1, *, out: Tensor | None = None) -> Tensor:
    """x − log Σ e^x along `axis`; accurate also where softmax would be 0."""
    return _softmax("log", x, axis, out)


@differentiable
def hardmax(x: Operand, axis: int = -1, *, out: Tensor | None = None) -> Tensor:
    """1 at the first largest element along `axis`, 0 elsewhere."""
    return _softmax("hard", x, axis, out)


def _softmax(kind: str, x: Operand, axis: int, out: Tensor | None) -> Tensor:
    name = {"soft": "softmax", "log": "log_softmax", "hard": "hardmax"}[kind]
    with launch.tensors(x) as (source,):
        if source.dtype is f64:
            return _of_doubles(kind, source, launch.normal_axis(axis, source.ndim), out)
        if source.dtype.kind != "float":
            raise DtypeError(f"{name} of {source.dtype}; cast it first with .to('f32')")
        at = launch.normal_axis(axis, source.ndim)
        out = launch.prepare_output(name, source.shape, source.dtype, out)
        if out.size:
            _launch(kind, launch.copy_if_aliased(source, out), at, out)
    return out


def _of_doubles(kind: str, x: Tensor, at: int, out: Tensor | None) -> Tensor:
    """As the kernel has it, put together from reductions and elementwise operations, which know f64."""
    if kind == "hard":
        steps = np.arange(x.shape[at], dtype=np.int32).reshape(-1, *[1] * (x.ndim - at - 1))
        return fused(lambda i, step: (i == step).to(f64), argmax(x, at, True), steps, out=out)
    if not x.size:
        return copy(x)
    with (
        largest(x, at, True) as top,
        fused(lambda v, t: v - t, x, top) as shifted,
        exp(shifted) as powers,
        total(powers, at, True) as sums,
    ):
        if kind == "log":
            return fused(lambda v, s: v - log(s), shifted, sums, out=out)
        return divide(powers, sums, out=out)


def _launch(kind: str, x: Tensor, at: int, out: Tensor) -> None:
    lines = Lines.along(at, (x, out))
    wide = kind != "hard" and _in_quads(lines, (x, out))
    count = lines.count // 4 if wide else lines.count
    columns, rows = _divided(count, lines.column_major)
    each = -(-count // rows)
    kernel = Kernel.load(
        "ops/softmax.wgsl",
        defines={
            **{"X": x.dtype.name, "OUT": out.dtype.name, "COLUMNS": columns, "ROWS": rows, "KIND": kind},
            **{"ALONG": not lines.column_major, "EACH": 1 << (each - 1).bit_length() if each <= CACHED else 0},
            **{"SUBGROUP": paths.path().subgroup, "WIDE": wide},
        },
    )
    kernel(
        -(-lines.number // columns) * WORKGROUP,
        overwrites=("out",),
        x=x,
        out=out,
        vectors=lines.number,
        count=count,
        **lines.fields("x", "out"),
    )


def _in_quads(lines: Lines, tensors: Sequence[Tensor]) -> bool:
    """Whether each vector is whole quads of contiguous, aligned elements, as many as invocations can keep."""
    steps = [*(stride for row in lines.strides for stride in row), *(t.offset // t.itemsize for t in tensors)]
    even = lines.count % 4 == 0 and all(n % 4 == 0 for n in steps)
    return even and set(lines.steps) == {1} and WIDE_FROM <= lines.count <= 4 * CACHED * WORKGROUP


def _divided(count: int, column_major: bool) -> tuple[int, int]:
    """(vectors of a workgroup, invocations for each) for vectors of `count` elements."""
    lines = 1 if count <= CACHED // 4 else WORKGROUP // COLUMNS if column_major else 8
    while not column_major and 1 < lines < WORKGROUP and lines * (CACHED // 2 if lines < 32 else CACHED) < count:
        lines *= 2
    return WORKGROUP // lines, lines

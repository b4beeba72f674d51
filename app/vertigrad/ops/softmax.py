"""Softmax, its logarithm, and hardmax along any axis of f32 or f16, computed in f32."""

from __future__ import annotations

from ..errors import DtypeError
from ..gpu import Kernel
from ..tensor import Tensor
from . import launch
from .define import Operand
from .differentiable import differentiable

WORKGROUP = 256
COLUMNS = 16  # vectors that a workgroup makes together when they are closer to each other than their elements
CACHED = 16  # elements that an invocation keeps from the first pass for the second


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
        if source.dtype.kind != "float":
            raise DtypeError(f"{name} of {source.dtype}; cast it first with .to('f32')")
        at = launch.normal_axis(axis, source.ndim)
        out = launch.prepare_output(name, source.shape, source.dtype, out)
        if out.size:
            _launch(kind, launch.copy_if_aliased(source, out), at, out)
    return out


def _launch(kind: str, x: Tensor, at: int, out: Tensor) -> None:
    strides = [launch.element_strides(t) for t in (x, out)]
    count = x.shape[at]
    others = [axis for axis in range(x.ndim) if axis != at]
    shape, rows = launch.merge_axes([x.shape[a] for a in others], [[row[a] for a in others] for row in strides])
    vectors = out.size // count
    column_major = bool(shape) and abs(rows[0][-1]) < abs(strides[0][at])
    columns, lines = _divided(count, column_major)
    each = -(-count // lines)
    kernel = Kernel.load(
        "ops/softmax.wgsl",
        defines={
            **{"X": x.dtype.name, "OUT": out.dtype.name, "COLUMNS": columns, "ROWS": lines, "KIND": kind},
            **{"ALONG": not column_major, "EACH": 1 << (each - 1).bit_length() if each <= CACHED else 0},
        },
    )
    kernel(
        -(-vectors // columns) * WORKGROUP,
        overwrites=("out",),
        x=x,
        out=out,
        vectors=vectors,
        count=count,
        axes=len(shape),
        x_step=strides[0][at],
        out_step=strides[1][at],
        shape=launch.padded(shape, 1),
        x_strides=launch.padded(rows[0], 0),
        out_strides=launch.padded(rows[1], 0),
    )


def _divided(count: int, column_major: bool) -> tuple[int, int]:
    """(vectors of a workgroup, invocations for each) for vectors of `count` elements."""
    lines = 1 if count <= CACHED // 4 else WORKGROUP // COLUMNS if column_major else 8
    while not column_major and 1 < lines < WORKGROUP and lines * (CACHED // 2 if lines < 32 else CACHED) < count:
        lines *= 2
    return WORKGROUP // lines, lines

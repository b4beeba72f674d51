"""Elementwise operations with NumPy's broadcasting: one generated kernel for each structure of an expression.

`functions.py` and `network_functions.py` list the operations, `expression.py` chooses the types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from .. import resources
from ..errors import DtypeError, ShapeError
from ..gpu import Kernel, gpu
from ..tensor import DType, Tensor, broadcast_shapes, dtype_of, f16, f32, f64, u8
from ..tensor.dtype import check_value
from ..tensor.operators import call
from . import launch
from .differentiable import require_no_gradient, requires_gradient
from .doubles import require_not_narrowed
from .expression import Expression, Program, converted

Leaves = list[tuple[str, str, str]]  # name, dtype, and whether it is a "tensor", a "number", or is "out"
MANY = 1 << 14  # results from which on an invocation makes four, if it can read and write them as one

_FUNCTION = re.compile(r"^fn (\w+)", re.M)
_CALL = re.compile(r"\b(\w+)\(")


def elementwise(name: str, *values: Any, out: Tensor | None = None) -> Tensor:
    """The operation `name` on broadcast operands, into `out` or a new tensor.

    Operands are tensors, numbers, or arrays, which are uploaded; with an expression among them, and without `out`, the
    result is an expression. Raises `ShapeError` if shapes do not broadcast (or not to `out`), `DtypeError` if the types
    have no such operation, `LayoutError` if elements of `out` overlap.
    """
    if out is None and any(isinstance(value, Expression) for value in values):
        return Expression.apply(name, values)  # type: ignore[return-value]  Tensor is what all others get
    if requires_gradient((*values, out)):
        return call("elementwise_with_gradient", name, values, out)
    with launch.operands(*values) as ready:
        return evaluate(Expression.apply(name, ready), out)


def fused(function: Callable[..., Any], *operands: Any, out: Tensor | None = None) -> Tensor:
    """`function` of the operands, elementwise functions and operators of `ops` only, by one kernel.

    `function` is called once, with expressions instead of the operands (tensors or arrays; numbers stay as they are).
    The kernel depends on what is calculated, not on shapes or numbers, and is compiled once. Raises as `elementwise`.
    """
    if requires_gradient((*operands, out)):  # each operation leaves its own node
        return assign(out, function(*operands)) if out is not None else function(*operands)
    with launch.operands(*operands) as ready:
        result = function(*(Expression.of(value) if isinstance(value, Tensor) else value for value in ready))
        if isinstance(result, Tensor) or launch.is_number(result):
            result = Expression.apply("assign", (result,))
        if not isinstance(result, Expression):
            raise DtypeError(f"fused: the function gave {type(result).__name__}, not an expression of its operands")
        return evaluate(result, out)


def evaluate(expression: Expression, out: Tensor | None = None) -> Tensor:
    """The values of `expression`, into `out` or a new tensor. Raises as `elementwise` does."""
    name, shape, result = expression.name, expression.shape, expression.dtype
    if out is None:
        out = Tensor.empty(shape, result, temporary=True)
    elif broadcast_shapes(shape, out.shape) != out.shape:
        raise ShapeError(f"{name}: result of shape {shape} does not fit out of shape {out.shape}")
    elif result.is_real and not out.dtype.is_real and name != "assign":
        raise DtypeError(f"{name}: a {result} result is not written to a tensor of {out.dtype}; use .to() first")
    require_not_narrowed(name, result, out.dtype)
    launch.require_distinct(name, out)
    if out.size:
        program = Program.of(expression)
        require_no_gradient("an expression computed by itself", program.tensors)
        if len(program.tensors) > _most_tensors():
            return evaluate(_split(expression), out)
        _launch(program, result, out)
    return out


def assign(target: Tensor, value: Any) -> Tensor:
    """Write `value` (tensor, expression, array or number), broadcast and cast as by `cast`, into `target`.

    Returns `target`. Raises `DtypeError` if a number does not fit its type.
    """
    if launch.is_number(value):
        check_value(value, target.dtype)
        if target.dtype is f64:  # a number by itself would be f32
            return evaluate(Expression("assign", (value,), "a_", f64, f64), target)
    return elementwise("assign", value, out=target)


def copy(a: Tensor) -> Tensor:
    """A contiguous copy."""
    return assign(Tensor.empty(a.shape, a.dtype, a.name, temporary=True), a)


def cast(a: Tensor, dtype: Any) -> Tensor:
    """A copy of another element type.

    Floats become integers by truncation, held to the range of the type, NaN as 0. Integers wrap. Everything but 0 is
    true. Floats beyond f16 become infinite.
    """
    if isinstance(a, Expression):
        return a.to(dtype)  # type: ignore[return-value]
    return assign(Tensor.empty(a.shape, dtype_of(dtype), a.name, temporary=True), a)


def _most_tensors() -> int:
    return gpu().limits["max-storage-buffers-per-shader-stage"] - 1


def _split(expression: Expression) -> Expression:
    """The same, with the operand that reads most tensors computed now: a kernel can read no more."""
    operands = list(expression.operands)
    reads = [len(Program.of(v).tensors) if isinstance(v, Expression) else 0 for v in operands]
    at = reads.index(max(reads))
    operands[at] = evaluate(operands[at])  # type: ignore[arg-type]  a tensor reads 0, and all together too many
    return Expression(expression.name, operands, expression.text, expression.computed, expression.dtype)


def _leaves(program: Program, out: Tensor) -> tuple[Leaves, dict[str, Any]]:
    """What the kernel reads, and what it is given for it: nothing where `out` is read where it is written."""
    arguments: dict[str, Any] = {}
    leaves: Leaves = []
    for i, tensor in enumerate(program.tensors):
        in_place = tensor.owner is out.owner and tensor.layout == out.layout and tensor.dtype is out.dtype
        leaves.append((f"t{i}", tensor.dtype.name, "out" if in_place else "tensor"))
        if not in_place:
            arguments[f"t{i}"] = launch.copy_if_aliased(tensor, out)
    for i, (value, dtype) in enumerate(program.numbers):
        leaves.append((f"n{i}", dtype.name, "number"))
        arguments[f"n{i}"] = float(value) if dtype.is_real else int(value)
    return leaves, arguments


def _launch(program: Program, result: DType, out: Tensor) -> None:
    leaves, arguments = _leaves(program, out)
    strided = {name: arguments[name].expand(*out.shape) for name, _, where in leaves if where == "tensor"}
    strides = [launch.element_strides(t) for t in (out, *strided.values())]
    shape, rows = launch.merge_axes(out.shape, strides)
    names = ["out", *strided]
    quads = _quads([out, *(arguments[name] for name in strided)], shape, rows) if out.size >= MANY else None
    if quads is not None:
        shape[-1] //= 4
        for row in rows:
            row[-1] *= 4
    arguments |= {f"{name}_strides": launch.padded(row, 0) for name, row in zip(names, rows, strict=True)}
    last, rounded = _rounded(program.result, result, out.dtype)
    count = out.size if quads is None else out.size // 4
    kernel = Kernel.load(
        "ops/elementwise.wgsl",
        defines={
            "INPUTS": tuple(leaves),
            "STATEMENTS": tuple(program.statements),
            "LAST": last,
            "RESULT": rounded,
            "OUT": out.dtype.name,
            "RANK": len(shape),
            "USES_F16": "f16" in {out.dtype.name, *(dtype for _, dtype, _ in leaves)},
            "USES_F64": "f64" in {out.dtype.name, *(dtype for _, dtype, _ in leaves)} or _makes_f64(program.statements),
            "FUNCTIONS": functions_called("\n".join(program.statements)),
            "WORKGROUP": 128 if quads is None else 256,
            "WIDE": quads is not None,
            "QUADS": tuple(names[i] for i in quads or ()),
        },
    )
    kernel(
        count,
        overwrites=() if any(where == "out" for _, _, where in leaves) else ("out",),
        out=out,
        count=count,
        shape=launch.padded(shape, 1),
        **arguments,
    )


def _quads(tensors: Sequence[Tensor], shape: Sequence[int], rows: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    """Which of the tensors (the first is written) have every four neighbors in one aligned quad.

    The others repeat one element along the last axis; None if any does neither.
    """
    if not shape or shape[-1] % 4 or rows[0][-1] != 1:
        return None
    found = []
    for i, (tensor, row) in enumerate(zip(tensors, rows, strict=True)):
        if row[-1] == 0 and i > 0:
            continue
        even = all(stride % 4 == 0 for stride in row[:-1]) and tensor.offset % (4 * tensor.itemsize) == 0
        if row[-1] != 1 or tensor.dtype is u8 or not even:
            return None
        found.append(i)
    return tuple(found)


def _makes_f64(statements: Sequence[str]) -> bool:
    return any("f64(" in statement for statement in statements)


def _rounded(value: str, result: DType, stored: DType) -> tuple[str, str]:
    """(WGSL of the result, name of its type): held to its own type where that is narrower than what is stored."""
    if result is f16:
        return (value, "f32") if stored is f16 else (converted(value, f32, f16), "f32")
    return (value, "u8" if result is u8 else result.name)


def functions_called(text: str) -> tuple[str, ...]:
    """The files of WGSL functions, beyond common/math.wgsl, that `text` needs, in the order to include them."""
    called = set(_CALL.findall(text))
    words = ("words",) if called & _defined("words") else ()
    more = tuple(name for name in ("double_angles", "double_activation") if called & _defined(name))
    words += ("double_powers", *more) if more or called & _defined("double_powers") else ()
    if called & _defined("precise"):
        return ("activation", "precise", *words)
    return ("activation", *words) if called & _defined("activation") else words


@cache
def _defined(name: str) -> frozenset[str]:
    return frozenset(_FUNCTION.findall(resources.shader(f"common/{name}.wgsl")))

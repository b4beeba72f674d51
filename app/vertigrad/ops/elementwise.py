"""Elementwise operations with NumPy's broadcasting: one generated kernel for each operation and set of types.

The operations themselves are listed in `functions.py`. A number takes the type of the tensors beside it; a float beside
integers makes f32. 64-bit types do not exist here: integers wrap at 32 bits, and what NumPy computes in float64 is f32.
f16 is computed in f32 and rounded once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import DType, Tensor, bool_, broadcast_shapes, dtype_of, f16, f32, i32, promote, u8
from ..tensor.dtype import check_value
from . import launch

NAMES = ("a", "b", "c")


class Operation(NamedTuple):
    """An operation's WGSL over a_, b_, c_, by kind of operand: "float", "int", "uint", "bool", or "any" for all others.

    `result` is None (the type of the operands), "bool", or "float" (integers become f32). `casts` says which operands
    are brought to a common type.
    """

    expressions: dict[str, str]
    result: str | None = None
    casts: tuple[bool, ...] = (True, True, True)


OPERATIONS: dict[str, Operation] = {"assign": Operation({"any": "a_"})}


def elementwise(name: str, *values: Any, out: Tensor | None = None) -> Tensor:
    """The operation `name` on broadcast operands, into `out` or a new tensor.

    Operands are tensors, numbers, or arrays, which are uploaded. Raises `ShapeError` if shapes do not broadcast (or not
    to `out`), `DtypeError` if the types have no such operation, `LayoutError` if elements of `out` overlap.
    """
    operation = OPERATIONS[name]
    with launch.operands(*values) as ready:
        computed, result = _types(name, operation, ready)
        shape = broadcast_shapes(*(v.shape for v in ready if isinstance(v, Tensor)))
        if out is None:
            out = Tensor.empty(shape, result, temporary=True)
        elif broadcast_shapes(shape, out.shape) != out.shape:
            raise ShapeError(f"{name}: result of shape {shape} does not fit out of shape {out.shape}")
        elif result.kind == "float" and out.dtype.kind != "float" and name != "assign":
            raise DtypeError(f"{name}: a {result} result is not written to a tensor of {out.dtype}; use .to() first")
        launch.require_distinct(name, out)
        if out.size:
            _launch(operation, ready, computed, result, out)
    return out


def assign(target: Tensor, value: Any) -> Tensor:
    """Write `value` (tensor, array or number), broadcast and cast as by `cast`, into `target`; returns `target`.

    Raises `DtypeError` if a number does not fit the type of `target`.
    """
    if launch.is_number(value):
        check_value(value, target.dtype)
    return elementwise("assign", value, out=target)


def copy(a: Tensor) -> Tensor:
    """A contiguous copy."""
    return assign(Tensor.empty(a.shape, a.dtype, a.name, temporary=True), a)


def cast(a: Tensor, dtype: Any) -> Tensor:
    """A copy of another element type.

    Floats become integers by truncation, held to the range of the type, NaN as 0. Integers wrap. Everything but 0 is
    true. Floats beyond f16 become infinite.
    """
    return assign(Tensor.empty(a.shape, dtype_of(dtype), a.name, temporary=True), a)


def _types(name: str, operation: Operation, values: list[Any]) -> tuple[DType, DType]:
    """(type to compute in, type of the result)."""
    counted = [v for v, casts in zip(values, operation.casts, strict=False) if casts]
    common: DType | None = None
    for value in counted:
        if isinstance(value, Tensor):
            common = value.dtype if common is None else promote(common, value.dtype)
    for value in counted:
        if launch.is_number(value):
            common = _with_number(common, value)
    assert common is not None
    result = common
    if operation.result == "float" and common.kind != "float":
        result = f32
    elif operation.result == "bool":
        result = bool_
    computed = f32 if (operation.result == "float" or common is f16) else common
    if computed.kind not in operation.expressions and "any" not in operation.expressions:
        raise DtypeError(f"{name} is not defined for {common}")
    return computed, result


def _with_number(common: DType | None, value: Any) -> DType:
    """The common type of tensors of `common` and a number."""
    if isinstance(value, bool | np.bool_):
        return common or bool_
    if isinstance(value, int | np.integer):
        common = i32 if common is None or common is bool_ else common
    elif common is None or common.kind != "float":
        common = f32
    check_value(value, common)
    return common


def _launch(operation: Operation, values: list[Any], computed: DType, result: DType, out: Tensor) -> None:
    inputs: list[tuple[str, str, str]] = []
    arguments: dict[str, Any] = {}
    strided: list[Tensor] = []
    for name, value, casts in zip(NAMES, values, operation.casts, strict=False):
        if not isinstance(value, Tensor):
            dtype = computed if casts else bool_
            inputs.append((name, dtype.name, "scalar"))
            arguments[name] = float(value) if dtype.kind == "float" else int(bool(value) if dtype is bool_ else value)
        elif value.owner is out.owner and value.layout == out.layout and value.dtype is out.dtype:
            inputs.append((name, value.dtype.name, "out"))
        else:
            inputs.append((name, value.dtype.name, "tensor"))
            arguments[name] = launch.apart(value, out)
            strided.append(arguments[name].expand(*out.shape))
    shape, rows = launch.merge_axes(out.shape, [launch.element_strides(t) for t in (out, *strided)])
    names = ["out", *(name for name, _, where in inputs if where == "tensor")]
    arguments |= {f"{name}_strides": launch.padded(row, 0) for name, row in zip(names, rows, strict=True)}
    expression, given = _rounded(operation, computed, result, out.dtype)
    kernel = Kernel.load(
        "ops/elementwise.wgsl",
        defines={
            "INPUTS": tuple(inputs),
            "CASTS": operation.casts,
            "COMPUTE": computed.name,
            "EXPRESSION": expression,
            "RESULT": given,
            "OUT": out.dtype.name,
            "RANK": len(shape),
            "USES_F16": "f16" in {out.dtype.name, result.name, *(dtype for _, dtype, _ in inputs)},
        },
    )
    kernel(
        out.size,
        overwrites=() if any(where == "out" for _, _, where in inputs) else ("out",),
        out=out,
        count=out.size,
        shape=launch.padded(shape, 1),
        **arguments,
    )


def _rounded(operation: Operation, computed: DType, result: DType, stored: DType) -> tuple[str, str]:
    """(expression, name of the type it has): held to the result's own type where that is narrower than both others."""
    expression = operation.expressions.get(computed.kind) or operation.expressions["any"]
    if result is f16 and stored is not f16:
        return f"rounded_to_f16({expression})", "f32"
    if result is u8 and stored is not u8:
        return f"({expression}) & 0xffu", "u8"
    return expression, bool_.name if result is bool_ else computed.name

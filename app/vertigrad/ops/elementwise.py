"""Elementwise operations with NumPy's broadcasting: one generated kernel for each operation and set of types.

Each function takes tensors and numbers and returns a new tensor, or writes `out`. A number takes the type of the
tensors beside it; a float beside integers makes f32. 64-bit types do not exist here: integer results wrap at 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import DType, Tensor, bool_, broadcast_shapes, dtype_of, f16, f32, i32, promote
from ..tensor.dtype import check_value
from .launch import element_strides, is_number, merge_axes, padded

NAMES = ("a", "b", "c")


class Operation(NamedTuple):
    """An operation's WGSL by kind of operand; `result` is None (as computed), "bool", or "float" (integers become f32).

    The key "float" is worked out in f32 also for f16 operands; "any" stands for every kind.
    """

    expressions: dict[str, str]
    result: str | None = None
    casts: tuple[bool, ...] = (True, True, True)


def _float(expression: str) -> Operation:
    return Operation({"float": expression}, "float")


def _same(expression: str) -> Operation:
    return Operation({"float": expression, "int": expression, "uint": expression})


def _compare(symbol: str) -> Operation:
    return Operation({"any": f"a_ {symbol} b_"}, "bool")


def _order(symbol: str) -> Operation:
    both = f"a_ {symbol} b_"
    return Operation({"float": both, "int": both, "uint": both, "bool": f"u32(a_) {symbol} u32(b_)"}, "bool")


def _bits(symbol: str, logical: str) -> Operation:
    return Operation({"int": f"a_ {symbol} b_", "uint": f"a_ {symbol} b_", "bool": logical})


OPERATIONS: dict[str, Operation] = {
    "assign": Operation({"any": "a_"}),
    "add": Operation({"any": "a_ + b_", "bool": "a_ || b_"}),
    "subtract": _same("a_ - b_"),
    "multiply": Operation({"any": "a_ * b_", "bool": "a_ && b_"}),
    "divide": _float("a_ / b_"),
    "floor_divide": Operation({"float": "floor(a_ / b_)", "int": "floor_divide_i(a_, b_)", "uint": "divide_u(a_, b_)"}),
    "remainder": Operation(
        {"float": "remainder_f(a_, b_)", "int": "remainder_i(a_, b_)", "uint": "remainder_u(a_, b_)"}
    ),
    "power": Operation({"float": "power_f(a_, b_)", "int": "power_i(a_, b_)", "uint": "power_u(a_, b_)"}),
    "minimum": Operation(
        {"float": "minimum_f(a_, b_)", "int": "min(a_, b_)", "uint": "min(a_, b_)", "bool": "a_ && b_"}
    ),
    "maximum": Operation(
        {"float": "maximum_f(a_, b_)", "int": "max(a_, b_)", "uint": "max(a_, b_)", "bool": "a_ || b_"}
    ),
    "arctan2": _float("atan2(a_, b_)"),
    "equal": _compare("=="),
    "not_equal": _compare("!="),
    "less": _order("<"),
    "less_equal": _order("<="),
    "greater": _order(">"),
    "greater_equal": _order(">="),
    "logical_and": Operation({"any": "bool(a_) && bool(b_)"}, "bool"),
    "logical_or": Operation({"any": "bool(a_) || bool(b_)"}, "bool"),
    "logical_xor": Operation({"any": "bool(a_) != bool(b_)"}, "bool"),
    "logical_not": Operation({"any": "!bool(a_)"}, "bool"),
    "bitwise_and": _bits("&", "a_ && b_"),
    "bitwise_or": _bits("|", "a_ || b_"),
    "bitwise_xor": _bits("^", "a_ != b_"),
    "where": Operation({"any": "select(c_, b_, bool(a_))"}, casts=(False, True, True)),
    "clip": Operation(
        {
            "float": "minimum_f(maximum_f(a_, b_), c_)",
            "int": "min(max(a_, b_), c_)",
            "uint": "min(max(a_, b_), c_)",
        }
    ),
    "negative": Operation({"float": "-a_", "int": "-a_", "uint": "0u - a_"}),
    "absolute": Operation({"float": "abs(a_)", "int": "abs(a_)", "uint": "a_", "bool": "a_"}),
    "sign": Operation({"float": "sign(a_)", "int": "sign(a_)", "uint": "min(a_, 1u)"}),
    "square": _same("a_ * a_"),
    "floor": Operation({"float": "floor(a_)", "int": "a_", "uint": "a_"}),
    "ceil": Operation({"float": "ceil(a_)", "int": "a_", "uint": "a_"}),
    "round": Operation({"float": "round(a_)", "int": "a_", "uint": "a_"}),
    "trunc": Operation({"float": "trunc(a_)", "int": "a_", "uint": "a_"}),
    "sqrt": _float("sqrt(a_)"),
    "rsqrt": _float("inverseSqrt(a_)"),
    "reciprocal": _float("1.0 / a_"),
    "exp": _float("exp(a_)"),
    "exp2": _float("exp2(a_)"),
    "expm1": _float("expm1_f(a_)"),
    "log": _float("log(a_)"),
    "log2": _float("log2(a_)"),
    "log1p": _float("log1p_f(a_)"),
    "sin": _float("precise_sin(a_)"),
    "cos": _float("precise_cos(a_)"),
    "tan": _float("precise_sin(a_) / precise_cos(a_)"),
    "arcsin": _float("asin(a_)"),
    "arccos": _float("acos(a_)"),
    "arctan": _float("atan(a_)"),
    "sinh": _float("sinh_f(a_)"),
    "cosh": _float("0.5 * (exp(a_) + exp(-a_))"),
    "tanh": _float("safe_tanh(a_)"),
    "erf": _float("erf_f(a_)"),
    "sigmoid": _float("1.0 / (1.0 + exp(-a_))"),
    "relu": Operation({"float": "maximum_f(a_, 0.0)", "int": "max(a_, 0)", "uint": "a_"}),
    "silu": _float("a_ / (1.0 + exp(-a_))"),
    "gelu": _float("0.5 * a_ * (1.0 + erf_f(a_ * 0.70710678))"),
    "isnan": Operation({"float": "is_nan(a_)", "any": "false"}, "bool"),
    "isinf": Operation({"float": "is_inf(a_)", "any": "false"}, "bool"),
}


def elementwise(name: str, *operands: Any, out: Tensor | None = None) -> Tensor:
    """The operation `name` on broadcast operands, into `out` or a new tensor.

    Raises `ShapeError` if shapes do not broadcast (or not to `out`), `DtypeError` if the types have no such operation.
    """
    operation = OPERATIONS[name]
    values = [_operand(value) for value in operands]
    computed, result = _types(name, operation, values)
    shape = broadcast_shapes(*(v.shape for v in values if isinstance(v, Tensor)))
    if out is None:
        out = Tensor.empty(shape, result, temporary=True)
    elif broadcast_shapes(shape, out.shape) != out.shape:
        raise ShapeError(f"{name}: result of shape {shape} does not fit out of shape {out.shape}")
    elif result.kind == "float" and out.dtype.kind != "float" and name != "assign":
        raise DtypeError(f"{name}: a {result} result is not written to a tensor of {out.dtype}; use .to() first")
    if out.size:
        _launch(operation, values, computed, result, out)
    return out


def assign(target: Tensor, value: Any) -> Tensor:
    """Write `value` (tensor, array or number), broadcast and cast, into `target`; returns `target`."""
    if is_number(value):
        check_value(value, target.dtype)
    return elementwise("assign", value, out=target)


def copy(a: Tensor) -> Tensor:
    """A contiguous copy."""
    return assign(Tensor.empty(a.shape, a.dtype, a.name, temporary=True), a)


def cast(a: Tensor, dtype: Any) -> Tensor:
    """A copy of another element type."""
    return assign(Tensor.empty(a.shape, dtype_of(dtype), a.name, temporary=True), a)


def _function(name: str, arity: int) -> Callable[..., Tensor]:
    def function(*operands: Any, out: Tensor | None = None) -> Tensor:
        if len(operands) != arity:
            raise TypeError(f"{name} takes {arity} operands, got {len(operands)}")
        return elementwise(name, *operands, out=out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`numpy.{name}` elementwise over {arity} broadcast operands." if hasattr(np, name) else name
    return function


def functions() -> dict[str, Callable[..., Tensor]]:
    """Every elementwise operation as a function, by name."""
    return {
        name: _function(name, 1 + max(any(f"{n}_" in e for e in op.expressions.values()) * i for i, n in enumerate(NAMES)))
        for name, op in OPERATIONS.items()
        if name != "assign"
    }


def _operand(value: Any) -> Any:
    if isinstance(value, Tensor) or is_number(value):
        return value
    return Tensor.from_numpy(value)


def _types(name: str, operation: Operation, values: list[Any]) -> tuple[DType, DType]:
    """(type to compute in, type of the result)."""
    counted = [v for v, casts in zip(values, operation.casts, strict=False) if casts]
    common: DType | None = None
    for value in counted:
        if isinstance(value, Tensor):
            common = value.dtype if common is None else promote(common, value.dtype)
    for value in counted:
        if is_number(value):
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
        if common is None or common is bool_:
            common = i32
        check_value(value, common)
        return common
    return common if common is not None and common.kind == "float" else f32


def _launch(operation: Operation, values: list[Any], computed: DType, result: DType, out: Tensor) -> None:
    inputs: list[tuple[str, str, str]] = []
    arguments: dict[str, Any] = {}
    strided: list[Tensor] = []
    for name, value, casts in zip(NAMES, values, operation.casts, strict=False):
        if not isinstance(value, Tensor):
            dtype = computed if casts else bool_
            inputs.append((name, dtype.name, "scalar"))
            arguments[name] = int(value) if dtype.kind != "float" else float(value)
        elif value.owner is out.owner and value.layout == out.layout and value.dtype is out.dtype:
            inputs.append((name, value.dtype.name, "out"))
        else:
            apart = copy(value) if value.owner is out.owner else value
            inputs.append((name, value.dtype.name, "tensor"))
            arguments[name] = apart
            strided.append(apart.expand(*out.shape))
    rows = [element_strides(t.layout, t.itemsize) for t in (out, *strided)]
    shape, rows = merge_axes(out.shape, rows)
    names = ["out", *(name for name, _, where in inputs if where == "tensor")]
    arguments |= {f"{name}_strides": padded(row, 0) for name, row in zip(names, rows, strict=True)}
    expression = operation.expressions.get(computed.kind) or operation.expressions["any"]
    if result is not out.dtype and result is not computed and result is not bool_:
        expression = f"{result.name}({expression})"  # round to the result's own type before it is cast on
    kernel = Kernel.load(
        "ops/elementwise.wgsl",
        defines={
            "INPUTS": tuple(inputs),
            "CASTS": operation.casts,
            "COMPUTE": computed.name,
            "EXPRESSION": expression,
            "OUT": out.dtype.name,
            "RANK": len(shape),
            "USES_F16": "f16" in {out.dtype.name, result.name, *(dtype for _, dtype, _ in inputs)},
        },
    )
    overwritten = out.is_contiguous and out.nbytes == out.block.nbytes and not any(w == "out" for _, _, w in inputs)
    kernel(
        out.size,
        overwrites=("out",) if overwritten else (),
        out=out,
        count=out.size,
        shape=padded(shape, 1),
        **arguments,
    )

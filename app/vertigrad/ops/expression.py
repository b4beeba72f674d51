"""`Expression`: elementwise operations put together, to be computed by one kernel.

`functions.py` lists the operations. A number takes the type of the tensors next to it; a float with integers makes
f32. 64-bit types do not exist here: integers wrap at 32 bits, and what NumPy computes in float64 is f32, but for
comparisons of i32 with u32, which are exact. f16 is computed in f32 and rounded once, at the end of the whole
expression. f64, which only networks have, is computed in f64, by the operations that `doubles.py` lists.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..errors import DtypeError
from ..tensor import DType, Tensor, bool_, broadcast_shapes, dtype_of, f16, f32, f64, i32, promote, u8, u32
from ..tensor.dtype import check_value
from ..tensor.operators import Arithmetic
from . import launch
from .doubles import DOUBLES, require_not_narrowed

NAMES = ("a_", "b_", "c_", "d_")  # no operation has more than three; words.py calls functions of four
# The WGSL type of a value by kind.
_VALUE = {"float": "f32", "double": "f64", "int": "i32", "uint": "u32", "bool": "bool"}
_OPERAND = re.compile(r"\b[abcd]_(?!\w)")

Number: TypeAlias = float | int | bool


class Operation(NamedTuple):
    """An operation's WGSL over a_, b_, c_, by kind of operand: "float", "int", "uint", "bool", or "any" for all others.

    Those of f64 are listed in `doubles.py`.

    `result` is None (the type of the operands), "bool", or "float" (integers become f32). `casts` says which operands
    are brought to a common type; the others are taken as bools.
    """

    expressions: dict[str, str]
    result: str | None = None
    casts: tuple[bool, ...] = (True, True, True)


OPERATIONS: dict[str, Operation] = {"assign": Operation({"any": "a_"})}
_MIRRORED = {
    **{"equal": "equal", "not_equal": "not_equal", "less": "greater", "less_equal": "greater_equal"},
    **{"greater": "less", "greater_equal": "less_equal"},
}


class Expression(Arithmetic):
    """The elements of a tensor, or an operation on other expressions, not computed yet.

    Operators and elementwise functions of `ops` take expressions and give expressions; `evaluate` in `elementwise.py`
    computes them. `shape` and `dtype` are those of the result.
    """

    __slots__ = ("computed", "dtype", "name", "operands", "shape", "text")

    def __init__(
        self,
        name: str,
        operands: Sequence[Tensor | Expression | Number],
        text: str,
        computed: DType,
        dtype: DType,
    ):
        """For `apply`, `of` and `to`. `text` is WGSL over the operands, which are brought to the type `computed`."""
        self.name, self.text, self.computed, self.dtype = name, text, computed, dtype
        self.operands = tuple(operands)
        self.shape = broadcast_shapes(*(v.shape for v in operands if isinstance(v, Tensor | Expression)))

    @staticmethod
    def of(tensor: Tensor) -> Expression:
        """The elements of `tensor`."""
        return Expression("of", (tensor,), "a_", tensor.dtype, tensor.dtype)

    @staticmethod
    def apply(name: str, operands: Sequence[Any]) -> Expression:
        """The operation `name`; raises `DtypeError` if the types have none, `ShapeError` if shapes do not broadcast."""
        operation = OPERATIONS[name]
        for value in operands:
            if not isinstance(value, Tensor | Expression) and not launch.is_number(value):
                raise DtypeError(f"{name}: {type(value).__name__} in an expression; make it a tensor, or a number")
        operands = [launch.as_scalar(value) for value in operands]
        if name in _MIRRORED and [getattr(value, "dtype", None) for value in operands] in ([i32, u32], [u32, i32]):
            return _signed_with_unsigned(name, *operands)
        computed, result = _types(name, operation, operands)
        text = _text(name, operation, computed)
        assert text is not None
        if not all(operation.casts[: len(operands)]):
            operands = [v if casts else _truth(v) for v, casts in zip(operands, operation.casts, strict=False)]
        return Expression(name, operands, f"({text}) & 0xffu" if result is u8 else text, computed, result)

    def to(self, dtype: Any) -> Expression:
        """Cast as `ops.cast` does."""
        target = dtype_of(dtype)
        require_not_narrowed("cast", self.dtype, target)
        return Expression("cast", (self,), converted("a_", self.dtype, target), self.dtype, target)

    def __repr__(self) -> str:
        return f"<Expression {self.name!r} {self.dtype} {self.shape}>"


def _signed_with_unsigned(name: str, a: Any, b: Any) -> Expression:
    """A comparison of i32 with u32, in either order: f32, their common type, has not all digits of either."""
    if a.dtype is u32:
        return _signed_with_unsigned(_MIRRORED[name], b, a)
    signed = Expression.of(a) if isinstance(a, Tensor) else a
    negative = Expression.apply("less", (signed, 0))
    compared = Expression.apply(name, (signed.to(u32), b))
    if name in ("less", "less_equal", "not_equal"):
        return Expression.apply("logical_or", (negative, compared))
    return Expression.apply("logical_and", (Expression.apply("logical_not", (negative,)), compared))


def _truth(value: Tensor | Expression | Number) -> Expression | bool:
    if isinstance(value, Tensor):
        value = Expression.of(value)
    return value.to(bool_) if isinstance(value, Expression) else bool(value)


def converted(value: str, source: DType, target: DType) -> str:
    """WGSL for a `value` of the type `source` as `target` has it.

    Floats become integers by truncation, held to the range, NaN as 0 (to_* are in common/math.wgsl); integers wrap.
    """
    if source is target:
        return value
    if source is f64 and target is not bool_:
        return f"rounded_to_f16(double_to_f32_odd({value}))" if target is f16 else f"double_to_{target.name}({value})"
    if target is f16:
        return f"rounded_to_f16(f32({value}))"
    if source.kind == "float" and target.kind in ("int", "uint"):
        return f"to_{target.name}({value})"
    if target is u8:
        return f"u32({value}) & 0xffu"
    return f"{_VALUE[target.kind]}({value})"


class Program(NamedTuple):
    """An expression as a list of WGSL statements, and what it reads."""

    tensors: list[Tensor]  # their values are t0_, t1_, ...
    numbers: list[tuple[Number, DType]]  # n0_, n1_, ...
    statements: list[str]
    result: str  # the name of the last value

    @staticmethod
    def of(expression: Expression) -> Program:
        """Each distinct expression once, operands first; a tensor that occurs twice is read once."""
        program = Program([], [], [], "")
        return program._replace(result=_append(program, expression, {}))


def _append(program: Program, node: Expression, known: dict[int, str]) -> str:
    """Add `node` to `program`; returns the name of its value. `known` are the names of expressions added before."""
    if id(node) not in known:
        names = [_operand(program, value, node.computed, known) for value in node.operands]
        text = _OPERAND.sub(lambda match: names[NAMES.index(match[0])], node.text)
        known[id(node)] = text if node.name == "of" else f"v{len(program.statements)}"
        if node.name != "of":
            program.statements.append(f"let v{len(program.statements)} = {text};")
    return known[id(node)]


def _operand(program: Program, value: Any, computed: DType, known: dict[int, str]) -> str:
    if isinstance(value, Tensor):
        return _brought(_tensor(program, value), value.dtype, computed)
    if isinstance(value, Expression):
        return _brought(_append(program, value, known), value.dtype, computed)
    number = (value, computed)
    if not any(_same_number(number, other) for other in program.numbers):
        program.numbers.append(number)
    return f"n{next(i for i, other in enumerate(program.numbers) if _same_number(number, other))}_"


def _same_number(a: tuple[Number, DType], b: tuple[Number, DType]) -> bool:
    return a[1] is b[1] and repr(a[0]) == repr(b[0])


def _tensor(program: Program, tensor: Tensor) -> str:
    for i, other in enumerate(program.tensors):
        if other.owner is tensor.owner and other.layout == tensor.layout and other.dtype is tensor.dtype:
            return f"t{i}_"
    program.tensors.append(tensor)
    return f"t{len(program.tensors) - 1}_"


def _brought(name: str, dtype: DType, computed: DType) -> str:
    """A value of `dtype` as one of the kind computed in; f16 is f32 already."""
    return name if dtype.kind == computed.kind else f"{_VALUE[computed.kind]}({name})"


def _text(name: str, operation: Operation, computed: DType) -> str | None:
    """The WGSL of an operation on a type; None if it is not defined for it."""
    if computed is f64:
        return DOUBLES.get(name)
    return operation.expressions.get(computed.kind) or operation.expressions.get("any")


def _types(name: str, operation: Operation, values: Sequence[Any]) -> tuple[DType, DType]:
    """(type to compute in, type of the result)."""
    counted = [v for v, casts in zip(values, operation.casts, strict=False) if casts]
    common: DType | None = None
    for value in counted:
        if isinstance(value, Tensor | Expression):
            common = value.dtype if common is None else promote(common, value.dtype)
    for value in counted:
        if launch.is_number(value):
            common = _with_number(common, value)
    assert common is not None
    result = common
    if operation.result == "float" and not common.is_real:
        result = f32
    elif operation.result == "bool":
        result = bool_
    computed = f32 if common is not f64 and (operation.result == "float" or common is f16) else common
    if _text(name, operation, computed) is None:
        raise DtypeError(f"{name} is not defined for {common}")
    return computed, result


def _with_number(common: DType | None, value: Any) -> DType:
    if isinstance(value, bool | np.bool_):
        return common or bool_
    if isinstance(value, int | np.integer):
        smallest = u32 if value > np.iinfo(i32.numpy).max else i32
        common = smallest if common is None or common is bool_ else common
    elif common is None or not common.is_real:
        common = f32
    check_value(value, common)
    return common

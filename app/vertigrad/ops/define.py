"""How elementwise functions are defined: each gets its entry in `OPERATIONS` and a Python function."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy.typing as npt

from ..tensor import Tensor
from .elementwise import elementwise
from .expression import OPERATIONS, Expression, Operation

Operand: TypeAlias = Tensor | Expression | npt.ArrayLike


class Unary(Protocol):
    """A function of one operand; the result is in `out` or a new tensor."""

    def __call__(self, a: Operand, /, *, out: Tensor | None = None) -> Tensor: ...


class Binary(Protocol):
    """A function of two operands, which are broadcast, as `Unary`."""

    def __call__(self, a: Operand, b: Operand, /, *, out: Tensor | None = None) -> Tensor: ...


class Ternary(Protocol):
    """A function of three operands, which are broadcast, as `Unary`."""

    def __call__(self, a: Operand, b: Operand, c: Operand, /, *, out: Tensor | None = None) -> Tensor: ...


def unary(name: str, operation: Operation, doc: str) -> Unary:
    """A function of one operand that carries out `operation`, which is listed under `name`."""

    def function(a: Operand, /, *, out: Tensor | None = None) -> Tensor:
        return elementwise(name, a, out=out)

    return _named(function, name, operation, doc)


def binary(name: str, operation: Operation, doc: str) -> Binary:
    """A function of two operands, as `unary`."""

    def function(a: Operand, b: Operand, /, *, out: Tensor | None = None) -> Tensor:
        return elementwise(name, a, b, out=out)

    return _named(function, name, operation, doc)


def ternary(name: str, operation: Operation, doc: str) -> Ternary:
    """A function of three operands, as `unary`."""

    def function(a: Operand, b: Operand, c: Operand, /, *, out: Tensor | None = None) -> Tensor:
        return elementwise(name, a, b, c, out=out)

    return _named(function, name, operation, doc)


def _named(function: Any, name: str, operation: Operation, doc: str) -> Any:
    OPERATIONS[name] = operation
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}; elementwise, into `out` or a new tensor."
    return function


def floating(expression: str) -> Operation:
    """Worked out in f32, whatever goes in."""
    return Operation({"float": expression}, "float")


def number(expression: str, **others: str) -> Operation:
    """The same for all numbers, but for the kinds given."""
    return Operation({"float": expression, "int": expression, "uint": expression, **others})


def integer(expression: str, **others: str) -> Operation:
    """The same for all integers, but for the kinds given."""
    return Operation({"int": expression, "uint": expression, **others})


def order(symbol: str) -> Operation:
    """A comparison."""
    return Operation({"any": f"a_ {symbol} b_", "bool": f"u32(a_) {symbol} u32(b_)"}, "bool")


def rounding(function: str) -> Operation:
    """What leaves integers as they are."""
    return number("a_", float=f"{function}(a_)")


def truth(expression: str) -> Operation:
    """What is true or false."""
    return Operation({"any": expression}, "bool")

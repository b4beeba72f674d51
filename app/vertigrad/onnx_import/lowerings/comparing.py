"""Comparison, logic and choice."""

from __future__ import annotations

from collections.abc import Callable

from ... import ops
from ...tensor import Tensor
from ..node import Node, lowers
from ..values import Value

_FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "Equal": ops.equal,
    "Less": ops.less,
    "LessOrEqual": ops.less_equal,
    "Greater": ops.greater,
    "GreaterOrEqual": ops.greater_equal,
    "And": ops.logical_and,
    "Or": ops.logical_or,
    "Xor": ops.logical_xor,
}


@lowers(*_FUNCTIONS, elementwise=True)
def comparison(node: Node) -> Tensor:
    return _FUNCTIONS[node.op](node.operand(0), node.operand(1))


@lowers("Not", elementwise=True)
def logical_not(node: Node) -> Tensor:
    return ops.logical_not(node.operand(0))


@lowers("IsNaN", elementwise=True)
def is_nan(node: Node) -> Tensor:
    return ops.isnan(node.operand(0))


@lowers("IsInf", elementwise=True)
def is_infinite(node: Node) -> Tensor:
    x = node.operand(0)
    above, below = node.attribute("detect_positive", 1), node.attribute("detect_negative", 1)
    if above and below:
        return ops.isinf(x)
    if above:
        return ops.isposinf(x)
    return ops.isneginf(x) if below else ops.not_equal(ops.isnan(x), ops.isnan(x))


@lowers("Where", elementwise=True)
def where(node: Node) -> Value:
    result = ops.where(node.operand(0), node.operand(1), node.operand(2))
    return node.result(result, node.elem(1), max(node.value(1).bound, node.value(2).bound))

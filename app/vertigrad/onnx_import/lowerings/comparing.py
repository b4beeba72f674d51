"""Comparison, logic and choice."""

from __future__ import annotations

from ... import ops
from ...tensor import Tensor
from ..node import Node
from ..registry import lowers, lowers_to
from ..values import Value

lowers_to("Equal", ops.equal, elementwise=True)
lowers_to("Less", ops.less, elementwise=True)
lowers_to("LessOrEqual", ops.less_equal, elementwise=True)
lowers_to("Greater", ops.greater, elementwise=True)
lowers_to("GreaterOrEqual", ops.greater_equal, elementwise=True)
lowers_to("And", ops.logical_and, elementwise=True)
lowers_to("Or", ops.logical_or, elementwise=True)
lowers_to("Xor", ops.logical_xor, elementwise=True)
lowers_to("Not", ops.logical_not, elementwise=True)
lowers_to("IsNaN", ops.isnan, elementwise=True)


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

"""Which operators are lowered, and by which functions: `lowers` and `lowers_to` register them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import onnx

from ..tensor import Tensor
from .graph import domain_of
from .values import Value

if TYPE_CHECKING:
    from .node import Node

Result: TypeAlias = Tensor | Value | None
Lowering: TypeAlias = "Callable[[Node], Result | Sequence[Result]]"

LOWERINGS: dict[tuple[str, str], Lowering] = {}
WIDE_LOWERINGS: dict[str, Lowering] = {}  # those of ONNX's own operators on 64-bit integers that do not fit 32 bits
CONDITIONS: dict[tuple[str, str], Callable[[onnx.NodeProto], bool]] = {}  # which nodes of an operator are lowered
ELEMENTWISE: set[str] = set()  # those that take expressions, by `Node.operand`
F = TypeVar("F", bound="Callable[[Node], Result | Sequence[Result]]")


def is_lowered(proto: onnx.NodeProto) -> bool:
    """Whether there is a lowering for this node."""
    key = domain_of(proto), proto.op_type
    return key in LOWERINGS and (key not in CONDITIONS or CONDITIONS[key](proto))


def lowers(
    *ops: str,
    domain: str = "",
    elementwise: bool = False,
    only_if: Callable[[onnx.NodeProto], bool] | None = None,
) -> Callable[[F], F]:
    """Register a function as what lowers these operators; `elementwise` if it takes its inputs by `Node.operand`.

    Nodes for which `only_if` is false are replaced by what ONNX defines the operator to be.
    """
    ELEMENTWISE.update(ops if elementwise else ())
    CONDITIONS.update({(domain, op): only_if for op in ops} if only_if is not None else {})

    def register(function: F) -> F:
        for op in ops:
            assert (domain, op) not in LOWERINGS, op
            LOWERINGS[domain, op] = function
        return function

    return register


def lowers_wide(*ops: str) -> Callable[[F], F]:
    """Register a function as what lowers these operators where 64-bit integers may not fit 32 bits."""

    def register(function: F) -> F:
        WIDE_LOWERINGS.update(dict.fromkeys(ops, function))
        return function

    return register


def lowers_to(
    op: str, function: Callable[..., Tensor], *, elementwise: bool = False, selects: bool = False, **attributes: str
) -> None:
    """Lower an operator to a function of all its inputs, and of `attributes`: their names in ONNX by the function's.

    Attributes that are left out have the default that ONNX gives them, or else the function's. With `selects` the
    results are elements of the first input.
    """

    def lowering(node: Node) -> Result:
        inputs = node.operands() if elementwise else node.tensors()
        values = {ours: node.attribute_or_default(theirs) for ours, theirs in attributes.items()}
        result = function(*inputs, **{name: value for name, value in values.items() if value is not None})
        return node.result(result, bound=node.value(0).bound) if selects else result

    lowers(op, elementwise=elementwise)(lowering)

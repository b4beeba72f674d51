"""Gradients of tensors: `requires_grad`, `grad` and `backward`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from ..errors import GradientError
from ..gpu import gpu
from . import graph
from .operators import call
from .variable import Base, Variable

if TYPE_CHECKING:
    from .tensor import Tensor


class Differentiable:
    """Gradients of a tensor, after PyTorch's names.

    `grad` is set by `backward`: a tensor of the same shape and type, or None. Set it to None between passes that
    are not to add up.
    """

    grad: Tensor | None = None
    non_differentiable_reason: str = ""  # why there is no gradient although an operand requires one

    _variable: Variable | None = None

    @property
    def variable(self) -> Variable:
        """Its variable in the graph of gradients, shared with its views."""
        if self._variable is None:
            self._variable = Base()
        return self._variable

    @variable.setter
    def variable(self, variable: Variable) -> None:
        self._variable = variable

    @property
    def node(self) -> graph.Node | None:
        """The operation that made its values; None if no gradient flows to them."""
        return None if self._variable is None else self._variable.node

    @node.setter
    def node(self, node: graph.Node | None) -> None:
        self._variable = Base(node)

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor: set it on what is to be trained."""
        return self.node is not None

    @requires_grad.setter
    def requires_grad(self, enabled: bool) -> None:
        tensor = cast("Tensor", self)
        if enabled and tensor.dtype.kind != "float":
            raise GradientError(f"tensor {tensor.name or 'unnamed'!r} is {tensor.dtype}; only floats have gradients")
        if not self.is_leaf:
            raise GradientError(
                f"tensor {tensor.name or 'unnamed'!r} was made by an operation; use detach() for a leaf"
            )
        leaf = (self.node or graph.Leaf(tensor)) if enabled else None
        if isinstance(self.variable, Base):
            self.variable.start(leaf)
        elif leaf is not self.node:  # a view becomes a leaf of its own
            self.node = leaf

    @property
    def is_leaf(self) -> bool:
        """Whether no differentiable operation made it."""
        return self.node is None or isinstance(self.node, graph.Leaf)

    def backward(self, gradient: Tensor | None = None, keep_graph: bool = False) -> None:
        """Add the gradients of this tensor with respect to the leaves of its graph to their `grad`.

        `gradient` is that of some later value with respect to this tensor; 1 if it has one element. With `keep_graph`
        the graph can be used again. Raises `GradientError` if there is no graph, if it was used up, or if a gradient is
        needed and not given.
        """
        tensor = cast("Tensor", self)
        if gradient is None:
            if tensor.size != 1:
                raise GradientError(f"backward of a tensor of shape {tensor.shape} needs a gradient of that shape")
            gradient = ones_like(tensor)
        elif gradient.shape != tensor.shape:
            raise GradientError(f"backward: expected a gradient of shape {tensor.shape}, got {gradient.shape}")
        graph.backward([tensor], [gradient], keep_graph)


def ones_like(tensor: Tensor) -> Tensor:
    """A tensor of ones of the same shape and type: a constant of the plan that records, which needs no launch there."""
    if gpu().recording is not None:
        return type(tensor).from_numpy(np.ones(tensor.shape, tensor.dtype.numpy), "one")
    with graph.no_grad():
        return call("assign", type(tensor).empty(tensor.shape, tensor.dtype, "one", temporary=True), 1.0)

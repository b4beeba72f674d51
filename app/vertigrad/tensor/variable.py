"""`Variable`: what a tensor is in the graph of gradients; those of a tensor and of its views hang together.

Views share memory, so an in-place write through any of them changes what all of them hold. The base, which is no view,
knows the node of the whole; a view works its own out from that, and again after each write. A write through a view
gives the base a node that takes the gradient of the part from the whole (as PyTorch's CopySlices).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ..errors import GradientError
from .graph import Leaf, Node
from .operators import call

if TYPE_CHECKING:
    from .tensor import Tensor


class Step(NamedTuple):
    """How a view is taken of a tensor of `shape`; `repeats` if elements of that may occur in it more than once."""

    shape: tuple[int, ...]
    view: Callable[[Tensor], Tensor]
    repeats: bool = False

    def part(self, whole: Tensor) -> Tensor:
        """The gradient of the view, of the gradient of the whole."""
        return self.view(whole.contiguous())

    def whole(self, part: Tensor) -> Tensor:
        """The gradient of the whole, 0 outside of the view."""
        if self.repeats:
            return call("sum_to", part, self.shape)
        whole = call("assign", type(part).empty(self.shape, part.dtype, "gradient", temporary=True), 0)
        call("assign", self.view(whole), part)
        return whole


class Variable(ABC):
    """The node of a tensor, and what becomes of it when the tensor is written in place."""

    __slots__ = ()

    @property
    @abstractmethod
    def node(self) -> Node | None:
        """What made the values that the tensor holds now; None if no gradient flows to them."""

    @property
    @abstractmethod
    def base(self) -> Base:
        """The variable of the tensor that it is a view of, perhaps through others; itself if it is no view."""

    @abstractmethod
    def write(self, node: Node | None) -> None:
        """The tensor was written in place: its values are what `node` made, or constants."""

    @abstractmethod
    def require_writable(self, where: str, gradients: bool) -> None:
        """Raise `GradientError`, which begins with `where`, if a write would cut gradients off that must flow.

        `gradients` says whether what is to be written has any.
        """


class Base(Variable):
    """That of a tensor that is no view; `writes` counts how often it got another node after it was made."""

    __slots__ = ("_node", "writes")

    def __init__(self, node: Node | None = None):
        self._node, self.writes = node, 0

    @property
    def node(self) -> Node | None:
        return self._node

    @property
    def base(self) -> Base:
        return self

    def start(self, node: Node | None) -> None:
        """Be a leaf from here on, or none any more; views that were taken before do not take part."""
        self._node = node

    def write(self, node: Node | None) -> None:
        self._node = node
        self.writes += 1

    def require_writable(self, where: str, gradients: bool) -> None:
        if isinstance(self._node, Leaf):
            raise GradientError(
                f"{where}: gradients flow to it, and a write would cut them off; write it inside of "
                "vertigrad.no_grad(), or take the result as a tensor of its own"
            )


class View(Variable):
    """That of a view of the tensor with the variable `of`; not `tracked` if it was taken inside of `no_grad`."""

    __slots__ = ("_base_writes", "_node", "_of", "_step", "_tracked")

    def __init__(self, of: Variable, step: Step, tracked: bool):
        self._of, self._step, self._tracked = of, step, tracked
        self._node, self._base_writes = self._of_base(), of.base.writes

    @property
    def node(self) -> Node | None:
        if self._base_writes != self.base.writes:
            self._node, self._base_writes = self._of_base(), self.base.writes
        return self._node

    @property
    def base(self) -> Base:
        return self._of.base

    def write(self, node: Node | None) -> None:
        base, steps = self.base, self._steps()
        old = base.node
        if old is None and node is None:
            return

        def vjp(gradient: Tensor) -> list[Tensor | None]:
            part = _part(gradient, steps)
            return [None if old is None else _outside(gradient, steps, part.shape), None if node is None else part]

        base.write(Node("write to a part", (old, node), vjp, ()))

    def require_writable(self, where: str, gradients: bool) -> None:
        self.base.require_writable(where, gradients)
        if not self._tracked and (gradients or self.base.node is not None):
            raise GradientError(
                f"{where}: it is a view that was taken inside of vertigrad.no_grad(), so gradients cannot flow through "
                "a write to it; take the view outside, or write inside too"
            )

    def _of_base(self) -> Node | None:
        of = self._of.node if self._tracked else None
        step = self._step
        return None if of is None else Node("view", (of,), lambda gradient: (step.whole(gradient),), ())

    def _steps(self) -> tuple[Step, ...]:
        """The steps from the base to the view."""
        return (*(self._of._steps() if isinstance(self._of, View) else ()), self._step)


def _part(gradient: Tensor, steps: tuple[Step, ...]) -> Tensor:
    for step in steps:
        gradient = step.part(gradient)
    return gradient


def _outside(gradient: Tensor, steps: tuple[Step, ...], shape: tuple[int, ...]) -> Tensor:
    """The gradient of a whole, 0 where a view of this shape was written over it."""
    written = call("assign", type(gradient).empty(shape, gradient.dtype, "one", temporary=True), 1)
    for step in reversed(steps):
        written = step.whole(written)
    return call("where", written, 0.0, gradient)

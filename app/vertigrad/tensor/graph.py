"""The graph along which gradients flow back: what a tensor was made of, kept until `backward` has used it.

Reverse mode: each operation leaves a `Node` with a rule that pulls a gradient of its result back to its operands
(Griewank & Walther 2008, Evaluating Derivatives, section 3.2). Values that a rule needs later are kept as clones: a
write to the original copies first. While a plan records nothing can be copied, so a written value is an error there.
"""

from __future__ import annotations

import heapq
import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from ..errors import GradientError
from ..gpu import gpu
from .operators import call

if TYPE_CHECKING:
    from .tensor import Tensor

Pull: TypeAlias = "Callable[[Tensor], Sequence[Tensor | None]]"

_CUT_OFF = (
    "nothing it was made of wants one, or what does went through comparisons, rounding or places, which have none by "
    "nature; set requires_grad on what is to be learned, and use smooth operations from there on"
)
_numbers = itertools.count()
_paused = 0


class Node:
    """One operation: the nodes of its operands (None where no gradient is wanted) and how to pull a gradient back."""

    __slots__ = ("__weakref__", "_pull", "_saved", "inputs", "name", "number")

    def __init__(self, name: str, inputs: Sequence[Node | None], pull: Pull, saved: Sequence[Saved]):
        self.name, self.inputs, self.number = name, tuple(inputs), next(_numbers)
        self._pull: Pull | None = pull
        self._saved = tuple(saved)

    def pull(self, gradient: Tensor) -> Sequence[Tensor | None]:
        """The gradients of the operands. Raises `GradientError` if an earlier `backward` used the values up."""
        if self._pull is None:
            raise GradientError(
                f"gradients were pulled through {self.name} before, and what it needs was freed then; "
                "use backward(keep_graph=True) the first time, or calculate the result again"
            )
        return self._pull(gradient)

    def free(self) -> None:
        """Let go of the values that were kept. Idempotent."""
        self._pull = None
        for saved in self._saved:
            saved.close()


class Leaf(Node):
    """Where a gradient is left: a tensor that nothing differentiable made."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor):
        super().__init__("leaf", (), lambda _: (), ())
        self._tensor = weakref.ref(tensor)

    def leave(self, gradient: Tensor) -> None:
        """Add to what earlier passes left there; nothing if the tensor is gone."""
        tensor = self._tensor()
        if tensor is None:
            return
        if tensor.grad is None:
            tensor.grad = gradient
        else:
            tensor.grad = call("add", tensor.grad, gradient)

    def free(self) -> None:
        """A leaf keeps no values."""


class Saved:
    """A value as it is now, for a rule that needs it later."""

    __slots__ = ("_seen", "_tensor", "name")

    def __init__(self, tensor: Tensor):
        self.name = tensor.name
        if gpu().recording is None:
            self._tensor, self._seen = tensor.kept(), -1
        else:
            self._tensor, self._seen = tensor.detach(), tensor.owner.writes

    def value(self) -> Tensor:
        """The value. Raises `GradientError` if it was written since, while a plan records."""
        if 0 <= self._seen < self._tensor.owner.writes:
            raise GradientError(
                f"tensor {self.name or 'unnamed'!r} was written while a plan records, and backward still needs what it "
                "held; write to a result of its own (ops.add(x, y) and not x.add_(y))"
            )
        return self._tensor

    def close(self) -> None:
        """Let go of it. Idempotent."""
        self._tensor.close()


def enabled() -> bool:
    """Whether operations leave nodes."""
    return not _paused


@contextmanager
def no_grad() -> Iterator[None]:
    """Operations inside leave nothing to pull gradients through; leaves may be written."""
    global _paused
    _paused += 1
    try:
        yield
    finally:
        _paused -= 1


@contextmanager
def enable_grad() -> Iterator[None]:
    """Operations inside leave nodes, even inside of `no_grad`."""
    global _paused
    outer, _paused = _paused, 0
    try:
        yield
    finally:
        _paused = outer


def attach(result: Tensor, name: str, nodes: Sequence[Node | None], pull: Pull, saved: Sequence[Saved]) -> None:
    """Let `result` be what the operation `name` made of operands with these nodes."""
    result.node = Node(name, nodes, pull, saved)


def backward(results: Sequence[Tensor], gradients: Sequence[Tensor], keep_graph: bool = False) -> None:
    """Pull `gradients` of `results` back to every leaf, latest operations first. Raises `GradientError`."""
    waiting: dict[Node, Tensor] = {}
    for result, gradient in zip(results, gradients, strict=True):
        if result.node is None:
            raise GradientError(result.ended or f"tensor {result.name or 'unnamed'!r} has no gradient: {_CUT_OFF}")
        _add(waiting, result.node, gradient)
    queue = [(-node.number, node) for node in waiting]
    heapq.heapify(queue)
    queued = set(waiting)
    used: list[Node] = []
    with no_grad():
        while queue:
            node = heapq.heappop(queue)[1]
            gradient = waiting.pop(node)
            used.append(node)
            if isinstance(node, Leaf):
                node.leave(gradient)
                continue
            for source, part in zip(node.inputs, node.pull(gradient), strict=True):
                if source is None or part is None:
                    continue
                _add(waiting, source, part)
                if source not in queued:
                    queued.add(source)
                    heapq.heappush(queue, (-source.number, source))
    if not keep_graph:
        free(used)


def free(nodes: Iterable[Node]) -> None:
    """Let go of what nodes keep."""
    for node in nodes:
        node.free()


def _add(waiting: dict[Node, Tensor], node: Node, gradient: Tensor) -> None:
    waiting[node] = gradient if node not in waiting else call("add", waiting[node], gradient)

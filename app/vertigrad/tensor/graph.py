"""The graph along which gradients flow back: the operations behind a tensor, retained until `backward` has used them.

Reverse mode: each operation adds a `Node` with a rule from the gradient of its result to those of its operands
(Griewank & Walther 2008, Evaluating Derivatives, section 3.2). Values that a rule needs later are saved as clones: a
write to the original copies first. While a plan records the copy becomes a part of it, just before the write.
"""

from __future__ import annotations

import heapq
import itertools
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias

from ..errors import GradientError
from ..gpu import gpu
from ..memory import Owner
from .operators import call

if TYPE_CHECKING:
    from .tensor import Tensor

Vjp: TypeAlias = "Callable[[Tensor], Sequence[Tensor | None]]"

_CUT_OFF = (
    "no operand requires one, or the path to it goes through comparisons, rounding or indices, which are not "
    "differentiable; set requires_grad on what is to be trained, and use smooth operations from there on"
)
_order = itertools.count()
_paused: ContextVar[bool] = ContextVar("gradients paused", default=False)


class Node:
    """One operation: the nodes of its operands (None where no gradient is required) and its vector-Jacobian product."""

    __slots__ = ("__weakref__", "_saved", "_vjp", "inputs", "name", "number")

    def __init__(self, name: str, inputs: Sequence[Node | None], vjp: Vjp, saved: Sequence[Saved]):
        self.name, self.inputs, self.number = name, tuple(inputs), next(_order)
        self._vjp: Vjp | None = vjp
        self._saved = tuple(saved)

    def vjp(self, gradient: Tensor) -> Sequence[Tensor | None]:
        """The gradients of the operands. Raises `GradientError` if an earlier `backward` used the values up."""
        if self._vjp is None:
            raise GradientError(
                f"backward() went through {self.name} before, and what it needs was freed then; "
                "use backward(keep_graph=True) the first time, or calculate the result again"
            )
        return self._vjp(gradient)

    def free(self) -> None:
        """Free the saved values. Idempotent."""
        self._vjp = None
        for saved in self._saved:
            saved.close()


class Leaf(Node):
    """A tensor that no differentiable operation made; gradients accumulate in its `grad`."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor):
        super().__init__("leaf", (), lambda _: (), ())
        self._tensor = weakref.ref(tensor)

    def accumulate(self, gradient: Tensor) -> None:
        """Add to the gradients of earlier passes; no effect if the tensor is gone."""
        tensor = self._tensor()
        if tensor is not None:
            tensor.grad = gradient if tensor.grad is None else call("add", tensor.grad, gradient)

    def free(self) -> None:
        """A leaf saves no values."""


class Saved:
    """A value as it is now, saved for the backward pass."""

    __slots__ = ("__weakref__", "_tensor", "_version", "name")

    def __init__(self, tensor: Tensor):
        self.name = tensor.name
        recording = gpu().recording
        if recording is None:
            self._tensor, self._version = tensor.retained(), -1
        else:
            self._tensor, self._version = tensor.detach(), tensor.owner.version
            recording.results.before_write(tensor.owner, weakref.WeakMethod(self.copy))

    def value(self) -> Tensor:
        """The value. Raises `GradientError` if it was saved in a recording, and written after that."""
        if 0 <= self._version != self._tensor.owner.version:
            raise GradientError(
                f"tensor {self.name or 'unnamed'!r} is needed for gradients and was modified in place after its "
                "recording; call backward() inside of the recording, or write to a result of its own "
                "(ops.add(x, y) and not x.add_(y))"
            )
        return self._tensor

    def copy(self) -> None:
        """Copy the value, recorded here, if it is still needed: the tensor is about to be written."""
        if self._version < 0:
            return
        shared = self._tensor
        with no_grad():
            self._tensor, self._version = call("copy", shared), -1
        shared.close()

    def close(self) -> None:
        """Free it. Idempotent."""
        self._version = -1
        self._tensor.close()


def enabled() -> bool:
    """Whether operations add nodes to the graph."""
    return not _paused.get()


@contextmanager
def no_grad() -> Iterator[None]:
    """Operations inside are not added to the graph; leaves may be written.

    For this thread and this asynchronous task alone, as is `enable_grad`.
    """
    with _set(True):
        yield


@contextmanager
def enable_grad() -> Iterator[None]:
    """Operations inside are added to the graph, even inside of `no_grad`."""
    with _set(False):
        yield


@contextmanager
def _set(paused: bool) -> Iterator[None]:
    outer = _paused.get()
    _paused.set(paused)
    try:
        yield
    finally:
        _paused.set(outer)


def attach(
    result: Tensor,
    name: str,
    nodes: Sequence[Node | None],
    vjp: Vjp,
    saved: Sequence[Saved],
    in_place: bool = False,
) -> None:
    """Make `result` the result of the operation `name` on operands with these nodes; a constant if all are None.

    With `in_place` it was there before, and was written: its base and all views of that see the change.
    """
    node = Node(name, nodes, vjp, saved) if any(source is not None for source in nodes) else None
    if in_place:
        result.variable.write(node)
    else:
        result.node = node


def backward(results: Sequence[Tensor], gradients: Sequence[Tensor], keep_graph: bool = False) -> None:
    """Propagate `gradients` of `results` back to every leaf, latest operations first. Raises `GradientError`."""
    waiting: dict[Node, Tensor] = {}
    for result, gradient in zip(results, gradients, strict=True):
        if result.node is None:
            raise GradientError(
                result.non_differentiable_reason or f"tensor {result.name or 'unnamed'!r} has no gradient: {_CUT_OFF}"
            )
        _add(waiting, result.node, gradient)
    queue = [(-node.number, node) for node in waiting]
    heapq.heapify(queue)
    queued = set(waiting)
    used: list[Node] = []
    counts = Counter(gradient.owner for gradient in gradients)
    with no_grad():
        while queue:
            node = heapq.heappop(queue)[1]
            gradient = waiting.pop(node)
            used.append(node)
            if isinstance(node, Leaf):
                node.accumulate(_own_copy(gradient, counts))
                continue
            for source, part in zip(node.inputs, node.vjp(gradient), strict=True):
                if source is None or part is None:
                    continue
                counts[part.owner] += 1
                _add(waiting, source, part)
                if source not in queued:
                    queued.add(source)
                    heapq.heappush(queue, (-source.number, source))
    if not keep_graph:
        free(used)


def free(nodes: Iterable[Node]) -> None:
    """Free the saved values of nodes."""
    for node in nodes:
        node.free()


def _add(waiting: dict[Node, Tensor], node: Node, gradient: Tensor) -> None:
    waiting[node] = gradient if node not in waiting else call("add", waiting[node], gradient)


def _own_copy(gradient: Tensor, counts: Mapping[Owner, int]) -> Tensor:
    """`gradient` for a leaf: contiguous, writable, and seen by nobody else; copied only where it must be.

    `counts` is how often each owner occurred as a gradient in this pass.
    """
    recording = gpu().recording
    if not gradient.is_contiguous or gradient.extent != gradient.block.nbytes:
        return call("copy", gradient)
    if recording is None:
        return gradient.retained()
    alone = counts.get(gradient.owner, 0) <= 1 and recording.is_alone(gradient.owner)
    return gradient if alone else call("copy", gradient)

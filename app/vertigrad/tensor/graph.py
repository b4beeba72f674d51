"""The graph along which gradients flow back: what a tensor was made of, kept until `backward` has used it.

Reverse mode: each operation leaves a `Node` with a rule from the gradient of its result to those of its operands
(Griewank & Walther 2008, Evaluating Derivatives, section 3.2). Values that a rule needs later are kept as clones: a
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
    "nothing it was made of wants one, or what does went through comparisons, rounding or places, which have none by "
    "nature; set requires_grad on what is to be learned, and use smooth operations from there on"
)
_numbers = itertools.count()
_paused: ContextVar[bool] = ContextVar("gradients paused", default=False)


class Node:
    """One operation: the nodes of its operands (None where no gradient is wanted) and its vector-Jacobian product."""

    __slots__ = ("__weakref__", "_saved", "_vjp", "inputs", "name", "number")

    def __init__(self, name: str, inputs: Sequence[Node | None], vjp: Vjp, saved: Sequence[Saved]):
        self.name, self.inputs, self.number = name, tuple(inputs), next(_numbers)
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
        """Let go of the values that were kept. Idempotent."""
        self._vjp = None
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
        if tensor is not None:
            tensor.grad = gradient if tensor.grad is None else call("add", tensor.grad, gradient)

    def free(self) -> None:
        """A leaf keeps no values."""


class Saved:
    """A value as it is now, for a rule that needs it later."""

    __slots__ = ("__weakref__", "_seen", "_tensor", "name")

    def __init__(self, tensor: Tensor):
        self.name = tensor.name
        recording = gpu().recording
        if recording is None:
            self._tensor, self._seen = tensor.kept(), -1
        else:
            self._tensor, self._seen = tensor.detach(), tensor.owner.version
            recording.results.before_write(tensor.owner, weakref.WeakMethod(self.copy))

    def value(self) -> Tensor:
        """The value. Raises `GradientError` if it was kept in a recording, and written after that."""
        if 0 <= self._seen != self._tensor.owner.version:
            raise GradientError(
                f"tensor {self.name or 'unnamed'!r} is needed for gradients and was modified in place after its "
                "recording; call backward() inside of the recording, or write to a result of its own "
                "(ops.add(x, y) and not x.add_(y))"
            )
        return self._tensor

    def copy(self) -> None:
        """Have a copy of its own, recorded here, if it is needed still: the tensor is about to be written."""
        if self._seen < 0:
            return
        shared = self._tensor
        with no_grad():
            self._tensor, self._seen = call("copy", shared), -1
        shared.close()

    def close(self) -> None:
        """Let go of it. Idempotent."""
        self._seen = -1
        self._tensor.close()


def enabled() -> bool:
    """Whether operations leave nodes."""
    return not _paused.get()


@contextmanager
def no_grad() -> Iterator[None]:
    """Operations inside leave no graph behind; leaves may be written.

    For this thread and this asynchronous task alone, as is `enable_grad`.
    """
    with _set(True):
        yield


@contextmanager
def enable_grad() -> Iterator[None]:
    """Operations inside leave nodes, even inside of `no_grad`."""
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
    """Let `result` be what the operation `name` made of operands with these nodes; a constant if all are None.

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
            raise GradientError(result.ended or f"tensor {result.name or 'unnamed'!r} has no gradient: {_CUT_OFF}")
        _add(waiting, result.node, gradient)
    queue = [(-node.number, node) for node in waiting]
    heapq.heapify(queue)
    queued = set(waiting)
    used: list[Node] = []
    seen = Counter(gradient.owner for gradient in gradients)
    with no_grad():
        while queue:
            node = heapq.heappop(queue)[1]
            gradient = waiting.pop(node)
            used.append(node)
            if isinstance(node, Leaf):
                node.leave(_own(gradient, seen))
                continue
            for source, part in zip(node.inputs, node.vjp(gradient), strict=True):
                if source is None or part is None:
                    continue
                seen[part.owner] += 1
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


def _own(gradient: Tensor, seen: Mapping[Owner, int]) -> Tensor:
    """`gradient` for a leaf: contiguous, writable, and seen by nobody else; copied only where it must be.

    `seen` counts how often each owner was met as a gradient in this pass.
    """
    recording = gpu().recording
    if not gradient.is_contiguous or gradient.extent != gradient.block.nbytes:
        return call("copy", gradient)
    if recording is None:
        return gradient.kept()
    alone = seen.get(gradient.owner, 0) <= 1 and recording.is_alone(gradient.owner)
    return gradient if alone else call("copy", gradient)

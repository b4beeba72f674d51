"""What numbers of the GPU must be for the outputs to be those of ONNX: it is known when outputs are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from .. import ops
from ..errors import Beyond32Bits, InputError
from ..ops import words
from ..tensor import Tensor
from .node import Node
from .valid import INDEXED, index_error, indexed_axes
from .values import Value


class Guard(NamedTuple):
    """What a node reads must be from `low` to `high` for its result to fit 32 bits; `ends`: its least and greatest."""

    node: str
    low: int
    high: int
    ends: tuple[Tensor, Tensor]

    def require_within(self, source: str) -> None:
        """Raise `Beyond32Bits` if a number is outside. Waits for the GPU."""
        least, greatest = (end.numpy().item() for end in self.ends)
        if least < self.low or greatest > self.high:
            found = least if least < self.low else greatest
            bits = 32 if self.high < 1 << 32 else 64
            raise Beyond32Bits(
                f"{source}: {self.node}: {found:,} does not fit the {bits} bits that its result has on the GPU",
                frozenset((self.node,)),
            )


class IndexGuard(NamedTuple):
    """Indices that a node counts along `axes` of `sizes`; `ends`: the least and the greatest along each of them."""

    node: str
    axes: Sequence[int]
    sizes: Sequence[int]
    ends: tuple[Tensor, Tensor]

    def require_within(self, source: str) -> None:
        """Raise `InputError` if an index is outside. Waits for the GPU."""
        for axis, size, *found in zip(self.axes, self.sizes, *(end.numpy().tolist() for end in self.ends), strict=True):
            for index in found:
                if not -size <= index < size:
                    raise InputError(f"{source}: {self.node}: {index_error(index, axis, size)}")


AnyGuard: TypeAlias = Guard | IndexGuard


def guard_indices(node: Node) -> None:
    """Find the least and the greatest index of a node that gathers or scatters, if only the GPU has its indices."""
    if node.domain or node.op not in INDEXED or not node.has(1):
        return
    value, axes = node.inputs[1], indexed_axes(node)
    if value is None or value.host is not None or not axes or 0 in value.shape:
        return
    rows = _narrow(node, value).reshape(-1, len(axes))
    sizes = [node.shape_of(0)[axis] for axis in axes]
    node.trace.guards.append(IndexGuard(str(node), axes, sizes, (ops.min(rows, 0), ops.max(rows, 0))))


def _narrow(node: Node, value: Value) -> Tensor:
    """Indices in 32 bits; those beyond are the least or the greatest of these."""
    if value.words is not None:
        return ops.evaluate(words.saturated(value.words.expressions()))
    return node.trace.on_gpu(value).contiguous()

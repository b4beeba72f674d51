"""`Weights`: the weights of a network by name; trainable ones are views of one tensor."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping

import numpy as np

from .. import ops
from ..closing import Closing
from ..errors import GradientError
from ..tensor import Tensor


class Weights(Mapping[str, Tensor], Closing):
    """The weights of a network by name, f32, the frozen ones included.

    Those that are `trainable` are views of `row`, one after the other in the order of `initial`: one kernel of an
    optimizer moves them all, and layers that are run together take their part of it. Close it.
    """

    def __init__(self, initial: Mapping[str, np.ndarray], trainable: Collection[str], name: str = "weights"):
        parts = {key: array for key, array in initial.items() if key in trainable}
        self.row = Tensor.from_numpy(np.concatenate([array.ravel() for array in parts.values()]), name)
        self._named = {
            key: Tensor.from_numpy(array, f"{name}.{key}") for key, array in initial.items() if key not in parts
        }
        self._ranges: dict[str, tuple[int, int]] = {}
        at = 0
        for key, array in parts.items():
            self._ranges[key] = at, at + array.size
            self._named[key] = self.row[at : at + array.size].reshape(*array.shape)
            at += array.size

    def __getitem__(self, name: str) -> Tensor:
        return self._named[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)

    def together(self, first: str, last: str) -> Tensor:
        """The part of the row from one of the weights to another one, (n,)."""
        return self.row[self._ranges[first][0] : self._ranges[last][1]]

    def parts(self, row: Tensor) -> dict[str, Tensor]:
        """Views of a tensor like `row`, such as its gradient, with the names and shapes of the trainable weights."""
        return {key: row[low:high].reshape(*self[key].shape) for key, (low, high) in self._ranges.items()}

    def leaves(self) -> Leaves:
        """The same memory, for one pass forward and back."""
        return Leaves(self)

    def close(self) -> None:
        """Give the memory back. Idempotent."""
        for tensor in (*self._named.values(), self.row):
            tensor.close()


class Leaves(Mapping[str, Tensor]):
    """Weights for one pass forward and back: what is asked for becomes a leaf, and catches its gradient."""

    def __init__(self, weights: Weights):
        self._weights = weights
        self._leaves: dict[tuple[str, str], Tensor] = {}

    def __getitem__(self, name: str) -> Tensor:
        tensor = self._weights[name]
        return self._leaf(name, name, tensor) if tensor.owner is self._weights.row.owner else tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._weights)

    def __len__(self) -> int:
        return len(self._weights)

    def together(self, first: str, last: str) -> Tensor:
        """As that of the weights."""
        return self._leaf(first, last, self._weights.together(first, last))

    def gradient(self) -> Tensor:
        """The gradient of the whole row (n,). Raises `GradientError` if a part of it has none."""
        names = list(self._weights)
        ordered = sorted(self._leaves.items(), key=lambda found: names.index(found[0][0]))
        parts = [tensor.grad for _, tensor in ordered]
        whole = sum(math.prod(tensor.shape) for _, tensor in ordered) == self._weights.row.size
        if not whole or any(part is None for part in parts):
            raise GradientError("a weight has no gradient: apply the whole network to the leaves, then call backward()")
        return parts[0] if len(parts) == 1 else ops.concatenate(parts, None)  # type: ignore[return-value, arg-type]

    def _leaf(self, first: str, last: str, tensor: Tensor) -> Tensor:
        if (first, last) not in self._leaves:
            leaf = tensor.detach()
            leaf.requires_grad = True
            self._leaves[first, last] = leaf
        return self._leaves[first, last]

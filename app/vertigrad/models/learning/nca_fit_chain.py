"""`GrowthChain`: the steps in which a neural cellular automaton grows its image, as stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ... import learn
from ...tensor import Tensor
from .chain import Chain

Step = Callable[[int, Tensor, Tensor, Tensor], Tensor]  # of cells, by both layers


class GrowthChain(Chain):
    """`"grown.N"` are all cells after N steps from the seed, (channels, rows, columns).

    `seed` and `target`, the first channels of the image, are (cells, channels), as `step` takes and returns them.
    """

    source = "seed"

    def __init__(self, step: Step, steps: int, weights: Mapping[str, Tensor], seed: Tensor, target: Tensor):
        self._step, self._seed, self._target = step, seed, target
        self.names = [f"grown.{number}" for number in range(1, steps + 1)]
        self.weights = weights
        side = round(seed.shape[0] ** 0.5)
        self._shape = (seed.shape[1], side, side)

    def shape(self, number: int) -> tuple[int, ...]:
        return self._shape

    def operator(self, number: int) -> str:
        return "growth"

    def batch(self, row: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return self._seed, self._target

    def apply(self, x: Tensor, weights: Mapping[str, Tensor], first: int, last: int) -> Tensor:
        return learn.checkpointed_steps(self._step, last - first, x, weights["one"], weights["two"])

    def loss(self, result: Tensor, targets: Tensor) -> Tensor:
        return learn.l2_loss(result[:, : targets.shape[1]], targets)

    def as_shown(self, x: Tensor) -> Tensor:
        return x.T.contiguous().reshape(*self._shape)

    def as_computed(self, x: Tensor) -> Tensor:
        return x.reshape(self._shape[0], -1).T.contiguous()

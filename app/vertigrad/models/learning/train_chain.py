"""`NetworkChain`: the layers of a network that a scene trains, as stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...learn.layers import Activation
from ...learn.network import Network
from ...ops.mask import require_units, unit_axis
from ...tensor import Tensor
from .chain import Chain
from .train_shown import ShownNetwork

Batch = Callable[..., tuple[Tensor, Tensor]]  # as `Chain.batch`
Loss = Callable[[Tensor, Tensor], Tensor]


class NetworkChain(Chain):
    """`"activations.N"` is what layer N computes of the `rows` examples of a batch, which are independent.

    `show` tests and draws the network again, after units of it were set to zero.
    """

    source = "inputs"

    def __init__(
        self,
        shown: ShownNetwork,
        weights: Mapping[str, Tensor],
        batch: Batch,
        rows: int,
        loss: Loss,
        show: Callable[[], None],
    ):
        self._shown, self._batch, self._loss, self._show = shown, batch, loss, show
        self._ablated: dict[int, Sequence[int]] = {}
        self.names = names_of(shown.network)
        self.weights = weights
        self.examples = self._rows = rows

    def shape(self, number: int) -> tuple[int, ...]:
        return (self._rows, *self._shown.network.shape_after(number + 1))

    def operator(self, number: int) -> str:
        layer = self._shown.network.layers[number]
        return layer.name.capitalize() if isinstance(layer, Activation) else type(layer).__name__

    def batch(self, row: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return self._batch(row)

    def apply(self, x: Tensor, weights: Mapping[str, Tensor], first: int, last: int) -> Tensor:
        return self._shown.network.apply(x, weights, first, last)

    def loss(self, result: Tensor, targets: Tensor) -> Tensor:
        return self._loss(result, targets)

    def unit_axis(self, name: str) -> int | None:
        return unit_axis(self.shape(self.names.index(name)))

    def require_units(self, units: Mapping[str, Sequence[int]]) -> None:
        for name, each in units.items():
            shape = self.shape(self.names.index(name))
            require_units(name, shape[unit_axis(shape)], each)

    def ablate(self, units: Mapping[str, Sequence[int]]) -> bool:
        by_number = {self.names.index(name): each for name, each in units.items()}
        if by_number == self._ablated:
            return False
        self._ablated = by_number
        other = self._shown.ablate(by_number, self._rows)
        self._show()
        return other


def names_of(network: Network) -> list[str]:
    """The names of what the layers compute."""
    return [f"activations.{number}" for number in range(len(network.layers))]

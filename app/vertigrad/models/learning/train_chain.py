"""`NetworkChain`: the layers of a network that a scene trains, as stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...learn.layers import Activation
from ...learn.network import Network
from ...tensor import Tensor
from .chain import Chain

Batch = Callable[..., tuple[Tensor, Tensor]]  # as `Chain.batch`
Loss = Callable[[Tensor, Tensor], Tensor]


class NetworkChain(Chain):
    """`"activations.N"` is what layer N computes of the `rows` examples of a batch, which are independent."""

    source = "inputs"

    def __init__(self, network: Network, weights: Mapping[str, Tensor], batch: Batch, rows: int, loss: Loss):
        self._network, self._batch, self._loss = network, batch, loss
        self.names = [f"activations.{number}" for number in range(len(network.layers))]
        self.weights = weights
        self.examples = self._rows = rows

    def shape(self, number: int) -> tuple[int, ...]:
        return (self._rows, *self._network.shape_after(number + 1))

    def operator(self, number: int) -> str:
        layer = self._network.layers[number]
        return layer.name.capitalize() if isinstance(layer, Activation) else type(layer).__name__

    def batch(self, row: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return self._batch(row)

    def apply(self, x: Tensor, weights: Mapping[str, Tensor], first: int, last: int) -> Tensor:
        return self._network.apply(x, weights, first, last)

    def loss(self, result: Tensor, targets: Tensor) -> Tensor:
        return self._loss(result, targets)

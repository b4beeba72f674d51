"""`TrainedInside`: what a trained network keeps, what its layers compute of the last batch, and gradients by that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ...closing import Closing
from ...errors import InputError
from ...gpu import Plan
from ...learn.layers import Activation, Layer
from ...learn.network import Network
from ...tensor import Tensor, f32
from ...tensor.graph import no_grad
from ..inside import HeldInside, InnerTensor, Observed, resolved

if TYPE_CHECKING:
    from ..base import Model

ACTIVATIONS, GRADIENTS = "activations.", "gradients.activations."
Batch = Callable[[], tuple[Tensor, Tensor]]  # records and returns inputs and targets
Loss = Callable[[Tensor, Tensor], Tensor]


class TrainedInside(HeldInside, Closing):
    """`"activations.N"` is what layer N computes, `"gradients.activations.N"` the gradient of the loss by that.

    Both are of the batch of the last training step, of `rows` examples, with the weights after it. While some of them
    are observed, `replay` computes them in a plan of their own, layer by layer: training gives the same bits. Close it.
    """

    def __init__(
        self, model: Model, network: Network, weights: Mapping[str, Tensor], batch: Batch, rows: int, loss: Loss
    ):
        super().__init__(model)
        self._network, self._weights, self._batch, self._rows, self._loss = network, weights, batch, rows, loss
        self._computed: dict[str, Tensor] = {}
        self._parts = ExitStack()

    def known(self) -> Mapping[str, InnerTensor]:
        found, shape = dict(super().known()), self._network.input_shape
        for number, layer in enumerate(self._network.layers):
            shape = layer.output_shape(shape)
            for prefix, what in ((ACTIVATIONS, _operator(layer)), (GRADIENTS, f"gradient by {_operator(layer)}")):
                found[f"{prefix}{number}"] = InnerTensor(what, f32.name, (self._rows, *shape))
        return found

    def observe(self, observed: Observed) -> None:
        if observed.ablated:
            raise InputError("units of a network that is trained cannot be set to zero")
        known = self.known() if observed.tensors else {}
        names = [full for name in observed.tensors if (full := _full(name, known)).removeprefix("gradients.") in known]
        names = [name for name in names if name.removeprefix("gradients.").startswith(ACTIVATIONS)]
        if set(names) != set(self._computed):
            self._record(names)
            self.replay()
        super().observe(observed)

    def tensors(self) -> Mapping[str, Tensor]:
        return {**super().tensors(), **self._computed}

    def replay(self) -> None:
        """Compute what is observed."""
        if self._computed:
            self._plan.replay()

    def close(self) -> None:
        """Give the memory back. Idempotent."""
        self._parts.close()
        self._computed = {}

    # inside -----------------------------------------------------------------------------------------------------

    def _record(self, names: Sequence[str]) -> None:
        with ExitStack() as parts:
            plan = parts.enter_context(Plan("inside of a network that is trained"))
            with plan.recording():
                computed = self._compute(names)
            for tensor in computed.values():
                parts.enter_context(tensor)
            self._parts.close()
            self._plan, self._computed, self._parts = plan, computed, parts.pop_all()

    def _compute(self, names: Sequence[str]) -> dict[str, Tensor]:
        """Record these tensors. Each layer has a graph of its own, so that the gradients between them stay."""
        layers = self._network.layers
        first = min((_number(name) for name in names if name.startswith(GRADIENTS)), default=len(layers))
        x, targets = self._batch()
        results: list[Tensor] = []
        leaves: dict[int, Tensor] = {}
        for number, layer in enumerate(layers):
            results.append(layer.apply(x, self._network.weights_of(self._weights, number)))
            x = results[-1]
            if number >= first:
                x = leaves[number] = x.detach()
                x.requires_grad = True
        if leaves:
            self._loss(x, targets).backward()
        for number in reversed(range(first + 1, len(layers))):
            gradient = leaves[number].grad
            assert gradient is not None
            results[number].backward(gradient)
        found: dict[str, Tensor] = {}
        with no_grad():
            for name in names:
                tensor = leaves[_number(name)].grad if name.startswith(GRADIENTS) else results[_number(name)].detach()
                assert tensor is not None
                found[name] = tensor
        return found


def _full(name: str, known: Mapping[str, InnerTensor]) -> str:
    """The name of a tensor that is computed; `name` itself if there is none, which who reads it reports."""
    try:
        return resolved(name, known)
    except InputError:
        return name


def _number(name: str) -> int:
    return int(name.rpartition(".")[2])


def _operator(layer: Layer) -> str:
    """As ONNX calls it, for the range of its values."""
    return layer.name.capitalize() if isinstance(layer, Activation) else type(layer).__name__

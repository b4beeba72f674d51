"""`Network`: layers one after the other, with weights of any kind given from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from ..tensor import Tensor
from .fused import Run, runs_of
from .layers import Activation, Conv, Layer, Linear, Shape
from .weights import Leaves, Weights

T = TypeVar("T")


@dataclass(frozen=True)
class Network:
    """Layers one after the other; `input_shape` is that of one example.

    A weight's name is its layer's number and its own, "2.weight": those of PyTorch's `Sequential` of the same layers.
    `runs` are those layers, by the first of them, that are one kernel where weights are stored in a row. In `apply`,
    what a layer computes is multiplied by its factors in `masks`, if any: 0 for units that are left out.
    Raises `ShapeError` if a layer cannot take what the one before it gives.
    """

    layers: Sequence[Layer]
    input_shape: Shape
    runs: Mapping[int, Run] = field(default_factory=dict)
    masks: Mapping[int, Tensor] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        self.shape_after(len(self.layers))

    def shape_after(self, count: int) -> Shape:
        """The shape of what the first `count` layers make of one example."""
        shape = self.input_shape
        for layer in self.layers[:count]:
            shape = layer.output_shape(shape)
        return shape

    def init(self, random: np.random.Generator) -> dict[str, np.ndarray]:
        """Initial values of all weights."""
        return {
            f"{number}.{name}": array
            for number, layer in enumerate(self.layers)
            for name, array in layer.init(random).items()
        }

    def trainable(self, weights: Mapping[str, T]) -> dict[str, T]:
        """The weights that are trained."""
        return {name: value for name, value in weights.items() if not self.layers[int(name.split(".")[0])].frozen}

    def weights_of(self, weights: Mapping[str, T], number: int) -> dict[str, T]:
        """The weights of one layer, by their own names."""
        prefix = f"{number}."
        return {name.removeprefix(prefix): weights[name] for name in weights if name.startswith(prefix)}

    def fused(self, how: str, rows: int) -> Network:
        """The same, linear layers run together "always" where they can be, "never", or "auto", if that is faster here.

        It is trained on batches of `rows`.
        """
        return replace(self, runs=runs_of(self.layers, how, rows))

    def apply(self, x: Tensor, weights: Mapping[str, Tensor], first: int = 0, last: int | None = None) -> Tensor:
        """What layers `first` to `last` − 1 make of a batch (n, ...); activations are folded in where they can be."""
        end = len(self.layers) if last is None else last
        for number in sorted(self.masks):
            if first <= number < end:
                x = self._without_masks(x, weights, first, number + 1) * self.masks[number]
                first = number + 1
        return self._without_masks(x, weights, first, end)

    def reference(self, x: np.ndarray, weights: Mapping[str, np.ndarray]) -> np.ndarray:
        """What the network makes of a batch, in float64."""
        return self._forward(x, weights)[0]

    def gradients(
        self, x: np.ndarray, weights: Mapping[str, np.ndarray], gradient: np.ndarray
    ) -> dict[str, np.ndarray]:
        """The gradients of all trainable weights, from that of the outputs, in float64, by name."""
        found: dict[str, np.ndarray] = {}
        vjps = self._forward(x, weights)[1]
        for number, vjp in reversed(list(enumerate(vjps))):
            gradient, own = vjp(gradient)
            found |= {f"{number}.{name}": array for name, array in own.items()}
        return self.trainable(found)

    def _without_masks(self, x: Tensor, weights: Mapping[str, Tensor], first: int, end: int) -> Tensor:
        at = first
        while at < end:
            run = self.runs.get(at)
            if run and run.last > end:
                run = None
            if run and (isinstance(weights, Weights) or (run.backward_fused and isinstance(weights, Leaves))):
                x = run.apply(x, weights.together(f"{at}.weight", f"{run.last - 1}.bias"))
                at = run.last
                continue
            layer = self.layers[at]
            follows = self.layers[at + 1] if at + 1 < end and isinstance(layer, Linear | Conv) else None
            folded = follows.name if isinstance(follows, Activation) else None
            x = layer.apply(x, self.weights_of(weights, at), folded)
            at += 1 if folded is None else 2
        return x

    def _forward(self, x: np.ndarray, weights: Mapping[str, np.ndarray]):  # type: ignore[no-untyped-def]
        doubled = {name: np.asarray(array, float) for name, array in weights.items()}
        x, vjps = np.asarray(x, float), []
        for number, layer in enumerate(self.layers):
            x, vjp = layer.reference(x, self.weights_of(doubled, number))
            vjps.append(vjp)
        return x, vjps

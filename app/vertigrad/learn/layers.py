"""Layers of a trainable network: recorded on the GPU, and in float64 with their gradients by a NumPy reference.

A layer knows shapes and no tensors; its weights are given to it. Names, shapes and order are those of PyTorch's layers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from .. import ops
from ..errors import ShapeError
from ..tensor import Tensor

Arrays: TypeAlias = Mapping[str, np.ndarray]
Vjp: TypeAlias = Callable[[np.ndarray], tuple[np.ndarray, dict[str, np.ndarray]]]
Shape: TypeAlias = tuple[int, ...]
ActivationFunction: TypeAlias = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class Layer(ABC):
    """One layer. `frozen` weights are part of it, but are not trained."""

    frozen = False

    @abstractmethod
    def output_shape(self, shape: Shape) -> Shape:
        """The output shape of one example from its input shape. Raises `ShapeError`."""

    def init(self, random: np.random.Generator) -> dict[str, np.ndarray]:
        """Initial weights by name, f32."""
        return {}

    @abstractmethod
    def apply(self, x: Tensor, weights: Mapping[str, Tensor], activation: str | None = None) -> Tensor:
        """The outputs of a batch (n, ...), followed by `activation` in the same kernel."""

    @abstractmethod
    def reference(self, x: np.ndarray, weights: Arrays) -> tuple[np.ndarray, Vjp]:
        """The outputs in float64, and the VJP: gradients of x and of the weights from that of the outputs."""


@dataclass(frozen=True)
class Flatten(Layer):
    """Flatten each example to one axis."""

    def output_shape(self, shape: Shape) -> Shape:
        return (int(np.prod(shape)),)

    def apply(self, x: Tensor, weights: Mapping[str, Tensor], activation: str | None = None) -> Tensor:
        return x.reshape(x.shape[0], int(np.prod(x.shape[1:])))

    def reference(self, x: np.ndarray, weights: Arrays) -> tuple[np.ndarray, Vjp]:
        return x.reshape(len(x), -1), lambda gradient: (gradient.reshape(x.shape), {})


@dataclass(frozen=True)
class Linear(Layer):
    """x weightᵀ + bias. Weights start with variance `gain` / inputs (He et al. 2015, eq. 10: 2), biases at 0.

    With `fixed`, a weight and a bias, it is `frozen`.
    """

    inputs: int
    outputs: int
    gain: float = 2.0
    fixed: tuple[np.ndarray, np.ndarray] | None = field(default=None, compare=False)

    @property
    def frozen(self) -> bool:  # type: ignore[override]
        """Whether its weights are not trained."""
        return self.fixed is not None

    def output_shape(self, shape: Shape) -> Shape:
        if not shape or shape[-1] != self.inputs:
            raise ShapeError(f"a linear layer takes {self.inputs} features, not {shape}")
        return (*shape[:-1], self.outputs)

    def init(self, random: np.random.Generator) -> dict[str, np.ndarray]:
        if self.fixed is not None:
            return dict(zip(("weight", "bias"), self.fixed, strict=True))
        weight = random.normal(size=(self.outputs, self.inputs)) * np.sqrt(self.gain / self.inputs)
        return {"weight": weight.astype(np.float32), "bias": np.zeros(self.outputs, np.float32)}

    def apply(self, x: Tensor, weights: Mapping[str, Tensor], activation: str | None = None) -> Tensor:
        return ops.linear(x, weights["weight"], weights["bias"], activation=activation)

    def reference(self, x: np.ndarray, weights: Arrays) -> tuple[np.ndarray, Vjp]:
        weight = weights["weight"]

        def vjp(gradient: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
            return gradient @ weight, {"weight": gradient.T @ x, "bias": gradient.sum(0)}

        return x @ weight.T + weights["bias"], vjp


@dataclass(frozen=True)
class Conv(Layer):
    """A convolution of images (n, channels, rows, columns) by windows of 3 × 3, the border padded with zeros."""

    inputs: int
    outputs: int

    def output_shape(self, shape: Shape) -> Shape:
        if len(shape) != 3 or shape[0] != self.inputs:
            raise ShapeError(f"a convolution takes ({self.inputs}, rows, columns), not {shape}")
        return (self.outputs, *shape[1:])

    def init(self, random: np.random.Generator) -> dict[str, np.ndarray]:
        weight = random.normal(size=(self.outputs, self.inputs, 3, 3)) * np.sqrt(2.0 / (9 * self.inputs))
        return {"weight": weight.astype(np.float32), "bias": np.zeros(self.outputs, np.float32)}

    def apply(self, x: Tensor, weights: Mapping[str, Tensor], activation: str | None = None) -> Tensor:
        return ops.conv(x, weights["weight"], weights["bias"], padding=1, activation=activation)

    def reference(self, x: np.ndarray, weights: Arrays) -> tuple[np.ndarray, Vjp]:
        weight, (rows, columns) = weights["weight"], x.shape[2:]
        padded = np.pad(x, np.array([[0], [0], [1], [1]]))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))

        def vjp(gradient: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
            spread = np.zeros_like(padded)
            for dy, dx in np.ndindex(3, 3):
                part = np.einsum("nors,oc->ncrs", gradient, weight[:, :, dy, dx])
                spread[:, :, dy : dy + rows, dx : dx + columns] += part
            by_weight = np.einsum("nors,ncrsab->ocab", gradient, windows)
            return spread[:, :, 1:-1, 1:-1], {"weight": by_weight, "bias": gradient.sum((0, 2, 3))}

        return np.einsum("ncrsab,ocab->nors", windows, weight) + weights["bias"][:, None, None], vjp


@dataclass(frozen=True)
class Pool(Layer):
    """Maximum pooling over 2 × 2 pixels; an odd last row or column is dropped."""

    def output_shape(self, shape: Shape) -> Shape:
        if len(shape) != 3 or min(shape[1:]) < 2:
            raise ShapeError(f"images of {shape} cannot be halved; use fewer convolutions")
        return (shape[0], shape[1] // 2, shape[2] // 2)

    def apply(self, x: Tensor, weights: Mapping[str, Tensor], activation: str | None = None) -> Tensor:
        return ops.max_pool(x, 2, stride=2)

    def reference(self, x: np.ndarray, weights: Arrays) -> tuple[np.ndarray, Vjp]:
        count, channels, rows, columns = x.shape[0], x.shape[1], x.shape[2] // 2, x.shape[3] // 2
        cut = x[:, :, : 2 * rows, : 2 * columns].reshape(count, channels, rows, 2, columns, 2)
        cells = cut.transpose(0, 1, 2, 4, 3, 5).reshape(count, channels, rows, columns, 4)
        indices = cells.argmax(-1)[..., None]

        def vjp(gradient: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
            spread = np.zeros_like(cells)
            np.put_along_axis(spread, indices, gradient[..., None], -1)
            spread = spread.reshape(count, channels, rows, columns, 2, 2).transpose(0, 1, 2, 4, 3, 5)
            whole = np.zeros_like(x)
            whole[:, :, : 2 * rows, : 2 * columns] = spread.reshape(count, channels, 2 * rows, 2 * columns)
            return whole, {}

        return np.take_along_axis(cells, indices, -1)[..., 0], vjp


@dataclass(frozen=True)
class Activation(Layer):
    """An elementwise function, a name of `ACTIVATIONS`. After a linear layer or a convolution it is fused with that."""

    name: str

    def output_shape(self, shape: Shape) -> Shape:
        return shape

    def apply(self, x: Tensor, weights: Mapping[str, Tensor], activation: str | None = None) -> Tensor:
        return {**vars(ops), "sine": ops.sin}[self.name](x)

    def reference(self, x: np.ndarray, weights: Arrays) -> tuple[np.ndarray, Vjp]:
        value, derivative = ACTIVATIONS[self.name](x)
        return value, lambda gradient: (gradient * derivative, {})


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def _silu(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sigmoid = _sigmoid(x)
    return x * sigmoid, sigmoid * (1.0 + x * (1.0 - sigmoid))


# The value and the derivative of each activation.
ACTIVATIONS: Mapping[str, ActivationFunction] = {
    "relu": lambda x: (np.maximum(x, 0.0), (x > 0.0).astype(float)),
    "sigmoid": lambda x: (_sigmoid(x), _sigmoid(x) * (1.0 - _sigmoid(x))),
    "silu": _silu,
    "sine": lambda x: (np.sin(x), np.cos(x)),
    "softplus": lambda x: (np.logaddexp(0.0, x), _sigmoid(x)),
    "tanh": lambda x: (np.tanh(x), 1.0 - np.tanh(x) ** 2),
}


def fourier_features(random: np.random.Generator, dimensions: int, count: int, sharpness: float) -> list[Layer]:
    """Sines and cosines of `count` waves of random direction and frequency.

    Frequencies are normally distributed, `sharpness` waves over a length of 1 (Tancik et al. 2020, Fourier features let
    networks learn high frequency functions, section 4).
    """
    return _sinusoids(2.0 * np.pi * sharpness * random.normal(size=(count, dimensions)))


def positional_encoding(dimensions: int, count: int) -> list[Layer]:
    """Sines and cosines of 2ᶠ π x, f = 0 … count − 1, of each coordinate (Mildenhall et al. 2020)."""
    return _sinusoids(np.concatenate([np.eye(dimensions) * 2.0**step * np.pi for step in range(count)]))


def _sinusoids(frequencies: np.ndarray) -> list[Layer]:
    """Sines and cosines of `frequencies` (n, coordinates) [rad] times x: a fixed linear layer, then a sine."""
    phases = np.repeat([0.0, 0.5 * np.pi], len(frequencies))
    fixed = np.tile(frequencies, (2, 1)).astype(np.float32), phases.astype(np.float32)
    return [Linear(frequencies.shape[1], 2 * len(frequencies), fixed=fixed), Activation("sine")]

"""`FieldFit`: a network that learns a plane of numbers, such as a terrain, while it is being looked at."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ... import learn, ops, params
from ...errors import InputError
from ...gpu import Plan
from ...params import file, integer, number, switch
from ...tensor import Tensor
from ...tensor.graph import no_grad
from ..base import Comparison, Model, OutputSpec, compare

CLIP = 1.0  # the largest norm of all gradients together


class Params(params.Params):
    """What is learned, by which network, and how fast."""

    data: Path = file(
        "assets/data/jacksboro_fault_dem.npz",
        suffixes=[".npz", ".npy"],
        rebuild=True,
        doc="the plane to be learned: the first array of two axes in the file",
    )
    resolution: int = integer(80, min=8, max=1024, scale="log", rebuild=True, doc="samples along each side")
    width: int = integer(64, min=8, max=512, scale="log", rebuild=True, doc="neurons of each hidden layer")
    depth: int = integer(2, min=1, max=8, rebuild=True, doc="hidden layers")
    frequencies: int = integer(64, min=1, max=512, scale="log", rebuild=True, doc="waves that places are told by")
    sharpness: float = number(
        2.2, min=0.1, max=50.0, scale="log", rebuild=True, doc="spread of their frequencies, in waves over half a side"
    )
    rate: float = number(5e-3, min=0.0, max=1.0, soft_min=1e-5, soft_max=0.1, scale="log", doc="of learning, for Adam")
    decay: float = number(0.0, min=0.0, max=1.0, soft_max=0.1, doc="how strongly weights are pulled to 0")
    train: bool = switch(True, doc="learn at each step; off: stay as it is")


class Layer(NamedTuple):
    """A linear layer's weights and bias."""

    weight: Tensor
    bias: Tensor


class FieldFit(Model):
    """A small network that is taught, one step of Adam in each of the model's, what a plane is at each place.

    A place is told to the network by waves of random directions and frequencies (Tancik et al. 2020, Fourier features
    let networks learn high frequency functions, section 4). Values are brought to mean 0 and variance 1. Every step is
    one plan: forward, backward and the optimiser. The same seed gives the same bits on one adapter.
    """

    Params = Params

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        side = params.resolution
        return {
            "value": OutputSpec((side, side), "f32", "what the network says, in standard deviations of the plane"),
            "target": OutputSpec((side, side), "f32", "what it is to say"),
            "error": OutputSpec((side, side), "f32", "how far it is away"),
        }

    def __init__(self, name: str, params: Params, inputs: Mapping[str, Tensor], seed: int):
        self.name, self._params = name, params
        side = params.resolution
        plane = _plane(params.data, side)
        random = np.random.default_rng(seed)
        self._features = _waves(random, side, params)
        self._start = _network(random, [self._features.shape[1], *[params.width] * params.depth, 1])
        with ExitStack() as stack:  # closes what was made if something that follows cannot be
            held = stack.enter_context
            self._given = held(Tensor.from_numpy(self._features, f"{name}.features"))
            self._target = held(Tensor.from_numpy(plane, f"{name}.target"))
            self._value, self._error = (
                held(Tensor.zeros((side, side), name=f"{name}.{what}")) for what in ("value", "error")
            )
            self._loss, self._norm = (held(Tensor.zeros(1, name=f"{name}.{what}")) for what in ("loss", "norm"))
            self._layers = [
                Layer(
                    held(Tensor.from_numpy(weight, f"{name}.weight{at}")),
                    held(Tensor.from_numpy(bias, f"{name}.bias{at}")),
                )
                for at, (weight, bias) in enumerate(self._start)
            ]
            weights = [tensor for layer in self._layers for tensor in layer]
            self._optimiser = held(learn.Adam(weights, decoupled=True, clip=CLIP))
            self._look, self._step = held(Plan(f"{name}.look")), held(Plan(f"{name}.step"))
            with self._look.recording(), no_grad():
                self._note(self._predicted())
            self._record_step()
            self.reset()
            self._held = stack.pop_all()

    def step(self, dt: float) -> None:
        if not self._params.train or dt <= 0.0:
            return
        self._optimiser.rate, self._optimiser.decay = self._params.rate, self._params.decay
        self._step.replay(**self._optimiser.fields())

    def outputs(self) -> dict[str, Tensor]:
        return {"value": self._value, "target": self._target, "error": self._error}

    def diagnostics(self) -> dict[str, Tensor]:
        """`loss`, the mean squared error before the last step, and `gradient_norm` of all weights together."""
        return {"loss": ops.copy(self._loss), "gradient_norm": ops.copy(self._norm)}

    def compare_with_twin(self) -> list[Comparison]:
        """What the network says, and the gradients of all weights, in float64."""
        with no_grad():
            self._look.replay()
        loss = learn.l2_loss(self._predicted(), self._target)
        loss.backward()
        ours = np.concatenate([_gradient(tensor) for layer in self._layers for tensor in layer])
        layers = [(layer.weight.numpy().astype(float), layer.bias.numpy().astype(float)) for layer in self._layers]
        value, gradients = twin(self._features.astype(float), layers, self._target.numpy().astype(float))
        return [
            compare("value", self._value.numpy(), value, 1e-4),
            compare("gradients", ours, gradients, 1e-3),
        ]

    def reset(self) -> None:
        with no_grad():
            for layer, start in zip(self._layers, self._start, strict=True):
                for tensor, array in zip(layer, start, strict=True):
                    tensor[...] = array
            for tensor in (*self._optimiser.state.values(), self._norm):
                tensor.fill_(0.0)
        self._optimiser.taken = 0
        self._look.replay()

    def state(self) -> dict[str, Tensor]:
        weights = {tensor.name: tensor for layer in self._layers for tensor in layer}
        told = {"value": self._value, "error": self._error, "loss": self._loss, "norm": self._norm}
        return weights | self._optimiser.state | told

    def numbers(self) -> dict[str, float]:
        return {"taken": self._optimiser.taken}

    def resume(self, numbers: Mapping[str, float]) -> None:
        self._optimiser.taken = int(numbers["taken"])

    def reread(self, name: str) -> bool:
        return False

    def close(self) -> None:
        self._held.close()

    # inside -----------------------------------------------------------------------------------------------------

    def _predicted(self) -> Tensor:
        """What the network says at each place, (side, side)."""
        x = self._given
        *hidden, last = self._layers
        for layer in hidden:
            x = ops.linear(x, layer.weight, layer.bias, activation="silu")
        return ops.linear(x, last.weight, last.bias).reshape(*self._target.shape)

    def _note(self, predicted: Tensor) -> None:
        """Keep what the network says, and how far it is away."""
        ops.assign(self._value, predicted)
        ops.absolute(predicted - self._target, out=self._error)
        ops.assign(self._loss, learn.l2_loss(predicted, self._target))

    def _record_step(self) -> None:
        with self._step.recording():
            predicted = self._predicted()
            learn.l2_loss(predicted, self._target).backward()
            with no_grad():
                self._note(predicted.detach())
                ops.assign(self._norm, self._optimiser.norm())
            self._optimiser.step()


def _plane(path: Path, side: int) -> np.ndarray:
    """The plane of a file at (side, side) places, mean 0 and variance 1. Raises `InputError`."""
    try:
        content: Any = np.load(path, allow_pickle=False)
        arrays = [content[key] for key in content.files] if hasattr(content, "files") else [content]
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: no NumPy file that can be read: {error}") from error
    plane = next((array for array in arrays if array.ndim == 2 and array.dtype.kind in "fiu" and array.size), None)
    if plane is None:
        raise InputError(f"{path}: no array of numbers with two axes in it")
    rows, columns = (np.linspace(0, size - 1, side).round().astype(int) for size in plane.shape)
    chosen = plane[np.ix_(rows, columns)].astype(float)
    if not np.isfinite(chosen).all():
        raise InputError(f"{path}: the plane holds numbers that are not finite; fill them in first")
    return ((chosen - chosen.mean()) / max(chosen.std(), 1e-12)).astype(np.float32)


def _waves(random: np.random.Generator, side: int, params: Params) -> np.ndarray:
    """Sines and cosines of random waves at each place, (side · side, 2 · frequencies)."""
    places = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, side)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    phases = 2.0 * np.pi * places @ (params.sharpness * random.normal(size=(2, params.frequencies)))
    return np.concatenate([np.sin(phases), np.cos(phases)], axis=1).astype(np.float32)


def _network(random: np.random.Generator, sizes: list[int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights (outputs, inputs) and biases to start from (He et al. 2015, eq. 10)."""
    return [
        ((random.normal(size=(m, n)) * np.sqrt(2.0 / n)).astype(np.float32), np.zeros(m, np.float32))
        for n, m in pairwise(sizes)
    ]


def _gradient(tensor: Tensor) -> np.ndarray:
    assert tensor.grad is not None
    gradient, tensor.grad = tensor.grad.numpy().reshape(-1), None
    return gradient


def twin(
    x: np.ndarray, layers: list[tuple[np.ndarray, np.ndarray]], target: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What the network says, and the gradient of the mean squared error by all weights and biases in a row."""
    inputs, sums = [x], []
    for weight, bias in layers:
        sums.append(inputs[-1] @ weight.T + bias)
        inputs.append(sums[-1] / (1.0 + np.exp(-sums[-1])))
    value = sums[-1].reshape(target.shape)
    pulled = (2.0 * (value - target) / target.size).reshape(-1, 1)
    found: list[np.ndarray] = []
    for at in reversed(range(len(layers))):
        found[:0] = [(pulled.T @ inputs[at]).reshape(-1), pulled.sum(0)]
        if at:
            share = 1.0 / (1.0 + np.exp(-sums[at - 1]))
            pulled = pulled @ layers[at][0] * (share * (1.0 + sums[at - 1] * (1.0 - share)))
    return value, np.concatenate(found)

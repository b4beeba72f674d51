"""Networks of linear layers with silu between them, from files; and their reference in NumPy."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...tensor.weights import read_arrays

Layers = list[tuple[np.ndarray, np.ndarray]]  # weights (outputs, inputs) and biases (outputs,), f32


def read_layers(
    path: Path, model: str, inputs: int, outputs: int, meaning: str, others: Collection[str] = ()
) -> tuple[Layers, Mapping[str, np.ndarray]]:
    """The layers of a file, and all of its arrays, among which are those named in `others`.

    `meaning` is what the outputs are, for messages. Raises `InputError` if the file holds something else.
    """
    arrays = read_arrays(path)
    count = sum(name.endswith(".weight") for name in arrays)
    names = [f"layer{i}.{part}" for i in range(count) for part in ("weight", "bias")]
    if not count or sorted([*others, *names]) != sorted(arrays):
        expected = ", ".join([*others, "layer0.weight", "layer0.bias", "layer1.weight"])
        raise InputError(f"{path}: not the network of {model}; expected {expected} …")
    layers = [(arrays[f"layer{i}.weight"], arrays[f"layer{i}.bias"]) for i in range(count)]
    width = inputs
    for index, (weight, bias) in enumerate(layers):
        if weight.ndim != 2 or weight.shape[1] != width or bias.shape != weight.shape[:1]:
            raise InputError(f"{path}: layer {index}: weight {weight.shape} and bias {bias.shape} after {width} values")
        width = weight.shape[0]
    if width != outputs:
        raise InputError(f"{path}: the last layer gives {width} values, not {meaning}")
    return [(np.asarray(weight, np.float32), np.asarray(bias, np.float32)) for weight, bias in layers], arrays


def same_shapes(layers: Layers, others: Layers) -> bool:
    """Whether the weights of one network fit the other."""
    return [weight.shape for weight, _ in layers] == [weight.shape for weight, _ in others]


def evaluate(layers: Layers, x: np.ndarray, condition: np.ndarray) -> np.ndarray:
    """The reference in float64: outputs (n, outputs) at points (n, 3), with the same further inputs for all."""
    values = np.concatenate([x, np.broadcast_to(condition, (len(x), len(condition)))], axis=1)
    for weight, bias in layers[:-1]:
        values = values @ weight.T.astype(float) + bias
        values = values / (1.0 + np.exp(-values))
    weight, bias = layers[-1]
    return values @ weight.T.astype(float) + bias

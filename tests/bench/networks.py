"""The small fully connected network of the benchmarks, as arrays and as a module of PyTorch."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np


class Layers(NamedTuple):
    """Weights of shape (outputs, inputs) and biases of each layer; all but the last are followed by a ReLU."""

    weights: list[np.ndarray]
    biases: list[np.ndarray]


def random_layers(sizes: tuple[int, ...], seed: int = 1, bias: float = 0.1) -> Layers:
    """Layers drawn as He et al. 2015 propose, in f32."""
    random = np.random.default_rng(seed)
    weights = [(random.normal(size=(n, m)) * (2.0 / m) ** 0.5).astype(np.float32) for m, n in pairwise(sizes)]
    return Layers(weights, [(random.normal(size=n) * bias).astype(np.float32) for n in sizes[1:]])


def torch_module(torch: Any, layers: Layers) -> Any:
    """The same on torch's CUDA device, in f32."""
    modules = []
    for weight, bias in zip(*layers, strict=True):
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0])
        linear.weight.data, linear.bias.data = torch.from_numpy(weight.copy()), torch.from_numpy(bias.copy())
        modules += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*modules[:-1]).cuda()

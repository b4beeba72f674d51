"""The activation functions in float64, as their papers and ONNX define them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit, ndtr

from vertigrad.ops.activation import PARAMETERS

ALPHA, GAMMA = PARAMETERS["selu"]


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(0.0, x)


ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "sigmoid": expit,
    "silu": lambda x: x * expit(x),
    "gelu": lambda x: x * ndtr(x),
    "gelu_tanh": lambda x: x * expit(2.0 * np.sqrt(2.0 / np.pi) * (x + 0.044715 * x * x * x)),
    "softplus": _softplus,
    "softsign": lambda x: x / (1.0 + np.abs(x)),
    "mish": lambda x: x * np.tanh(_softplus(x)),
    "hard_swish": lambda x: x * np.clip(x / 6.0 + 0.5, 0.0, 1.0),
    "tanh": np.tanh,
    "sine": np.sin,
    "cosine": np.cos,
    "leaky_relu": lambda x: np.where(x < 0.0, 0.01 * x, x),
    "thresholded_relu": lambda x: np.where(x > 1.0, x, 0.0),
    "elu": lambda x: np.where(x < 0.0, np.expm1(np.minimum(x, 0.0)), x),
    "celu": lambda x: np.where(x < 0.0, np.expm1(np.minimum(x, 0.0)), x),
    "selu": lambda x: GAMMA * np.where(x < 0.0, ALPHA * np.expm1(np.minimum(x, 0.0)), x),
    "hard_sigmoid": lambda x: np.clip(0.2 * x + 0.5, 0.0, 1.0),
    "clip": lambda x: np.clip(x, 0.0, 6.0),
}

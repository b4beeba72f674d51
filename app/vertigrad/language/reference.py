"""The transformer in NumPy, in f64, without a cache: the reference of the kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .checkpoint import LayerWeights, Matrix, Weights
from .config import Config
from .packing import Quantized, as_f32, quantize


def logits(config: Config, weights: Weights, tokens: Sequence[int], int4: bool = False) -> np.ndarray:
    """Logits (vocabulary,) of the token after `tokens`; with `int4` matrices have the values that they have then."""
    x = as_f32(weights.embedding)[list(tokens)].astype(np.float64)
    if weights.positions is not None:
        x += as_f32(weights.positions)[: len(tokens)]
    for number in range(config.layers):
        layer = weights.layer(number)
        x += _attended(config, layer, _normalized(config, x, layer.norm, layer.norm_bias), int4)
        x += _hidden(config, layer, _normalized(config, x, layer.mlp_norm, layer.mlp_norm_bias), int4)
    return _product(_normalized(config, x[-1:], weights.norm, weights.norm_bias), weights.head, None, int4)[0]


def _attended(config: Config, layer: LayerWeights, x: np.ndarray, int4: bool) -> np.ndarray:
    count, head = len(x), config.head
    rows = _product(x, layer.qkv, layer.qkv_bias, int4).reshape(count, -1, head).swapaxes(0, 1)
    q, k, v = np.split(rows, [config.heads, config.heads + config.kv_heads])
    if layer.query_norm is not None and layer.key_norm is not None:
        q, k = (_normalized(config, part, gain, None) for part, gain in ((q, layer.query_norm), (k, layer.key_norm)))
    if config.frequencies is not None:
        q, k = _rotated(config, q), _rotated(config, k)
    k, v = (np.repeat(part, config.heads // config.kv_heads, axis=0) for part in (k, v))
    scores = q @ k.swapaxes(1, 2) * head**-0.5
    distance = np.subtract.outer(np.arange(count), np.arange(count))
    scores[:, (distance < 0) | ((distance >= config.window) & (config.window > 0))] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = weights / weights.sum(-1, keepdims=True) @ v
    return _product(mixed.swapaxes(0, 1).reshape(count, -1), layer.out, layer.out_bias, int4)


def _hidden(config: Config, layer: LayerWeights, x: np.ndarray, int4: bool) -> np.ndarray:
    rows = _product(x, layer.up, layer.up_bias, int4)
    active = _ACTIVATIONS[config.activation]
    values = active(rows[:, 0::2]) * rows[:, 1::2] if config.gated else active(rows)
    return _product(values, layer.down, layer.down_bias, int4)


def _product(x: np.ndarray, matrix: Matrix, bias: np.ndarray | None, int4: bool) -> np.ndarray:
    if isinstance(matrix, Quantized):
        values = matrix.values()
    else:
        values = quantize(as_f32(matrix)).values() if int4 else as_f32(matrix)
    return x @ values.astype(np.float64).T + (0.0 if bias is None else bias)


def _normalized(config: Config, x: np.ndarray, gain: np.ndarray, shift: np.ndarray | None) -> np.ndarray:
    centered = x - x.mean(-1, keepdims=True) if config.norm == "layer" else x
    scale = 1.0 / np.sqrt((centered**2).mean(-1, keepdims=True) + config.epsilon)
    return centered * scale * gain + (0.0 if shift is None else shift)


def _rotated(config: Config, x: np.ndarray) -> np.ndarray:
    angles = np.outer(np.arange(x.shape[1]), np.asarray(config.frequencies))
    first, second = np.split(x, 2, axis=-1)
    cosine, sine = np.cos(angles), np.sin(angles)
    return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)


def _normal_cdf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(lambda value: 0.5 * math.erfc(-value / math.sqrt(2.0)))(x)


_ACTIVATIONS = {
    "silu": lambda x: x / (1.0 + np.exp(-x)),
    "gelu_tanh": lambda x: 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3))),
    "gelu": lambda x: x * _normal_cdf(x),
    "relu": lambda x: np.maximum(x, 0.0),
}

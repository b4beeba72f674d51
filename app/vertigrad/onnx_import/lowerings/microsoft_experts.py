"""Mixtures of experts as onnxruntime has them (domain com.microsoft), with weights of floats or of a few bits.

Their attributes and inputs are those of onnxruntime's documentation, docs/ContribOperators.md. (Shazeer et al.,
Outrageously Large Neural Networks, eq. 1; Fedus et al., Switch Transformers.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import NamedTuple, TypeAlias

import numpy as np

from ... import ops
from ...errors import InputError
from ...ops.block_quantized import BlockQuantized, block_linear
from ...tensor import Tensor, f32
from ..node import Node, Refused
from ..registry import lowers
from ..values import Value
from .microsoft_attention import DOMAIN
from .microsoft_fused import unpacked
from .shaping import reshaped

BLOCK = 32  # columns of a block where a scale is for a whole row
Layer: TypeAlias = "Callable[[Tensor], Tensor]"
_ACTIVATIONS = {"relu": ops.relu, "gelu": ops.gelu_tanh, "silu": ops.silu}


class Routes(NamedTuple):
    """The experts (tokens, k) of each token, i32, and their weights in the sum; `count` is the number of all."""

    experts: Tensor
    weights: Tensor
    count: int

    @property
    def are_few(self) -> bool:
        """Whether it is less work to pick the weights of the experts for each token than to use all of them."""
        return self.experts.size < self.count

    def of_all(self) -> Tensor:
        """The weights of all experts, (tokens, experts), most of them 0."""
        nothing = ops.zeros((self.experts.shape[0], self.count), self.weights.dtype)
        return ops.scatter_elements(nothing, self.experts, self.weights, 1)


@lowers("MoE", domain=DOMAIN)
def mixture_of_experts(node: Node) -> Value:
    """Each token is passed through its `k` experts, two or three linear layers; the results are added with weights."""
    x, routes = _tokens(node), _routes(node, None, bool(node.attribute("normalize_routing_weights", 0)))
    activation = _activation(node)
    if routes.are_few:
        at = reshaped(routes.experts, (-1,))
        layers = [
            _layer(*(None if one is None else ops.take(one, at, axis=0) for one in pair)) for pair in _pairs(node)
        ]
        tokens, k = routes.experts.shape
        rows = reshaped(
            x.reshape(tokens, 1, 1, x.shape[1]).expand(tokens, k, 1, x.shape[1]), (tokens * k, 1, x.shape[1])
        )
        found = reshaped(_through(layers, activation, rows), (tokens, k, -1))
        return _result(node, ops.sum(ops.multiply(found, routes.weights[:, :, None]), 1))
    layers = [_layer(*pair) for pair in _pairs(node)]
    found = _through(layers, activation, x[None])  # (experts, tokens, width)
    return _result(node, ops.sum(ops.multiply(found, routes.of_all().T[:, :, None]), 0))


def _pairs(node: Node) -> list[tuple[Tensor | None, Tensor | None]]:
    """Weights (experts, outputs, inputs) and biases (experts, outputs) of the layers; the third may be missing."""
    return [(node.optional(index), node.optional(index + 1)) for index in (2, 4, 6)]


def _layer(weights: Tensor | None, bias: Tensor | None) -> Layer | None:
    """A linear layer for each of n experts, of (n, rows, inputs) or (1, rows, inputs)."""
    if weights is None:
        return None

    def apply(x: Tensor) -> Tensor:
        product = ops.matmul(x, weights.permute(0, 2, 1))
        return product if bias is None else ops.add(product, bias[:, None])

    return apply


@lowers("QMoE", domain=DOMAIN)
def quantized_mixture_of_experts(node: Node) -> Value:
    """As `MoE`, with weights of 2, 4 or 8 bits that stay packed in memory."""
    if node.attribute("quant_type", "int") != "int" or node.attribute("weights_prepacked", -1) == 1:
        raise Refused("weights of other types than integers, or packed for CUDA")
    node.ignore("accuracy_level")  # how the reference rounds x; here it is not rounded
    if any(node.has(index) for index in range(15, len(node))):
        raise Refused("scales for all of an expert, or of activations")
    x, activation = _tokens(node), _activation(node)
    routes = _routes(node, node.optional(14), _is_normalized(node))
    layers = [_Packed.of(node, number) if node.has(3 * number - 1) else None for number in (1, 2, 3)]
    tokens, k = routes.experts.shape
    if not routes.are_few:
        weights = routes.of_all()
        parts = [
            ops.multiply(
                _through([_expert(one, index) for one in layers], activation, x), weights[:, index : index + 1]
            )
            for index in range(routes.count)
        ]
        return _result(node, reduce(ops.add, parts))
    rows = []
    for token in range(tokens):
        row = x[token : token + 1]
        for choice in range(k):
            index = routes.experts[token, choice : choice + 1]
            found = _through([_expert(one, index) for one in layers], activation, row)
            rows.append(ops.multiply(found, routes.weights[token, choice]))
    each = reshaped(ops.concatenate(rows, 0), (tokens, k, -1))
    return _result(node, ops.sum(each, 1))


def _is_normalized(node: Node) -> bool:
    """As onnxruntime on the CPU: the softmax is over the experts that were chosen, whatever the attribute says."""
    normalizes = bool(node.attribute("normalize_routing_weights", 0))
    return normalizes or not node.has(14)


class _Packed(NamedTuple):
    """Layers of all experts: `BlockQuantized` of each, one after the other, and biases (experts, rows)."""

    packed: Tensor
    scales: Tensor
    zeros: Tensor
    bias: Tensor | None
    bits: int
    block: int
    columns: int

    @classmethod
    def of(cls, node: Node, number: int) -> _Packed:
        """The layer of this number, from 1."""
        at = 3 * number - 1
        bits = node.attribute(f"fc{number}_expert_weight_bits") or node.attribute("expert_weight_bits", 4)
        if bits not in (2, 4, 8):
            raise Refused(f"weights of {bits} bits")
        data, scales = node.host(at), node.host(at + 1).astype(np.float32)
        experts, rows, columns = *data.shape[:2], data.shape[2] * 8 // bits
        block = node.attribute("block_size", 0) or 0
        if block > 0 and (block < 16 or block & (block - 1) or columns % block):
            raise InputError(
                f"{node}: blocks of {block} of {columns} weights; they are powers of 2 from 16 on, and whole"
            )
        each = block if block > 0 else BLOCK
        blocks = -(-columns // each)
        zeros = np.full(scales.shape, 1 << (bits - 1), np.float32)
        if node.has(10 + number):
            codes = unpacked(node.host(10 + number), bits).astype(np.float32)
            zeros = codes[..., :blocks] if block > 0 else codes[..., :rows]
        shape = (experts, rows, blocks)
        scales, zeros = (_spread(array, block > 0, shape) for array in (scales, zeros))
        missing = blocks * each * bits // 8 - data.shape[2]
        words = np.ascontiguousarray(np.pad(data, [(0, 0), (0, 0), (0, missing)])).view(np.uint32)
        uploads = (node.upload(words), node.upload(scales), node.upload(zeros))
        return cls(*uploads, node.optional(at + 2), bits, each, columns)


def _spread(array: np.ndarray, is_by_block: bool, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of blocks, or of rows, for all blocks."""
    whole = array if is_by_block else array.reshape(*array.shape[:2], 1)
    return np.ascontiguousarray(np.broadcast_to(whole, shape))


def _expert(layers: _Packed | None, index: int | Tensor) -> Layer | None:
    """The layer of one expert, whose number may be on the GPU."""
    if layers is None:
        return None

    def pick(tensor: Tensor) -> Tensor:
        return tensor[index] if isinstance(index, int) else ops.take(tensor, index, axis=0)[0]

    packed, scales, zeros = (pick(tensor) for tensor in (layers.packed, layers.scales, layers.zeros))
    weights = BlockQuantized(packed, scales, zeros, layers.bits, layers.block, layers.columns)
    return partial(block_linear, weight=weights, bias=None if layers.bias is None else pick(layers.bias))


# what both have -----------------------------------------------------------------------------------------------------


def _tokens(node: Node) -> Tensor:
    return reshaped(node.tensor(0), (-1, node.shape()[-1]))


def _result(node: Node, tokens: Tensor) -> Value:
    return node.result(reshaped(ops.cast(tokens, node.tensor(0).dtype), node.shape()))


def _routes(node: Node, weights: Tensor | None, normalized: bool) -> Routes:
    """The `k` experts of the largest scores; their weights are the softmax of the scores, or elements of `weights`.

    If they are `normalized`, their sum is 1.
    """
    if node.attribute("use_sparse_mixer", 0):
        raise Refused("the sparse mixer")
    scores, k = ops.cast(node.tensor(1), f32), node.attribute("k", 1)
    shares, experts = ops.topk(ops.softmax(scores, 1), k, 1)
    if weights is not None:
        shares = ops.take_along_axis(ops.cast(weights, f32), experts, 1)
    if normalized:
        shares = ops.divide(shares, ops.sum(shares, 1, keepdims=True))
    return Routes(experts, ops.cast(shares, node.tensor(0).dtype), scores.shape[1])


def _activation(node: Node) -> Callable[[Tensor, Tensor | None], Tensor]:
    """A function of the results of the first and the third layer, if there is one."""
    name, fusion = node.attribute("activation_type", "relu"), node.attribute("swiglu_fusion", 0)
    alpha, beta = node.attribute("activation_alpha", 1.0), node.attribute("activation_beta", 0.0)
    limit = node.attribute("swiglu_limit", np.inf)
    if name == "swiglu":
        return partial(_swiglu, fusion=fusion, alpha=alpha, beta=beta, limit=limit)
    if name not in (*_ACTIVATIONS, "identity"):
        raise Refused(f"the activation {name}")

    def plain(first: Tensor, third: Tensor | None) -> Tensor:
        active = _ACTIVATIONS[name](first) if name in _ACTIVATIONS else first
        return active if third is None else ops.multiply(active, third)

    return plain


def _swiglu(first: Tensor, third: Tensor | None, *, fusion: int, alpha: float, beta: float, limit: float) -> Tensor:
    """(Shazeer, GLU Variants Improve Transformer.) Gates and values are neighbors (1), halves (2), or two tensors."""
    half = first.shape[-1] // 2
    if fusion:
        gate, value = (first[..., 0::2], first[..., 1::2]) if fusion == 1 else (first[..., :half], first[..., half:])
    elif third is None:
        raise Refused("swiglu without a third layer")
    else:
        gate, value = first, third

    def gated(g: Tensor, v: Tensor) -> Tensor:
        g, v = (ops.minimum(g, limit), ops.clip(v, -limit, limit)) if np.isfinite(limit) else (g, v)
        return g * ops.sigmoid(g * alpha) * (v + beta)

    return ops.fused(gated, gate, value)


def _through(layers: list[Layer | None], activation: Callable[[Tensor, Tensor | None], Tensor], x: Tensor) -> Tensor:
    first, second, third = layers
    assert first is not None and second is not None
    return second(activation(first(x), None if third is None else third(x)))

"""Layers that onnxruntime fuses into operators of its own (domain com.microsoft): norms, activations, products.

Their attributes and inputs are those of onnxruntime's documentation, docs/ContribOperators.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from ... import ops
from ...errors import InputError
from ...ops.block_quantized import BlockQuantized, block_linear
from ...tensor import Tensor, f32
from ..node import Node, Refused
from ..registry import lowers
from ..values import Value
from .convolutions import window
from .microsoft_attention import DOMAIN
from .shaping import reshaped


@lowers("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain=DOMAIN)
def skip_layer_norm(node: Node) -> list[Value | None]:
    """Input and skip connection (and a bias) added, then normalized; the sum is the fourth output."""
    simple = node.op == "SkipSimplifiedLayerNormalization"
    at = 3 if simple else 4
    x, skip = node.tensor(0), node.tensor(1)
    total = ops.fused(lambda a, b, c: a + b + c, x, skip, node.tensor(at)) if node.has(at) else ops.add(x, skip)
    epsilon = node.attribute("epsilon", 1e-5 if simple else 1e-12)
    if simple:
        result = ops.rms_norm(total, node.tensor(2), axes=1, epsilon=epsilon)
    else:
        result = ops.layer_norm(total, node.tensor(2), node.optional(3), axes=1, epsilon=epsilon)
    return [node.result(result), None, None, node.result(total)]


@lowers("SimplifiedLayerNormalization", domain=DOMAIN)
def simplified_layer_norm(node: Node) -> Value:
    x = node.tensor(0)
    node.ignore("stash_type")  # statistics are in f32 here
    axes = x.ndim - node.axis(-1)
    return node.result(ops.rms_norm(x, node.tensor(1), axes=axes, epsilon=node.attribute("epsilon", 1e-5)))


@lowers("GroupNorm", "SkipGroupNorm", domain=DOMAIN)
def group_norm(node: Node) -> list[Value]:
    """Groups of channels normalized, after what is added to x, perhaps with SiLU; the sum is the second output."""
    x, last = node.tensor(0), bool(node.attribute("channels_last", 1))
    if node.op == "SkipGroupNorm":
        skip = node.tensor(3)
        skip = skip.reshape(skip.shape[0], 1, 1, -1) if skip.ndim == 2 and last else skip
        skip = skip.reshape(*skip.shape, 1, 1) if skip.ndim == 2 else skip
        x = ops.add(x, skip)
        if node.has(4):
            x = ops.add(x, node.tensor(4) if last else node.tensor(4).reshape(-1, 1, 1))
    scale, bias = (ops.cast(node.tensor(index), x.dtype) for index in (1, 2))
    channels_first = x.permute(0, x.ndim - 1, *range(1, x.ndim - 1)) if last else x
    result = ops.group_norm(
        channels_first, node.attribute("groups"), scale, bias, epsilon=node.attribute("epsilon", 1e-5)
    )
    result = ops.silu(result) if node.attribute("activation", 0) else result
    return [node.result(result.permute(0, *range(2, x.ndim), 1) if last else result), node.result(x)]


@lowers("FastGelu", "BiasGelu", domain=DOMAIN)
def biased_gelu(node: Node) -> Value:
    function = ops.gelu_tanh if node.op == "FastGelu" else ops.gelu
    x = node.tensor(0)
    return node.result(ops.fused(lambda a, b: function(a + b), x, node.tensor(1)) if node.has(1) else function(x))


@lowers("Gelu", domain=DOMAIN)
def gelu(node: Node) -> Value:
    return node.result(ops.gelu(node.tensor(0)))


@lowers("QuickGelu", domain=DOMAIN)
def quick_gelu(node: Node) -> Value:
    alpha = node.attribute("alpha", 1.702)
    return node.result(ops.fused(lambda x: x * ops.sigmoid(x * alpha), node.tensor(0)))


@lowers("BiasAdd", domain=DOMAIN)
def bias_add(node: Node) -> Value:
    return node.result(ops.fused(lambda x, b, s: x + b + s, *node.tensors()))


@lowers("BiasSplitGelu", domain=DOMAIN)
def bias_split_gelu(node: Node) -> Value:
    x = ops.add(node.tensor(0), node.tensor(1))
    half = x.shape[-1] // 2
    return node.result(ops.fused(lambda a, b: a * ops.gelu(b), x[..., :half], x[..., half:]))


@lowers("FusedMatMul", "TransposeMatMul", domain=DOMAIN)
def fused_matmul(node: Node) -> Value:
    """alpha · A B, of matrices that may be transposed, also in their batches."""
    a, b = (
        _transposed(node, node.tensor(index), f"trans{name}", f"transBatch{name}") for index, name in enumerate("AB")
    )
    alpha = node.attribute("alpha", 1.0)
    product = ops.matmul(a, b)
    return node.result(product if alpha == 1.0 else ops.multiply(product, alpha))


def _transposed(node: Node, x: Tensor, last: str, batch: str) -> Tensor:
    if node.attribute(batch, 0):
        x = x.permute(*range(1, x.ndim - 1), 0, x.ndim - 1)
    return x.permute(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2) if node.attribute(last, 0) and x.ndim > 1 else x


_ACTIVATIONS = {"Relu": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid"}
_WITH_PARAMETERS = {"LeakyRelu": "leaky_relu", "Clip": "clip", "HardSigmoid": "hard_sigmoid"}


def _activation(node: Node, parameters: list[float]) -> tuple[str, ...] | str | None:
    name = node.attribute("activation", "")
    if name in _WITH_PARAMETERS:
        return (_WITH_PARAMETERS[name], *parameters)  # type: ignore[return-value]
    if name and name not in _ACTIVATIONS:
        raise Refused(f"the activation {name}")
    return _ACTIVATIONS.get(name)


@lowers("FusedConv", domain=DOMAIN)
def fused_conv(node: Node) -> Value:
    """A convolution, what is added to it, and an activation."""
    x = node.tensor(0)
    node.require_size("kernel_shape", list(node.shape(1)[2:]))
    activation = _activation(node, node.attribute("activation_params", []))
    options = {"groups": node.attribute("group", 1), "activation": activation, **window(node, x.ndim - 2)}
    return node.result(ops.conv(x, node.tensor(1), node.optional(2), residual=node.optional(3), **options))


@lowers("FusedGemm", domain=DOMAIN)
def fused_gemm(node: Node) -> Value:
    parameters = [node.attribute(f"activation_{name}") for name in ("alpha", "beta", "gamma")]
    result = ops.gemm(
        node.tensor(0),
        node.tensor(1),
        node.optional(2),
        alpha=node.attribute("alpha", 1.0),
        beta=node.attribute("beta", 1.0),
        trans_a=bool(node.attribute("transA", 0)),
        trans_b=bool(node.attribute("transB", 0)),
        activation=_activation(node, [value for value in parameters if value is not None]),  # type: ignore[arg-type]
    )
    return node.result(result)


# weights of a few bits -----------------------------------------------------------------------------------------------


@lowers("MatMulNBits", domain=DOMAIN)
def matmul_nbits(node: Node) -> Value:
    """x Wᵀ + bias, with W (n, k) of 2, 4 or 8 bits that stay packed in memory."""
    columns, rows = node.attribute("K"), node.attribute("N")
    bits, block = node.attribute("bits", 4), node.attribute("block_size")
    node.ignore("accuracy_level", "weight_prepacked")  # how the reference rounds x; here it is not rounded
    if bits not in (2, 4, 8):
        raise Refused(f"weights of {bits} bits")
    if block < 16 or block & (block - 1) or columns < 1 or rows < 1:
        raise InputError(f"{node}: {rows} x {columns} weights in blocks of {block}; blocks are powers of 2 from 16 on")
    blocks = -(-columns // block)
    packed = np.ascontiguousarray(node.host(1)).view(np.uint8)
    if packed.size != rows * blocks * block * bits // 8:
        raise InputError(f"{node}: {packed.size} bytes for {rows} x {columns} weights of {bits} bits")
    scales = _by_block(node, "scales", node.host(2).astype(np.float32), rows, blocks)
    zeros, x = _zeros(node, rows, blocks, bits), node.tensor(0)
    if node.has(4) and not np.array_equal(groups := node.host(4).reshape(-1)[:columns], np.arange(columns) // block):
        if groups.size < columns or groups.min() < 0 or groups.max() >= blocks:
            raise InputError(f"{node}: g_idx has {groups.size} numbers; {columns} from 0 to {blocks - 1} are needed")
        codes = unpacked(packed.reshape(rows, -1), bits)[:, :columns]
        if np.any(np.bincount(groups, minlength=blocks)[: columns // block] != block):
            real = (codes.astype(np.float32) - zeros[:, groups]) * scales[:, groups]
            return node.result(ops.linear(x, ops.cast(node.upload(real), x.dtype), node.optional(5)))
        order = np.argsort(groups, kind="stable").astype(np.int32)  # columns of a block become neighbors
        x = ops.take(x, node.upload(order), axis=-1)
        packed = _packed_again(codes[:, order], bits, packed.size // rows)
    words = np.ascontiguousarray(packed.reshape(rows, -1)).view(np.uint32)
    weight = BlockQuantized(node.upload(words), node.upload(scales), node.upload(zeros), bits, block, columns)
    return node.result(block_linear(x, weight, node.optional(5)))


def _packed_again(codes: np.ndarray, bits: int, row_bytes: int) -> np.ndarray:
    """What `unpacked` unpacks, in rows of so many bytes."""
    each = 8 // bits
    whole = np.pad(codes, [(0, 0), (0, row_bytes * each - codes.shape[1])]).reshape(len(codes), row_bytes, each)
    shifted = whole.astype(np.uint8) << np.arange(0, 8, bits, dtype=np.uint8)
    return np.bitwise_or.reduce(shifted, 2).astype(np.uint8)


def _zeros(node: Node, rows: int, blocks: int, bits: int) -> np.ndarray:
    """Zero points in f32: packed like the weights, as floats, or half of the range."""
    if not node.has(3):
        return np.full((rows, blocks), 1 << (bits - 1), np.float32)
    packed = node.host(3)
    if packed.dtype != np.uint8:
        return _by_block(node, "zero points", packed.astype(np.float32), rows, blocks)
    in_bytes = _by_block(node, "bytes of zero points", packed, rows, -(-blocks * bits // 8))
    return unpacked(in_bytes, bits)[:, :blocks].astype(np.float32)


def _by_block(node: Node, what: str, array: np.ndarray, rows: int, blocks: int) -> np.ndarray:
    """The array as (rows, blocks). Raises `InputError` if it has another size."""
    if array.size != rows * blocks:
        raise InputError(f"{node}: {array.size} {what}; {rows} rows of {blocks} blocks have {rows * blocks}")
    return array.reshape(rows, blocks)


def unpacked(array: np.ndarray, bits: int) -> np.ndarray:
    """Unsigned integers of a few bits from bytes, the lowest bits first; the last axis is longer by 8 / `bits`."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return (array[..., None] >> shifts & ((1 << bits) - 1)).reshape(*array.shape[:-1], -1)


_FP4 = np.array([0.0, 0.0052083333, 0.6666667, 1.0, 0.3333333, 0.5, 0.1666667, 0.25], np.float32)
_NF4 = np.array([-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
                 -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
                 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
                 0.7229568362236023, 1.0], np.float32)  # fmt: skip


@lowers("MatMulBnb4", domain=DOMAIN)
def matmul_bnb4(node: Node) -> Value:
    """x Wᵀ, or x W, with W (n, k) of 4-bit codes of a table (Dettmers et al., QLoRA), in f32 on the GPU."""
    shape, block = (node.attribute("N"), node.attribute("K")), node.attribute("block_size")
    node.ignore("training_mode")
    table = _NF4 if node.attribute("quant_type") == 1 else np.concatenate([_FP4, -_FP4])
    codes, largest, size = node.host(1).reshape(-1), node.host(2).astype(np.float32).reshape(-1), shape[0] * shape[1]
    if codes.size != (size + 1) // 2 or largest.size != -(-size // block):
        raise InputError(
            f"{node}: {codes.size} bytes, {largest.size} scales; {shape[0]} x {shape[1]} weights in blocks of {block}"
        )
    numbers = np.stack([codes >> 4, codes & 15], 1).reshape(-1)[:size]
    real = table[numbers] * np.repeat(largest, block)[:size]
    weights = ops.cast(node.upload(real.reshape(shape)), node.tensor(0).dtype)
    return node.result(ops.linear(node.tensor(0), weights if node.attribute("transB", 1) else weights.T))


@lowers("GatherBlockQuantized", domain=DOMAIN)
def gather_block_quantized(node: Node) -> Value:
    """Rows of a table of integers of 4 or 8 bits, such as embeddings, each block with a scale."""
    axis, along = node.attribute("gather_axis", 0), node.attribute("quantize_axis", 1)
    bits, block = node.attribute("bits", 4), node.attribute("block_size", 128)
    data, scales = node.host(0), node.host(2).astype(np.float32)
    if block < 16 or block & (block - 1):
        raise InputError(f"{node}: blocks of {block}; they are powers of 2 from 16 on")
    if data.ndim != 2 or axis % 2 or along % 2 != 1:
        raise Refused(f"a table of {data.ndim} axes gathered along axis {axis}, in blocks along axis {along}")
    is_packed = node.elem() == TensorProto.UINT8 and bits < 8
    codes = unpacked(data, bits) if is_packed else data.astype(np.int32)
    zeros = np.float32(1 << (bits - 1) if is_packed or node.elem() == TensorProto.UINT8 else 0)
    if node.has(3):
        packed = node.host(3)
        whole = unpacked(packed, bits)[:, : scales.shape[1]] if is_packed else packed.astype(np.int32)
        zeros = whole.astype(np.float32)
    # the table holds bytes of integers; rows are multiplied with their scales after they were gathered
    if scales.shape != (len(data), codes.shape[1] // block) or (np.ndim(zeros) and zeros.shape != scales.shape):
        raise InputError(f"{node}: scales of shape {scales.shape} for {codes.shape} weights in blocks of {block}")
    table = node.upload(codes.astype(np.int32))
    at = node.tensor(1)
    rows = ops.cast(ops.take(table, at, axis=0), f32)
    each = ops.take(node.upload(scales), at, axis=0)
    shape, blocks = rows.shape, scales.shape[1]
    if shape[-1] != blocks * block:
        raise Refused(f"{shape[-1]} columns in blocks of {block}")
    parts = reshaped(rows, (*shape[:-1], blocks, block))
    shifted = parts if not np.ndim(zeros) and not zeros else ops.subtract(parts, _zeros_of(node, zeros, at))
    return node.result(reshaped(ops.multiply(shifted, each[..., None]), shape), node.elem(2))


def _zeros_of(node: Node, zeros: Any, at: Tensor) -> Tensor | float:
    return ops.take(node.upload(zeros), at, axis=0)[..., None] if np.ndim(zeros) else float(zeros)

"""Operators of onnxruntime's own (com.microsoft) against onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network
from vertigrad.onnx_import.lowerings import LOWERINGS

from .networks import reals

onnxruntime = pytest.importorskip("onnxruntime", reason="compares with onnxruntime")
DOMAIN = "com.microsoft"
random = np.random.default_rng(1)


class Fused(NamedTuple):
    """A node: its inputs, None for one that is left out; `weights` are those that are constants of the model."""

    op: str
    inputs: Sequence[np.ndarray | None]
    attributes: Mapping[str, Any] = {}
    outputs: Sequence[int] = (0,)
    weights: Sequence[int] = ()
    tolerance: float = 1e-5
    steps: int = 0  # by which a quantized number may differ
    set_rows: int | None = None  # of a cache; what is in those after them is not defined
    like: Fused | None = None  # the same for the reference, which has no kernel for this form

    def model(self, results: Sequence[np.ndarray] = ()) -> onnx.ModelProto:
        """The node alone; its outputs are declared like `results`."""
        names = [f"x{i}" if value is not None else "" for i, value in enumerate(self.inputs)]
        outputs = [f"y{i}" if i in self.outputs else "" for i in range(max(self.outputs) + 1)]
        graph = helper.make_graph(
            [helper.make_node(self.op, names, outputs, domain=DOMAIN, **self.attributes)],
            "node",
            [
                helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
                for i, value in enumerate(self.inputs)
                if value is not None and i not in self.weights
            ],
            [
                helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(like.dtype), like.shape)
                if like is not None
                else helper.make_empty_tensor_value_info(name)
                for name, like in zip_longest([name for name in outputs if name], results)
            ],
            [numpy_helper.from_array(self.inputs[i], f"x{i}") for i in self.weights],
        )
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid(DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def feeds(self) -> dict[str, np.ndarray]:
        given = enumerate(self.inputs)
        return {f"x{i}": value for i, value in given if value is not None and i not in self.weights}


def reference(case: Fused) -> list[np.ndarray]:
    case = case.like or case
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(case.model().SerializeToString(), options, ["CPUExecutionProvider"])
    return session.run(None, case.feeds())


def angles(count: int, pairs: int) -> tuple[np.ndarray, np.ndarray]:
    turns = np.outer(np.arange(count), 10000.0 ** -(np.arange(pairs) / pairs))
    return np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32)


def ints(*shape: int, low: int = 0, high: int = 255, dtype: type = np.uint8) -> np.ndarray:
    return random.integers(low, high + 1, shape).astype(dtype)


def number(value: float, dtype: type = np.float32) -> np.ndarray:
    return np.array(value, dtype)


def group_query(
    length: int, past: int, total: int, n: int = 1, room: int = 0, packed: bool = False, **attributes: Any
) -> Fused:
    """2 heads of queries for each of 2 of keys; `room` rows of the cache, of which `past` are set."""
    heads, shared, width = 4, 2, 16
    lengths = np.full(n, total - 1, np.int32) - (np.arange(n, dtype=np.int32) if n > 1 else 0)
    sizes = (heads * width, shared * width, shared * width)
    parts = [reals(n, length, size, seed=i) for i, size in enumerate(sizes)]
    qkv = [np.concatenate(parts, 2), None, None] if packed else parts
    caches = [reals(n, shared, room or past, width, seed=5 + i) for i in range(2)] if room or past else [None, None]
    tables = angles(64, width // 2) if attributes.get("do_rotary") else (None, None)
    bias = attributes.pop("bias", None)
    sink = attributes.pop("sink", None)
    inputs = [*qkv, *caches, lengths, number(total, np.int32), *tables, None, bias, sink]
    while inputs[-1] is None:
        inputs.pop()
    attributes = {"num_heads": heads, "kv_num_heads": shared} | attributes
    return Fused("GroupQueryAttention", inputs, attributes, (0, 1, 2), weights=(6,), set_rows=lengths.min() + 1)


def multi_head(
    *shape: int, keys: int = 0, heads: int = 2, past: int = 0, mask: Any = None, bias: Any = None, **attributes: Any
) -> Fused:
    n, length, width = shape
    keys = keys or length
    caches = [reals(n, heads, past, width // heads, seed=4 + i) for i in range(2)] if past else []
    inputs = [
        reals(n, length, width),
        *(reals(n, keys, width, seed=1 + i) for i in range(2)),
        attributes.pop("added", None),
        mask,
        bias,
        *caches,
    ]
    return Fused("MultiHeadAttention", inputs, {"num_heads": heads} | attributes, (0, 1, 2) if past else (0,))


def packed_heads(keys: bool = False) -> Fused:
    """Queries, keys and values (or keys and values) next to each other for each head."""
    plain = multi_head(2, 5, 8)
    parts = [x.reshape(2, 5, 2, 4) for x in plain.inputs[:3] if x is not None]
    inputs = [plain.inputs[0], np.stack(parts[1:], 3)] if keys else [np.stack(parts, 3)]
    return plain._replace(inputs=inputs, like=plain)


def nbits(rows: int, columns: int, outputs: int, bits: int, block: int, zeros: str = "", added: bool = False) -> Fused:
    blocks = -(-columns // block)
    per = -(-blocks * bits // 8)
    zero = {"packed": ints(outputs * per), "floats": reals(outputs * blocks, seed=3), "": None}[zeros]
    inputs = [
        reals(rows, columns),
        ints(outputs, blocks, block * bits // 8),
        reals(outputs * blocks, seed=1),
        zero,
        None,
        reals(outputs, seed=2) if added else None,
    ]
    while inputs[-1] is None:
        inputs.pop()
    weights = [i for i in range(1, len(inputs)) if inputs[i] is not None]
    attributes = {"K": columns, "N": outputs, "bits": bits, "block_size": block}
    return Fused("MatMulNBits", inputs, attributes, weights=weights)


def with_groups(case: Fused, groups: np.ndarray) -> Fused:
    """`MatMulNBits` whose columns belong to these blocks."""
    inputs = [*case.inputs, *[None] * 3][:5]
    inputs[4] = groups.astype(np.int32)
    return case._replace(inputs=inputs, weights=[i for i in range(1, 5) if inputs[i] is not None])


def shuffled(case: Fused) -> Fused:
    """`MatMulNBits` with its columns in another order, so that blocks are not neighbors: the results are the same.

    The reference is that of the columns in order: onnxruntime ignores packed zero points where there are groups.
    """
    x, packed = (case.inputs[i] for i in (0, 1))
    assert x is not None and packed is not None
    bits, columns = case.attributes["bits"], x.shape[1]
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = (packed.reshape(len(packed), -1, 1) >> shifts & ((1 << bits) - 1)).reshape(len(packed), -1)
    order = random.permutation(columns)
    moved = codes[:, order].reshape(len(packed), -1, len(shifts)) << shifts
    inputs = [
        x[:, order],
        np.bitwise_or.reduce(moved, 2).astype(np.uint8).reshape(packed.shape),
        *case.inputs[2:4],
        None,
    ]
    found = with_groups(case._replace(inputs=inputs), order // case.attributes["block_size"])
    return found._replace(like=case)


def codes_of_a_table(kind: int, rows: int, columns: int, outputs: int, block: int) -> Fused:
    weights = [ints((outputs * columns + 1) // 2), reals(-(-outputs * columns // block), seed=3) ** 2]
    attributes = {"K": columns, "N": outputs, "block_size": block, "quant_type": kind}
    return Fused("MatMulBnb4", [reals(rows, columns), *weights], attributes, weights=(1, 2))


def experts(
    tokens: int, count: int, k: int, activation: str = "relu", fusion: int = 0, bias: bool = True, **attributes: Any
) -> Fused:
    """32 hidden and 16 outer units."""
    inner = 64 if fusion else 32
    layers = [
        reals(count, inner, 16, seed=1),
        reals(count, inner, seed=2),
        reals(count, 16, 32, seed=3),
        reals(count, 16),
    ]
    inputs = [
        reals(tokens, 16),
        reals(tokens, count, seed=5),
        *(one if bias or one.ndim == 3 else None for one in layers),
    ]
    options = {"k": k, "activation_type": activation, "swiglu_fusion": fusion, **attributes}
    return Fused("MoE", inputs if bias else inputs[:-1], options)


def quantized_experts(
    tokens: int,
    count: int,
    k: int,
    bits: int,
    block: int = 0,
    zeros: bool = False,
    weights: bool = False,
    **options: Any,
) -> Fused:
    """96 hidden and 64 outer units; a scale for each row without `block`."""
    inputs: list[np.ndarray | None] = [reals(tokens, 64), reals(tokens, count, seed=5)]
    points: list[np.ndarray | None] = []
    for rows, columns in ((96, 64), (64, 96)):
        blocks = (columns // block,) if block else ()
        inputs += [ints(count, rows, columns * bits // 8), 0.02 * reals(count, rows, *blocks, seed=2) ** 2]
        inputs += [reals(count, rows, seed=3)]
        per = (rows, -(-blocks[0] * bits // 8)) if blocks else (-(-rows * bits // 8),)
        points.append(ints(count, *per) if zeros else None)
    inputs += [None, None, None, *points, None, reals(tokens, count, seed=7) ** 2 if weights else None]
    constants = [i for i in (2, 3, 5, 6, 11, 12) if inputs[i] is not None]
    while inputs[-1] is None:
        inputs.pop()
    sizes = {"block_size": block} if block else {}
    attributes = {"k": k, "expert_weight_bits": bits, "activation_type": "silu", **sizes, **options}
    return Fused("QMoE", inputs, attributes, weights=constants)


def rotary(*shape: int, offset: bool = True, **attributes: Any) -> Fused:
    n, length = shape[0], shape[-2]
    positions = number(3, np.int64).reshape(1) if offset else ints(n, length, high=20, dtype=np.int64)
    return Fused("RotaryEmbedding", [reals(*shape), positions, *angles(32, 4)], attributes)


def embedding() -> Fused:
    tables = [reals(size, 8, seed=i) for i, size in enumerate((20, 10, 2))]
    ids, segments = ints(2, 5, high=19, dtype=np.int32), ints(2, 5, high=1, dtype=np.int32)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    inputs = [ids, segments, *tables, reals(8, seed=3), reals(8, seed=4), mask]
    return Fused("EmbedLayerNormalization", inputs, {"epsilon": 1e-6}, (0, 1), (2, 3, 4))


LEFT = np.array([[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0]], np.int32)


def tokens(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def bifurcation(source: np.ndarray, current: np.ndarray, index: int, *predicted: int, **sizes: int) -> Fused:
    inputs = [source, current, tokens(index), *([tokens(*predicted)] if predicted else [])]
    return Fused("BifurcationDetector", inputs, sizes, (0, 1))


SOURCE = tokens(1, 5, 3, 4, 2, 5, 3)
CASES = [
    bifurcation(SOURCE, tokens(9), 0, 1, 5, 3, 4, 2, 5, 3, 7),
    bifurcation(SOURCE, tokens(9), 1, 5, 3, 4, 2, 5, 3, 4),
    bifurcation(SOURCE, tokens(9, 8), 2, 3, 2, 2, 2, 5, 3),
    bifurcation(SOURCE, tokens(4, 2), 7, 5),
    bifurcation(SOURCE, tokens(5, 3), 1),
    bifurcation(SOURCE, tokens(2, 5, 3), 1),
    bifurcation(SOURCE, tokens(2, 5, 3), 1, max_ngram_size=2),
    bifurcation(SOURCE, tokens(9, 4), 1, min_ngram_size=2),
    group_query(5, 0, 5),
    group_query(5, 0, 5, packed=True, scale=0.3),
    group_query(1, 6, 7, do_rotary=1),
    group_query(3, 6, 9, do_rotary=1, rotary_interleaved=1, softcap=5.0),
    group_query(1, 6, 7, room=12, do_rotary=1),
    group_query(5, 0, 5, room=12, do_rotary=1),
    group_query(1, 6, 7, n=3, room=12, do_rotary=1),
    group_query(7, 0, 7, n=2, do_rotary=1),
    group_query(1, 9, 10, local_window_size=4),
    group_query(8, 0, 8, local_window_size=3),
    group_query(2, 5, 7, bias=reals(1, 4, 2, 7, seed=9)),
    group_query(2, 5, 7, smooth_softmax=1),
    group_query(2, 5, 7, sink=reals(4, seed=8), local_window_size=3),
    multi_head(2, 5, 12),
    multi_head(2, 5, 12, keys=7, scale=0.5),
    multi_head(2, 3, 12, past=4, added=reals(36, seed=9)),
    multi_head(2, 3, 12, keys=6, mask=LEFT, bias=reals(2, 2, 3, 6, seed=7)),
    multi_head(2, 5, 12, unidirectional=1),
    packed_heads(),
    packed_heads(keys=True),
    Fused("Attention", [reals(2, 6, 8), reals(8, 24, seed=1), reals(24, seed=2), LEFT], {"num_heads": 2}),
    Fused("Attention", [reals(2, 6, 8), reals(8, 24, seed=1), reals(24, seed=2), np.array([3, 6], np.int32)],
          {"num_heads": 2, "unidirectional": 1}),
    Fused("Attention", [reals(2, 3, 8), reals(8, 24, seed=1), reals(24, seed=2), None, reals(2, 2, 2, 4, 4, seed=3)],
          {"num_heads": 2, "scale": 0.7}, (0, 1)),
    embedding(),
    rotary(2, 5, 16),
    rotary(2, 5, 16, offset=False, interleaved=1),
    rotary(2, 3, 5, 8, offset=False),
    rotary(2, 5, 24, offset=False, num_heads=2, rotary_embedding_dim=8),
    nbits(1, 64, 12, 4, 32),
    nbits(3, 96, 10, 4, 32, "packed", added=True),
    nbits(20, 96, 10, 4, 32, "packed"),
    nbits(2, 100, 8, 4, 16, "packed"),
    nbits(2, 64, 12, 8, 32, "packed"),
    nbits(2, 64, 6, 2, 16, "packed"),
    nbits(2, 64, 6, 4, 16, "floats"),
    Fused("GatherBlockQuantized", [ints(9, 16), ints(2, 3, high=8, dtype=np.int64), reals(9, 2, seed=1)],
          {"bits": 4, "block_size": 16, "gather_axis": 0, "quantize_axis": 1}, weights=(0, 2)),
    Fused("SkipLayerNormalization", [reals(2, 3, 8), reals(2, 3, 8, seed=1), *(reals(8, seed=i) for i in (2, 3, 4))],
          {"epsilon": 1e-4}, (0, 3)),
    Fused("SkipSimplifiedLayerNormalization", [reals(2, 3, 8), reals(2, 3, 8, seed=1), reals(8, seed=2)], {}, (0, 3)),
    Fused("FastGelu", [reals(3, 4), reals(4, seed=1)]),
    Fused("BiasGelu", [reals(3, 4), reals(4, seed=1)]),
    Fused("Gelu", [reals(3, 4)]),
    Fused("QuickGelu", [reals(3, 4)], {"alpha": 1.3}),
    Fused("FusedMatMul", [reals(2, 4, 3), reals(2, 5, 4, seed=1)], {"transA": 1, "transB": 1, "alpha": 0.5}),
    Fused("FusedMatMul", [reals(3, 2, 4), reals(2, 4, 5, seed=1)], {"transBatchA": 1}),
    Fused("FusedConv", [reals(1, 3, 6, 6), reals(4, 3, 3, 3, seed=1), reals(4, seed=2), reals(1, 4, 4, 4, seed=3)],
          {"activation": "Relu"}),
    Fused("FusedConv", [reals(1, 3, 6, 6), reals(4, 3, 3, 3, seed=1)],
          {"activation": "LeakyRelu", "activation_params": [0.2], "pads": [1, 1, 1, 1]}),
    Fused("FusedGemm", [reals(3, 4), reals(4, 5, seed=1), reals(5, seed=2)], {"activation": "Tanh", "alpha": 0.5}),
]  # fmt: skip
BOXES = np.array([[0, 0, 1, 1], [0.2, 0.9, 0.7, 0.1], [-0.2, 0.3, 1.1, 0.8]], np.float32)
TOKENS = np.array([[1, 2, 3, 1, 2, 4, 1, 2], [5, 5, 5, 5, 5, 5, 5, 5], [0, 1, 2, 3, 4, 5, 6, 7]], np.int64)
CASES += [
    Fused("Trilu", [reals(2, 4, 5)], {"upper": 0}),
    Fused("Trilu", [reals(4, 5), number(1, np.int64)], weights=(1,)),
    Fused("Trilu", [ints(3, 3, dtype=np.int64), number(-1, np.int64)], weights=(1,)),
    *(Fused("ExpandDims", [reals(2, 3), number(axis, np.int32)], weights=(1,)) for axis in (0, 1, 2, -1, -3)),
    Fused("Inverse", [reals(3, 3)]),
    Fused("Inverse", [reals(2, 3, 8, 8)], tolerance=2e-4),
    Fused("Inverse", [np.array([[0, 2, 0], [0, 0, 4], [1, 0, 0]], np.float32)]),
    Fused("Inverse", [reals(4, 4) * np.float32(1e-12)], tolerance=1e-4),
    Fused("NhwcMaxPool", [ints(2, 5, 6, 3)], {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}),
    Fused("NhwcMaxPool", [ints(1, 5, 6, 3, low=-90, high=90, dtype=np.int8)],
          {"kernel_shape": [2, 2], "dilations": [2, 1]}),
    Fused("ConvTransposeWithDynamicPads", [reals(1, 2, 4, 4), reals(2, 3, 3, 3, seed=1), np.array([1, 0, 0, 1]),
                                           reals(3, seed=2)], {"strides": [2, 2]}, weights=(2,)),
    Fused("ConvTransposeWithDynamicPads", [reals(1, 2, 4), reals(2, 3, 3, seed=1), np.array([2, 1])],
          {"dilations": [2]}),
    *(Fused("CropAndResize", [reals(2, 3, 7, 9), BOXES, np.array([0, 1, 1], np.int32), np.array(size, np.int32)],
            {"mode": mode, "extrapolation_value": -2.0}, weights=(3,))
      for mode in ("bilinear", "nearest") for size in ([4, 5], [1, 3])),
    *(Fused("NGramRepeatBlock", [TOKENS, reals(3, 9)], {"ngram_size": size}) for size in (1, 2, 3, 9)),
    with_groups(nbits(3, 96, 10, 4, 32), random.permutation(96) // 32),
    shuffled(nbits(3, 96, 10, 4, 32, "packed")),
    shuffled(nbits(1, 64, 10, 8, 16, "packed")),
    shuffled(nbits(20, 64, 6, 2, 16, "packed")),
    with_groups(nbits(2, 100, 8, 4, 16), random.permutation(100) // 16),
    with_groups(nbits(2, 64, 10, 4, 16), ints(64, high=3)),
    *(codes_of_a_table(kind, 3, 50, 7, 16) for kind in (0, 1)),
    *(experts(5, 4, 2, activation) for activation in ("relu", "gelu", "silu", "identity")),
    experts(5, 4, 2, normalize_routing_weights=1, bias=False),
    experts(1, 8, 3, "silu", normalize_routing_weights=1),
    experts(2, 8, 1, bias=False),
    experts(5, 4, 2, "swiglu", 1, activation_alpha=1.7, activation_beta=1.0, swiglu_limit=0.5),
    experts(1, 4, 2, "swiglu", 1),
    *(quantized_experts(4, 3, 2, bits) for bits in (2, 4, 8)),
    *(quantized_experts(4, 3, 2, bits, 32, zeros=True) for bits in (2, 4)),
    # the reference rounds x to bytes where weights of 8 bits are constants
    (wide := quantized_experts(4, 3, 2, 8, 32, zeros=True))._replace(like=wide._replace(weights=())),
    quantized_experts(4, 3, 2, 4, zeros=True),
    quantized_experts(1, 8, 2, 4, 16, normalize_routing_weights=1),
    quantized_experts(1, 8, 2, 4, weights=True),
    quantized_experts(6, 3, 2, 4, weights=True, normalize_routing_weights=1),
    Fused("TransposeMatMul", [reals(2, 4, 3), reals(2, 5, 4, seed=1)], {"transA": 1, "transB": 1, "alpha": 0.5}),
]  # fmt: skip
SCALES = (number(0.02), ints(1, high=200).reshape(()), number(0.03), ints(1, high=200).reshape(()))
A, B = ints(2, 3, 4, 4), ints(1, 3, 1, 4)
C = (number(0.05), number(110, np.uint8))
W = ints(8, 5, low=-60, high=60, dtype=np.int8)  # beyond ±64 the reference may clip sums of two products
QUANTIZED = [
    Fused("QLinearAdd", [A, *SCALES[:2], B, *SCALES[2:], *C], steps=1),
    Fused("QLinearMul", [A, *SCALES[:2], B, *SCALES[2:], *C], steps=1),
    Fused("QLinearWhere", [A > 99, A, *SCALES[:2], B, *SCALES[2:], *C], steps=1, weights=(2, 3, 5, 6, 7, 8)),
    Fused("QLinearSigmoid", [A, *SCALES[:2], number(1 / 256), number(0, np.uint8)], steps=1, weights=(1, 2, 3, 4)),
    Fused("QLinearLeakyRelu", [A, *SCALES[:2], *C], {"alpha": 0.1}, steps=1, weights=(1, 2, 3, 4)),
    Fused("QLinearSoftmax", [A, *SCALES[:2], number(1 / 256), number(0, np.uint8)], {"axis": -1, "opset": 13},
          steps=1, weights=(1, 2, 3, 4)),
    Fused("QLinearGlobalAveragePool", [A, *SCALES[:2], *C], {"channels_last": 0}, steps=1),
    Fused("QLinearAveragePool", [A, *SCALES[:2], *C], {"kernel_shape": [2, 2], "pads": [1, 0, 0, 0]}, steps=1),
    Fused("QLinearConcat", [*C, A, *SCALES[:2], A[:1], *SCALES[2:]], {"axis": 0}, steps=1, weights=(0, 1)),
    Fused("QGemm", [A[0, 0], *SCALES[:2], ints(4, 5), *SCALES[2:], ints(5, dtype=np.int32), *C], {"alpha": 0.5},
          steps=1),
    Fused("QGemm", [A[0, 0], *SCALES[:2], ints(5, 4, low=-60, high=60, dtype=np.int8), reals(5) ** 2,
                    np.zeros(5, np.int8)], {"transB": 1}, weights=(3,)),
    Fused("MatMulIntegerToFloat", [ints(3, 8), W, number(0.1), reals(5) ** 2, number(9, np.uint8), None, reals(5)]),
    Fused("DynamicQuantizeMatMul", [reals(3, 8), W, reals(5) ** 2, np.zeros(5, np.int8), reals(5, seed=2)],
          weights=(1, 2, 3)),
    Fused("DynamicQuantizeMatMul", [reals(2, 3, 8), W.astype(np.uint8), number(0.1), number(7, np.uint8)],
          weights=(1,)),
    Fused("DynamicQuantizeLSTM", [reals(4, 2, 6), ints(1, 6, 20), ints(1, 5, 20), reals(1, 40), None, None, None, None,
                                  np.full(1, 0.002, np.float32), np.full(1, 120, np.uint8),
                                  np.full(1, 0.001, np.float32), np.full(1, 130, np.uint8)],
          {"hidden_size": 5}, (0, 1, 2), weights=(1, 2), tolerance=2e-4),
    Fused("QAttention", [ints(2, 6, 8), ints(8, 24, low=-60, high=60, dtype=np.int8), reals(24), number(0.01),
                         number(0.02), LEFT, number(120, np.uint8), number(0, np.int8)], {"num_heads": 2}),
    Fused("QuantizeLinear", [reals(2, 3), number(0.05), number(9, np.uint8)], steps=0),
    Fused("DequantizeLinear", [A[0, 0], number(0.05), number(9, np.uint8)]),
]  # fmt: skip
CASES += QUANTIZED
WITHOUT_KERNEL_ON_CPU = {
    "SimplifiedLayerNormalization",
    "BiasAdd",
    "BiasSplitGelu",
    "GroupNorm",
    "SkipGroupNorm",
    "RelativePositionBias",
    "GatedRelativePositionBias",
}  # of the reference


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.op)
def test_an_operator_of_onnxruntime_gives_its_results(gpu: Gpu, case: Fused) -> None:
    results = reference(case)
    with Network(case.model(results)) as network:
        found = network.run(case.feeds())
    for index, expected in zip(sorted(case.outputs), results, strict=True):
        ours = found[f"y{index}"]
        if index and case.set_rows is not None:
            ours, expected = ours[:, :, : case.set_rows], expected[:, :, : case.set_rows]
        assert ours.dtype == expected.dtype and ours.shape == expected.shape, index
        if expected.dtype.kind == "f":
            scale = max(float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0)), 1e-6)
            np.testing.assert_allclose(ours, expected, atol=case.tolerance * scale, rtol=0, err_msg=f"output {index}")
        else:
            steps = np.abs(ours.astype(int) - expected.astype(int))
            assert steps.max() <= case.steps, f"output {index}: {ours} and {expected}"


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("skip", ["", "whole", "channels", "flat"])
def test_group_norm_as_its_documentation_says(gpu: Gpu, skip: str, last: int) -> None:
    """The reference has kernels of it for other processors only."""
    x, gain, shift = reals(2, 3, 5, 6), reals(6, seed=1), reals(6, seed=2)
    added = {"whole": reals(2, 3, 5, 6, seed=3), "channels": reals(2, 1, 1, 6, seed=3), "flat": reals(2, 6, seed=3)}
    bias = reals(6, seed=4) if skip == "whole" else None
    total = x.astype(float)
    if skip:
        total = total + (added[skip] if skip != "flat" else added[skip][:, None, None]) + (0 if bias is None else bias)
    groups = total.reshape(2, 15, 3, 2)
    centered = groups - groups.mean((1, 3), keepdims=True)
    normal = (centered / np.sqrt((centered**2).mean((1, 3), keepdims=True) + 1e-3)).reshape(x.shape) * gain + shift
    expected = normal / (1 + np.exp(-normal)) if last else normal

    def laid_out(array: np.ndarray) -> np.ndarray:
        return array if last or array.ndim < 4 else np.ascontiguousarray(array.transpose(0, 3, 1, 2))

    inputs = [
        laid_out(x),
        gain,
        shift,
        *([laid_out(added[skip])] if skip else []),
        *([bias] if bias is not None else []),
    ]
    attributes = {"groups": 3, "epsilon": 1e-3, "activation": last, "channels_last": last}
    case = Fused("SkipGroupNorm" if skip else "GroupNorm", inputs, attributes, (0, 1) if skip else (0,))
    with Network(case.model([laid_out(x), laid_out(x)][: len(case.outputs)])) as network:
        found = network.run(case.feeds())
    np.testing.assert_allclose(found["y0"], laid_out(expected), atol=1e-5)
    if skip:
        np.testing.assert_allclose(found["y1"], laid_out(total), atol=1e-6)


def t5_bucket(distance: int, count: int, most: int, both: bool) -> int:
    """As the program of T5's authors has it; `distance` is that of the key from the query."""
    first = count // 2 if both and distance > 0 else 0
    count, distance = (count // 2, abs(distance)) if both else (count, max(-distance, 0))
    exact = count // 2
    if distance < exact:
        return first + distance
    grown = np.log(np.float32(distance / exact)) / np.log(np.float32(most / exact)) * (count - exact)
    return first + min(exact + int(grown), count - 1)


@pytest.mark.parametrize(("both", "buckets", "most"), [(0, 8, 20), (1, 8, 20), (1, 32, 128), (0, 32, 128)])
def test_bias_of_relative_positions_as_in_t5(gpu: Gpu, both: int, buckets: int, most: int) -> None:
    """The reference has a kernel of it for other processors only; its table is stored column after column."""
    table, length = reals(3, buckets), np.array([150])
    inputs = [table.reshape(buckets, 3), length, length]
    expected = np.array([[t5_bucket(k - q, buckets, most, bool(both)) for k in range(150)] for q in range(150)])
    case = Fused("RelativePositionBias", inputs, {"max_distance": most, "is_bidirectional": both})
    with Network(case.model([np.zeros((1, 3, 150, 150), np.float32)])) as network:
        np.testing.assert_array_equal(network.run(case.feeds())["y0"][0], table[:, expected])


def test_gated_bias_of_relative_positions_as_its_documentation_says(gpu: Gpu) -> None:
    x, shift, distances = reals(2, 5, 12), reals(12, seed=1), reals(1, 3, 5, 5, seed=2)
    weight, bias, factor = reals(4, 8, seed=3), reals(8, seed=4), reals(1, 3, 1, 1, seed=5)
    query = (x + shift).reshape(2, 5, 3, 4).transpose(0, 2, 1, 3).astype(float)
    gates = 1 / (1 + np.exp(-(query @ weight + bias).reshape(2, 3, 5, 2, 4).sum(-1)))
    expected = (gates[..., :1] * (gates[..., 1:] * factor - 1) + 2) * distances
    case = Fused("GatedRelativePositionBias", [x, shift, distances, weight, bias, factor], {"num_heads": 3})
    with Network(case.model([expected.astype(np.float32)])) as network:
        np.testing.assert_allclose(network.run(case.feeds())["y0"], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [0, 1])
def test_codes_of_a_table_the_other_way_round(gpu: Gpu, kind: int) -> None:
    """x W instead of x Wᵀ, of which the reference gives numbers of memory that was not written."""
    plain = codes_of_a_table(kind, 1, 12, 7, 16)
    _, codes, scales = plain.inputs
    identity, x = np.eye(12, dtype=np.float32), reals(3, 7)
    (weights,) = reference(plain._replace(inputs=[identity, codes, scales]))
    other = plain._replace(inputs=[x, codes, scales], attributes={**plain.attributes, "transB": 0})
    with Network(other.model()) as network:
        np.testing.assert_allclose(network.run({"x0": x})["y0"], x @ weights.T, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("fusion", [0, 2])
def test_gates_and_values_of_experts_in_two_layers_or_halves(gpu: Gpu, fusion: int) -> None:
    """The reference has them as neighbors only."""
    case = experts(3, 4, 2, "swiglu", 1, activation_beta=1.0)
    x, scores, first, shift, *rest = case.inputs
    assert first is not None and shift is not None
    halves = [np.concatenate([one[:, 0::2], one[:, 1::2]], 1) for one in (first, shift)]
    inputs = [x, scores, *halves, *rest]
    if fusion == 0:
        inputs = [x, scores, *(one[:, :32] for one in halves), *rest, *(one[:, 32:] for one in halves)]
    (expected,) = reference(case)
    with Network(
        case._replace(inputs=inputs, attributes={**case.attributes, "swiglu_fusion": fusion}).model([expected])
    ) as n:
        found = n.run({f"x{i}": one for i, one in enumerate(inputs)})["y0"]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_every_operator_has_a_case() -> None:
    lowered = {op for domain, op in LOWERINGS if domain == DOMAIN}
    assert lowered - {case.op for case in CASES} == WITHOUT_KERNEL_ON_CPU


@pytest.mark.parametrize("domain", ["", DOMAIN])
def test_rms_norm_of_onnxruntime_in_either_domain(domain: str, gpu: Gpu) -> None:
    """Its exporters leave the domain out, also within a branch; the reference is NumPy: it has no kernel of it here."""
    x, gain = reals(2, 3, 8), reals(8, seed=1)
    norm = helper.make_node("SimplifiedLayerNormalization", ["x", "gain"], ["y"], axis=-1, epsilon=1e-4, domain=domain)
    result = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, x.shape)
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "other", [], [result])
    branch = helper.make_graph([norm], "branch", [], [result])
    node = helper.make_node("If", ["on"], ["y"], then_branch=branch, else_branch=other)
    inputs = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)]
    constants = [numpy_helper.from_array(gain, "gain"), numpy_helper.from_array(np.array(True), "on")]
    opsets = [helper.make_opsetid("", 20), *([helper.make_opsetid(domain, 1)] if domain else [])]
    for nodes in ([norm], [node]):
        graph = helper.make_graph(nodes, "norm", inputs, [result], constants)
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        with Network(model) as network:
            found = network.run({"x": x})["y"]
        expected = x / np.sqrt((x.astype(float) ** 2).mean(-1, keepdims=True) + 1e-4) * gain
        np.testing.assert_allclose(found, expected, atol=1e-6)

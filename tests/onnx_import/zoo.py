"""Twelve networks of different kinds, with weights from fixed seeds, built by `make(name)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, HALF, INT64 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64


class Builder:
    """A graph that grows node by node. In half precision, weights and inputs of real numbers are f16."""

    def __init__(self, half: bool = False):
        self.elem, self.dtype = (HALF, np.float16) if half else (FLOAT, np.float32)
        self.random = np.random.default_rng(7)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: Sequence[int | str], elem: int | None = None) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, elem or self.elem, list(shape)))
        return name

    def constant(self, array: Any) -> str:
        array = np.asarray(array)
        return self.exactly(array.astype(self.dtype) if array.dtype.kind == "f" else array)

    def exactly(self, array: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, *shape: int, scale: float | None = None) -> str:
        fan = np.prod(shape[1:]) if len(shape) > 1 else 1
        return self.constant(self.random.standard_normal(shape) * (scale or 1.0 / np.sqrt(max(fan, 1))))

    def around(self, value: float, *shape: int) -> str:
        return self.constant(value + 0.1 * self.random.standard_normal(shape))

    def add(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def output(self, value: str, name: str, rank: int, elem: int | None = None) -> None:
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(
            helper.make_tensor_value_info(name, elem or self.elem, [f"{name}_{i}" for i in range(rank)])
        )

    def model(self, opset: int = 20) -> onnx.ModelProto:
        graph = helper.make_graph(self.nodes, "zoo", self.inputs, self.outputs, self.weights)
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
        onnx.checker.check_model(proto)
        return proto

    # parts ------------------------------------------------------------------------------------------------------

    def conv(self, x: str, into: int, out: int, size: int = 3, bias: bool = True, **attributes: Any) -> str:
        groups = attributes.get("group", 1)
        attributes.setdefault("pads", [size // 2] * 4)
        weights = [self.weight(out, into // groups, size, size)] + ([self.weight(out, scale=0.1)] if bias else [])
        return self.add("Conv", x, *weights, kernel_shape=[size, size], **attributes)

    def batch_norm(self, x: str, channels: int) -> str:
        around = [self.around(v, channels) for v in (1.0, 0.0, 0.0)]
        return self.add("BatchNormalization", x, *around, self.constant(self.random.uniform(0.5, 1.5, channels)))

    def dense(self, x: str, into: int, out: int) -> str:
        return self.add("Add", self.add("MatMul", x, self.weight_in(into, out)), self.weight(out, scale=0.1))

    def weight_in(self, into: int, out: int) -> str:
        return self.constant(self.random.standard_normal((into, out)) / np.sqrt(into))

    def layer_norm(self, x: str, width: int) -> str:
        return self.add("LayerNormalization", x, self.around(1.0, width), self.around(0.0, width), axis=-1)

    def heads(self, x: str, count: int, width: int, rows: Sequence[int]) -> str:
        split = self.add("Reshape", x, self.constant(np.array([*rows, count, width // count])))
        return self.add("Transpose", split, perm=[0, 2, 1, 3])

    def attention(self, q: str, k: str, v: str, width: int, mask: str | None = None) -> str:
        scores = self.add("MatMul", q, self.add("Transpose", k, perm=[0, 1, 3, 2]))
        scores = self.add("Mul", scores, self.constant(np.array(1.0 / np.sqrt(width))))
        if mask is not None:
            scores = self.add("Add", scores, mask)
        return self.add("MatMul", self.add("Softmax", scores, axis=-1), v)

    def merged(self, x: str, width: int, rows: Sequence[int]) -> str:
        flat = self.add("Transpose", x, perm=[0, 2, 1, 3])
        return self.add("Reshape", flat, self.constant(np.array([*rows, width])))


def residual_cnn(b: Builder) -> None:
    x = b.add("Relu", b.batch_norm(b.conv(b.input("image", ["n", 3, "h", "w"]), 3, 16, bias=False), 16))
    for stride in (1, 2):
        y = b.add("Relu", b.batch_norm(b.conv(x, 16, 16, bias=False, strides=[stride] * 2), 16))
        y = b.batch_norm(b.conv(y, 16, 16, bias=False), 16)
        short = x if stride == 1 else b.conv(x, 16, 16, 1, strides=[2, 2], pads=[0] * 4)
        x = b.add("Relu", b.add("Add", y, short))
    x = b.add("Flatten", b.add("GlobalAveragePool", x))
    b.output(b.add("Gemm", x, b.weight(10, 16), b.weight(10, scale=0.1), transB=1), "logits", 2)


def u_net(b: Builder) -> None:
    x = b.add("Relu", b.conv(b.input("image", ["n", 1, "h", "w"]), 1, 8))
    down = b.add("Relu", b.conv(b.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), 8, 16))
    bottom = b.add("LeakyRelu", b.conv(down, 16, 16, dilations=[2, 2], pads=[2] * 4), alpha=0.1)
    up = b.add(
        "ConvTranspose", bottom, b.weight(16, 8, 2, 2, scale=0.2), b.weight(8), kernel_shape=[2, 2], strides=[2, 2]
    )
    concatenated = b.add("Concat", up, x, axis=1)
    b.output(b.add("Sigmoid", b.conv(concatenated, 16, 1)), "mask", 4)


def mobile_net(b: Builder) -> None:
    x = b.add("HardSwish", b.conv(b.input("image", ["n", 3, "h", "w"]), 3, 16, strides=[2, 2]))
    wide = b.add("Clip", b.conv(x, 16, 48, 1), b.constant(np.array(0.0)), b.constant(np.array(6.0)))
    deep = b.add("HardSwish", b.batch_norm(b.conv(wide, 48, 48, 5, group=48), 48))
    squeezed = b.add("Relu", b.conv(b.add("GlobalAveragePool", deep), 48, 12, 1))
    gate = b.add("HardSigmoid", b.conv(squeezed, 12, 48, 1), alpha=1 / 6, beta=0.5)
    narrow = b.conv(b.add("Mul", deep, gate), 48, 16, 1)
    x = b.add("Add", narrow, x)
    b.output(b.add("ReduceMean", x, b.constant(np.array([2, 3])), keepdims=0), "features", 2)


def vision_transformer(b: Builder) -> None:
    width, heads = 32, 4
    patches = b.conv(b.input("image", ["n", 3, 32, 32]), 3, width, 8, strides=[8, 8], pads=[0] * 4)
    x = b.add("Transpose", b.add("Reshape", patches, b.constant(np.array([0, width, -1]))), perm=[0, 2, 1])
    x = b.add("Add", x, b.weight(1, 16, width, scale=0.3))
    for _ in range(2):
        normed = b.layer_norm(x, width)
        q, k, v = (b.heads(b.dense(normed, width, width), heads, width, (0, 0)) for _ in range(3))
        x = b.add("Add", x, b.dense(b.merged(b.attention(q, k, v, width // heads), width, (0, 0)), width, width))
        hidden = b.add("Gelu", b.dense(b.layer_norm(x, width), width, 4 * width))
        x = b.add("Add", x, b.dense(hidden, 4 * width, width))
    b.output(b.dense(b.add("ReduceMean", x, b.constant(np.array([1])), keepdims=0), width, 10), "logits", 2)


def gpt_block(b: Builder) -> None:
    """Token ids, and the keys and values of the tokens before them."""
    width, heads, words = 32, 4, 50
    ids = b.input("ids", ["n", "t"], INT64)
    past = [b.input(name, ["n", heads, "p", width // heads]) for name in ("past_k", "past_v")]
    new = b.add("Shape", ids, start=1, end=2)
    before = b.add("Shape", past[0], start=2, end=3)
    total = b.add("Add", before, new)
    one, zero = b.constant(np.array(1)), b.constant(np.array(0))
    scalar = b.constant(np.array([0]))
    positions = b.add("Range", b.add("Squeeze", before, scalar), b.add("Squeeze", total, scalar), one)
    x = b.add("Gather", b.weight(words, width, scale=1.0), ids)
    x = b.add("Add", x, b.add("Gather", b.weight(64, width, scale=0.3), positions))
    normed = b.layer_norm(x, width)
    q, k, v = b.add("Split", b.dense(normed, width, 3 * width), outputs=3, axis=2, num_outputs=3)
    q, k, v = (b.heads(part, heads, width, (0, 0)) for part in (q, k, v))
    k, v = b.add("Concat", past[0], k, axis=2), b.add("Concat", past[1], v, axis=2)
    keys = b.add("Range", zero, b.add("Squeeze", total, scalar), one)
    visible = b.add("LessOrEqual", keys, b.add("Unsqueeze", positions, b.constant(np.array([1]))))
    mask = b.add("Where", visible, b.constant(np.array(0.0)), b.constant(np.array(-1e4)))
    mixed = b.merged(b.attention(q, k, v, width // heads, mask), width, (0, 0))
    x = b.add("Add", x, b.dense(mixed, width, width))
    hidden = b.dense(b.layer_norm(x, width), width, 4 * width)
    x = b.add("Add", x, b.dense(b.add("Gelu", hidden, approximate="tanh"), 4 * width, width))
    b.output(b.add("LogSoftmax", b.dense(x, width, words), axis=-1), "log_p", 3)
    b.output(k, "present_k", 4)
    b.output(v, "present_v", 4)


def lstm(b: Builder) -> None:
    x = b.input("x", ["t", "n", 6])
    constants = [b.weight(2, 4 * 8, 6), b.weight(2, 4 * 8, 8), b.weight(2, 8 * 8, scale=0.2)]
    y, h, c = b.add("LSTM", x, *constants, outputs=3, hidden_size=8, direction="bidirectional")
    b.output(y, "y", 4)
    b.output(h, "h", 3)
    b.output(c, "c", 3)


def gru(b: Builder) -> None:
    x, start = b.input("x", ["t", "n", 6]), b.input("start", [1, "n", 8])
    constants = [b.weight(1, 3 * 8, 6), b.weight(1, 3 * 8, 8), b.weight(1, 6 * 8, scale=0.2)]
    y, h = b.add("GRU", x, *constants, "", start, outputs=2, hidden_size=8, linear_before_reset=1)
    b.output(y, "y", 4)
    b.output(b.add("Tanh", b.dense(b.add("Squeeze", h, b.constant(np.array([0]))), 8, 3)), "last", 2)


def point_net(b: Builder) -> None:
    points = b.input("points", ["n", "points", 3])
    local = b.add("Relu", b.dense(points, 3, 32))
    wide = b.add("Relu", b.dense(local, 32, 64))
    whole = b.add("ReduceMax", wide, b.constant(np.array([1])), keepdims=1)
    spread = b.add("Expand", whole, b.add("Shape", wide))
    concatenated = b.add("Concat", local, spread, axis=2)
    b.output(b.dense(b.add("Relu", b.dense(concatenated, 96, 32)), 32, 5), "labels", 3)


def vae_decoder(b: Builder) -> None:
    x = b.add("Selu", b.add("Gemm", b.input("z", ["n", 8]), b.weight_in(8, 16 * 16), b.weight(256, scale=0.1)))
    x = b.add("Reshape", x, b.constant(np.array([-1, 16, 4, 4])))
    for into, out in ((16, 8), (8, 3)):
        x = b.add(
            "ConvTranspose",
            x,
            b.weight(into, out, 3, 3, scale=0.3),
            b.weight(out, scale=0.1),
            kernel_shape=[3, 3],
            strides=[2, 2],
            pads=[1] * 4,
            output_padding=[1, 1],
        )
        x = b.add("Elu", x) if out == 8 else b.add("Sigmoid", x)
    b.output(x, "image", 4)


def siren(b: Builder) -> None:
    x = b.input("points", ["n", 3])
    for into, out in ((3, 64), (64, 64), (64, 64)):
        x = b.add("Sin", b.add("Mul", b.dense(x, into, out), b.constant(np.array(3.0))))
    b.output(b.dense(x, 64, 1), "distance", 2)


def graph_convolution(b: Builder) -> None:
    """Messages along edges, summed at their targets."""
    features, edges = b.input("features", ["nodes", 8]), b.input("edges", [2, "edges"], INT64)
    source, target = (b.add("Gather", edges, b.constant(np.array(index)), axis=0) for index in range(2))
    x = features
    for into, out in ((8, 16), (16, 4)):
        messages = b.add("Gather", b.dense(x, into, out), source, axis=0)
        own = b.dense(x, into, out)
        positions = b.add("Unsqueeze", target, b.constant(np.array([1])))
        x = b.add("Tanh", b.add("ScatterND", own, positions, messages, reduction="add"))
    b.output(x, "embedding", 2)


def style_network(b: Builder) -> None:
    image = b.input("image", ["n", 3, "h", "w"])

    def padded(x: str, width: int) -> str:
        return b.add("Pad", x, b.constant(np.array([0, 0, width, width] * 2)), mode="reflect")

    def normed(x: str, channels: int) -> str:
        return b.add("InstanceNormalization", x, b.around(1.0, channels), b.around(0.0, channels))

    x = b.add("Relu", normed(b.conv(padded(image, 2), 3, 8, 5, pads=[0] * 4), 8))
    x = b.add("Relu", normed(b.conv(padded(x, 1), 8, 16, pads=[0] * 4, strides=[2, 2]), 16))
    x = b.add("Add", x, normed(b.conv(padded(x, 1), 16, 16, pads=[0] * 4), 16))
    doubled = b.exactly(np.array([1, 1, 2, 2], np.float32))
    how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    x = b.add("Resize", x, "", doubled, **how)
    b.output(b.add("Tanh", b.conv(padded(x, 2), 16, 3, 5, pads=[0] * 4)), "styled", 4)


KINDS: Mapping[str, Callable[[Builder], None]] = {
    function.__name__: function
    for function in (
        residual_cnn, u_net, mobile_net, vision_transformer, gpt_block, lstm, gru, point_net, vae_decoder, siren,
        graph_convolution, style_network,
    )
}  # fmt: skip


def make(name: str, half: bool = False) -> onnx.ModelProto:
    builder = Builder(half)
    KINDS[name](builder)
    return builder.model()


def inputs(name: str, seed: int, half: bool = False) -> dict[str, np.ndarray]:
    """Inputs of sizes that differ from seed to seed."""
    random = np.random.default_rng(seed)
    n, h, w = random.integers(1, 4), 8 * random.integers(2, 5), 8 * random.integers(2, 5)
    t, p = random.integers(1, 6), random.integers(1, 7)

    def reals(*shape: int) -> np.ndarray:
        return random.standard_normal(shape).astype(np.float16 if half else np.float32)

    match name:
        case "residual_cnn" | "mobile_net" | "style_network":
            return {"image": reals(n, 3, h, w)}
        case "u_net":
            return {"image": reals(n, 1, h, w)}
        case "vision_transformer":
            return {"image": reals(n, 3, 32, 32)}
        case "gpt_block":
            past = {key: reals(n, 4, p, 8) for key in ("past_k", "past_v")}
            return {"ids": random.integers(0, 50, (n, t)), **past}
        case "lstm":
            return {"x": reals(t, n, 6)}
        case "gru":
            return {"x": reals(t, n, 6), "start": reals(1, n, 8)}
        case "point_net":
            return {"points": reals(n, 16 * p, 3)}
        case "vae_decoder":
            return {"z": reals(n, 8)}
        case "siren":
            return {"points": reals(100 * p, 3)}
        case _:
            return {"features": reals(9, 8), "edges": random.integers(0, 9, (2, 10 * p))}

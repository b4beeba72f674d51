"""Gather, scatter, padding and constants."""

from __future__ import annotations

import math

import numpy as np
from onnx import TensorProto, numpy_helper
from onnx.helper import tensor_dtype_to_np_dtype

from ... import ops
from ...errors import InputError
from ...tensor import Tensor
from ..node import Node, Refused, storage_of
from ..registry import lowers, lowers_to
from ..valid import require_valid
from ..values import Value, constant

MOST_NUMBERS = 1 << 28  # of a range, which is created on the host


@lowers("Constant")
def constants(node: Node) -> Value:
    attributes = {name: node.attribute(name) for name in ("value_float", "value_int", "value_floats", "value_ints")}
    for name, value in attributes.items():
        if value is not None:
            return constant(np.array(value, np.float32 if "float" in name else np.int64))
    sparse, tensor = node.attribute("sparse_value"), node.attribute("value")
    if sparse is not None:
        return constant(node.trace.dense(sparse), sparse.values.data_type)
    if tensor is None:
        raise Refused("a constant of text")
    return constant(numpy_helper.to_array(tensor), tensor.data_type)


@lowers("ConstantOfShape")
def constant_of_shape(node: Node) -> Value:
    fill = node.attribute("value")
    if fill is not None:
        node.require_32_bits(numpy_helper.to_array(fill), fill.data_type)
    value = numpy_helper.to_array(fill).reshape(-1)[0] if fill is not None else np.float32(0)
    elem = fill.data_type if fill is not None else TensorProto.FLOAT
    tensor = ops.full(node.ints(0), value.item(), storage_of(elem))
    return node.result(tensor, elem, abs(int(value)) if np.isfinite(value) else None)


@lowers("Range")
def arange(node: Node) -> Value:
    start, limit, step = (node.host(i).reshape(-1)[0] for i in range(3))
    require_valid(node)  # which needs the numbers
    steps = (limit - start) / step
    if not math.isfinite(steps) or steps > MOST_NUMBERS:
        raise InputError(f"{node}: {steps:.4g} numbers from {start} to {limit}; at most {MOST_NUMBERS:,} are created")
    count = max(math.ceil(steps), 0)
    index = node.upload(np.arange(count, dtype=storage_of(node.elem()).numpy))
    result = ops.add(ops.multiply(index, step.item()), start.item())
    reach = abs(int(start)) + count * abs(math.ceil(step))
    return node.result(result, bound=node.require_word(reach))


lowers_to("Gather", ops.take, selects=True, axis="axis")
lowers_to("GatherND", ops.gather_nd, selects=True, batch_axes="batch_dims")


@lowers("GatherElements")
def gather_elements(node: Node) -> Value:
    """Where the indices are shorter than the data along another axis, they are of the first rows there."""
    axis, sizes = node.axis(0), node.shape(1)
    data = node.tensor(0)[tuple(slice(n if a != axis else None) for a, n in enumerate(sizes))]
    result = ops.take_along_axis(data, node.tensor(1), axis)
    return node.result(result, bound=node.value(0).bound)


@lowers("ScatterElements", "Scatter")
def scatter_elements(node: Node) -> Value:
    axis = node.axis(0)
    how, bound = _reduction(node, node.shape(1)[axis])
    return node.result(ops.scatter_elements(node.tensor(0), node.tensor(1), node.tensor(2), axis, how), bound=bound)


@lowers("ScatterND")
def scatter_nd(node: Node) -> Value:
    how, bound = _reduction(node, math.prod(node.shape(1)[:-1]))
    return node.result(ops.scatter_nd(node.tensor(0), node.tensor(1), node.tensor(2), how), bound=bound)


def _reduction(node: Node, count: int) -> tuple[str, int | None]:
    """The reduction, and the bound of the result if up to `count` updates may have the same index."""
    how = node.attribute("reduction", "none")
    if how == "add":
        data, updates = node.bounds(0, 2)
        return "add", node.require_word(data + count * updates)
    if how == "mul":
        data, updates = node.bounds(0, 2)
        return "mul", node.require_word(data * max(updates, 1) ** min(count, 64))  # 2 ** 64 is too large anyway
    return how, None


@lowers("TensorScatter")
def tensor_scatter(node: Node) -> Value:
    """New rows written into a cache, at an offset of each batch member's own."""
    axis, circular = node.axis(-2), node.attribute("mode", "linear") == "circular"
    sizes, update = node.shape(), node.shape(1)
    first = node.optional(2)
    steps = np.arange(update[axis], dtype=np.int32).reshape([-1 if a == axis else 1 for a in range(len(sizes))])
    if first is None:
        positions = ops.add(Tensor.from_numpy(np.broadcast_to(steps, update).copy()), 0)
    else:
        start = first.reshape(-1, *[1] * (len(sizes) - 1))
        positions = ops.add(start.expand(*update), steps)
    positions = ops.remainder(positions, sizes[axis]) if circular else positions
    return node.result(ops.scatter_elements(node.tensor(0), positions, node.tensor(1), axis))


@lowers("OneHot")
def one_hot(node: Node) -> Value:
    depth, axis, rank = node.ints(1)[0], node.attribute("axis", -1), len(node.shape()) + 1
    axis %= rank
    index = node.tensor(0)
    whole = ops.cast(index, "i32") if index.dtype.is_real else index
    whole = ops.where(ops.less(whole, 0), ops.add(whole, depth), whole)
    sizes = list(node.shape())
    spread = whole.reshape(*sizes[:axis], 1, *sizes[axis:])
    classes = np.arange(depth, dtype=whole.dtype.numpy).reshape([-1 if a == axis else 1 for a in range(rank)])
    values = node.tensor(2)
    result = ops.where(ops.equal(spread, classes), values[1], values[0])
    return node.result(result, node.elem(2), node.value(2).bound)


@lowers("EyeLike")
def eye_like(node: Node) -> Value:
    elem = node.attribute("dtype") or node.elem()
    rows, columns = node.shape()
    eye = np.eye(rows, columns, node.attribute("k", 0), storage_of(elem).numpy)
    return Value(elem, host=eye.astype(tensor_dtype_to_np_dtype(elem)), sources=node.sources, bound=1)


@lowers("Trilu")
def triangle(node: Node) -> Value:
    k = node.ints(1)[0] if node.has(1) else 0
    function = ops.triu if node.attribute("upper", 1) else ops.tril
    return node.result(function(node.tensor(0), k), bound=node.value(0).bound)


@lowers("Tile")
def tile(node: Node) -> Value:
    return node.result(ops.tile(node.tensor(0), node.ints(1)), bound=node.value(0).bound)


@lowers("Pad")
def pad(node: Node) -> Value:
    mode, rank = node.attribute("mode", "constant"), len(node.shape())
    pads = node.axes(1, "pads")
    if pads is None:
        raise InputError(f"{node}: no pads are given")
    if node.has(2):
        node.require_32_bits(node.host(2), node.elem(2))
    value = node.scalar(2, 0.0) if node.has(2) else node.attribute("value", 0.0)
    axes = [axis % rank for axis in node.ints(3)] if node.has(3) else list(range(rank))
    if len(pads) != 2 * len(axes):
        raise InputError(f"{node}: {len(pads)} pads for {len(axes)} axes")
    widths = [(0, 0)] * rank
    for at, axis in enumerate(axes):
        widths[axis] = (pads[at], pads[at + len(axes)])
    bound = max(node.value(0).bound, abs(int(value)) if math.isfinite(value) else 0)
    return node.result(ops.pad(node.tensor(0), widths, mode, value), bound=bound)


@lowers("TopK")
def top_k(node: Node) -> list[Value]:
    k, axis, largest = top_k_of(node)
    values, indices = ops.topk(node.tensor(0), k, axis, largest=largest)
    positions = node.result(indices, TensorProto.INT64, node.shape()[axis])
    return [node.result(values, bound=node.value(0).bound), positions]


def top_k_of(node: Node) -> tuple[int, int, bool]:
    """How many a TopK takes, along which axis, and whether the largest. Raises `InputError` if there are too few."""
    k, axis = node.ints(1)[0] if node.has(1) else node.attribute("k"), node.axis(-1)
    node.ignore("sorted")  # 0 allows any order
    if not 0 <= k <= node.shape()[axis]:
        raise InputError(f"{node}: {k} of {node.shape()[axis]} elements along axis {axis}")
    return k, axis, bool(node.attribute("largest", 1))


@lowers("BlackmanWindow", "HammingWindow", "HannWindow")
def window(node: Node) -> Value:
    """A sum of cosines over as many points as the input, which is a constant of its own."""
    size, elem = node.ints(0)[0], node.attribute("output_datatype", TensorProto.FLOAT)
    storage_of(elem)
    weights = {"BlackmanWindow": (0.42, 0.5, 0.08), "HammingWindow": (25 / 46, 21 / 46), "HannWindow": (0.5, 0.5)}
    steps = size if node.attribute("periodic", 1) else max(size - 1, 1)
    points = np.arange(size, dtype=np.float64 if elem == TensorProto.DOUBLE else np.float32)
    angle = ops.multiply(node.upload(points), 2.0 * math.pi / steps)
    result = ops.multiply(ops.cos(angle), -weights[node.op][1])
    for order, weight in enumerate(weights[node.op][2:], 2):
        result = ops.add(result, ops.multiply(ops.cos(ops.multiply(angle, float(order))), weight))
    return node.result(ops.add(result, weights[node.op][0]), elem)

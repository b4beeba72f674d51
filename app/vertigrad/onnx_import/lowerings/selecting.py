"""Selections whose number is known only once the GPU has made it: that number alone is read back."""

from __future__ import annotations

import math

import numpy as np
from onnx import TensorProto

from ... import ops
from ...ops.boxes import roi_align, suppress_overlaps
from ...tensor import Tensor, f32, i32
from ..node import Node
from ..registry import lowers
from ..values import Value
from .shaping import reshaped


def positions(node: Node, mask: Tensor) -> Tensor:
    """Indices (found, axes) of the elements that are not 0. Their number is read back."""
    if not mask.size:
        return ops.zeros((0, mask.ndim), i32)
    indices, count = ops.nonzero(mask)
    return indices[: _number(node, count)]


def _number(node: Node, count: Tensor) -> int:
    return int(node.read(count, TensorProto.UINT32, "how many elements it selects").reshape(-1)[0])


@lowers("NonZero")
def nonzero(node: Node) -> Value:
    return indices_of_nonzero(node, node.tensor(0))


def indices_of_nonzero(node: Node, x: Tensor) -> Value:
    """As ONNX has them: an axis of the indices for each axis of `x`, and one for each element found."""
    found = positions(node, x if x.ndim else x.reshape(1))
    return node.result(found.T, TensorProto.INT64, max([1, *x.shape]))


@lowers("Compress")
def compress(node: Node) -> Value:
    """Slices where a condition holds; how many there are is read back if only the GPU has the condition."""
    x, axis = node.tensor(0), node.attribute("axis")
    if axis is None:
        x, axis = reshaped(x, (x.size,)), 0
    condition = node.value(1)
    if condition.host is not None:
        selected = np.flatnonzero(condition.host).astype(np.int32)
    else:
        selected = positions(node, reshaped(node.tensor(1), (-1,)))[:, 0]
    return node.result(picked(x, selected, axis), bound=node.value(0).bound)


def picked(x: Tensor, indices: Tensor | np.ndarray, axis: int) -> Tensor:
    if indices.size:
        return ops.take(x, indices, axis=axis)
    axis %= x.ndim
    return ops.zeros((*x.shape[:axis], 0, *x.shape[axis + 1 :]), x.dtype)


@lowers("Unique")
def unique(node: Node) -> list[Value]:
    """The different numbers, where each is first, which one each number is, and how often it occurs.

    Slices along an axis are compared on the host: all of them are read back.
    """
    if node.attribute("axis") is not None:
        return _unique_slices(node)
    x = node.tensor(0)
    flat = reshaped(x, (x.size,))
    keys = flat if flat.dtype.kind != "bool" and flat.itemsize >= 4 else ops.cast(flat, f32)
    ranked, order = ops.sort_pairs(keys)
    first, results = groups(node, order, ops.not_equal(ranked[1:], ranked[:-1]))
    return [node.result(picked(flat, first, 0), bound=node.value(0).bound), *results]


def groups(node: Node, order: Tensor, differs: Tensor) -> tuple[Tensor, list[Value]]:
    """Of elements that `order` sorts: where each number is first, as a tensor; and that, which one each element is, and
    how often it occurs, as values. `differs`: whether a sorted element differs from the one before.
    """
    first = which = counts = ops.zeros(0, i32)
    in_order = node.attribute("sorted", 1)
    if order.size:
        begins = ops.concatenate([ops.ones(1, "bool"), differs], 0)
        group = ops.subtract(ops.cumsum(ops.cast(begins, i32), 0), 1)
        starts = positions(node, begins)[:, 0]
        first = ops.take(order, starts, axis=0)
        ends = ops.concatenate([starts[1:], node.upload(np.array([order.size], np.int32))], 0)
        counts = ops.subtract(ends, starts)
        which = ops.scatter_elements(ops.zeros(order.size, i32), order, group, 0)
        if not in_order:
            by_first = ops.argsort(first)
            first, counts = (ops.take(part, by_first, axis=0) for part in (first, counts))
            which = ops.take(ops.argsort(by_first), which, axis=0)
    bound = max(order.size, 1)
    return first, [node.result(part, TensorProto.INT64, bound) for part in (first, which, counts)]


def _unique_slices(node: Node) -> list[Value]:
    array, axis = node.host(0), node.axis(0)
    values, first, which, counts = np.unique(
        array, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    which = which.reshape(-1)
    if not node.attribute("sorted", 1):
        by_first = np.argsort(first)
        values, first, counts = values.take(by_first, axis), first[by_first], counts[by_first]
        which = np.argsort(by_first)[which]
    results = [Value(node.elem(), host=values, sources=node.sources, bound=node.value(0).bound)]
    for part in (first, which, counts):
        results.append(Value(TensorProto.INT64, host=part.astype(np.int64), sources=node.sources, bound=array.size))
    return results


@lowers("NonMaxSuppression")
def non_max_suppression(node: Node) -> Value:
    """Rows (image, class, box), by image, class and falling score. Their number is read back."""
    boxes, scores = node.tensor(0), node.tensor(1)
    images, classes, count = scores.shape
    order, chosen = suppress_overlaps(
        ops.cast(boxes, f32),
        ops.cast(scores, f32),
        most=int(min(max(node.scalar(2, 0), 0), count)),
        overlap=node.scalar(3, 0.0),
        least=node.scalar(4, -math.inf),
        centers=bool(node.attribute("center_point_box", 0)),
    )
    rows = positions(node, chosen)
    if rows.shape[0]:
        at = ops.fused(lambda i, c, k: (i * classes + c) * count + k, *(rows[:, axis] for axis in range(3)))
        box = ops.take(reshaped(order, (order.size,)), at, axis=0)
        rows = ops.concatenate([rows[:, :2], box.reshape(-1, 1)], 1)
    return node.result(rows, TensorProto.INT64, max(images, classes, count))


@lowers("RoiAlign")
def roi_alignment(node: Node) -> Value:
    mode = node.attribute("coordinate_transformation_mode", "half_pixel" if node.version >= 16 else "output_half_pixel")
    result = roi_align(
        node.tensor(0),
        node.tensor(1),
        node.tensor(2),
        (node.attribute("output_height", 1), node.attribute("output_width", 1)),
        samples=node.attribute("sampling_ratio", 0),
        scale=node.attribute("spatial_scale", 1.0),
        half_pixel=mode == "half_pixel",
        largest=node.attribute("mode", "avg") == "max",
    )
    return node.result(result)

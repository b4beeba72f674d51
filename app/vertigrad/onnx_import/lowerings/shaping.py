"""The same numbers in another shape or order: views wherever bytes need not move."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ... import ops
from ...errors import InputError, ShapeError
from ...tensor import Tensor
from ..node import Node, Refused
from ..registry import lowers, lowers_to
from ..valid import require_valid
from ..values import Value, constant


def reshaped(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """A view of that shape, or a copy where only a copy can have it."""
    try:
        return tensor.reshape(*shape)
    except ShapeError:
        if -1 not in shape and math.prod(shape) != tensor.size:
            raise
        return tensor.contiguous().reshape(*shape)


@lowers("Shape")
def shape(node: Node) -> Value:
    sizes = node.shape()
    return constant(np.array(sizes[node.attribute("start", 0) : node.attribute("end")], np.int64))


@lowers("Size")
def size(node: Node) -> Value:
    return constant(np.array(math.prod(node.shape()), np.int64))


@lowers("Reshape")
def reshape(node: Node) -> Value:
    shape = node.axes(1, "shape")
    if shape is None:
        raise InputError(f"{node}: no shape is given")
    sizes = list(node.shape())
    if not node.attribute("allowzero", 0):
        if any(n == 0 and axis >= len(sizes) for axis, n in enumerate(shape)):
            raise InputError(f"{node}: shape {shape} takes over an axis that {sizes} does not have")
        shape = [sizes[axis] if n == 0 else n for axis, n in enumerate(shape)]
    return node.result(reshaped(node.tensor(0), shape), bound=node.value(0).bound)


@lowers("Flatten")
def flatten(node: Node) -> Value:
    sizes, axis = node.shape(), node.attribute("axis", 1)
    axis += len(sizes) if axis < 0 else 0
    shape = (math.prod(sizes[:axis]), math.prod(sizes[axis:]))
    return node.result(reshaped(node.tensor(0), shape), bound=node.value(0).bound)


@lowers("Squeeze")
def squeeze(node: Node) -> Value:
    sizes, axes = node.shape(), node.axes()
    gone = {axis % len(sizes) for axis in axes} if axes is not None else {i for i, n in enumerate(sizes) if n == 1}
    if any(sizes[axis] != 1 for axis in gone):
        raise InputError(f"{node}: axes {sorted(gone)} of {sizes} are not all of size 1")
    remaining = [n for axis, n in enumerate(sizes) if axis not in gone]
    return node.result(reshaped(node.tensor(0), remaining), bound=node.value(0).bound)


@lowers("Unsqueeze")
def unsqueeze(node: Node) -> Value:
    axes = node.axes() or []
    rank = len(node.shape()) + len(axes)
    new_axes = {axis % rank for axis in axes}
    sizes = iter(node.shape())
    shape = [1 if axis in new_axes else next(sizes) for axis in range(rank)]
    return node.result(reshaped(node.tensor(0), shape), bound=node.value(0).bound)


lowers_to("Transpose", lambda x, order=(): x.transpose(*order), selects=True, order="perm")


@lowers("Expand")
def expand(node: Node) -> Value:
    shape, sizes = node.ints(1), node.shape()
    rank = max(len(shape), len(sizes))
    both = zip([1] * (rank - len(sizes)) + list(sizes), [1] * (rank - len(shape)) + shape, strict=True)
    return node.result(node.tensor(0).expand(*[a if b == 1 else b for a, b in both]), bound=node.value(0).bound)


@lowers("Slice")
def cut(node: Node) -> Value:
    """Attributes up to opset 9, inputs since."""
    rank = len(node.shape())
    starts, ends = node.axes(1, "starts") or [], node.axes(2, "ends") or []
    axes = node.axes(3) or list(range(len(starts)))
    steps = node.ints(4) if node.has(4) else [1] * len(starts)
    require_valid(node)  # which needs the numbers
    key = [slice(None)] * rank
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        key[axis % rank] = _slice(node.shape()[axis % rank], start, end, step)
    return node.result(node.tensor(0)[tuple(key)], bound=node.value(0).bound)


def _slice(size: int, start: int, end: int, step: int) -> slice:
    """ONNX clamps both ends; Python's slice ends before the first with None."""
    start, end = start + size * (start < 0), end + size * (end < 0)
    if step > 0:
        return slice(min(max(start, 0), size), min(max(end, 0), size), step)
    start, end = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
    return slice(start, None if end < 0 else end, step)


@lowers("Split")
def split(node: Node) -> list[Value]:
    axis, sizes = node.axis(0), node.shape()
    parts = node.axes(1, "split")
    if parts is None:
        count = node.attribute("num_outputs", len(node.proto.output))
        each = -(-sizes[axis] // count)
        parts = [min(each, max(sizes[axis] - i * each, 0)) for i in range(count)]
    if sum(parts) != sizes[axis]:
        raise InputError(f"{node}: parts {parts} do not make the {sizes[axis]} of axis {axis}")
    return pieces(node, node.tensor(0), axis, parts)


def pieces(node: Node, tensor: Tensor, axis: int, parts: Sequence[int]) -> list[Value]:
    """A tensor cut along an axis into parts of those sizes: views."""
    found, first = [], 0
    for part in parts:
        key = (*[slice(None)] * axis, slice(first, first + part))
        found.append(node.result(tensor[key], bound=node.value(0).bound))
        first += part
    return found


@lowers("Concat")
def concat(node: Node) -> Value:
    tensors = node.tensors()
    axis = node.axis(node.attribute("axis", 1))
    bound = max(value.bound for value in node.inputs if value)
    return node.result(ops.concatenate(tensors, axis), bound=bound)


@lowers("DepthToSpace")
def depth_to_space(node: Node) -> Value:
    channels_first = node.attribute("mode", "DCR") == "CRD"
    rearranged = ops.depth_to_space(node.tensor(0), node.attribute("blocksize"), channels_first=channels_first)
    return node.result(rearranged, bound=node.value(0).bound)


@lowers("SpaceToDepth")
def space_to_depth(node: Node) -> Value:
    block = node.attribute("blocksize")
    if node.attribute("mode", "DCR") == "DCR":
        return node.result(ops.space_to_depth(node.tensor(0), block), bound=node.value(0).bound)
    n, c, h, w = node.shape()
    x = node.tensor(0).contiguous().reshape(n, c, h // block, block, w // block, block)
    return node.result(reshaped(x.permute(0, 1, 3, 5, 2, 4), (n, c * block**2, h // block, w // block)))


@lowers("ReverseSequence")
def reverse_sequence(node: Node) -> Value:
    """Row by row; the lengths must be known."""
    batch, time = node.attribute("batch_axis", 1), node.attribute("time_axis", 0)
    if {batch, time} != {0, 1}:
        raise Refused(f"batch axis {batch} and time axis {time}")
    x, sizes = node.tensor(0), node.shape()
    steps = np.arange(sizes[time])
    rows = [np.concatenate([steps[:n][::-1], steps[n:]]) for n in node.ints(1)]
    order = np.stack(rows, axis=1 if time == 0 else 0).astype(np.int32)
    index = order.reshape(*order.shape, *[1] * (len(sizes) - 2))
    return node.result(ops.take_along_axis(x, np.ascontiguousarray(np.broadcast_to(index, sizes)), time))


@lowers("CenterCropPad")
def center_crop_pad(node: Node) -> Value:
    sizes, shape = node.shape(), node.ints(1)
    axes = node.attribute("axes") or list(range(len(sizes)))
    x = node.tensor(0)
    pads = [(0, 0)] * len(sizes)
    for axis, n in zip((a % len(sizes) for a in axes), shape, strict=True):
        here = sizes[axis]
        if n < here:
            first = (here - n) // 2
            x = x[(*[slice(None)] * axis, slice(first, first + n))]
        else:
            pads[axis] = ((n - here) // 2, n - here - (n - here) // 2)
    return node.result(ops.pad(x, pads) if any(map(any, pads)) else x, bound=node.value(0).bound)

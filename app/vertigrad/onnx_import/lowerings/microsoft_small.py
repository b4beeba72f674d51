"""Operators of onnxruntime's own (domain com.microsoft) that move, select and invert: most are made of ONNX's.

Their attributes and inputs are those of onnxruntime's documentation, docs/ContribOperators.md.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ... import ops
from ...errors import InputError
from ...tensor import Tensor, f32
from ..node import Node, Refused
from ..registry import lowers
from ..values import Value, constant
from .convolutions import window
from .microsoft_attention import DOMAIN
from .moving import triangle
from .shaping import reshaped

MOST_ROWS = 64  # of a matrix that is inverted: each row takes a few kernels

lowers("Trilu", domain=DOMAIN)(triangle)


@lowers("ExpandDims", domain=DOMAIN)
def expand_dims(node: Node) -> Value:
    sizes, axis = node.shape(), node.ints(1)[0]
    if not -len(sizes) - 1 <= axis <= len(sizes):
        raise InputError(f"{node}: axis {axis} of a result with {len(sizes) + 1} axes")
    axis %= len(sizes) + 1
    return node.result(reshaped(node.tensor(0), (*sizes[:axis], 1, *sizes[axis:])), bound=node.value(0).bound)


@lowers("NhwcMaxPool", domain=DOMAIN)
def nhwc_max_pool(node: Node) -> Value:
    """A pool whose channels are the last axis."""
    x, size = node.tensor(0), node.attribute("kernel_shape")
    options = {"kernel_size": size, "ceil_mode": bool(node.attribute("ceil_mode", 0)), **window(node, len(size))}
    pooled = ops.max_pool(x.permute(0, x.ndim - 1, *range(1, x.ndim - 1)), **options)
    return node.result(pooled.permute(0, *range(2, x.ndim), 1), bound=node.value(0).bound)


@lowers("ConvTransposeWithDynamicPads", domain=DOMAIN)
def conv_transpose_with_dynamic_pads(node: Node) -> Tensor:
    """A transposed convolution whose padding is an input."""
    x = node.tensor(0)
    spatial = x.ndim - 2
    node.require_size("kernel_shape", list(node.shape(1)[2:]))
    options = window(node, spatial) | {"output_padding": node.attribute("output_padding", [0] * spatial)}
    if node.has(2):
        pads = node.ints(2)
        options["padding"] = list(zip(pads[:spatial], pads[spatial:], strict=True))
    groups = node.attribute("group", 1)
    return ops.conv_transpose(x, node.tensor(1), node.optional(3), groups=groups, **options)


@lowers("Inverse", domain=DOMAIN)
def inverse(node: Node) -> Value:
    """Inverses of matrices along the last two axes, by Gauss-Jordan elimination with the largest pivot of each column.

    (Golub and Van Loan, Matrix Computations, 3.4.) Rows stay in their order; at the end those of the pivots are taken
    in the order of the columns.
    """
    x = node.tensor(0)
    *batch, rows, columns = x.shape
    if rows != columns:
        raise InputError(f"{node}: matrices of {rows} x {columns}; only square ones have inverses")
    if rows > MOST_ROWS:
        raise Refused(f"matrices of more than {MOST_ROWS} rows")
    matrices = ops.cast(reshaped(x, (math.prod(batch), rows, rows)), f32)
    eye = node.upload(np.eye(rows, dtype=np.float32)[None]).expand(*matrices.shape)
    both = ops.concatenate([matrices, eye], 2)
    free = ops.ones(matrices.shape[:2], f32)  # rows that were no pivot yet
    pivots = []
    numbers = np.arange(rows, dtype=np.int32)[None]
    for column in range(rows):
        size = ops.fused(lambda a, b: ops.where(b > 0.5, ops.absolute(a), -1.0), both[:, :, column], free)
        pivot = ops.argmax(size, 1, keepdims=True)
        pivots.append(pivot)
        chosen = ops.equal(numbers, pivot)
        row = ops.take_along_axis(both, pivot[:, :, None].expand(both.shape[0], 1, 2 * rows).contiguous(), 1)
        scaled = ops.divide(row, row[:, :, column : column + 1])
        others = ops.fused(lambda a, f, r: a - f * r, both, both[:, :, column : column + 1], scaled)
        both = ops.where(chosen[:, :, None], scaled, others)
        free = ops.where(chosen, 0.0, free)
    order = ops.concatenate(pivots, 1)[:, :, None].expand(*matrices.shape).contiguous()
    result = ops.take_along_axis(both[:, :, rows:], order, 1)
    return node.result(ops.cast(reshaped(result, x.shape), x.dtype))


@lowers("CropAndResize", domain=DOMAIN)
def crop_and_resize(node: Node) -> Value:
    """Boxes (y, x, y, x) of images, in fractions of their size, each resized to one size."""
    x, boxes = node.tensor(0), node.tensor(1)
    mode, outside = node.attribute("mode", "bilinear"), node.attribute("extrapolation_value", 0.0)
    (rows, columns), count = node.ints(3), boxes.shape[0]
    axes = [_positions(node, boxes, axis, n) for axis, n in ((0, rows), (1, columns))]  # in pixels: (count, n)
    shape = (count, rows, columns)
    y, at = axes[0][:, :, None].expand(*shape), axes[1][:, None, :].expand(*shape)
    height, width = x.shape[2:]
    grid = ops.stack([_normalized(at, width), _normalized(y, height)], 3)
    images = ops.take(x, node.tensor(2), axis=0)
    how = "nearest" if mode == "nearest" else "linear"
    sampled = ops.grid_sample(images, grid, mode=how, padding="border", align_corners=True)
    inside = ops.fused(
        lambda y, x: ops.where((y >= 0.0) & (y <= height - 1.0) & (x >= 0.0) & (x <= width - 1.0), 1.0, 0.0), y, at
    )
    return node.result(ops.where(ops.greater(inside, 0.5)[:, None], sampled, outside))


def _positions(node: Node, boxes: Tensor, axis: int, count: int) -> Tensor:
    """Where the samples of each box are along an axis, in pixels: its ends, and between; (boxes, count)."""
    last = node.shape()[2 + axis] - 1.0
    share = np.linspace(0.0, 1.0, count, dtype=np.float32) if count > 1 else np.array([0.5], np.float32)
    first, end = boxes[:, axis : axis + 1], boxes[:, axis + 2 : axis + 3]
    return ops.fused(lambda a, b, t: (a + (b - a) * t) * last, first, end, node.upload(share[None]))


def _normalized(at: Tensor, size: int) -> Tensor:
    """Pixels as `ops.grid_sample` has them, from -1 to 1."""
    return ops.fused(lambda p: p * (2.0 / max(size - 1, 1)) - 1.0, at)


@lowers("NGramRepeatBlock", domain=DOMAIN)
def n_gram_repeat_block(node: Node) -> Value:
    """The scores of tokens that would repeat a run of `ngram_size` tokens are -infinity."""
    ids, scores, size = node.tensor(0), node.tensor(1), node.attribute("ngram_size")
    n, length = ids.shape
    if length < size:
        return node.result(scores, node.elem(1))
    count = length - size + 1
    repeats = ops.ones((n, count), "bool")
    for step in range(size - 1):
        last = ids[:, length - size + 1 + step][:, None]
        repeats = ops.logical_and(repeats, ops.equal(ids[:, step : step + count], last))
    limits = ops.where(repeats, -math.inf, math.inf)
    next_tokens = ids[:, size - 1 :].contiguous()
    return node.result(ops.scatter_elements(scores, next_tokens, limits, 1, "min"), node.elem(1))


@lowers("BifurcationDetector", domain=DOMAIN)
def bifurcation_detector(node: Node) -> list[Value]:
    """Tokens that are predicted to go on like a source from some index on, up to the first that does not; and the index
    in the source after the only run of tokens that is also their end, −1 if there is none. All of it is on the host.
    """
    source, tokens, index = node.ints(0), node.ints(1), node.ints(2)[0]
    least, most = node.attribute("min_ngram_size", 1), node.attribute("max_ngram_size", 3)
    if node.has(3):
        predicted, expected = node.ints(3), source[max(index, 0) :]
        if not 0 <= index <= len(source) or len(predicted) != len(expected) + 1:
            what = f"{len(predicted)} predicted tokens after index {index} of {len(source)}"
            raise InputError(f"{node}: {what}; there must be one more than the source has from there on")
        others = (number for number, token in enumerate(expected) if token != predicted[number])
        tokens = tokens + predicted[: next(others, len(expected)) + 1]
    after = -1
    for size in range(least, min(most, len(tokens)) + 1):
        ends = [end for end in range(size, len(source) + 1) if source[end - size : end] == tokens[-size:]]
        after = ends[0] if len(ends) == 1 else after
    results = (np.array(tokens, np.int64), np.array([after], np.int64))
    return [replace(constant(array), sources=node.sources) for array in results]

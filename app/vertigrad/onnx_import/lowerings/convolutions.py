"""Convolutions: plain, transposed, of bytes, deformed; and columns put together again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto

from ... import ops
from ...tensor import Tensor, f32, i32
from ..node import Node, Refused
from ..registry import lowers
from ..values import Value
from .products import along, requantized, with_tail
from .shaping import reshaped


def window(node: Node, spatial: int) -> dict[str, Any]:
    """Stride, padding and dilation of a convolution or a pool, as `ops` has them."""
    pads = node.attribute("pads", [0] * (2 * spatial))
    padding: Any = list(zip(pads[:spatial], pads[spatial:], strict=True))
    rule = node.attribute("auto_pad", "NOTSET")
    if rule not in ("NOTSET", ""):
        padding = rule.lower()
    return {
        "stride": node.attribute("strides", [1] * spatial),
        "padding": padding,
        "dilation": node.attribute("dilations", [1] * spatial),
    }


@lowers("Conv")
def conv(node: Node) -> Tensor:
    x, groups = node.tensor(0), node.attribute("group", 1)
    node.require_size("kernel_shape", list(node.shape(1)[2:]))
    options = window(node, x.ndim - 2)
    return with_tail(node, ops.conv, x, *_weights_and_bias(node), groups=groups, **options)


def _weights_and_bias(node: Node) -> tuple[Tensor, Tensor | None]:
    """With the normalization of the tail in them."""
    norm = node.tail.norm
    if norm is None:
        return _packed_weights(node, node.value(1).host), node.optional(2)
    host = node.value(1).host
    bias = node.value(2).host if node.has(2) else 0.0
    assert host is not None and bias is not None
    scaled = host * norm.scale.reshape(-1, *[1] * (host.ndim - 1))
    return (
        _packed_weights(node, scaled.astype(np.float32)),
        node.upload((bias * norm.scale + norm.shift).astype(np.float32)),
    )


def _packed_weights(node: Node, host: np.ndarray | None) -> Tensor:
    """As `ops.conv` reads them fastest, if they are constants."""
    if host is None or node.elem(1) not in (TensorProto.FLOAT, TensorProto.FLOAT16):
        return node.tensor(1)
    packed = node.upload(np.ascontiguousarray(np.moveaxis(host, 0, -1)))
    return packed.permute(packed.ndim - 1, *range(packed.ndim - 1))


@lowers("ConvTranspose")
def conv_transpose(node: Node) -> Tensor:
    x = node.tensor(0)
    spatial = x.ndim - 2
    node.require_size("kernel_shape", list(node.shape(1)[2:]))
    options = window(node, spatial) | {"output_padding": node.attribute("output_padding", [0] * spatial)}
    if node.attribute("output_shape"):
        options |= _for_shape(node, spatial, options)
    groups = node.attribute("group", 1)
    return with_tail(node, ops.conv_transpose, x, node.tensor(1), node.optional(2), groups=groups, **options)


def _for_shape(node: Node, spatial: int, options: dict[str, Any]) -> dict[str, Any]:
    """Padding for the output shape that is asked for; what is missing is added at the end, as zeros."""
    output_shape = node.attribute("output_shape")[-spatial:]
    upper = node.attribute("auto_pad", "NOTSET") == "SAME_UPPER"
    paddings, added = [], []
    axes = zip(output_shape, node.shape()[2:], node.shape(1)[2:], options["stride"], options["dilation"], strict=True)
    for axis, (size, n, k, stride, dilation) in enumerate(axes):
        extra = options["output_padding"][axis]
        total = stride * (n - 1) + extra + (k - 1) * dilation + 1 - size
        added.append(extra + max(-total, 0))
        half = max(total, 0) // 2
        paddings.append((half, max(total, 0) - half) if upper else (max(total, 0) - half, half))
    return {"padding": paddings, "output_padding": added}


@lowers("ConvInteger")
def conv_integer(node: Node) -> Value:
    """Bytes less their zero points, summed up exactly in 32 bits."""
    return node.result(integer_conv(node, 0, 1, 2, 3), TensorProto.INT32)


def integer_conv(node: Node, x_at: int, weights_at: int, x_zero_at: int, weights_zero_at: int) -> Tensor:
    """The convolution of bytes, each less its zero point: i32, by f32 where that is exact."""
    node.require_size("kernel_shape", list(node.shape(weights_at)[2:]))
    exact = math.prod(node.shape(weights_at)[1:]) * 255 * 255 < 1 << 24
    x, weights = (ops.cast(node.tensor(index), f32 if exact else i32) for index in (x_at, weights_at))
    if node.has(x_zero_at):
        x = ops.subtract(x, ops.cast(node.tensor(x_zero_at), x.dtype).reshape())
    if node.has(weights_zero_at):
        zero = ops.cast(node.tensor(weights_zero_at), x.dtype)
        weights = ops.subtract(weights, zero.reshape(*[-1, *[1] * (weights.ndim - 1)] if zero.size > 1 else ()))
    result = ops.conv(x, weights, groups=node.attribute("group", 1), **window(node, x.ndim - 2))
    return ops.cast(result, i32) if exact else result


@lowers("QLinearConv")
def qlinear_conv(node: Node) -> Value:
    """Exact in 32 bits with its bias, then scaled and rounded once."""
    total, rank = integer_conv(node, 0, 3, 2, 5), len(node.shape(3))
    if node.has(8):
        total = ops.add(total, along(node.tensor(8), rank, 1) if node.shape(8) != (1,) else node.tensor(8).reshape(()))
    scale = ops.multiply(along(node.tensor(1), rank, 1), along(node.tensor(4), rank, 1))
    elem = node.elem(7)
    return node.result(requantized(total, scale, node.tensor(6).reshape(), node.tensor(7).reshape(), elem), elem)


@lowers("Col2Im")
def col2im(node: Node) -> Tensor:
    """Columns added where their blocks overlap: a transposed convolution that puts each number at its place."""
    image, block = node.ints(1), node.ints(2)
    x = node.tensor(0)
    options = {
        "stride": node.attribute("strides", [1] * len(block)),
        "dilation": node.attribute("dilations", [1] * len(block)),
    }
    pads = node.attribute("pads", [0] * (2 * len(block)))
    padding = list(zip(pads[: len(block)], pads[len(block) :], strict=True))
    counts, missing = [], []
    for axis, size in enumerate(block):
        reach = image[axis] + sum(padding[axis]) - options["dilation"][axis] * (size - 1) - 1
        counts.append(reach // options["stride"][axis] + 1)
        missing.append(reach % options["stride"][axis])
    n, taps = x.shape[0], math.prod(block)
    lines = reshaped(x, (n * x.shape[1] // taps, taps, *counts))
    each = node.upload(np.eye(taps, dtype=x.dtype.numpy).reshape(taps, 1, *block))
    result = ops.conv_transpose(lines, each, None, padding=padding, output_padding=missing, **options)
    return reshaped(result, (n, x.shape[1] // taps, *image))


@lowers("DeformConv")
def deform_conv(node: Node) -> Tensor:
    """A convolution of an image sampled where offsets say (Dai et al., Deformable Convolutional Networks)."""
    x, weights, offset = node.tensor(0), node.tensor(1), node.tensor(2)
    if x.ndim != 4:
        raise Refused(f"an input of {x.ndim} axes")
    node.require_size("kernel_shape", list(weights.shape[2:]))
    groups, shared = node.attribute("group", 1), node.attribute("offset_group", 1)
    n, channels, height, width = x.shape
    taps, (rows, columns) = math.prod(weights.shape[2:]), offset.shape[2:]
    taps_at = _tap_positions(node, weights.shape[2:], (rows, columns))  # (taps, rows, columns, 2), y before x
    moved = reshaped(offset, (n, shared, taps, 2, rows, columns)).permute(0, 1, 2, 4, 5, 3)
    size = np.array([max(width - 1, 1), max(height - 1, 1)], np.float32)
    at = ops.add(moved, node.upload(taps_at))[..., ::-1]  # x before y, as a grid is sampled
    grid = ops.subtract(ops.divide(ops.multiply(at, 2.0), node.upload(size)), 1.0)
    planes = reshaped(x, (n * shared, channels // shared, height, width))
    flat = reshaped(grid, (n * shared, taps * rows, columns, 2))
    sampled = ops.grid_sample(planes, flat, mode="linear", padding="zeros", align_corners=True)
    sampled = sampled.reshape(n, shared, channels // shared, taps, rows, columns)
    if node.has(4):
        sampled = ops.multiply(sampled, node.tensor(4).reshape(n, shared, 1, taps, rows, columns))
    lines = reshaped(sampled, (n, groups, channels // groups * taps, rows * columns))
    matrix = reshaped(weights, (1, groups, weights.shape[0] // groups, channels // groups * taps))
    result = reshaped(ops.matmul(matrix, lines), (n, weights.shape[0], rows, columns))
    return ops.add(result, node.tensor(3).reshape(1, -1, 1, 1)) if node.has(3) else result


def _tap_positions(node: Node, kernel: Sequence[int], size: Sequence[int]) -> np.ndarray:
    """Where each number of a kernel reads the image, without offsets: (taps, rows, columns, 2), y before x."""
    options = window(node, 2)
    if isinstance(options["padding"], str):
        raise Refused("padding by a rule")
    axes = []
    for axis in range(2):
        taps = np.arange(kernel[axis])[:, None] * options["dilation"][axis]
        axes.append(taps + np.arange(size[axis]) * options["stride"][axis] - options["padding"][axis][0])
    y = axes[0][:, None, :, None] + np.zeros((1, kernel[1], 1, size[1]))
    x = axes[1][None, :, None, :] + np.zeros((kernel[0], 1, size[0], 1))
    return np.stack([y, x], -1).reshape(-1, *size, 2).astype(np.float32)

"""Axes summed up, and the largest and smallest along them."""

from __future__ import annotations

import math
from collections.abc import Callable

from onnx import TensorProto

from ... import ops
from ...tensor import Tensor, bool_, i32
from ..node import Node, Refused
from ..registry import lowers
from ..values import INTEGERS, WIDE, Value
from .arithmetic import require_narrow, require_real, wrapped

MOST_AVERAGED = 46_340  # integers of a mean: the square fits 32 bits


def _mean(tensor: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """Of integers rounded towards 0, without a sum that passes 32 bits.

    With x = q n + r, the mean of n numbers is Σq + Σr / n.
    """
    if tensor.dtype.is_real:
        return ops.mean(tensor, axes, keepdims)
    count = math.prod(tensor.shape[axis] for axis in axes)
    if not 0 < count <= MOST_AVERAGED:
        raise Refused(f"a mean of {count:,} integers; 1 to {MOST_AVERAGED:,} are averaged exactly")
    quotients = ops.sum(ops.floor_divide(tensor, count), axes, keepdims)
    rest = ops.sum(ops.remainder(tensor, count), axes, keepdims)
    below = ops.add(quotients, ops.floor_divide(rest, count))
    if tensor.dtype.kind == "uint":
        return below
    inexact = ops.logical_and(ops.less(below, 0), ops.not_equal(ops.remainder(rest, count), 0))
    return ops.where(inexact, ops.add(below, 1), below)


_REDUCTIONS: dict[str, Callable[..., Tensor]] = {
    "ReduceSum": ops.sum,
    "ReduceMean": _mean,
    "ReduceProd": ops.prod,
    "ReduceMax": ops.max,
    "ReduceMin": ops.min,
}


_NORMS: dict[str, Callable[..., Tensor]] = {
    "ReduceL1": ops.l1,
    "ReduceL2": ops.l2,
    "ReduceLogSum": ops.log_sum,
    "ReduceLogSumExp": ops.log_sum_exp,
    "ReduceSumSquare": ops.sum_square,
}


def reduced_axes(node: Node) -> tuple[int, ...] | None:
    """The axes a node reduces, counted from 0; None if it is to leave its input as it is."""
    axes, rank = node.axes(), len(node.shape())
    unchanged = node.attribute("noop_with_empty_axes", 0)
    if axes is None or not len(axes):
        if unchanged or not rank:
            node.ignore("keepdims")
        return None if unchanged else tuple(range(rank))
    return tuple(axis % rank for axis in axes)


@lowers(*_REDUCTIONS)
def reduction(node: Node) -> Value:
    axes, tensor = reduced_axes(node), node.tensor(0)
    if axes is None:
        return node.value(0)
    keep = bool(node.attribute("keepdims", 1))
    if node.op in ("ReduceMax", "ReduceMin"):
        return node.result(_extreme(node, tensor, axes, keep), bound=node.value(0).bound)
    if node.op != "ReduceSum":
        require_narrow(node)
    count = math.prod(node.shape()[axis] for axis in axes)
    bound = node.require_word(node.bounds(0)[0] * max(count, 1))
    result = _REDUCTIONS[node.op](tensor, axes, keepdims=keep) if axes else tensor
    if result.dtype is not tensor.dtype:  # small integers are added up in wider ones
        result = ops.cast(result, tensor.dtype)
    return node.result(wrapped(result, node.elem()), bound=bound)


def _extreme(node: Node, tensor: Tensor, axes: tuple[int, ...], keep: bool) -> Tensor:
    function = _REDUCTIONS[node.op]
    if not axes:
        return tensor
    if any(node.shape()[axis] == 0 for axis in axes):
        return _of_no_elements(node, axes, keep)
    if node.elem() == TensorProto.BOOL:
        function = ops.any if node.op == "ReduceMax" else ops.all
    return function(tensor, axes, keepdims=keep)


def _of_no_elements(node: Node, axes: tuple[int, ...], keep: bool) -> Tensor:
    sizes = node.shape()
    shape = [1 if axis in axes else n for axis, n in enumerate(sizes) if keep or axis not in axes]
    if node.elem() in INTEGERS:
        raise Refused("the extreme of no integers")
    largest = node.op == "ReduceMin"
    dtype = node.tensor(0).dtype
    value = largest if dtype is bool_ else (float("inf") if largest else -float("inf"))
    return ops.full(shape, value, dtype)


@lowers(*_NORMS)
def norm(node: Node) -> Value:
    axes, x = reduced_axes(node), node.tensor(0)
    if node.op not in ("ReduceL1", "ReduceSumSquare"):
        require_real(node)
    if node.elem() in WIDE:
        count = math.prod(node.shape()[axis] for axis in axes or ())
        (a,) = node.bounds(0)
        node.require_word((a if node.op == "ReduceL1" else a * a) * max(count, 1))
    keep = bool(node.attribute("keepdims", 1))
    function = _NORMS[node.op]
    result = function(x, axes, keep) if axes else function(x[None], 0)  # no axes: of each number by itself
    return node.result(wrapped(result, node.elem()))


@lowers("ArgMax", "ArgMin")
def arg_extreme(node: Node) -> Value:
    x, axis = node.tensor(0), node.axis(0)
    last = bool(node.attribute("select_last_index", 0))
    functions = (ops.last_argmax, ops.last_argmin) if last else (ops.argmax, ops.argmin)
    index = functions[node.op == "ArgMin"](x, axis, bool(node.attribute("keepdims", 1)))
    index = index if index.dtype is i32 else ops.cast(index, i32)
    return node.result(index, TensorProto.INT64, node.shape()[axis])


@lowers("CumSum", "CumProd")
def cumulative(node: Node) -> Value:
    axis, bound = node.ints(1)[0] % len(node.shape()), None
    exclusive, reverse = bool(node.attribute("exclusive", 0)), bool(node.attribute("reverse", 0))
    if node.op == "CumSum":
        bound = node.require_word(node.bounds(0)[0] * max(node.shape()[axis], 1))
    else:
        require_narrow(node)
    function = ops.cumsum if node.op == "CumSum" else ops.cumprod
    result = function(node.tensor(0), axis, exclusive=exclusive, reverse=reverse)
    return node.result(wrapped(result, node.elem()), bound=bound)


@lowers("MeanVarianceNormalization")
def mean_variance(node: Node) -> Tensor:
    axes, x = tuple(node.attribute("axes", [0, 2, 3])), node.tensor(0)
    centered = ops.subtract(x, ops.mean(x, axes, keepdims=True))
    std = ops.sqrt(ops.mean(ops.square(centered), axes, keepdims=True))
    return ops.divide(centered, ops.add(std, 1e-9))

"""64-bit integers that may not fit 32 bits along axes: reductions, running ones, order, and what is selected by it."""

from __future__ import annotations

import math

from onnx import TensorProto

from ... import ops
from ...ops import words, words_along
from ...ops.words import Words
from ...tensor import Tensor
from ..node import Node, Refused
from ..registry import lowers_wide
from ..values import Value
from .moving import top_k_of
from .reducing import reduced_axes
from .selecting import groups, indices_of_nonzero, picked
from .shaping import reshaped
from .wide import bounds, is_signed, operand, result


def _require_few(count: int) -> None:
    if count > words_along.MOST_ADDED:
        raise Refused(f"a sum of {count:,} 64-bit integers; up to {words_along.MOST_ADDED:,} are added up")


@lowers_wide("ReduceSum", "ReduceMean", "ReduceL1", "ReduceSumSquare")
def total(node: Node) -> Value:
    """Sums; their mean is rounded towards 0."""
    axes, x, (bound,) = reduced_axes(node), operand(node, 0), bounds(node, 0)
    if node.op == "ReduceL1":
        x = words.absolute(x) if is_signed(node) else x
    elif node.op == "ReduceSumSquare":
        x, bound = words.multiply(x, x), bound * bound
    if axes:
        count, keep = math.prod(node.shape()[axis] for axis in axes), bool(node.attribute("keepdims", 1))
        _require_few(count)

        def added(digits: Tensor) -> Tensor:
            return ops.sum(digits, axes, keepdims=keep)

        if node.op != "ReduceMean":
            x, bound = words_along.total(added, x), bound * max(count, 1)
        elif count:
            x = words_along.mean(added, x, count, is_signed(node))
        else:
            raise Refused("a mean of no integers")
    return result(node, x, bound, node.elem())


@lowers_wide("CumSum", "CumProd")
def running(node: Node) -> Value:
    axis, (bound,), x = node.ints(1)[0] % len(node.shape()), bounds(node, 0), operand(node, 0)
    exclusive, reverse = bool(node.attribute("exclusive", 0)), bool(node.attribute("reverse", 0))
    count = max(node.shape()[axis], 1)
    if node.op == "CumProd":
        found = words_along.running_product(x, axis, exclusive=exclusive, reverse=reverse)
        return result(node, found, max(bound, 1) ** min(count, 64), node.elem())
    _require_few(count)
    found = words_along.total(lambda digits: ops.cumsum(digits, axis, exclusive=exclusive, reverse=reverse), x)
    return result(node, found, bound * count, node.elem())


@lowers_wide("ReduceMin", "ReduceMax", "ReduceProd")
def extreme_or_product(node: Node) -> Value:
    axes, (bound,) = reduced_axes(node), bounds(node, 0)
    if not axes:
        return node.value(0)
    count = math.prod(node.shape()[axis] for axis in axes)
    if node.op == "ReduceProd":
        found, bound = words_along.product(operand(node, 0), axes), max(bound, 1) ** min(max(count, 1), 64)
    elif not count:
        raise Refused("the extreme of no integers")
    else:
        found = words_along.extreme(operand(node, 0), is_signed(node), node.op == "ReduceMax", axes)
    if not node.attribute("keepdims", 1):
        shape = [n for axis, n in enumerate(node.shape()) if axis not in axes]
        found = Words(*(reshaped(word, shape) for word in found))
    return result(node, found, bound, node.elem())


@lowers_wide("ArgMax", "ArgMin")
def arg_extreme(node: Node) -> Value:
    axis, last = node.axis(0), bool(node.attribute("select_last_index", 0))
    index = words_along.arg_extreme(operand(node, 0), is_signed(node), node.op == "ArgMax", last, axis)
    if not node.attribute("keepdims", 1):
        index = reshaped(index, [n for a, n in enumerate(node.shape()) if a != axis])
    return node.result(index, TensorProto.INT64, node.shape()[axis])


@lowers_wide("TopK")
def top_k(node: Node) -> list[Value]:
    k, axis, largest = top_k_of(node)
    (bound,), x = bounds(node, 0), operand(node, 0).evaluated()
    order = words_along.order(x.expressions(), is_signed(node), axis, descending=largest)
    indices = order[(*[slice(None)] * axis, slice(k))]
    found = Words(*(ops.take_along_axis(word, indices, axis) for word in x))
    return [result(node, found, bound, node.elem()), node.result(indices, TensorProto.INT64, node.shape()[axis])]


@lowers_wide("NonZero")
def nonzero(node: Node) -> Value:
    return indices_of_nonzero(node, ops.bitwise_or(*operand(node, 0).evaluated()))


@lowers_wide("Unique")
def unique(node: Node) -> list[Value]:
    (bound,), x = bounds(node, 0), operand(node, 0).evaluated()
    flat = Words(*(reshaped(word, (word.size,)) for word in x))
    order = words_along.order(flat.expressions(), is_signed(node), 0)
    ranked = [ops.take(word, order, axis=0) for word in flat]
    differs = [ops.not_equal(word[1:], word[:-1]) for word in ranked]
    first, results = groups(node, order, ops.logical_or(*differs))
    found = Words(*(picked(word, first, 0) for word in flat))
    return [result(node, found, bound, node.elem()), *results]

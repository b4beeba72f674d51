"""Gradients of reductions: what was summed is spread out again."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...tensor import Tensor
from .. import functions as f
from .. import launch
from ..differentiable import Call, constant, rule
from ..elementwise import fused
from ..reduce import prod
from ..reduce import sum as sum_


@rule("sum")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    return {"a": spread(gradient, call)}


@rule("mean")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    shape = call.shapes["a"]
    count = math.prod(shape[axis] for axis in launch.normal_axes(call["axis"], len(shape)))
    return {"a": spread(gradient * (1.0 / max(count, 1)), call)}


@rule("prod", "a", "result")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """g times the product of all others: of those that are not 0, where one alone is 0."""
    a, axis = call["a"], call["axis"]
    others = prod(f.where(f.equal(a, 0.0), 1.0, a), axis)
    zeros = sum_(f.where(f.equal(a, 0.0), 1.0, 0.0), axis)
    part = fused(
        lambda g, a, r, others, zeros: (
            g
            * f.where(
                f.equal(zeros, 0.0), r / a, f.where(f.logical_and(f.equal(a, 0.0), f.equal(zeros, 1.0)), others, 0.0)
            )
        ),
        *(spread(gradient, call), a, spread(call["result"], call), spread(others, call), spread(zeros, call)),
    )
    return {"a": part}


def _extreme(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    """All that are as small (or large) as the result get equal parts of the gradient."""
    chosen = f.where(f.equal(call["a"], spread(call["result"], call)), 1.0, 0.0)
    axes = launch.normal_axes(call["axis"], chosen.ndim)
    ties = sum_(chosen, axes, keepdims=True)
    return {"a": fused(lambda g, c, n: g * c / n, spread(gradient, call), chosen, ties)}


rule("min", "a", "result")(_extreme)
rule("max", "a", "result")(_extreme)
constant("it is an index, an integer", "argmin", "argmax", "last_argmin", "last_argmax", "argsort", "nonzero")
constant("it is a number of elements", "histogram", "bincount")
constant("it is true or false", "any", "all")


def spread(value: Tensor, call: Call) -> Tensor:
    """A reduction's result, or its gradient, as a view of the shape of what was reduced."""
    shape = call.shapes["a"]
    axes = launch.normal_axes(call["axis"], len(shape))
    unreduced = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return value.reshape(*unreduced).expand(*shape)

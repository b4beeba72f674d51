"""Derivatives of elementwise operations, as expressions: each operand's gradient is one kernel.

Where a function has a corner (|a|, max, relu) the gradient there is that of one side, as in PyTorch: 0 for |a| and
relu; of two equal operands of maximum and minimum each gets half.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import GradientError
from ...tensor import DType, Tensor, graph
from .. import functions as f
from .. import launch
from .. import network_functions as n
from ..activation import operation
from ..differentiable import (
    DERIVATIVES,
    RULES,
    Derivative,
    as_type,
    constant,
    mark_non_differentiable,
    require_free,
    requires_gradient,
)
from ..elementwise import elementwise, evaluate, fused
from ..expression import Expression
from ..reduce import sum_to

LN2 = math.log(2.0)
FLAT = "it is flat between its steps"


def elementwise_with_gradient(name: str, values: Sequence[Any], out: Tensor | None) -> Tensor:
    """As `elementwise`, for operands or an `out` to which gradients flow."""
    derivatives = DERIVATIVES.get(name, ())
    if not derivatives and name not in RULES:
        raise GradientError(f"{name} has no gradient; give it x.detach() if it is to have none")
    require_free(name, values, out)
    with launch.operands(*values) as ready:
        requested = [
            (derivative, value)
            for derivative, value in zip(derivatives, ready, strict=False)
            if derivative is not None and isinstance(value, Tensor) and value.node is not None
        ]
        read = {letter for derivative, _ in requested for letter in derivative.reads}
        saved_values = {
            letter: graph.Saved(value) if isinstance(value, Tensor) else value
            for letter, value in zip("abc", ready, strict=False)
            if letter in read
        }
        nodes = [value.node for _, value in requested]
        targets = [(derivative, value.shape, value.dtype) for derivative, value in requested]
        with graph.no_grad():
            result = evaluate(Expression.apply(name, ready), out)
    if not requested and requires_gradient(values):
        mark_non_differentiable(name, values, result)
    if "r" in read:
        saved_values["r"] = graph.Saved(result)

    def vjp(gradient: Tensor) -> list[Tensor]:
        return [_part(gradient, *target, saved_values) for target in targets]

    saved = [value for value in saved_values.values() if isinstance(value, graph.Saved)]
    graph.attach(result, name, nodes, vjp, saved, in_place=out is not None)
    return result


def activate(x: Tensor, arguments: Mapping[str, Any]) -> Tensor:
    """The `activation` that follows a product or a convolution with these arguments, into its `out`."""
    name, parameters = operation(arguments["activation"])
    return elementwise(name, x, *parameters, out=arguments["out"])


def _part(
    gradient: Tensor, derivative: Derivative, shape: tuple[int, ...], dtype: DType, saved_values: Mapping[str, Any]
) -> Tensor:
    values = [saved_values[letter] for letter in derivative.reads]
    values = [value.value() if isinstance(value, graph.Saved) else value for value in values]
    part = fused(derivative.of, gradient, *values) if values else derivative.of(gradient)
    return as_type(sum_to(part, shape), dtype)


def _one(reads: str, of: Callable[..., Any]) -> tuple[Derivative | None, ...]:
    return (Derivative(reads, of),)


def _smaller(chosen: Any, other: Any) -> Any:
    """1 where `chosen` is less than `other`, ½ where they are equal, else 0."""
    return f.where(f.less(chosen, other), 1.0, f.where(f.equal(chosen, other), 0.5, 0.0))


def _normal_density(a: Any) -> Any:
    return f.exp(a * a * -0.5) * (1.0 / math.sqrt(2.0 * math.pi))


def _gelu_tanh(g: Any, a: Any) -> Any:
    inner = f.tanh((a + a * a * a * 0.044715) * math.sqrt(2.0 / math.pi))
    derivative = (a * a * (3.0 * 0.044715) + 1.0) * math.sqrt(2.0 / math.pi)
    return g * ((inner + 1.0) * 0.5 + a * 0.5 * (1.0 - inner * inner) * derivative)


DERIVATIVES |= {
    "assign": _one("", lambda g: g),
    "add": (Derivative("", lambda g: g), Derivative("", lambda g: g)),
    "subtract": (Derivative("", lambda g: g), Derivative("", lambda g: -g)),
    "multiply": (Derivative("b", lambda g, b: g * b), Derivative("a", lambda g, a: g * a)),
    "divide": (Derivative("b", lambda g, b: g / b), Derivative("br", lambda g, b, r: -g * r / b)),
    "power": (
        Derivative("ab", lambda g, a, b: g * f.where(f.equal(b, 0.0), 0.0, b * f.power(a, b - 1.0))),
        Derivative("ar", lambda g, a, r: g * f.where(f.greater(a, 0.0), r * f.log(a), 0.0)),
    ),
    "remainder": (Derivative("", lambda g: g), Derivative("ab", lambda g, a, b: -g * f.floor_divide(a, b))),
    "fmod": (Derivative("", lambda g: g), Derivative("ab", lambda g, a, b: -g * f.truncate_divide(a, b))),
    "negative": _one("", lambda g: -g),
    "absolute": _one("a", lambda g, a: g * f.sign(a)),
    "square": _one("a", lambda g, a: g * a * 2.0),
    "reciprocal": _one("r", lambda g, r: -g * r * r),
    "minimum": (
        Derivative("ab", lambda g, a, b: g * _smaller(a, b)),
        Derivative("ab", lambda g, a, b: g * _smaller(b, a)),
    ),
    "maximum": (
        Derivative("ab", lambda g, a, b: g * _smaller(b, a)),
        Derivative("ab", lambda g, a, b: g * _smaller(a, b)),
    ),
    "clip": (
        Derivative("abc", lambda g, a, b, c: f.where(f.logical_and(f.greater_equal(a, b), f.less_equal(a, c)), g, 0.0)),
        Derivative("abc", lambda g, a, b, c: f.where(f.logical_and(f.less(a, b), f.less_equal(b, c)), g, 0.0)),
        Derivative("abc", lambda g, a, b, c: f.where(f.logical_or(f.greater(a, c), f.greater(b, c)), g, 0.0)),
    ),
    "where": (
        None,
        Derivative("a", lambda g, a: f.where(a, g, 0.0)),
        Derivative("a", lambda g, a: f.where(a, 0.0, g)),
    ),
    "sqrt": _one("r", lambda g, r: g * 0.5 / r),
    "rsqrt": _one("r", lambda g, r: g * -0.5 * r * r * r),
    "exp": _one("r", lambda g, r: g * r),
    "exp2": _one("r", lambda g, r: g * r * LN2),
    "expm1": _one("r", lambda g, r: g * (r + 1.0)),
    "log": _one("a", lambda g, a: g / a),
    "log2": _one("a", lambda g, a: g / (a * LN2)),
    "log1p": _one("a", lambda g, a: g / (a + 1.0)),
    "sin": _one("a", lambda g, a: g * f.cos(a)),
    "cos": _one("a", lambda g, a: -g * f.sin(a)),
    "tan": _one("r", lambda g, r: g * (r * r + 1.0)),
    "arcsin": _one("a", lambda g, a: g * f.rsqrt((1.0 - a) * (a + 1.0))),
    "arccos": _one("a", lambda g, a: -g * f.rsqrt((1.0 - a) * (a + 1.0))),
    "arctan": _one("a", lambda g, a: g / (a * a + 1.0)),
    "arctan2": (
        Derivative("ab", lambda g, a, b: g * b / (a * a + b * b)),
        Derivative("ab", lambda g, a, b: -g * a / (a * a + b * b)),
    ),
    "sinh": _one("a", lambda g, a: g * f.cosh(a)),
    "cosh": _one("a", lambda g, a: g * f.sinh(a)),
    "tanh": _one("r", lambda g, r: g * (1.0 - r * r)),
    "arcsinh": _one("a", lambda g, a: g * f.rsqrt(a * a + 1.0)),
    "arccosh": _one("a", lambda g, a: g * f.rsqrt((a - 1.0) * (a + 1.0))),
    "arctanh": _one("a", lambda g, a: g / ((1.0 - a) * (a + 1.0))),
    "erf": _one("a", lambda g, a: g * f.exp(-a * a) * (2.0 / math.sqrt(math.pi))),
    "relu": _one("r", lambda g, r: f.where(f.greater(r, 0.0), g, 0.0)),
    "leaky_relu": (
        Derivative("ab", lambda g, a, b: f.where(f.less(a, 0.0), g * b, g)),
        Derivative("a", lambda g, a: f.where(f.less(a, 0.0), g * a, 0.0)),
    ),
    "sigmoid": _one("r", lambda g, r: g * r * (1.0 - r)),
    "silu": _one("a", lambda g, a: g * n.sigmoid(a) * (1.0 + a * (1.0 - n.sigmoid(a)))),
    "swish": (
        Derivative("ab", lambda g, a, b: g * n.sigmoid(a * b) * (1.0 + a * b * (1.0 - n.sigmoid(a * b)))),
        Derivative("ab", lambda g, a, b: g * a * a * n.sigmoid(a * b) * (1.0 - n.sigmoid(a * b))),
    ),
    "gelu": _one("a", lambda g, a: g * ((f.erf(a * math.sqrt(0.5)) + 1.0) * 0.5 + a * _normal_density(a))),
    "gelu_tanh": _one("a", _gelu_tanh),
    "elu": (
        Derivative("ab", lambda g, a, b: f.where(f.greater(a, 0.0), g, g * b * f.exp(a))),
        Derivative("a", lambda g, a: f.where(f.greater(a, 0.0), 0.0, g * f.expm1(a))),
    ),
    "celu": (
        Derivative("ab", lambda g, a, b: f.where(f.greater(a, 0.0), g, g * f.exp(a / b))),
        Derivative(
            "ab",
            lambda g, a, b: f.where(f.greater(a, 0.0), 0.0, g * (f.expm1(a / b) - a / b * f.exp(a / b))),
        ),
    ),
    "selu": (
        Derivative("abc", lambda g, a, b, c: g * c * f.where(f.greater(a, 0.0), 1.0, b * f.exp(a))),
        Derivative("ac", lambda g, a, c: f.where(f.greater(a, 0.0), 0.0, g * c * f.expm1(a))),
        Derivative("ab", lambda g, a, b: g * f.where(f.greater(a, 0.0), a, b * f.expm1(a))),
    ),
    "softplus": _one("a", lambda g, a: g * n.sigmoid(a)),
    "softsign": _one("a", lambda g, a: g / f.square(f.absolute(a) + 1.0)),
    "mish": _one(
        "a",
        lambda g, a: g * (f.tanh(n.softplus(a)) + a * (1.0 - f.square(f.tanh(n.softplus(a)))) * n.sigmoid(a)),
    ),
    "hard_sigmoid": (
        Derivative("br", lambda g, b, r: f.where(f.logical_and(f.greater(r, 0.0), f.less(r, 1.0)), g * b, 0.0)),
        Derivative("ar", lambda g, a, r: f.where(f.logical_and(f.greater(r, 0.0), f.less(r, 1.0)), g * a, 0.0)),
        Derivative("r", lambda g, r: f.where(f.logical_and(f.greater(r, 0.0), f.less(r, 1.0)), g, 0.0)),
    ),
    "hard_swish": _one(
        "a",
        lambda g, a: f.where(f.less(a, -3.0), 0.0, f.where(f.greater(a, 3.0), g, g * (a * (1.0 / 3.0) + 0.5))),
    ),
    "thresholded_relu": (Derivative("ab", lambda g, a, b: f.where(f.greater(a, b), g, 0.0)), None),
    "shrink": (
        Derivative("ac", lambda g, a, c: f.where(f.greater(f.absolute(a), c), g, 0.0)),
        Derivative("ac", lambda g, a, c: f.where(f.greater(f.absolute(a), c), -g * f.sign(a), 0.0)),
        None,
    ),
}

constant(FLAT, "floor", "ceil", "round", "trunc", "sign", "floor_divide", "truncate_divide")
constant(
    "it is true or false",
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("logical_and", "logical_or", "logical_xor", "logical_not", "isnan", "isinf", "isfinite", "isposinf", "isneginf"),
)
constant(
    "it is of integers",
    *("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"),
)

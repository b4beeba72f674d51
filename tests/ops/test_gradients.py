"""Gradients against finite differences in float64, for random shapes, strides and broadcasts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from vertigrad import Tensor, no_grad, ops
from vertigrad.errors import GradientError
from vertigrad.gpu import Gpu, Plan
from vertigrad.ops.activation import PARAMETERS
from vertigrad.ops.differentiable import DERIVATIVES, RULES

from .differences import check, drawn, leaf, of_both_signs

ERF = np.vectorize(math.erf)


def sigmoid(a: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-a))


def softplus(a: np.ndarray) -> np.ndarray:
    return np.log1p(np.exp(a))


class Both(NamedTuple):
    """A range of magnitudes, for operands of both signs that are not near 0."""

    low: float
    high: float


# Each operation in float64, and the range of each operand; `test_remainders` says where those two are tested.
ELEMENTWISE: dict[str, tuple[Callable[..., np.ndarray], list[tuple[float, float]]]] = {
    "add": (np.add, [(-2, 2)] * 2),
    "subtract": (np.subtract, [(-2, 2)] * 2),
    "multiply": (np.multiply, [(-2, 2)] * 2),
    "divide": (np.divide, [(-2, 2), Both(0.5, 2)]),
    "power": (np.power, [(0.5, 2), (-2, 2)]),
    "negative": (np.negative, [(-2, 2)]),
    "absolute": (np.abs, [Both(0.1, 2)]),
    "square": (np.square, [(-2, 2)]),
    "reciprocal": (np.reciprocal, [Both(0.5, 2)]),
    "minimum": (np.minimum, [(-2, 2)] * 2),
    "maximum": (np.maximum, [(-2, 2)] * 2),
    "clip": (lambda a, b, c: np.minimum(np.maximum(a, b), c), [(-2, 2), (-1.5, 0.5), (-0.5, 1.5)]),
    "sqrt": (np.sqrt, [(0.2, 2)]),
    "rsqrt": (lambda a: 1.0 / np.sqrt(a), [(0.2, 2)]),
    "exp": (np.exp, [(-2, 2)]),
    "exp2": (np.exp2, [(-2, 2)]),
    "expm1": (np.expm1, [(-2, 2)]),
    "log": (np.log, [(0.2, 2)]),
    "log2": (np.log2, [(0.2, 2)]),
    "log1p": (np.log1p, [(-0.5, 2)]),
    "sin": (np.sin, [(-3, 3)]),
    "cos": (np.cos, [(-3, 3)]),
    "tan": (np.tan, [(1.8, 4.4)]),
    "arcsin": (np.arcsin, [(-0.9, 0.9)]),
    "arccos": (np.arccos, [(-0.9, 0.9)]),
    "arctan": (np.arctan, [(-2, 2)]),
    "arctan2": (np.arctan2, [Both(0.3, 2), Both(0.3, 2)]),
    "sinh": (np.sinh, [(-2, 2)]),
    "cosh": (np.cosh, [(-2, 2)]),
    "tanh": (np.tanh, [(-2, 2)]),
    "arcsinh": (np.arcsinh, [(-2, 2)]),
    "arccosh": (np.arccosh, [(1.2, 3)]),
    "arctanh": (np.arctanh, [(-0.8, 0.8)]),
    "erf": (ERF, [(-2, 2)]),
    "relu": (lambda a: np.maximum(a, 0.0), [(-2, 2)]),
    "leaky_relu": (lambda a, b: np.where(a < 0, a * b, a), [Both(0.1, 2), Both(0.1, 0.3)]),
    "sigmoid": (sigmoid, [(-3, 3)]),
    "silu": (lambda a: a * sigmoid(a), [(-3, 3)]),
    "swish": (lambda a, b: a * sigmoid(a * b), [(-3, 3), (-2, 2)]),
    "gelu": (lambda a: a * 0.5 * (1.0 + ERF(a * math.sqrt(0.5))), [(-3, 3)]),
    "gelu_tanh": (
        lambda a: 0.5 * a * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (a + 0.044715 * a**3))),
        [(-3, 3)],
    ),
    "elu": (lambda a, b: np.where(a > 0, a, b * np.expm1(a)), [(-2, 2), (-2, 2)]),
    "celu": (lambda a, b: np.where(a > 0, a, b * np.expm1(a / b)), [(-2, 2), Both(0.5, 2)]),
    "selu": (lambda a, b, c: c * np.where(a > 0, a, b * np.expm1(a)), [(-2, 2), (-2, 2), (-2, 2)]),
    "softplus": (softplus, [(-3, 3)]),
    "softsign": (lambda a: a / (1.0 + np.abs(a)), [(-3, 3)]),
    "mish": (lambda a: a * np.tanh(softplus(a)), [(-3, 3)]),
    "hard_sigmoid": (lambda a, b, c: np.clip(a * b + c, 0.0, 1.0), [(-4, 4), Both(0.2, 0.3), (0.4, 0.6)]),
    "hard_swish": (lambda a: a * np.clip(a / 6.0 + 0.5, 0.0, 1.0), [(-5, 5)]),
    "thresholded_relu": (lambda a, b: np.where(a > b, a, 0.0), [(-2, 2), (0.5, 0.6)]),
    "shrink": (
        lambda a, b, c: np.where(a > c, a - b, np.where(a < -c, a + b, 0.0)),
        [(-2, 2), (-0.4, 0.4), (0.5, 0.6)],
    ),
}


def test_every_derivative_is_tested() -> None:
    assert set(DERIVATIVES) == {*ELEMENTWISE, "assign", "where", "remainder", "fmod"}


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
def test_elementwise(gpu: Gpu, name: str) -> None:
    """Operands are broadcast; bounds and thresholds are scalars."""
    function, ranges = ELEMENTWISE[name]
    expected = [derivative is not None for derivative in DERIVATIVES[name]]
    numbers = [(low + high) / 2 for (low, high), want in zip(ranges, expected, strict=True) if not want]
    count = len(ranges) - len(numbers)
    shapes = [(3, 4), (4,), (3, 1)][:count]
    check(
        lambda *values: ops.elementwise(name, *values, *numbers),
        lambda *values: function(*values, *numbers),
        [within(bounds, shape) for bounds, shape in zip(ranges, shapes, strict=False)],
    )


def within(bounds: tuple[float, float], shape: tuple[int, ...]) -> np.ndarray:
    return (of_both_signs if isinstance(bounds, Both) else drawn)(*bounds, shape)


@pytest.mark.parametrize(("name", "function"), [("remainder", np.remainder), ("fmod", np.fmod)])
def test_remainders(gpu: Gpu, name: str, function: Callable[..., np.ndarray]) -> None:
    """Quotients from −3 to 3 for divisors of both signs, not near an integer, where the derivative is discontinuous."""
    divisor = of_both_signs(0.5, 2.0, (7,))
    quotient = (np.arange(-3, 4) + np.array([[0.2], [0.5], [0.8]])).astype(np.float32)
    for order in (slice(None), slice(None, None, -1)):
        check(lambda a, b: ops.elementwise(name, a, b), function, [quotient[:, order] * divisor, divisor])


@pytest.mark.parametrize("exponent", [3.0, 2.0, 1.0, 0.0, -1.0, -2.0])
def test_integer_powers_of_negative_numbers(gpu: Gpu, exponent: float) -> None:
    check(lambda a: a**exponent, lambda a: a**exponent, [of_both_signs(0.5, 2.0, (3, 4))])


# Gradients at corners and ties: those of one side, or divided equally, as in PyTorch.
CORNERS: dict[str, tuple[list[float], list[float]]] = {
    "absolute": ([0.0], [0.0]),
    "relu": ([0.0], [0.0]),
    "leaky_relu": ([0.0, 0.1], [1.0, 0.0]),
    "minimum": ([2.0, 2.0], [0.5, 0.5]),
    "maximum": ([-2.0, -2.0], [0.5, 0.5]),
    "clip": ([1.0, 1.0, 2.0], [1.0, 0.0, 0.0]),
    "power": ([0.0, 2.0], [0.0, 0.0]),
    "selu": ([-1.0, 1.5, 0.0], [0.0, 0.0, 1.5 * math.expm1(-1.0)]),
    "hard_swish": ([3.0], [1.5]),
}


@pytest.mark.parametrize("name", CORNERS)
def test_corners(gpu: Gpu, name: str) -> None:
    values, expected = CORNERS[name]
    leaves = [leaf(np.array([value], np.float32)) for value in values]
    ops.elementwise(name, *leaves).backward()
    found = [tensor.grad.item() for tensor in leaves if tensor.grad is not None]
    assert found == pytest.approx(expected, rel=1e-6)


# The derivatives far to the left and to the right.
FAR: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("sigmoid", "tanh", "softsign", "erf", "arctan"), (0.0, 0.0)),
    **dict.fromkeys(("silu", "gelu", "gelu_tanh", "softplus", "mish", "relu", "elu", "celu"), (0.0, 1.0)),
}


@pytest.mark.parametrize("name", FAR)
def test_derivatives_far_out_are_finite(gpu: Gpu, name: str) -> None:
    x = np.array([-1e9, -1e4, -200.0, -100.0, 100.0, 200.0, 1e4, 1e9], np.float32)
    tensor = leaf(x)
    ops.elementwise(name, tensor, *PARAMETERS.get(name, ())).sum().backward()
    assert tensor.grad is not None
    np.testing.assert_allclose(tensor.grad.numpy(), np.where(x < 0, *FAR[name]), atol=2e-4)


def normal(x: np.ndarray, axis: int) -> np.ndarray:
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    scores = np.exp(q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1]))
    scores = np.tril(scores) if causal else scores
    return scores / scores.sum(-1, keepdims=True) @ v


NO_CHANGE = np.ones(3, np.float32), np.zeros(3, np.float32), np.zeros(3, np.float32)  # scale, bias, mean
CASES: dict[str, tuple[Callable[..., Any], Callable[..., np.ndarray], list[tuple[int, ...]]]] = {
    "sum": (lambda a: a.sum((0, 2)), lambda a: a.sum((0, 2)), [(2, 3, 4)]),
    "sum of all": (lambda a: a.sum(), lambda a: a.sum(), [(2, 3)]),
    "mean": (lambda a: a.mean(1, keepdims=True), lambda a: a.mean(1, keepdims=True), [(2, 3, 2)]),
    "prod": (lambda a: a.prod(1), lambda a: a.prod(1), [(3, 4)]),
    "max": (lambda a: a.max(-1), lambda a: a.max(-1), [(3, 5)]),
    "min": (lambda a: a.min(), lambda a: a.min(), [(3, 5)]),
    "matmul": (lambda a, b: a @ b, lambda a, b: a @ b, [(3, 4), (4, 5)]),
    "matmul, broadcast": (lambda a, b: a @ b, lambda a, b: a @ b, [(2, 1, 3, 4), (5, 4, 2)]),
    "matmul, row": (lambda a, b: a @ b, lambda a, b: a @ b, [(4,), (2, 4, 3)]),
    "matmul, column": (lambda a, b: a @ b, lambda a, b: a @ b, [(2, 3, 4), (4,)]),
    "matmul, dot": (lambda a, b: a @ b, lambda a, b: a @ b, [(4,), (4,)]),
    "linear": (lambda x, w, b: ops.linear(x, w, b), lambda x, w, b: x @ w.T + b, [(2, 3, 4), (5, 4), (5,)]),
    "linear, tanh": (
        lambda x, w, b: ops.linear(x, w, b, activation="tanh"),
        lambda x, w, b: np.tanh(x @ w.T + b),
        [(3, 4), (2, 4), (2,)],
    ),
    "softmax": (
        lambda x: ops.softmax(x, 1),
        lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True),
        [(3, 4, 2)],
    ),
    "log_softmax": (
        lambda x: ops.log_softmax(x),
        lambda x: x - np.log(np.exp(x).sum(-1, keepdims=True)),
        [(3, 4)],
    ),
    "concatenate": (
        lambda a, b: ops.concatenate([a, b], 1),
        lambda a, b: np.concatenate([a, b], 1),
        [(2, 3), (2, 2)],
    ),
    "concatenate, flat": (
        lambda a, b: ops.concatenate([a, b], None),
        lambda a, b: np.concatenate([a, b], None),
        [(2, 3), (4,)],
    ),
    "stack": (lambda a, b: ops.stack([a, b], 1), lambda a, b: np.stack([a, b], 1), [(2, 3), (2, 3)]),
    "take": (lambda a: ops.take(a, [[2, 0], [2, 1]], 1), lambda a: np.take(a, [[2, 0], [2, 1]], 1), [(2, 3, 2)]),
    "take of all": (lambda a: ops.take(a, [5, 0, 5]), lambda a: np.take(a, [5, 0, 5]), [(2, 3)]),
    "take_along_axis": (
        lambda a: ops.take_along_axis(a, np.array([[1, 1, 0], [2, 0, 2]]), 1),
        lambda a: np.take_along_axis(a, np.array([[1, 1, 0], [2, 0, 2]]), 1),
        [(2, 3)],
    ),
    "cumsum": (lambda a: ops.cumsum(a, 1, reverse=True), lambda a: a[:, ::-1].cumsum(1)[:, ::-1], [(2, 5)]),
    "where": (
        lambda a, b: ops.where(np.array([True, False, True]), a, b),
        lambda a, b: np.where([True, False, True], a, b),
        [(2, 3), (3,)],
    ),
    "view": (lambda a: a[1:, ::2] * 2.0, lambda a: a[1:, ::2] * 2.0, [(3, 4)]),
    "transpose": (lambda a: a.T * a.T, lambda a: a.T * a.T, [(3, 2)]),
    "expand": (lambda a: a.expand(3, 2, 4) * 1.5, lambda a: np.broadcast_to(a, (3, 2, 4)) * 1.5, [(2, 1)]),
    "reshape": (lambda a: a.contiguous().reshape(6) * 3.0, lambda a: a.reshape(6) * 3.0, [(2, 3)]),
    "layer_norm": (
        lambda x, s, b: ops.layer_norm(x, s, b),
        lambda x, s, b: normal(x, -1) * s + b,
        [(3, 5), (5,), (5,)],
    ),
    "rms_norm": (
        lambda x, s: ops.rms_norm(x, s),
        lambda x, s: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * s,
        [(3, 5), (5,)],
    ),
    "group_norm": (
        lambda x, s, b: ops.group_norm(x, 2, s, b),
        lambda x, s, b: normal(x.reshape(2, 2, -1), -1).reshape(x.shape) * s[:, None] + b[:, None],
        [(2, 4, 3), (4,), (4,)],
    ),
    "group_norm, scale of groups": (
        lambda x, s: ops.group_norm(x, 2, s),
        lambda x, s: (normal(x.reshape(2, 2, -1), -1) * s[:, None]).reshape(x.shape),
        [(2, 4, 3), (2,)],
    ),
    "batch_norm": (
        lambda x, s, b, m, v: ops.batch_norm(x, s, b, m, ops.exp(v)),
        lambda x, s, b, m, v: (x - m[:, None]) / np.sqrt(np.exp(v[:, None]) + 1e-5) * s[:, None] + b[:, None],
        [(2, 3, 4), (3,), (3,), (3,), (3,)],
    ),
    "rms_norm, large epsilon": (
        lambda x: ops.rms_norm(x, epsilon=0.7),
        lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.7),
        [(3, 5)],
    ),
    "layer_norm, large epsilon": (
        lambda x: ops.layer_norm(x, epsilon=0.7),
        lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 0.7),
        [(3, 5)],
    ),
    "instance_norm, large epsilon": (
        lambda x: ops.instance_norm(x, np.ones(3, np.float32), np.zeros(3, np.float32), epsilon=0.7),
        lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 0.7),
        [(2, 3, 4)],
    ),
    "batch_norm, large epsilon": (
        lambda x, v: ops.batch_norm(x, *NO_CHANGE, ops.exp(v), epsilon=0.7),
        lambda x, v: x / np.sqrt(np.exp(v[:, None]) + 0.7),
        [(2, 3, 4), (3,)],
    ),
    "attention": (
        lambda q, k, v: ops.attention(q, k, v, causal=True),
        lambda q, k, v: attended(q, np.repeat(k, 2, 1), np.repeat(v, 2, 1), True),
        [(1, 2, 4, 3), (1, 1, 4, 3), (1, 1, 4, 2)],
    ),
    "max_pool": (
        lambda x: ops.max_pool(x, (3,), stride=2, padding=1),
        lambda x: np.stack([x[..., 0:2].max(-1), x[..., 1:4].max(-1), x[..., 3:6].max(-1)], -1),
        [(2, 2, 6)],
    ),
    "average_pool": (
        lambda x: ops.average_pool(x, (3,), stride=2, padding=1),
        lambda x: np.stack([x[..., 0:2].mean(-1), x[..., 1:4].mean(-1), x[..., 3:6].mean(-1)], -1),
        [(2, 2, 6)],
    ),
    "pad": (lambda x: ops.pad(x, [(1, 0), (2, 1)]), lambda x: np.pad(x, [(1, 0), (2, 1)]), [(2, 3)]),
    "gather_nd": (
        lambda x: ops.gather_nd(x, np.array([[0, 1], [2, 2], [0, 1]], np.int32)),
        lambda x: x[[0, 2, 0], [1, 2, 1]],
        [(3, 3, 2)],
    ),
    "embedding": (lambda x: ops.embedding(x, [2, 0, 2]), lambda x: x[[2, 0, 2]], [(3, 4)]),
    **{
        f"einsum {equation}": (
            lambda *values, equation=equation: ops.einsum(equation, *values),
            lambda *values, equation=equation: np.einsum(equation, *values),
            shapes,
        )
        for equation, shapes in (
            ("bij,bjk->bik", [(2, 3, 4), (2, 4, 2)]),
            ("i,j->ij", [(3,), (4,)]),
            ("ij->ji", [(3, 4)]),
            ("iij->ij", [(3, 3, 2)]),
            ("ij,jk,k", [(2, 3), (3, 4), (4,)]),
            ("...i,...i->...", [(2, 3, 4), (3, 4)]),
            ("ij,ij", [(2, 3), (2, 3)]),
        )
    },
    "sort": (lambda a: ops.sort(a, 0, descending=True), lambda a: -np.sort(-a, 0), [(4, 3)]),
    "topk": (lambda a: ops.topk(a, 2)[0], lambda a: -np.sort(-a)[:, :2], [(3, 5)]),
    "reduce_by_key sum": (
        lambda a: ops.reduce_by_key("sum", a, np.array([0, 0, 2, 2, 2], np.int32), 4),
        lambda a: np.stack([a[:2].sum(0), a[2:2].sum(0), a[2:].sum(0), a[2:2].sum(0)]),
        [(5, 2)],
    ),
    "reduce_by_key mean": (
        lambda a: ops.reduce_by_key("mean", a, np.array([0, 0, 1, 1, 1], np.int32), 2),
        lambda a: np.stack([a[:2].mean(0), a[2:].mean(0)]),
        [(5, 2)],
    ),
    "gemm": (
        lambda a, b, c: ops.gemm(a, b, c, alpha=0.5, beta=2.0, trans_a=True, activation="tanh"),
        lambda a, b, c: np.tanh(0.5 * a.T @ b + 2.0 * c),
        [(3, 4), (3, 2), (2,)],
    ),
    "tile": (lambda a: ops.tile(a, (2, 1, 3)), lambda a: np.tile(a, (2, 1, 3)), [(2, 3)]),
    "tril": (lambda a: ops.tril(a, 1), lambda a: np.tril(a, 1), [(2, 3, 4)]),
    "triu": (lambda a: ops.triu(a, -1), lambda a: np.triu(a, -1), [(4, 3)]),
    "depth_to_space": (
        lambda a: ops.depth_to_space(a, 2),
        lambda a: a.reshape(1, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 6),
        [(1, 8, 2, 3)],
    ),
    "depth_to_space, channels first": (
        lambda a: ops.depth_to_space(a, 2, channels_first=True),
        lambda a: a.reshape(1, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 4, 6),
        [(1, 8, 2, 3)],
    ),
    "space_to_depth": (
        lambda a: ops.space_to_depth(a, 2),
        lambda a: a.reshape(1, 2, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 8, 2, 3),
        [(1, 2, 4, 6)],
    ),
    "resize, nearest": (
        lambda a: ops.resize(a, [4, 6], axes=[1, 2], mode="nearest", rounding="floor", coordinates="asymmetric"),
        lambda a: a.repeat(2, 1).repeat(2, 2),
        [(2, 2, 3)],
    ),
    "resize, linear": (
        lambda a: ops.resize(a, scale=[2.0], axes=[-1], coordinates="align_corners"),
        lambda a: np.stack([a[..., 0], *((3 - i) / 3 * a[..., 0] + i / 3 * a[..., 1] for i in (1, 2)), a[..., 1]], -1),
        [(3, 2)],
    ),
    "l1": (lambda a: ops.l1(a, 1), lambda a: np.abs(a).sum(1), [(3, 4)]),
    "l2": (lambda a: ops.l2(a, 1, True), lambda a: np.sqrt((a * a).sum(1, keepdims=True)), [(3, 4)]),
    "log_sum": (lambda a: ops.log_sum(ops.exp(a), 1), lambda a: np.log(np.exp(a).sum(1)), [(3, 4)]),
    "sum_square": (lambda a: ops.sum_square(a, 0), lambda a: (a * a).sum(0), [(3, 4)]),
    "matmul, by an array": (
        lambda a: ops.matmul(np.arange(6, dtype=np.float32).reshape(2, 3), a),
        lambda a: np.arange(6).reshape(2, 3) @ a,
        [(3, 4)],
    ),
    "log_sum_exp": (lambda a: ops.log_sum_exp(a, (0, 2)), lambda a: np.log(np.exp(a).sum((0, 2))), [(2, 3, 4)]),
    "lp_norm": (
        lambda a: ops.lp_norm(a, 1, 3.0),
        lambda a: (np.abs(a) ** 3).sum(1, keepdims=True) ** (1 / 3),
        [(3, 4)],
    ),
    "lp_normalize": (
        lambda a: ops.lp_normalize(a, 1),
        lambda a: a / np.sqrt((a * a).sum(1, keepdims=True)),
        [(3, 4)],
    ),
    "global_average_pool": (
        lambda a: ops.global_average_pool(a),
        lambda a: a.mean((2, 3), keepdims=True),
        [(2, 3, 2, 4)],
    ),
    "used twice": (lambda a: a * a + ops.sin(a) * a, lambda a: a * a + np.sin(a) * a, [(2, 3)]),
    "fused": (
        lambda a, b: ops.fused(lambda x, y: ops.exp(x * y) + x, a, b),
        lambda a, b: np.exp(a * b) + a,
        [(2, 3), (3,)],
    ),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_operation(gpu: Gpu, name: str) -> None:
    ours, theirs, shapes = CASES[name]
    check(ours, theirs, [drawn(-1.5, 1.5, shape) for shape in shapes])


def reference_conv(x: np.ndarray, w: np.ndarray, b: np.ndarray, stride: int, padding: int, dilation: int) -> np.ndarray:
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    size = [(n - (k - 1) * dilation - 1) // stride + 1 for n, k in zip(x.shape[2:], w.shape[2:], strict=True)]
    out = np.zeros((len(x), len(w), *size))
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            rows, columns = (
                slice(k * dilation, k * dilation + (n - 1) * stride + 1, stride)
                for k, n in zip((i, j), size, strict=True)
            )
            out += np.einsum("ncij,oc->noij", x[:, :, rows, columns], w[:, :, i, j])
    return out + b[:, None, None]


@pytest.mark.parametrize(("stride", "padding", "dilation"), [(1, 0, 1), (2, 1, 1), (1, 2, 2), (2, 0, 2), (3, 1, 1)])
def test_convolution(gpu: Gpu, stride: int, padding: int, dilation: int) -> None:
    options = {"stride": stride, "padding": padding, "dilation": dilation}
    check(
        lambda x, w, b: ops.conv(x, w, b, **options),
        lambda x, w, b: reference_conv(x, w, b, **options),
        [drawn(-1, 1, (2, 2, 6, 7)), drawn(-1, 1, (3, 2, 3, 2)), drawn(-1, 1, (3,))],
    )


@pytest.mark.turns(2)
@pytest.mark.parametrize(("groups", "stride", "padding", "dilation"), [(2, 1, 0, 1), (2, 2, 1, 2), (4, 2, 1, 1)])
def test_convolution_in_groups(gpu: Gpu, groups: int, stride: int, padding: int, dilation: int) -> None:
    """Equal to convolutions of parts of the channels, also transposed."""
    options = {"stride": stride, "padding": padding, "dilation": dilation}

    def distances(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        parts = zip(np.split(x, groups, 1), np.split(w, groups), strict=True)
        return np.concatenate([reference_conv(*part, np.zeros(len(part[1])), **options) for part in parts], 1)

    check(
        lambda x, w: ops.conv(x, w, groups=groups, **options),
        distances,
        [drawn(-1, 1, (3, 4, 6, 7)), drawn(-1, 1, (8, 4 // groups, 3, 2))],
    )
    if dilation == 1:
        check(
            lambda x, w: ops.conv_transpose(x, w, groups=groups, stride=stride, padding=padding),
            lambda x, w: np.concatenate(
                [
                    reference_transpose(*part, stride, padding, 0)
                    for part in zip(np.split(x, groups, 1), np.split(w, groups), strict=True)
                ],
                1,
            ),
            [drawn(-1, 1, (2, 4, 3, 4)), drawn(-1, 1, (4, 3, 3, 2))],
        )


def reference_transpose(x: np.ndarray, w: np.ndarray, stride: int, padding: int, output_padding: int) -> np.ndarray:
    """Helper for the gradient of a convolution, with explicit windows."""
    size = [(n - 1) * stride + k + output_padding for n, k in zip(x.shape[2:], w.shape[2:], strict=True)]
    out = np.zeros((len(x), w.shape[1], *size))
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            rows, columns = (
                slice(a, a + (n - 1) * stride + 1, stride) for a, n in zip((i, j), x.shape[2:], strict=True)
            )
            out[:, :, rows, columns] += np.einsum("ncij,co->noij", x, w[:, :, i, j])
    return out[:, :, padding : size[0] - padding, padding : size[1] - padding]


@pytest.mark.parametrize(("stride", "padding", "output_padding"), [(1, 0, 0), (2, 1, 1), (3, 0, 2)])
def test_transposed_convolution(gpu: Gpu, stride: int, padding: int, output_padding: int) -> None:
    options = {"stride": stride, "padding": padding, "output_padding": output_padding}
    check(
        lambda x, w: ops.conv_transpose(x, w, **options),
        lambda x, w: reference_transpose(x, w, **options),
        [drawn(-1, 1, (2, 2, 3, 4)), drawn(-1, 1, (2, 3, 3, 2))],
    )


def test_a_product_with_zeros(gpu: Gpu) -> None:
    array = np.array([[2.0, 0.0, 3.0], [0.0, -1.0, 0.0], [1.0, 2.0, 3.0]], np.float32)
    check(lambda a: a.prod(1), lambda a: a.prod(1), [array])


# the graph ----------------------------------------------------------------------------------------------------------


def test_gradients_accumulate_until_cleared(gpu: Gpu) -> None:
    x = leaf(np.array([1.0, 2.0], np.float32))
    for _ in range(2):
        (x * 3.0).sum().backward()
    assert x.grad is not None and x.grad.numpy().tolist() == [6.0, 6.0]
    x.grad = None
    (x * 3.0).sum().backward()
    assert x.grad.numpy().tolist() == [3.0, 3.0]


def test_a_graph_is_used_once_unless_retained(gpu: Gpu) -> None:
    x = leaf(np.array([2.0], np.float32))
    y = x * x
    y.backward(keep_graph=True)
    y.backward()
    assert x.grad is not None and x.grad.item() == 8.0
    with pytest.raises(GradientError, match=r"multiply before.*keep_graph"):
        y.backward()


def test_in_place_writes_never_change_what_backward_needs(gpu: Gpu) -> None:
    x = leaf(np.array([2.0, 3.0], np.float32))
    y = x * 1.0
    z = y * y
    y.add_(100.0)
    (z.sum() + y.sum()).backward()
    assert x.grad is not None and x.grad.numpy().tolist() == [5.0, 7.0]


def test_a_leaf_is_written_without_gradients_only(gpu: Gpu) -> None:
    x = leaf(np.array([2.0], np.float32))
    y = x * x
    with pytest.raises(GradientError, match="no_grad"):
        x.add_(1.0)
    with pytest.raises(GradientError, match="no_grad"):
        x[0:1].add_(1.0)
    with no_grad():
        x.add_(1.0)
    y.backward()
    assert x.grad is not None and x.grad.item() == 4.0, "of the old x"


def test_no_gradient_is_dropped_silently(gpu: Gpu) -> None:
    x = leaf(np.array([[2.0, 1.0]], np.float32))
    with pytest.raises(GradientError, match=r"of tensor 'unnamed' has no gradient; give it x\.detach"):
        ops.reorder(x, Tensor.zeros(1, "u32"), Tensor.zeros((1, 2)))
    with pytest.raises(GradientError, match="no operand requires one"):
        (x.detach() * 2.0).sum().backward()
    with pytest.raises(GradientError, match="only floats"):
        Tensor.from_numpy(np.array([1], np.int32)).requires_grad = True
    with pytest.raises(GradientError, match="needs a gradient"):
        (x * 2.0).backward()
    with pytest.raises(GradientError, match=r"expected a gradient of shape \(1, 2\), got \(3,\)"):
        (x * 2.0).backward(Tensor.zeros(3))
    assert (x > 1.5).numpy().tolist() == [[True, False]]
    assert x.argmax().item() == 0


def test_detach_shares_memory_and_clone_keeps_the_graph(gpu: Gpu) -> None:
    x = leaf(np.array([1.0, 2.0], np.float32))
    distances = x.detach()
    assert distances.block is x.block and not distances.requires_grad and distances.is_leaf
    copy = x.clone()
    assert copy.block is x.block and copy.requires_grad and not copy.is_leaf
    (copy * 2.0).sum().backward()
    assert x.grad is not None and x.grad.numpy().tolist() == [2.0, 2.0] and copy.grad is None
    copy.close()


def test_a_step_is_recorded_and_replayed(steady: Gpu) -> None:
    with Tensor.from_numpy(np.array([4.0, -2.0], np.float32), "w") as weights, Plan("step") as plan:
        weights.requires_grad = True
        with plan.recording():
            ops.square(weights).sum().backward()
            assert weights.grad is not None
            with no_grad():
                weights.sub_(weights.grad * 0.25)
        for _ in range(3):
            plan.replay()
        assert weights.numpy().tolist() == [0.5, -0.25]
        weights.grad = None


def test_a_value_that_backward_needs_is_copied_before_a_write_that_is_recorded(gpu: Gpu) -> None:
    with Plan("step") as plan:
        x = leaf(np.array([3.0], np.float32))
        with plan.recording():
            y = x * 1.0
            z = y * y
            before = len(plan)
            y.add_(1.0)
            assert len(plan) == before + 3, "a copy for each operand, and the write"
            y.add_(1.0)
            assert len(plan) == before + 4, "nothing is left to be copied"
            z.backward()
        for _ in range(2):
            plan.replay()
            assert x.grad is not None and x.grad.item() == 6.0
            assert y.item() == 5.0
            with no_grad():
                x.sub_(0.0)


def test_a_recorded_value_that_is_written_later_is_detected(gpu: Gpu) -> None:
    with Plan("step") as plan:
        x = leaf(np.array([3.0], np.float32))
        with plan.recording():
            y = x * 1.0
            z = y * y
        plan.replay()
        y.fill_(0.0)
        with pytest.raises(GradientError, match=r"needed for gradients and was modified in place.*inside of the rec"):
            z.backward()


@pytest.mark.turns(2)
def test_memory_does_not_grow_with_the_number_of_steps(steady: Gpu) -> None:
    with Tensor.from_numpy(np.ones((8, 8), np.float32), "w") as weights:
        weights.requires_grad = True
        held = []
        for step in range(300):
            ops.tanh(weights @ weights).sum().backward()
            weights.grad = None
            steady.wait_idle()
            if step in (9, 299):
                held.append((len(steady.tracker.live), steady.pool.held_bytes))
        assert held[0] == held[1]


def test_gradient_rules_name_existing_operations() -> None:
    for name in RULES:
        assert hasattr(ops, name), name

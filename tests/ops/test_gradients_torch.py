"""Gradients against PyTorch on the CPU, in float64; runs if PyTorch is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from vertigrad import Tensor, learn, ops

from .differences import drawn, leaf, turned

torch: Any = pytest.importorskip("torch", reason="compares with PyTorch, which is not installed here")
F: Any = torch.nn.functional

pytestmark = pytest.mark.usefixtures("steady")


class Case(NamedTuple):
    ours: Callable[..., Tensor]
    theirs: Callable[..., Any]
    shapes: Sequence[tuple[int, ...]]
    low: float = -2.0
    high: float = 2.0


ROWS = np.array([2, 0, 2, 1])
ELEMENTWISE = {
    "exp sin cos tanh arctan sinh cosh expm1 erf square absolute": (-2.0, 2.0),
    "log log2 log1p sqrt rsqrt reciprocal": (0.3, 3.0),
    "arcsin arccos arctanh": (-0.9, 0.9),
    "sigmoid relu gelu silu softplus mish selu elu softsign": (-3.0, 3.0),
}
NAMES = {"arctan": "atan", "arcsin": "asin", "arccos": "acos", "arctanh": "atanh", "absolute": "abs"}
IN_FUNCTIONAL = ("relu", "gelu", "silu", "softplus", "mish", "selu", "elu", "softsign")
CASES: dict[str, Case] = {
    name: Case(
        getattr(ops, name), getattr(F if name in IN_FUNCTIONAL else torch, NAMES.get(name, name)), [(3, 7)], low, high
    )
    for names, (low, high) in ELEMENTWISE.items()
    for name in names.split()
}
CASES |= {
    "broadcast": Case(lambda a, b: a * b + a / b, lambda a, b: a * b + a / b, [(4, 1, 3), (5, 1)], 0.5, 2.0),
    "power": Case(ops.power, torch.pow, [(3, 4), (4,)], 0.5, 2.0),
    "maximum": Case(ops.maximum, torch.maximum, [(3, 4), (3, 4)]),
    "sum": Case(lambda x: ops.sum(x, (0, 2)), lambda x: x.sum((0, 2)), [(3, 4, 5)]),
    "mean": Case(lambda x: ops.mean(x, 1), lambda x: x.mean(1), [(3, 4, 5)]),
    "max": Case(lambda x: ops.max(x, 1), lambda x: x.amax(1), [(3, 4, 5)]),
    "prod": Case(lambda x: ops.prod(x, 1), lambda x: x.prod(1), [(3, 4)]),
    "log_sum_exp": Case(lambda x: ops.log_sum_exp(x, 1), lambda x: x.logsumexp(1), [(3, 4)]),
    "softmax": Case(ops.softmax, lambda x: x.softmax(-1), [(4, 6)]),
    "log_softmax": Case(lambda x: ops.log_softmax(x, 0), lambda x: x.log_softmax(0), [(4, 6)]),
    "matmul": Case(ops.matmul, torch.matmul, [(2, 1, 5, 3), (4, 3, 6)]),
    "einsum": Case(
        lambda a, b: ops.einsum("bij,kj->bik", a, b),
        lambda a, b: torch.einsum("bij,kj->bik", a, b),
        [(2, 3, 4), (5, 4)],
    ),
    "linear": Case(
        lambda x, w, b: ops.linear(x, w, b, activation="gelu"),
        lambda x, w, b: F.gelu(F.linear(x, w, b)),
        [(6, 5), (4, 5), (4,)],
    ),
    "conv1d": Case(
        lambda x, w: ops.conv(x, w, stride=2), lambda x, w: F.conv1d(x, w, stride=2), [(2, 3, 11), (4, 3, 3)]
    ),
    "conv2d": Case(
        lambda x, w, b: ops.conv(x, w, b, padding=1, dilation=2, groups=2),
        lambda x, w, b: F.conv2d(x, w, b, padding=1, dilation=2, groups=2),
        [(2, 4, 8, 9), (6, 2, 3, 3), (6,)],
    ),
    "conv3d": Case(ops.conv, F.conv3d, [(1, 2, 4, 5, 4), (3, 2, 2, 3, 2)]),
    "conv_transpose": Case(
        lambda x, w: ops.conv_transpose(x, w, stride=2, padding=1, output_padding=1),
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1),
        [(2, 3, 4, 5), (3, 2, 3, 3)],
    ),
    "max_pool": Case(lambda x: ops.max_pool(x, 2, stride=2), lambda x: F.max_pool2d(x, 2), [(1, 2, 6, 8)]),
    "average_pool": Case(
        lambda x: ops.average_pool(x, 3, stride=2, padding=1, count_include_pad=True),
        lambda x: F.avg_pool2d(x, 3, 2, 1),
        [(1, 2, 6, 8)],
    ),
    "layer_norm": Case(ops.layer_norm, lambda x, s, b: F.layer_norm(x, (6,), s, b), [(5, 6), (6,), (6,)]),
    "group_norm": Case(
        lambda x, s, b: ops.group_norm(x, 2, s, b), lambda x, s, b: F.group_norm(x, 2, s, b), [(2, 4, 5), (4,), (4,)]
    ),
    "instance_norm": Case(
        ops.instance_norm, lambda x, s, b: F.instance_norm(x, weight=s, bias=b), [(2, 3, 7), (3,), (3,)]
    ),
    "rms_norm": Case(ops.rms_norm, lambda x, s: F.rms_norm(x, (6,), s, 1e-5), [(5, 6), (6,)]),
    "attention": Case(ops.attention, F.scaled_dot_product_attention, [(2, 3, 6, 4)] * 3),
    "attention causal": Case(
        lambda q, k, v: ops.attention(q, k, v, causal=True),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        [(1, 2, 6, 4)] * 3,
    ),
    "embedding": Case(lambda w: ops.embedding(w, ROWS), lambda w: w[torch.from_numpy(ROWS)], [(3, 4)]),
    "take": Case(lambda x: ops.take(x, ROWS, 1), lambda x: x[:, torch.from_numpy(ROWS)], [(2, 3, 2)]),
    "concatenate": Case(lambda a, b: ops.concatenate([a, b], 1), lambda a, b: torch.cat([a, b], 1), [(2, 3), (2, 4)]),
    "slices": Case(lambda x: x[1:, ::2].T * 2.0, lambda x: x[1:, ::2].T * 2.0, [(4, 5)]),
    "pad": Case(
        lambda x: ops.pad(x, [(0, 0), (2, 1)], "reflect"), lambda x: F.pad(x, (2, 1), mode="reflect"), [(3, 6)]
    ),
    "where": Case(lambda a, b: ops.where(a > 0.3, a, b), lambda a, b: torch.where(a > 0.3, a, b), [(3, 4), (3, 4)]),
    "clip": Case(lambda x: ops.clip(x, -1.0, 1.0), lambda x: x.clamp(-1.0, 1.0), [(3, 7)]),
    "cumsum": Case(lambda x: ops.cumsum(x, 0), lambda x: x.cumsum(0), [(5, 4)]),
    "cumprod": Case(lambda x: ops.cumprod(x, 1), lambda x: x.cumprod(1), [(3, 5)]),
    "sort": Case(lambda x: ops.sort(x), lambda x: x.sort(-1).values, [(3, 8)]),
    "grid_sample": Case(
        ops.grid_sample, lambda x, g: F.grid_sample(x, g, align_corners=False), [(2, 3, 5, 6), (2, 4, 3, 2)], -0.9, 0.9
    ),
    "resize": Case(
        lambda x: ops.resize(x, (7, 9), axes=(2, 3)),
        lambda x: F.interpolate(x, (7, 9), mode="bilinear"),
        [(1, 2, 4, 5)],
    ),
    "l1": Case(learn.l1_loss, F.l1_loss, [(4, 5), (4, 5)]),
    "l2": Case(learn.l2_loss, F.mse_loss, [(4, 5), (4, 5)]),
    "huber": Case(learn.huber_loss, F.huber_loss, [(4, 5), (4, 5)]),
    "cross_entropy": Case(
        lambda x: learn.cross_entropy(x, Tensor.from_numpy(ROWS.astype(np.int32))),
        lambda x: F.cross_entropy(x, torch.from_numpy(ROWS)),
        [(4, 5)],
    ),
}


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_torch(name: str) -> None:
    case = CASES[name]
    arrays = [drawn(case.low, case.high, shape) for shape in case.shapes]
    leaves = [leaf(array) for array in arrays]
    wanting = [torch.from_numpy(array.astype(np.float64)).requires_grad_() for array in arrays]
    mine, found = case.ours(*leaves), case.theirs(*wanting)
    np.testing.assert_allclose(mine.numpy(), found.detach().numpy(), rtol=1e-4, atol=1e-5)
    weights = drawn(-1.0, 1.0, tuple(found.shape))
    mine.backward(turned(weights))
    found.backward(torch.from_numpy(weights.astype(np.float64)))
    for tensor, other in zip(leaves, wanting, strict=True):
        exact = other.grad.numpy()
        assert tensor.grad is not None
        np.testing.assert_allclose(tensor.grad.numpy(), exact, rtol=1e-4, atol=1e-5 * max(1.0, np.abs(exact).max()))

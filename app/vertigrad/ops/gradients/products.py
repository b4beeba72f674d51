"""Gradients of products of matrices: products of matrices again."""

from __future__ import annotations

from collections.abc import Mapping

from ...tensor import Tensor
from ..differentiable import Call, rule
from ..matmul import matmul
from ..reduce import sum as sum_
from ..reduce import sum_to


@rule("matmul", "a", "b")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    a, b = call["a"], call["b"]
    row, column = (a[None] if a.ndim == 1 else a), (b[:, None] if b.ndim == 1 else b)
    if b.ndim == 1:
        gradient = gradient[..., None]
    if a.ndim == 1:
        gradient = gradient[..., None, :]
    found: dict[str, Tensor] = {}
    if "a" in call.requested:
        found["a"] = sum_to(matmul(gradient, swapped(column)), row.shape).reshape(*a.shape)
    if "b" in call.requested:
        found["b"] = sum_to(matmul(swapped(row), gradient), column.shape).reshape(*b.shape)
    return found


@rule("linear", "x", "weight")
def _(gradient: Tensor, call: Call) -> Mapping[str, Tensor]:
    x, weight = call["x"], call["weight"]
    found: dict[str, Tensor] = {}
    rows = gradient.contiguous().reshape(-1, weight.shape[0])
    if "x" in call.requested:
        found["x"] = matmul(gradient, weight)
    if "weight" in call.requested:
        found["weight"] = matmul(rows.T, x.contiguous().reshape(-1, weight.shape[1]))
    if "bias" in call.requested:
        found["bias"] = sum_(rows, 0)
    if "residual" in call.requested:
        found["residual"] = sum_to(gradient, call.shapes["residual"])
    return found


def swapped(matrices: Tensor) -> Tensor:
    """The last two axes changed for each other; a view."""
    axes = range(matrices.ndim)
    return matrices.permute(*axes[:-2], axes[-1], axes[-2])

"""Every operator and method of a tensor keeps the graph of gradients, or returns a non-differentiable result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.errors import GradientError
from vertigrad.gpu import Gpu
from vertigrad.tensor.operators import Arithmetic

from .test_gradient_table import INDICES, ROWS, leaf

TWO = ("add", "sub", "mul", "truediv", "mod", "pow")
METHODS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    **{f"__{name}__": lambda x, y, name=name: getattr(x, f"__{name}__")(y) for name in TWO},
    **{f"__r{name}__": lambda x, y, name=name: getattr(x, f"__r{name}__")(0.5) for name in TWO},
    **{f"__i{name}__": lambda x, y, name=name: getattr(x * 1.0, f"__i{name}__")(y) for name in TWO[:4]},
    **{name: lambda x, y, name=name: getattr(x * 1.0, name)(y) for name in ("add_", "sub_", "mul_", "div_")},
    "__neg__": lambda x, y: -x,
    "__abs__": lambda x, y: abs(x),
    "__matmul__": lambda x, y: x @ y.T,
    "__rmatmul__": lambda x, y: np.ones((2, 4), np.float32) @ x,
    "to": lambda x, y: x.to("f16"),
    "take": lambda x, y: x.take(INDICES, 0),
    **{name: lambda x, y, name=name: getattr(x, name)(1) for name in ("sum", "mean", "min", "max", "prod")},
    "T": lambda x, y: x.T,
    "__getitem__": lambda x, y: x[1:, ::2],
    "permute": lambda x, y: x.permute(1, 0),
    "reshape": lambda x, y: x.reshape(2, 6),
    "expand": lambda x, y: x[None].expand(2, 4, 3),
    "contiguous": lambda x, y: x.T.contiguous(),
    "clone": lambda x, y: x.clone(),
    "__array_ufunc__": lambda x, y: np.exp(x),
}
CONSTANT = {f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge", "floordiv", "rfloordiv", "invert")}
CONSTANT |= {f"__{side}{name}__" for name in ("and", "or", "xor") for side in ("", "r")}
CONSTANT |= {"any", "all", "argmin", "argmax", "fill_"}


def test_every_operator_of_a_tensor_keeps_the_graph(gpu: Gpu) -> None:
    listed = {name for name, value in vars(Arithmetic).items() if callable(value) and name != "__hash__"}
    assert listed <= {*METHODS, *CONSTANT}
    for name, method in METHODS.items():
        x, y = leaf(ROWS, "x"), leaf(ROWS, "y")
        result = method(x, y)
        result.backward(Tensor.full(result.shape, 1.0, result.dtype))
        assert x.grad is not None and np.isfinite(x.grad.numpy()).all(), name
    for name in ("__eq__", "__lt__", "__floordiv__"):
        assert not getattr(leaf(ROWS, "x"), name)(0.5).requires_grad
    with pytest.raises(GradientError, match="no_grad"):
        leaf(ROWS, "x").fill_(1.0)


def test_backward_of_a_non_differentiable_result_raises_with_the_reason(gpu: Gpu) -> None:
    """In a sum, the other terms get their gradients; alone, the error of `backward` names operation and tensor."""
    x = leaf(ROWS, "heights")
    (ops.floor(x * 3.0) * x).sum().backward()
    assert x.grad is not None
    with pytest.raises(
        GradientError, match=r"^floor of tensor 'heights' has no gradient: it is flat.*or give it x\.detach"
    ):
        ops.floor(x).backward(Tensor.zeros(ROWS))
    with pytest.raises(GradientError, match=r"^argsort of tensor 'heights' has no gradient: it is an index"):
        ops.argsort(x).backward(Tensor.zeros(ROWS, "i32"))
    with pytest.raises(GradientError, match=r"^where of tensor 'heights' has no gradient: it only says where"):
        ops.where(x, 1.0, 0.0).backward(Tensor.zeros(ROWS))

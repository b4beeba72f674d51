"""f16 in the backward pass: computed in f32, as the operations themselves are, and rounded once."""

from __future__ import annotations

from ...tensor import Tensor, f32


def wide(x: Tensor) -> Tensor:
    """`x` in f32."""
    return x if x.dtype is f32 else x.to(f32)


def narrow(result: Tensor, x: Tensor) -> Tensor:
    """`result` in the type of `x`."""
    return result if result.dtype is x.dtype else result.to(x.dtype)

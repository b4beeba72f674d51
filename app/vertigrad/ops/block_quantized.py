"""Weights of 2, 4 or 8 bits in blocks, each with a scale and a zero point: multiplied as they are, or written out."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import DtypeError, ShapeError
from ..gpu import Kernel
from ..tensor import DType, Tensor, f16, f32, u32
from . import launch
from .functions import Operand
from .linear import linear

MOST_ROWS = 8  # of x, that go through the packed weights; more are multiplied with weights written out once


class BlockQuantized(NamedTuple):
    """A matrix (rows, columns) of integers of `bits` (2, 4 or 8): weight = scale · (integer − zero).

    `packed` is u32 (rows, words), the first integer of a row in the lowest bits of its first word. `scales` and `zeros`
    are f32 (rows, blocks); a block is `block` neighboring columns, in whole words. The last may reach beyond the row.
    """

    packed: Tensor
    scales: Tensor
    zeros: Tensor
    bits: int
    block: int
    columns: int

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self.packed.shape[0], self.columns

    def dequantized(self, dtype: DType = f32) -> Tensor:
        """The weights (rows, columns) as f32 or f16."""
        out = Tensor.empty(self.shape, dtype, temporary=True)
        self._launch(self.packed.size, out, MULTIPLY=False, ROWS=0, X="f32", BIAS=False)
        return out

    def multiply(self, x: Tensor, bias: Tensor | None, out: Tensor) -> None:
        """Record out = x weightᵀ + bias for a few rows of x, packed (rows, columns)."""
        rows, operands = x.shape[0], {"x": x} | ({} if bias is None else {"bias": bias})
        threads = -(-self.packed.shape[0] // 4) * 128
        self._launch(threads, out, MULTIPLY=True, ROWS=rows, X=x.dtype.name, BIAS=bias is not None, operands=operands)

    def require_fits(self) -> None:
        """Raise `ShapeError` or `DtypeError` for parts that do not go together."""
        per = 32 // self.bits if self.bits in (2, 4, 8) else 0
        blocks = -(-self.columns // self.block) if self.block > 0 else 0
        rows = self.packed.shape[0]
        if not per or not blocks or self.block % per or self.packed.shape != (rows, blocks * self.block // per):
            raise ShapeError(
                f"weights of {self.bits} bits in blocks of {self.block}: {self.columns} columns are not packed in "
                f"{self.packed.shape} words"
            )
        if not self.scales.shape == self.zeros.shape == (rows, blocks):
            raise ShapeError(f"scales {self.scales.shape} and zeros {self.zeros.shape} of ({rows}, {blocks}) blocks")
        if self.packed.dtype is not u32 or {self.scales.dtype, self.zeros.dtype} != {f32}:
            raise DtypeError("weights in blocks are u32, their scales and zeros f32")

    def _launch(self, threads: int, out: Tensor, operands: dict[str, Tensor] | None = None, **defines: object) -> None:
        kernel = Kernel.load("ops/block_quantized.wgsl", defines={"BITS": self.bits, "OUT": out.dtype.name, **defines})
        kernel(
            threads,
            overwrites=("out",),
            rows=self.packed.shape[0],
            words=self.packed.shape[1],
            columns=self.columns,
            block=self.block,
            blocks=self.scales.shape[1],
            **{"packed": self.packed, "scales": self.scales, "zeros": self.zeros, "out": out, **(operands or {})},
        )


def block_linear(x: Operand, weight: BlockQuantized, bias: Operand | None = None) -> Tensor:
    """x weightᵀ + bias: x (..., columns) f32 or f16, bias (rows,), the result (..., rows) in the type of x.

    Up to `MOST_ROWS` rows read the weights as they are packed, so a step of a language model reads a few bits of each.
    Raises `ShapeError`, `DtypeError`.
    """
    with launch.tensors(x, bias) as (left, shift):
        weight.require_fits()
        rows, columns = weight.shape
        if not left.ndim or left.shape[-1] != columns or (shift is not None and shift.shape != (rows,)):
            raise ShapeError(f"block_linear: x {left.shape}, weights {weight.shape}, bias {shift and shift.shape}")
        if left.dtype not in (f32, f16):
            raise DtypeError(f"block_linear of {left.dtype}; x must be f32 or f16")
        count = left.size // columns
        if count > MOST_ROWS or columns * weight.bits % 32:
            return linear(left, weight.dequantized(left.dtype), shift)
        out = Tensor.empty((*left.shape[:-1], rows), left.dtype, temporary=True)
        if count:
            flat = left.contiguous().reshape(count, columns)
            real = shift if shift is None or shift.dtype is f32 else shift.to(f32)
            weight.multiply(flat, real, out)
    return out

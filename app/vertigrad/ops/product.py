"""Products of matrices as dispatches: layouts of operands, and which kernel multiplies them.

There are three kernels. `ops/matmul.wgsl` goes through tiles in workgroup memory; `ops/gemv.wgsl` reads the matrix that
a few rows are multiplied with once; `ops/matmul_small.wgsl` has an invocation for each 4 x 4 elements of small ones,
and of those in f64 with few rows or columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..gpu import Kernel
from ..tensor import Tensor, f32, f64
from . import launch
from .activation import Activation, expression, parameters
from .creation import ones, zeros
from .product_variants import FEW, LINES, OF_DOUBLES, SMALL, TILES, Lines, Tile, Variant, lines_class, tiles_class

BUSY = 132  # workgroups from which on a large GPU has work everywhere
LEAST_PART = 512  # of the inner axis
LEAST_LINE = 4096  # of the inner axis, where a few rows go through a matrix


@dataclass(frozen=True)
class Epilogue:
    """What becomes of a product before it is stored: activation(alpha · product + beta · bias + residual)."""

    bias: Tensor | None = None
    residual: Tensor | None = None
    activation: Activation = None
    alpha: float = 1.0
    beta: float = 1.0

    @property
    def scaled(self) -> bool:
        """Whether alpha or beta has to be multiplied by."""
        return (self.alpha, self.beta) != (1.0, 1.0)


NO_EPILOGUE = Epilogue()


def product(
    a: Tensor, b: Tensor, out: Tensor, epilogue: Epilogue = NO_EPILOGUE, variant: Variant | None = None
) -> None:
    """Record out = a b with what the epilogue adds; matrices are the last two axes.

    `a`, `b`, bias and residual have the axes of `out` or broadcast to them; what shares its memory is copied first.
    `variant` is for measuring; left out, it is the one that tuning has for products of this size.
    """
    if a.shape[-1] == 0:
        a = b = zeros((1, 1))
    parts = _parts(out, a.shape[-1]) if variant is None else 1
    if parts > 1:
        _in_parts(a, b, out, epilogue, parts)
        return
    operands = _Operands.of(a, b, out, epilogue)
    if operands.columns <= FEW < operands.rows:
        operands = operands.transposed()
    operands.dispatch(epilogue, variant or operands.variant())


def _parts(out: Tensor, inner: int) -> int:
    """Into how many equal parts a long inner axis is divided, so that a product of few elements keeps the GPU busy."""
    if out.ndim != 2 or out.dtype.kind != "float":
        return 1
    few = min(out.shape) <= FEW
    groups = -(-max(out.shape) // 16) if few else -(-out.shape[0] // 64) * -(-out.shape[1] // 64)
    most = min(BUSY // groups, inner // (LEAST_LINE if few else LEAST_PART))
    return next((n for n in range(most, 1, -1) if inner % (8 * n) == 0), 1)


def _in_parts(a: Tensor, b: Tensor, out: Tensor, epilogue: Epilogue, parts: int) -> None:
    """As `product`: the parts of the inner axis side by side, then their sum, which is a product with ones."""
    (rows, columns), size = out.shape, a.shape[-1] // parts
    left = a.reshape(rows, parts, size).permute(1, 0, 2)
    right = b.reshape(parts, size, columns)
    bias, residual = (
        None if added is None else added.expand(rows, columns)[:, None] for added in (epilogue.bias, epilogue.residual)
    )
    with Tensor.empty((parts, rows, columns), f32) as sums, ones((1, 1)) as one:
        product(left, right, sums)
        finish = replace(epilogue, bias=bias, residual=residual)
        product(one.expand(1, parts), sums.permute(1, 0, 2), out[:, None], finish)


class _Matrix(NamedTuple):
    """A tensor with the strides, in elements, of its last two axes and of the batch."""

    tensor: Tensor
    strides: tuple[int, int]
    steps: list[int]

    def column_major(self, rows: int, columns: int) -> bool:
        """Whether elements are closer together along a column than along a row; axes of 1 do not count."""
        if rows == 1 or columns == 1:
            return columns == 1 and rows > 1
        return abs(self.strides[0]) < abs(self.strides[1])

    def wide(self, rows: int, columns: int) -> bool:
        """Whether whole quads are contiguous along the closer axis, each at a multiple of four elements."""
        near = 0 if self.column_major(rows, columns) else 1
        others = [self.strides[1 - near], *self.steps, self.tensor.offset // self.tensor.itemsize]
        together = self.strides[near] == 1 and (rows, columns)[near] % 4 == 0
        return together and self.tensor.dtype.scalar == self.tensor.dtype.name and not any(n % 4 for n in others)


@dataclass(frozen=True)
class _Operands:
    """The matrices of a product, by the names that they have in the shaders."""

    matrices: dict[str, _Matrix]
    batch: list[int]
    rows: int
    columns: int
    inner: int

    @staticmethod
    def of(a: Tensor, b: Tensor, out: Tensor, epilogue: Epilogue) -> _Operands:
        batch, (rows, columns), inner = out.shape[:-2], out.shape[-2:], a.shape[-1]
        a, b = launch.copy_if_aliased(a, out), launch.copy_if_aliased(b, out)
        tensors = {"a": a.expand(*batch, rows, inner), "b": b.expand(*batch, inner, columns), "out": out}
        for name, added in (("bias", epilogue.bias), ("residual", epilogue.residual)):
            if added is not None:
                tensors[name] = launch.copy_if_aliased(added, out).expand(*out.shape)
        strides = [launch.element_strides(tensor) for tensor in tensors.values()]
        axes, steps = launch.merge_axes(batch, [row[:-2] for row in strides])
        matrices = {
            name: _Matrix(tensor, (row[-2], row[-1]), step)
            for (name, tensor), row, step in zip(tensors.items(), strides, steps, strict=True)
        }
        return _Operands(matrices, axes, rows, columns, inner).folded()

    def folded(self) -> _Operands:
        """With the last axis of the batch joined to the rows, where b is the same along it and the strides of the rows
        allow it.
        """
        if not self.batch or self.matrices["b"].steps[-1] != 0:
            return self
        others = {name: matrix for name, matrix in self.matrices.items() if name != "b"}
        if self.rows > 1 and any(m.steps[-1] != self.rows * m.strides[0] for m in others.values()):
            return self
        folded = {
            name: m._replace(strides=(m.steps[-1] if self.rows == 1 else m.strides[0], m.strides[1]))
            for name, m in others.items()
        }
        folded["b"] = self.matrices["b"]
        matrices = {name: folded[name]._replace(steps=folded[name].steps[:-1]) for name in self.matrices}
        return _Operands(matrices, self.batch[:-1], self.rows * self.batch[-1], self.columns, self.inner)

    def transposed(self) -> _Operands:
        """The same as outᵀ = bᵀ aᵀ."""
        turned = {name: matrix._replace(strides=matrix.strides[::-1]) for name, matrix in self.matrices.items()}
        turned["a"], turned["b"] = turned["b"], turned["a"]
        return _Operands(turned, self.batch, self.columns, self.rows, self.inner)

    def size(self, name: str) -> tuple[int, int]:
        """Rows and columns of a matrix."""
        return {"a": (self.rows, self.inner), "b": (self.inner, self.columns)}.get(name, (self.rows, self.columns))

    def column_major(self, name: str) -> bool:
        return self.matrices[name].column_major(*self.size(name))

    def wide(self, name: str) -> bool:
        matrix = self.matrices.get(name)
        return (
            matrix is not None and matrix.wide(*self.size(name)) and (name in ("a", "b") or not self.column_major(name))
        )

    def variant(self) -> Variant | None:
        """The kernel's variant for this size; None for small products, which have only one."""
        if self.matrices["out"].tensor.dtype is f64:
            return OF_DOUBLES if min(self.rows, self.columns) > FEW else None
        if self.rows <= FEW:
            return LINES.choose(lines_class(self.rows, self.column_major("b")))
        if self.rows <= SMALL and self.columns <= SMALL:
            return None
        return TILES.choose(tiles_class(self.rows, self.columns, math.prod(self.batch)))

    def dispatch(self, epilogue: Epilogue, variant: Variant | None) -> None:
        path, threads, shape = self._kernel(variant)
        bias = self.matrices.get("bias")
        kernel = Kernel.load(path, defines=shape | self._defines(epilogue, bias))
        kernel(
            threads * math.prod(self.batch),
            overwrites=("out",),
            rows=self.rows,
            columns=self.columns,
            inner=self.inner,
            batches=math.prod(self.batch),
            batch_axes=len(self.batch),
            batch=launch.padded(self.batch, 1),
            activation=parameters(epilogue.activation),
            **({"alpha": epilogue.alpha, "beta": epilogue.beta} if epilogue.scaled else {}),
            **dict(self._arguments()),
        )

    def _arguments(self) -> Iterator[tuple[str, Any]]:
        for name, matrix in self.matrices.items():
            yield name, matrix.tensor
            yield f"{name}_strides", matrix.strides
            yield f"{name}_steps", launch.padded(matrix.steps, 0)

    def _kernel(self, variant: Variant | None) -> tuple[str, int, dict[str, Any]]:
        """(shader, invocations for one product, what the variant defines)."""
        if isinstance(variant, Tile):
            tiles = -(-self.rows // variant.rows) * -(-self.columns // variant.columns)
            defines = {name.upper(): value for name, value in variant._asdict().items()}
            return "ops/matmul.wgsl", tiles * variant.threads, defines | {"WHOLE": self.inner % variant.step == 0}
        if isinstance(variant, Lines):
            groups = -(-self.columns // (4 * variant.quads))
            defines = {name.upper(): value for name, value in variant._asdict().items()}
            stride = variant.threads // variant.quads * variant.turns * (4 if self.column_major("b") else 1)
            is_whole = self.inner % stride == 0 and not variant.looped  # one kernel less, where compiling takes longest
            defines |= {"ROWS": self.rows, "WHOLE": is_whole}
            return "ops/gemv.wgsl", groups * variant.threads, defines
        return "ops/matmul_small.wgsl", -(-self.rows // 4) * -(-self.columns // 4), {"WHOLE": False}

    def _defines(self, epilogue: Epilogue, bias: _Matrix | None) -> dict[str, Any]:
        dtypes = {name: matrix.tensor.dtype for name, matrix in self.matrices.items()}
        out = dtypes["out"]
        return {
            "A": dtypes["a"].name,
            "B": dtypes["b"].name,
            "OUT": out.name,
            "BIAS": dtypes["bias"].name if bias else "",
            "RESIDUAL": dtypes["residual"].name if "residual" in dtypes else "",
            "VALUE": launch.word_type(out),
            "A_COLUMN_MAJOR": self.column_major("a"),
            "B_COLUMN_MAJOR": self.column_major("b"),
            "A_WIDE": self.wide("a"),
            "B_WIDE": self.wide("b"),
            "OUT_WIDE": self.wide("out"),
            "RESIDUAL_WIDE": self.wide("residual") and self.wide("out"),
            "BIAS_BY_COLUMN": bool(bias and bias.strides[0] == 0),
            "SCALED": epilogue.scaled,
            "ACTIVATION": expression(epilogue.activation),
        }

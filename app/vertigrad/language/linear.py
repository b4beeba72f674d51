"""`Linear`: a matrix of packed weights on the GPU, and its products with one vector or with several."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ..gpu import Kernel, Plan, gpu
from ..ops.paths import path
from ..tensor import Tensor
from .packing import CHUNK, Packed

TILE = 64  # rows and tokens of a tile of matmul.wgsl
Then: TypeAlias = Literal["store", "add", "activate", "gate"]


class Shape(NamedTuple):
    """How matvec.wgsl divides a product: invocations of a workgroup, those that share rows, chunks that each reads at a
    time, and workgroups at most.
    """

    threads: int
    lanes: int
    turns: int
    workgroups: int


# The fastest on an H100, by a sweep of `tests.bench.language_models`: many rows of a matrix, few, and long ones, whose
# vector is worth sharing among more invocations.
MANY, LONG = 8192, 4096
FOR_MANY, FOR_FEW, FOR_LONG = Shape(128, 128, 4, 1 << 20), Shape(128, 64, 2, 1056), Shape(512, 128, 2, 1056)
FOR_MANY_INT4, FOR_FEW_INT4 = Shape(256, 16, 1, 1056), Shape(512, 64, 1, 1056)


class Norm(NamedTuple):
    """A norm of vectors: gain and shift are f32 (width,)."""

    kind: str  # "rms" or "layer"
    gain: Tensor
    shift: Tensor | None
    epsilon: float


@dataclass(frozen=True)
class Parts:
    """The parts of an attention, which a product adds up while it reads them."""

    sums: Tensor
    splits: int
    heads: int
    head: int
    tile: int


@dataclass(frozen=True)
class Linear:
    """weights · x + bias, followed by what `then` says: store, add to what is there, activation, or gated activation.

    With "gate" rows are in turns those of the gate and those that are multiplied by its activation.
    """

    format: str
    rows: int
    inner: int
    group: int
    words: Tensor
    scales: Tensor | None
    bias: Tensor | None
    then: Then = "store"
    activation: str = ""

    @staticmethod
    def of(
        stack: ExitStack,
        name: str,
        packed: Packed,
        bias: np.ndarray | None = None,
        then: Then = "store",
        activation: str = "",
    ) -> Linear:
        """The weights on the GPU; the stack closes them."""

        def uploaded(what: str, array: np.ndarray | None) -> Tensor | None:
            return None if array is None else stack.enter_context(Tensor.from_numpy(array, f"{name}.{what}"))

        words = stack.enter_context(Tensor.from_numpy(packed.words, f"{name}.weight"))
        scales, shift = uploaded("scales", packed.scales), uploaded("bias", bias)
        return Linear(packed.format, packed.rows, packed.inner, packed.group, words, scales, shift, then, activation)

    @property
    def nbytes(self) -> int:
        """Bytes that a product reads of the weights."""
        return self.words.nbytes + (0 if self.scales is None else self.scales.nbytes)

    def add_vector(
        self,
        plan: Plan,
        x: Tensor,
        out: Tensor,
        norm: Norm | None = None,
        parts: Parts | None = None,
        shape: Shape | None = None,
    ) -> None:
        """Add the product with one vector, normalized before: x (inner,), or the parts of an attention.

        `shape` is for measuring; left out, it is the fastest known for such a matrix.
        """
        shape = self._fitting(shape or self._usual(), parts)
        blocks = -(-self.rows // (4 * shape.threads // shape.lanes))
        kernel = Kernel.load("language/matvec.wgsl", defines=self._defines() | self._vector_defines(shape, norm, parts))
        plan.dispatch(
            kernel,
            min(blocks, shape.workgroups) * shape.threads,
            overwrites=() if self.then == "add" else ("out",),
            rows=self.rows,
            x_first=0,
            epsilon=0.0 if norm is None else norm.epsilon,
            weights=self.words,
            scales=self.scales,
            x=x,
            gain=None if norm is None else norm.gain,
            shift=None if norm is None else norm.shift,
            weight_sums=None if parts is None else parts.sums,
            bias=self.bias,
            out=out,
        )

    def add_matrix(self, plan: Plan, x: Tensor, out: Tensor) -> None:
        """Add the product with several vectors: x (tokens, inner), out (tokens, rows), half as many with a gate.

        Each replay gives the `count` of them that there are.
        """
        plan.dispatch(
            Kernel.load("language/matmul.wgsl", defines=self._defines()),
            (-(-self.rows // TILE) * 256, -(-x.shape[0] // TILE)),
            overwrites=() if self.then == "add" else ("out",),
            rows=self.rows,
            weights=self.words,
            scales=self.scales,
            x=x,
            bias=self.bias,
            out=out,
        )

    def _usual(self) -> Shape:
        if self.inner >= LONG:
            return FOR_LONG
        if self.format == "int4":
            return FOR_MANY_INT4 if self.rows >= MANY else FOR_FEW_INT4
        return FOR_MANY if self.rows >= MANY else FOR_FEW

    def _fitting(self, shape: Shape, parts: Parts | None) -> Shape:
        """Within the adapter's limits, and with fewer lanes for short rows."""
        threads = min(shape.threads, gpu().limits["max-compute-invocations-per-workgroup"])
        shape = shape._replace(threads=threads, lanes=min(shape.lanes, threads))
        chunks = min(self.inner, self._room(shape, parts)) // CHUNK[self.format]
        lanes, turns = shape.lanes, shape.turns
        while lanes * turns > chunks and turns > 1:
            turns //= 2
        while lanes > max(chunks, 4):
            lanes //= 2
        return shape._replace(lanes=lanes, turns=turns)

    def _defines(self) -> dict[str, Any]:
        return {
            "FORMAT": self.format,
            "GROUP": self.group,
            "INNER": self.inner,
            "BIAS": self.bias is not None,
            "THEN": self.then,
            "ACTIVATION": self.activation,
        }

    def _vector_defines(self, shape: Shape, norm: Norm | None, parts: Parts | None) -> dict[str, Any]:
        subgroup = path().subgroup
        return {
            "THREADS": shape.threads,
            "LANES": shape.lanes,
            "TURNS": shape.turns,
            "SUBGROUP": 0 if not subgroup or shape.lanes % subgroup else subgroup,
            "SECTION": self._section(shape, parts),
            "NORM": "" if norm is None else norm.kind,
            "SHIFT": norm is not None and norm.shift is not None,
            "SPLITS": 0 if parts is None else parts.splits,
            "HEADS": 0 if parts is None else parts.heads,
            "HEAD": 0 if parts is None else parts.head,
            "TILE": 0 if parts is None else parts.tile,
        }

    def _section(self, shape: Shape, parts: Parts | None) -> int:
        """Elements of the vector that are in workgroup memory at a time: all, or as many whole steps as fit."""
        room = self._room(shape, parts)
        if self.inner <= room:
            return self.inner
        step = shape.lanes * shape.turns * CHUNK[self.format]
        return room // step * step

    def _room(self, shape: Shape, parts: Parts | None) -> int:
        """Elements of a vector, with two floats for each chunk of int4, that workgroup memory has room for."""
        factors = 0 if parts is None else 4 * parts.splits * parts.heads
        storage = gpu().limits["max-compute-workgroup-storage-size"] - 20 * shape.threads - factors - 256
        return storage * 4 // 17 if self.format == "int4" else storage // 4

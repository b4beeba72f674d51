"""`Probe`: statistics of everything that the nodes of a network compute, taken while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..closing import Closing
from ..ops.summary import WORDS, Summary, most_tensors, summarize, summarize_all
from ..tensor import DType, Tensor, f16, f32, u32

MOST_BYTES = 32 << 20  # of tensors that wait; dispatches for larger ones cost little


class Probed(NamedTuple):
    """A tensor of floats whose statistics are taken: its name, the operator that computes it, its type and shape."""

    name: str
    operator: str
    dtype: DType
    shape: tuple[int, ...]


class Probe(Closing):
    """Statistics of at most `count` tensors in one tensor, `records`: a row for each of `tensors`, in their order.

    A node that is done by the kernel of another one has no tensor of its own, and so no row. Several tensors are read
    by one dispatch, until which they keep their memory; `finish` records that of those that are left.
    """

    def __init__(self, count: int):
        self.records = Tensor.zeros((max(count, 1), WORDS), u32, "statistics of a network")
        self.tensors: list[Probed] = []
        self.not_finite: dict[str, str] = {}  # operators that compute constants with NaN or infinity, by name
        self._waiting: list[Tensor] = []

    def add_constant(self, name: str, operator: str, values: np.ndarray) -> None:
        """Note a constant that an operator computes of others, if it is not finite."""
        if not is_finite(values):
            self.not_finite[name] = operator

    def add(self, name: str, operator: str, tensor: Tensor) -> None:
        """Take the statistics of a tensor, if it is of floats and there is room."""
        if tensor.dtype not in (f16, f32) or not tensor.size or len(self.tensors) >= self.records.shape[0]:
            return
        nbytes = sum(one.size * one.itemsize for one in (*self._waiting, tensor))
        if len(self._waiting) >= most_tensors() or nbytes > MOST_BYTES or not tensor.is_contiguous:
            self.finish()
        self.tensors.append(Probed(name, operator, tensor.dtype, tensor.shape))
        self._waiting.append(tensor.detach())
        if not tensor.is_contiguous:
            self.finish()

    def finish(self) -> None:
        """Record the statistics of all tensors that were added."""
        waiting, self._waiting = self._waiting, []
        last = len(self.tensors)
        with self.records[last - len(waiting) : last] as rows:
            if len(waiting) == 1:
                summarize(waiting[0], out=rows[0])
            elif waiting:
                summarize_all(waiting, rows)
        for tensor in waiting:
            tensor.close()

    def summaries(self, records: np.ndarray) -> list[Summary]:
        """The statistics of `tensors`, given what `records` held."""
        return [Summary.of(row, one.dtype) for row, one in zip(records, self.tensors, strict=False)]

    def close(self) -> None:
        """Give the memory back. Idempotent."""
        for tensor in self._waiting:
            tensor.close()
        self._waiting.clear()
        self.records.close()


def first_not_finite(tensors: Sequence[Probed], summaries: Sequence[Summary]) -> Probed | None:
    """The first tensor that holds a NaN or an infinity: all that was computed before it is finite."""
    both = zip(tensors, summaries, strict=False)
    return next((one for one, summary in both if summary.nan or summary.infinite), None)


def not_finite_constant(
    tensor: str, probe: Probe, sources: Mapping[str, Sequence[str]], holds_not_finite: Callable[[str], bool]
) -> tuple[str, str] | None:
    """A constant that is not finite, from which `tensor` is computed without one of `probe.tensors` between.

    Its name and the operator that computes it; None if there is none. `sources` are what each tensor is computed of,
    `holds_not_finite` says so of a constant that the network holds.
    """
    reached, probed = {tensor: None}, {one.name for one in probe.tensors}
    left = [tensor]
    while left:
        before = [name for name in sources.get(left.pop(), ()) if name not in reached and name not in probed]
        reached |= dict.fromkeys(before)
        left += before
    held = next((name for name in reached if holds_not_finite(name)), None)
    if held is not None:
        return held, "a constant of the network"
    return next(((name, operator) for name, operator in probe.not_finite.items() if name in reached), None)


def is_finite(values: np.ndarray) -> bool:
    """Whether no element is NaN or infinite; true of what are no floats."""
    return values.dtype.kind != "f" or bool(np.isfinite(values).all())

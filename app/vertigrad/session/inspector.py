"""`Inspector`: shows one tensor to the user: statistics, histogram, rows, a column, and the difference to a copy.

All is computed on the GPU where possible; only visible rows are read back, without a stall.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np

from .. import ops
from ..errors import GpuError, ParameterError
from ..gpu import Traffic
from ..ops.summary import Summary, spread, summarize
from ..scene.stage import Stage
from ..tensor import DType, Readback, Tensor, f32
from ..tensor.shape import Shape
from . import catalog

PAGE_BYTES = 1 << 16  # of a page of rows, about
PAGE_ROWS = 128  # of a page, at most
PAGES = 32  # in the cache
POINTS = 1024  # of a column that is plotted, at most
EVERY = 15  # frames between two readbacks of a tensor that changes


class TensorRange(NamedTuple):
    """The part of a tensor to inspect: rows `first` to `last`, and the column that is plotted, if any."""

    tensor: str
    first: int = 0
    last: int = 0
    column: int | None = None


class Inspection(NamedTuple):
    """The result. `counts` is the histogram between `summary.min` and `.max`.

    `column` has every `step`th row of the column. `difference` is of the tensor minus the frozen one, if any.
    """

    shape: Shape
    dtype: DType
    summary: Summary
    counts: np.ndarray
    column: np.ndarray | None
    step: int
    difference: Summary | None


class Inspector:
    """`target` is what is inspected, `result` its last result, `pages` the rows by page number.

    `observe` records what is due, `collect` takes what has been read back.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.target: TensorRange | None = None
        self.result: Inspection | None = None
        self.pages: OrderedDict[int, np.ndarray] = OrderedDict()
        self.frozen: Tensor | None = None
        self.frozen_at = ""  # the name of the tensor it was taken of
        self._inspected: tuple[int, TensorRange] | None = None
        self._frames = 0
        self._readbacks: list[tuple[list[Readback], Callable[..., None]]] = []

    @property
    def pending(self) -> bool:
        """Whether a readback is pending."""
        return bool(self._readbacks)

    def inspect(self, target: TensorRange | None) -> None:
        """Inspect this from now on; None for nothing. Raises `ParameterError` for an unknown tensor."""
        if target is not None:
            catalog.require(self._stage, target.tensor)
        if target is None or self.target is None or target.tensor != self.target.tensor:
            self.forget()
        self.target = target

    def freeze(self) -> None:
        """Keep a copy of the tensor to compare with: nothing is copied until the model writes to it."""
        tensor = self._tensor()
        if tensor is None or self.target is None:
            raise ParameterError("there is no tensor to freeze: choose one in the Tensors panel first")
        self.thaw()
        self.frozen, self.frozen_at = tensor.clone(f"{self.target.tensor}, frozen"), self.target.tensor
        self._inspected = None

    def thaw(self) -> None:
        """Release the frozen copy, if there is one."""
        if self.frozen is not None:
            self.frozen.close()
        self.frozen, self.frozen_at = None, ""
        self._inspected = None

    def observe(self, changes: int, now: bool = False) -> None:
        """Record what is due: at once for another target or if asked, else some frames after the tensor changed."""
        self._frames += 1
        target, tensor = self.target, self._tensor()
        if target is None or tensor is None or self._readbacks or self._inspected == (changes, target):
            return
        other_target = self._inspected is None or self._inspected[1] != target
        if not (now or other_target) and self._frames < EVERY:
            return
        changed = self._inspected is None or self._inspected[0] != changes
        other = self._inspected is None or self._inspected[1].column != target.column or self.result is None
        with ExitStack() as stack:
            if changed or other:
                self._summarize(tensor, target, stack)
            self._page(tensor, target, changed)
        self._inspected, self._frames = (changes, target), 0

    def collect(self) -> None:
        """Take the results that have been read back."""
        while self._readbacks and all(reading.done for reading in self._readbacks[0][0]):
            readings, take = self._readbacks.pop(0)
            try:
                take(*(reading.result() for reading in readings))
            except GpuError:  # the frame they were recorded in was dropped
                self._inspected = None

    def forget(self) -> None:
        """Drop all results, as after the models changed."""
        self.result = self._inspected = None
        self.pages.clear()
        self._readbacks.clear()

    def clear(self) -> None:
        """Drop everything, and inspect nothing."""
        self.thaw()
        self.forget()
        self.target = None

    # inside -----------------------------------------------------------------------------------------------------

    def _tensor(self) -> Tensor | None:
        return catalog.find(self._stage, self.target.tensor) if self.target is not None else None

    def _summarize(self, tensor: Tensor, target: TensorRange, stack: ExitStack) -> None:
        record = stack.enter_context(summarize(tensor))
        counts = stack.enter_context(spread(tensor, record))
        readings = [record.read_async(Traffic.DIAGNOSTICS), counts.read_async(Traffic.DIAGNOSTICS)]
        compared = self._comparable(tensor)
        if compared is not None:
            difference = stack.enter_context(_difference(tensor, compared))
            readings.append(stack.enter_context(summarize(difference)).read_async(Traffic.DIAGNOSTICS))
        step = -(-rows(tensor.shape) // POINTS) or 1
        plotted = target.column is not None and tensor.size > 0
        if target.column is not None and plotted:
            readings.append(stack.enter_context(_column(tensor, target.column, step)).read_async(Traffic.DIAGNOSTICS))
        shape, dtype = tensor.shape, tensor.dtype

        def take(words: np.ndarray, counted: np.ndarray, *more: np.ndarray) -> None:
            difference = Summary.of(more[0], f32) if compared is not None else None
            column = more[-1].reshape(-1) if plotted else None
            self.result = Inspection(shape, dtype, Summary.of(words, dtype), counted, column, step, difference)

        self._readbacks.append((readings, take))

    def _page(self, tensor: Tensor, target: TensorRange, changed: bool) -> None:
        """Read the visible rows, page by page; the previous ones are shown until they arrive."""
        height, total = page_rows(tensor.shape, tensor.itemsize), rows(tensor.shape)
        last = min(target.last, total - 1)
        for number in range(max(target.first, 0) // height, last // height + 1 if total else 0):
            if number in self.pages and not changed:
                continue
            cut = slice(number * height, (number + 1) * height)
            with tensor[cut] if tensor.ndim else tensor.detach() as part, part.contiguous() as packed:
                reading = packed.read_async(Traffic.DIAGNOSTICS)
            self._readbacks.append(([reading], lambda values, number=number: self._store_page(number, values)))
        if changed:
            visible = range(max(target.first, 0) // height, last // height + 1)
            for number in [number for number in self.pages if number not in visible]:
                del self.pages[number]  # outdated

    def _store_page(self, number: int, values: np.ndarray) -> None:
        self.pages[number] = values.reshape(len(values) if values.ndim else 1, -1)
        self.pages.move_to_end(number)
        while len(self.pages) > PAGES:
            self.pages.popitem(last=False)

    def _comparable(self, tensor: Tensor) -> Tensor | None:
        """The frozen copy, if it is of this tensor and of the same shape."""
        frozen = self.frozen
        if frozen is None or self.target is None or self.frozen_at != self.target.tensor:
            return None
        return frozen if frozen.shape == tensor.shape and frozen.dtype is tensor.dtype else None


def rows(shape: Shape) -> int:
    """How many rows a tensor of this shape is shown with."""
    return shape[0] if shape else 1


def columns(shape: Shape) -> int:
    """How many columns."""
    return int(np.prod(shape[1:], dtype=np.int64)) if shape else 1


def page_rows(shape: Shape, itemsize: int) -> int:
    """Rows of a page."""
    return min(max(PAGE_BYTES // max(columns(shape) * itemsize, 1), 1), PAGE_ROWS)


def _difference(now: Tensor, before: Tensor) -> Tensor:
    if now.dtype is f32:
        return ops.subtract(now, before)
    with ops.cast(now, f32) as a, ops.cast(before, f32) as b:
        return ops.subtract(a, b)


def _column(tensor: Tensor, column: int, step: int) -> Tensor:
    """Every `step`th row of a column, packed: rows are read on the GPU, so that only these are read back."""
    if not tensor.ndim:
        return ops.copy(tensor)
    with tensor[(slice(None, None, step), *map(int, np.unravel_index(column, tensor.shape[1:])))] as part:
        return ops.copy(part)

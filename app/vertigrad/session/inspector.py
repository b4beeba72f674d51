"""`Inspector`: looks into one tensor for the user: figures, histogram, rows, a column, and what changed meanwhile.

Whatever can be worked out on the GPU is; the rest comes to the host without a stall, and only what is seen of it.
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
from ..params import unknown
from ..scene.stage import Stage
from ..tensor import DType, Readback, Tensor, f32
from ..tensor.shape import Shape
from . import catalog

PAGE_BYTES = 1 << 16  # of a page of rows, about
PAGE_ROWS = 128  # of a page, at most
PAGES = 32  # that are kept
POINTS = 1024  # of a column that is plotted, at most
EVERY = 15  # frames between two looks at a tensor that changes


class View(NamedTuple):
    """What of a tensor is looked at: rows `first` to `last` of it, and the column that is plotted, if any."""

    tensor: str
    first: int = 0
    last: int = 0
    column: int | None = None


class Sight(NamedTuple):
    """What was found. `counts` is the histogram between `summary.min` and `.max`.

    `column` has every `step`th row of the column. `difference` is about the tensor less the frozen one; None without.
    """

    shape: Shape
    dtype: DType
    summary: Summary
    counts: np.ndarray
    column: np.ndarray | None
    step: int
    difference: Summary | None


class Inspector:
    """`view` is what is looked at, `sight` what was last seen of it, `pages` rows by the number of their page.

    `observe` records what is due, `collect` takes in what has arrived.
    """

    def __init__(self) -> None:
        self.view: View | None = None
        self.sight: Sight | None = None
        self.pages: OrderedDict[int, np.ndarray] = OrderedDict()
        self.frozen: Tensor | None = None
        self.frozen_at = ""  # the name of the tensor it was taken of
        self._seen: tuple[int, View] | None = None
        self._frames = 0
        self._awaited: list[tuple[list[Readback], Callable[..., None]]] = []

    @property
    def pending(self) -> bool:
        """Whether anything is on its way."""
        return bool(self._awaited)

    def look(self, view: View | None, stage: Stage) -> None:
        """Look at this from now on; at nothing if it is None. Raises `ParameterError` for a tensor there is not."""
        if view is not None and catalog.find(stage, view.tensor) is None:
            raise ParameterError(unknown("tensor", view.tensor, catalog.catalog(stage)))
        if view is None or self.view is None or view.tensor != self.view.tensor:
            self.forget()
        self.view = view

    def freeze(self, stage: Stage) -> None:
        """Keep the tensor as it is now, to compare with: no bytes move until the model writes it."""
        tensor = self._tensor(stage)
        if tensor is None or self.view is None:
            raise ParameterError("there is no tensor to keep: choose one in the Tensors panel first")
        self.thaw()
        self.frozen, self.frozen_at = tensor.clone(f"{self.view.tensor}, frozen"), self.view.tensor
        self._seen = None

    def thaw(self) -> None:
        """Let go of the frozen copy. Nothing happens if there is none."""
        if self.frozen is not None:
            self.frozen.close()
        self.frozen, self.frozen_at = None, ""
        self._seen = None

    def observe(self, stage: Stage, changes: int) -> None:
        """Record what is due: at once if another part is looked at, some frames later if the tensor itself changed."""
        self._frames += 1
        view, tensor = self.view, self._tensor(stage)
        if view is None or tensor is None or self._awaited or self._seen == (changes, view):
            return
        moved = self._seen is None or self._seen[1] != view
        if not moved and self._frames < EVERY:
            return
        changed = self._seen is None or self._seen[0] != changes
        other = self._seen is None or self._seen[1].column != view.column or self.sight is None
        with ExitStack() as stack:
            if changed or other:
                self._summarize(tensor, view, stack)
            self._page(tensor, view, changed)
        self._seen, self._frames = (changes, view), 0

    def collect(self) -> None:
        """Take in what has arrived."""
        while self._awaited and all(reading.done for reading in self._awaited[0][0]):
            readings, take = self._awaited.pop(0)
            try:
                take(*(reading.result() for reading in readings))
            except GpuError:  # the frame they were recorded in was dropped
                self._seen = None

    def forget(self) -> None:
        """Drop what was found, and find it anew: models are others than before."""
        self.sight = self._seen = None
        self.pages.clear()
        self._awaited.clear()

    def clear(self) -> None:
        """Drop everything, and look at nothing."""
        self.thaw()
        self.forget()
        self.view = None

    # inside -----------------------------------------------------------------------------------------------------

    def _tensor(self, stage: Stage) -> Tensor | None:
        return catalog.find(stage, self.view.tensor) if self.view is not None else None

    def _summarize(self, tensor: Tensor, view: View, stack: ExitStack) -> None:
        record = stack.enter_context(summarize(tensor))
        counts = stack.enter_context(spread(tensor, record))
        readings = [record.read_async(Traffic.DIAGNOSTICS), counts.read_async(Traffic.DIAGNOSTICS)]
        compared = self._comparable(tensor)
        if compared is not None:
            difference = stack.enter_context(_difference(tensor, compared))
            readings.append(stack.enter_context(summarize(difference)).read_async(Traffic.DIAGNOSTICS))
        step = -(-rows(tensor.shape) // POINTS) or 1
        plotted = view.column is not None and tensor.size > 0
        if view.column is not None and plotted:
            readings.append(stack.enter_context(_column(tensor, view.column, step)).read_async(Traffic.DIAGNOSTICS))
        shape, dtype = tensor.shape, tensor.dtype

        def take(words: np.ndarray, counted: np.ndarray, *more: np.ndarray) -> None:
            difference = Summary.of(more[0], f32) if compared is not None else None
            column = more[-1].reshape(-1) if plotted else None
            self.sight = Sight(shape, dtype, Summary.of(words, dtype), counted, column, step, difference)

        self._awaited.append((readings, take))

    def _page(self, tensor: Tensor, view: View, changed: bool) -> None:
        """Read the rows that are seen, a page at a time; those of before are shown until they arrive."""
        height, total = page_rows(tensor.shape, tensor.itemsize), rows(tensor.shape)
        last = min(view.last, total - 1)
        for number in range(max(view.first, 0) // height, last // height + 1 if total else 0):
            if number in self.pages and not changed:
                continue
            cut = slice(number * height, (number + 1) * height)
            with tensor[cut] if tensor.ndim else tensor.detach() as part, part.contiguous() as packed:
                reading = packed.read_async(Traffic.DIAGNOSTICS)
            self._awaited.append(([reading], lambda values, number=number: self._keep(number, values)))
        if changed:
            seen = range(max(view.first, 0) // height, last // height + 1)
            for number in [number for number in self.pages if number not in seen]:
                del self.pages[number]  # of another time

    def _keep(self, number: int, values: np.ndarray) -> None:
        self.pages[number] = values.reshape(len(values) if values.ndim else 1, -1)
        self.pages.move_to_end(number)
        while len(self.pages) > PAGES:
            self.pages.popitem(last=False)

    def _comparable(self, tensor: Tensor) -> Tensor | None:
        """The frozen copy, if it is of this tensor and has its shape still."""
        frozen = self.frozen
        if frozen is None or self.view is None or self.frozen_at != self.view.tensor:
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
    """now − before in f32."""
    if now.dtype is f32:
        return ops.subtract(now, before)
    with ops.cast(now, f32) as a, ops.cast(before, f32) as b:
        return ops.subtract(a, b)


def _column(tensor: Tensor, column: int, step: int) -> Tensor:
    """Every `step`th row of a column, packed: rows are read on the GPU, so that no more of them crosses."""
    if not tensor.ndim:
        return ops.copy(tensor)
    index: list[int] = []
    for size in reversed(tensor.shape[1:]):
        column, at = divmod(column, size)
        index.append(at)
    with tensor[(slice(None, None, step), *reversed(index))] as part:
        return ops.copy(part)

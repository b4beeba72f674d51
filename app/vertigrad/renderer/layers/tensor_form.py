"""`Form`: what a layer draws instead of a tensor: the attributes of another layer, computed on the GPU."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ... import ops
from ...gpu import Plan
from ...params import Params
from ...tensor import Tensor, f32
from ..extent import Extent
from .attributes import describe
from .base import Attribute, Layer
from .tensor_shapes import stripped

LEAST = 1e-30  # largest magnitude below which all values are 0


class Form(ExitStack):
    """What a layer of type `LAYER` draws instead of a tensor, perhaps minus another one; close it.

    `values` is the tensor without leading axes of 1, as f32. `update` computes `attributes` from it. Ranges of colors
    and heights are those of this tensor and of `compare`, if there is one: `alongside` is what the colormap would map
    of that.
    """

    LAYER: ClassVar[type[Layer]]
    moved_by: ClassVar[tuple[str, ...]] = ()  # values of the style that the computation depends on
    whole_axes: ClassVar[int] = 0  # last axes of the tensor along which all elements are one row of the layer

    def __init__(self, name: str, style: Any, tensor: Tensor, minus: Tensor | None, compare: Tensor | None):
        super().__init__()
        self.name, self._tensor, self._minus, self._compare = name, tensor, minus, compare
        self.shape = stripped(tensor.shape)
        self.attributes: dict[str, Attribute] = {}
        self.alongside: Tensor | None = None
        self._other: Tensor | None = None  # `compare` as `values`, while the computation is recorded
        self._plan: Plan | None = None
        self._extent: Extent | None = None  # of the values, where heights are relative to it
        self._recorded_for: tuple[object, ...] = ()
        try:
            self.build(style)
            mapped = self.mapped(np.empty(self.shape, np.float32), style)
            if compare is not None and mapped is not None:
                self.alongside = self.enter_context(Tensor.zeros(mapped.shape, f32, f"{name}.alongside"))
            self.update(style)
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def build(self, style: Any) -> None:
        """Create `attributes`. Raises `LayoutError`."""

    @abstractmethod
    def compute(self, values: Tensor, style: Any) -> None:
        """Record the computation of the attributes."""

    @abstractmethod
    def mapped(self, values: Any, style: Any) -> Any:
        """What of such values the colormap maps by a range that is theirs, as a view; None for nothing."""

    @abstractmethod
    def style(self, style: Any) -> Params:
        """The style of the layer, for that of the tensor."""

    @abstractmethod
    def half_height(self, style: Any) -> float:
        """How far below its center it reaches."""

    @abstractmethod
    def element(self, row: int) -> int | None:
        """The row-major index of the element that is drawn as this row."""

    def update(self, style: Any) -> None:
        """Compute the attributes."""
        values = tuple(getattr(style, name) for name in self.moved_by)
        if self._plan is None or values != self._recorded_for:
            self._record(style)
            self._recorded_for = values
        assert self._plan is not None
        self._plan.replay()

    def report(self) -> dict[str, Callable[[], dict[str, Any]]]:
        """Where the tensors are, for the layer's report."""
        read = {"tensor": self._tensor, "minus": self._minus, "compare": self._compare}
        return {
            name: partial(describe, one, one.strides[-1] if one.ndim else one.itemsize, one.dtype.name)
            for name, one in read.items()
            if one is not None
        }

    def held(self, name: str, *shape: int) -> Tensor:
        """A tensor, at first of zeros, which becomes an attribute of the layer."""
        tensor = self.enter_context(Tensor.zeros(shape, f32, f"{self.name}.{name}"))
        self.attributes[name] = tensor
        return tensor

    def _record(self, style: Any) -> None:
        if self._plan is None:
            self.callback(self._close_plan)
        self._close_plan()
        self._plan = Plan(f"{self.name}.form")
        with self._plan.recording():
            values = _as_f32(self._tensor)
            if self._minus is not None:
                values = values - _as_f32(self._minus)
            self._other = None if self._compare is None else self._shaped(_as_f32(self._compare))
            self.compute(self._shaped(values), style)
            if self.alongside is not None and self._other is not None:
                ops.assign(self.alongside, self.mapped(self._other, style))
            self._other = None

    def _shaped(self, values: Tensor) -> Tensor:
        return values.contiguous().reshape(*self.shape)

    def _close_plan(self) -> None:
        for owned in (self._plan, self._extent):
            if owned is not None:
                owned.close()
        self._plan = self._extent = None

    def _relative(self, values: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        """A part of the values divided by its largest finite magnitude, or that of `compare`; recorded into the plan.

        The part is contiguous.
        """
        assert self._plan is not None
        own = part(values)
        self._extent = Extent(own, alongside=None if self._other is None else part(self._other))
        self._extent.add_to(self._plan)
        return own / ops.maximum(ops.max(ops.absolute(self._extent.pair)), LEAST)


def _as_f32(tensor: Tensor) -> Tensor:
    return tensor if tensor.dtype is f32 else ops.cast(tensor, f32)

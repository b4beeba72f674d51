"""`Form`: what a layer draws instead of a tensor: the attributes of another layer, computed on the GPU."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ... import ops
from ...gpu import Plan, gpu
from ...params import Params
from ...tensor import Tensor, f32
from ..extent import Extent
from .attributes import describe
from .base import Attribute, Layer
from .tensor_shapes import stripped

LEAST = 1e-30  # largest magnitude below which all values are 0


class Form(ExitStack):
    """What a layer of type `LAYER` draws instead of a tensor, perhaps minus another one; close it.

    `values` is the tensor without leading axes of 1, as f32 unless a form `takes_any_type`. `update` computes
    `attributes` from it. Ranges of colors and heights are those of this tensor and of the `compared` ones:
    `alongside` is what the colormap would map of each.
    """

    LAYER: ClassVar[type[Layer]]
    moved_by: ClassVar[tuple[str, ...]] = ()  # values of the style that the computation depends on
    takes_any_type: ClassVar[bool] = False
    whole_axes: ClassVar[int] = 0  # last axes of the tensor along which all elements are one row of the layer

    def __init__(self, name: str, style: Any, tensor: Tensor, minus: Tensor | None, compared: Mapping[str, Tensor]):
        super().__init__()
        self.name, self._tensor, self._minus, self._compared = name, tensor, minus, dict(compared)
        self.shape = stripped(tensor.shape)
        self.attributes: dict[str, Attribute] = {}
        self.alongside: list[Tensor] = []
        self._others: list[Tensor] = []  # `compared` as `values`, while the computation is recorded
        self._plan: Plan | None = None
        self._extent: Extent | None = None  # of the values, where heights are relative to it
        self._recorded_for: tuple[object, ...] | None = None
        try:
            self.build(style)
            mapped = self.mapped(np.empty(self.shape, np.float32), style)
            if mapped is not None:
                zeros = (Tensor.zeros(mapped.shape, f32, f"{name}.alongside") for _ in compared)
                self.alongside = [self.enter_context(tensor) for tensor in zeros]
            self.update(style)
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def build(self, style: Any) -> None:
        """Create `attributes`. Raises `LayoutError`."""

    def arrange(self, style: Any) -> None:
        """Write what of the attributes depends on the style alone."""

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
        if values != self._recorded_for:
            self._record(style)
            self._recorded_for = values
            gpu().recorder.if_dropped(partial(setattr, self, "_recorded_for", None))
        assert self._plan is not None
        self._plan.update()

    def report(self) -> dict[str, Callable[[], dict[str, Any]]]:
        """Where the tensors are, for the layer's report."""
        read = {"tensor": self._tensor, "minus": self._minus} | self._compared
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
        self.arrange(style)
        self._plan = Plan(f"{self.name}.form")
        with self._plan.recording():
            values = self._difference() if self._minus is not None else self._typed(self._tensor)
            self._others = [self._shaped(self._typed(one)) for one in self._compared.values()]
            self.compute(self._shaped(values), style)
            for target, other in zip(self.alongside, self._others, strict=False):
                ops.assign(target, self.mapped(other, style))
            self._others = []

    def _typed(self, tensor: Tensor) -> Tensor:
        return tensor if self.takes_any_type or tensor.dtype is f32 else ops.cast(tensor, f32)

    def _difference(self) -> Tensor:
        return ops.fused(lambda one, other: one.to(f32) - other.to(f32), self._tensor, self._minus)

    def _shaped(self, values: Tensor) -> Tensor:
        return values.contiguous().reshape(*self.shape)

    def _close_plan(self) -> None:
        for owned in (self._plan, self._extent):
            if owned is not None:
                owned.close()
        self._plan = self._extent = None

    def _measured(self, values: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        """A part of the values, of up to three axes; what finds its extent, with those `compared`, is recorded."""
        assert self._plan is not None
        own = part(values)
        self._extent = Extent(own, alongside=[part(other) for other in self._others])
        self._extent.add_to(self._plan)
        return own

    def _write_relative(self, own: Tensor, out: Tensor, function: Callable[[Any], Any]) -> None:
        """Write a function of what was measured, divided by the largest finite magnitude, into `out`: by one kernel."""
        assert self._extent is not None
        pair = self._extent.pair

        def written(value: Any, low: Any, high: Any) -> Any:
            return function(value / ops.maximum(ops.maximum(ops.absolute(low), ops.absolute(high)), LEAST))

        ops.fused(written, own, pair[0, 0], pair[0, 1], out=out)

    def _write_scaled(self, own: Tensor, out: Tensor, style: Any) -> None:
        """Write coordinates that were measured into `out`: they fill the size of the style around its center."""
        half = 0.5 * style.size
        with Tensor.from_numpy(np.asarray(style.center[: own.shape[-1]], np.float32)) as center:
            self._write_relative(own, out, lambda relative: relative * half + center)

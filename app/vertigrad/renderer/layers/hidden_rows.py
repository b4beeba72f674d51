"""`HiddenRows`: positions of which those of hidden rows are NaN, so that nothing is drawn for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import LayoutError
from ...gpu import Kernel, Plan
from ...tensor import Tensor
from ..vertex_layout import vertex_layout

SHADER = "draw/hidden_rows.wgsl"
NAN = 0x7FC00000  # f32


class HiddenRows:
    """`positions` are those of `source` but for the rows of `mask`, as of the last `record`. Close it.

    Raises `LayoutError` for positions that are not f32.
    """

    def __init__(self, layer: str, source: Tensor, mask: np.ndarray, max_stride: int):
        if source.dtype.name != "f32":
            raise LayoutError(f"layer {layer!r}: rows of positions that are {source.dtype} cannot be hidden; cast them")
        layout = vertex_layout(source, components=(3,), step_mode="instance", max_stride=max_stride)
        self._hidden = Tensor.from_numpy(mask.astype(np.uint32), name=f"{layer}.hidden")
        self.positions = Tensor.empty((layout.rows, 3), name=f"{layer}.visible")
        self._plan = Plan(f"{layer}.hidden")
        values: dict[str, Any] = {"positions": source, "positions_strides": layout.stride // source.itemsize}
        kernel = Kernel.load(SHADER, "hide")
        self._plan.dispatch(
            kernel,
            layout.rows,
            overwrites=("visible",),
            hidden=self._hidden,
            visible=self.positions,
            rows=layout.rows,
            nan=NAN,
            **values,
        )
        self.record()

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the mask."""
        return self._hidden.shape

    def set(self, mask: np.ndarray) -> None:
        """Hide these rows instead."""
        self._hidden[...] = mask.astype(np.uint32)
        self.record()

    def record(self) -> None:
        """Record the update of `positions`."""
        self._plan.update()

    def close(self) -> None:
        """Free the memory. Idempotent."""
        self._plan.close()
        self._hidden.close()
        self.positions.close()

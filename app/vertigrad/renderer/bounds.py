"""`Bounds`: the box around the rows of layers, found on the GPU and read some frames later."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack

import numpy as np

from ..gpu import Kernel, Traffic
from ..tensor import Readback, Tensor
from .layers.attributes import Bound
from .layers.base import Layer

SHADER = "draw/bounds.wgsl"
WORKGROUP = 128
GROUPS = 64  # workgroups that share the rows

Box = tuple[np.ndarray, np.ndarray]  # the low and the high corner, float64 (3,)


class Bounds:
    """Records a reduction of all positions of `layers` when it is created; `result` is available once `done` is true.

    Rows that contain a NaN or an infinity do not count.
    """

    def __init__(self, layers: Iterable[Layer]):
        self._readings = [_reduced(layer.attributes.tensors["position"]) for layer in layers]

    @property
    def done(self) -> bool:
        """Whether `result` returns without waiting."""
        return all(reading.done for reading in self._readings)

    def finite(self) -> list[int]:
        """The number of rows of each layer that count; approximate above 2²⁴ rows."""
        return [int(reading.result()[0, 3]) for reading in self._readings]

    def result(self) -> Box | None:
        """The box around all rows; None if there are none. Raises `GpuError` if its frame was dropped."""
        found = [reading.result() for reading in self._readings]
        boxes = [box.astype(float) for box in found if box[0, 3] > 0.0]
        if not boxes:
            return None
        return np.min([box[0, :3] for box in boxes], axis=0), np.max([box[1, :3] for box in boxes], axis=0)


def _reduced(position: Bound) -> Readback:
    tensor, layout = position.tensor, position.layout
    groups = min(GROUPS, -(-layout.rows // WORKGROUP))
    defines = {"TYPE": tensor.scalar, "WORKGROUP": WORKGROUP}
    with ExitStack() as stack:
        boxes = stack.enter_context(Tensor.empty((2 * groups, 4), name=f"{tensor.name}.boxes"))
        box = stack.enter_context(Tensor.empty((2, 4), name=f"{tensor.name}.box"))
        Kernel.load(SHADER, "gather", defines)(
            groups * WORKGROUP,
            overwrites=("boxes",),
            values=tensor,
            boxes=boxes,
            count=layout.rows,
            values_strides=layout.stride // tensor.itemsize,
        )
        Kernel.load(SHADER, "finish", defines)(
            WORKGROUP, overwrites=("box",), boxes=boxes, box=box, count=groups, values_offset=0, values_strides=0
        )
        return box.read_async(Traffic.DIAGNOSTICS)

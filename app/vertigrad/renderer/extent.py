"""`Extent`: the smallest and largest value of a tensor, found on the GPU and never read back."""

from __future__ import annotations

import math
from typing import Any

from ..gpu import Kernel, Plan
from ..tensor import Tensor
from .vertex_layout import VertexLayout

SHADER = "draw/extent.wgsl"
WORKGROUP = 128
GROUPS = 64  # workgroups that share the values
FEW = 1024  # up to so many values, one dispatch of one workgroup is enough


class Extent:
    """Finds the minimum and maximum of `values`; `layout` has the stride and offset of the rows.

    `pair` is the result, shape (1, 2). It is set when `record` is called. NaN and infinities do not count; if there are
    no other values, the result is (0, 1). Without a layout, all elements count: of up to three axes, with any strides.
    With `symmetric` it is (-m, m) with the largest magnitude m; (-1, 1) if there are no values.
    """

    symmetric = False  # for what is recorded later

    def __init__(self, values: Tensor, layout: VertexLayout | None = None):
        self._values = values
        if layout is None:
            self._type, self._shape = values.scalar, values.shape
            self._strides = tuple(stride // values.itemsize for stride in values.strides)
        else:
            self._type, self._shape, self._strides = layout.wgsl, (layout.rows,), (layout.stride // values.itemsize,)
        self._count = math.prod(self._shape)
        self._groups = min(GROUPS, -(-self._count // WORKGROUP))
        self._pairs = Tensor.empty((self._groups, 2), name=f"{values.name}.extents")
        try:
            self.pair = Tensor.empty((1, 2), name=f"{values.name}.extent")
        except BaseException:
            self._pairs.close()
            raise
        self._plan: Plan | None = None
        self._recorded_symmetric = False

    def record(self) -> None:
        """Record the reduction into the open submission."""
        if self._plan is None or self._recorded_symmetric != self.symmetric:
            plan = Plan(self.pair.name)
            self.add_to(plan)
            self._close_plan()
            self._plan, self._recorded_symmetric = plan, self.symmetric
        self._plan.replay()

    def close(self) -> None:
        """Release the memory. Idempotent."""
        self._close_plan()
        for tensor in (self._pairs, self.pair):
            tensor.close()

    def add_to(self, plan: Plan) -> None:
        """Add the reduction to a plan: like `record`, a replay sets `pair`."""
        defines = {"TYPE": self._type, "WORKGROUP": WORKGROUP}
        missing = 3 - len(self._shape)
        fields: dict[str, Any] = {
            "values": self._values,
            "count": self._count,
            "shape": (*[1] * missing, *self._shape),
            "values_strides": (*[0] * missing, *self._strides),
            "symmetric": int(self.symmetric),
        }
        if self._count <= FEW:
            reduce_few = Kernel.load(SHADER, "reduce_few", defines)
            plan.dispatch(reduce_few, WORKGROUP, overwrites=("extent",), extent=self.pair, **fields)
            return
        gather = Kernel.load(SHADER, "gather", defines)
        plan.dispatch(gather, self._groups * WORKGROUP, overwrites=("pairs",), pairs=self._pairs, **fields)
        plan.dispatch(
            Kernel.load(SHADER, "finish", defines),
            WORKGROUP,
            overwrites=("extent",),
            pairs=self._pairs,
            extent=self.pair,
            count=self._groups,
            shape=(1, 1, 1),
            values_offset=0,
            values_strides=(0, 0, 0),
            symmetric=int(self.symmetric),
        )

    def _close_plan(self) -> None:
        if self._plan is not None:
            self._plan.close()
            self._plan = None

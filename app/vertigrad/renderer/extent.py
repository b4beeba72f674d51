"""`Extent`: the smallest and largest value of a tensor, found on the GPU and never read back."""

from __future__ import annotations

from ..gpu import Kernel, Plan
from ..tensor import Tensor
from .vertex_layout import VertexLayout

SHADER = "draw/extent.wgsl"
WORKGROUP = 128
GROUPS = 64  # workgroups that share the values


class Extent:
    """Finds (lowest, highest) of `values`, of which `layout` says where each row's number lies.

    `rows` is the result as a tensor with the same pair in every row, to be drawn beside the values. It is set when
    `record` is called. NaN and infinities do not count; without any other number the result is (0, 1).
    """

    def __init__(self, values: Tensor, layout: VertexLayout):
        self._values = values
        self._layout = layout
        self._groups = min(GROUPS, -(-layout.rows // WORKGROUP))
        self._pairs = Tensor.empty((self._groups, 2), name=f"{values.name}.extents")
        try:
            self._result = Tensor.empty((1, 2), name=f"{values.name}.extent")
        except BaseException:
            self._pairs.close()
            raise
        self._plan: Plan | None = None
        self.rows = self._result.expand(layout.rows, 2)

    def record(self) -> None:
        """Record the reduction into the open submission."""
        if self._plan is None:
            self._plan = self._recorded()
        self._plan.replay()

    def close(self) -> None:
        """Give up the memory. Idempotent."""
        if self._plan is not None:
            self._plan.close()
        for tensor in (self._pairs, self.rows, self._result):
            tensor.close()

    def _recorded(self) -> Plan:
        defines = {"TYPE": self._layout.wgsl, "WORKGROUP": WORKGROUP}
        plan = Plan(self._result.name)
        plan.dispatch(
            Kernel.load(SHADER, "gather", defines),
            self._groups * WORKGROUP,
            overwrites=("pairs",),
            values=self._values,
            pairs=self._pairs,
            count=self._layout.rows,
            values_strides=self._layout.stride // self._values.itemsize,
        )
        plan.dispatch(
            Kernel.load(SHADER, "finish", defines),
            WORKGROUP,
            overwrites=("extent",),
            pairs=self._pairs,
            extent=self._result,
            count=self._groups,
            values_offset=0,
            values_strides=0,
        )
        return plan

"""`Extent`: the smallest and largest value of a tensor, found on the GPU and never read back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..gpu import Kernel, Plan
from ..tensor import Tensor
from .vertex_layout import VertexLayout

SHADER = "draw/extent.wgsl"
WORKGROUP = 128
GROUPS = 64  # workgroups that share the values
FEW = 1024  # up to so many values, one dispatch of one workgroup is enough


class _Values(NamedTuple):
    """A tensor that is reduced: its scalar type, its shape and strides in elements, of up to three axes."""

    tensor: Tensor
    type: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of(cls, tensor: Tensor, layout: VertexLayout | None = None) -> _Values:
        if layout is not None:
            return cls(tensor, layout.wgsl, (layout.rows,), (layout.stride // tensor.itemsize,))
        return cls(tensor, tensor.scalar, tensor.shape, tuple(stride // tensor.itemsize for stride in tensor.strides))

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def groups(self) -> int:
        return min(GROUPS, -(-self.count // WORKGROUP))

    @property
    def fields(self) -> dict[str, Any]:
        missing = 3 - len(self.shape)
        return {
            "values": self.tensor,
            "count": self.count,
            "shape": (*[1] * missing, *self.shape),
            "values_strides": (*[0] * missing, *self.strides),
        }


class Extent:
    """Finds the minimum and maximum of `values`; `layout` has the stride and offset of the rows.

    `pair` is the result, shape (1, 2). It is set when `record` is called. NaN and infinities do not count; if there are
    no other values, the result is (0, 1). Without a layout, all elements count: of up to three axes, with any strides.
    With `symmetric` it is (-m, m) with the largest magnitude m; (-1, 1) if there are no values. The values of
    tensors `alongside`, of any shape and strides, count as well.
    """

    symmetric = False  # for what is recorded later

    def __init__(self, values: Tensor, layout: VertexLayout | None = None, alongside: Sequence[Tensor] = ()):
        self._values = [_Values.of(values, layout), *map(_Values.of, alongside)]
        self._groups = sum(one.groups for one in self._values)
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
        self._plan.update()

    def close(self) -> None:
        """Release the memory. Idempotent."""
        self._close_plan()
        for tensor in (self._pairs, self.pair):
            tensor.close()

    def add_to(self, plan: Plan) -> None:
        """Add the reduction to a plan: like `record`, a replay sets `pair`."""
        symmetric, first = int(self.symmetric), 0
        if len(self._values) == 1 and self._values[0].count <= FEW:
            (values,) = self._values
            kernel = _kernel("reduce_few", values.type)
            last = {"symmetric": symmetric, "first_pair": 0}
            plan.dispatch(kernel, WORKGROUP, overwrites=("extent",), extent=self.pair, **last, **values.fields)
            return
        for values in self._values:
            plan.dispatch(
                _kernel("gather", values.type),
                values.groups * WORKGROUP,
                overwrites=() if first else ("pairs",),
                pairs=self._pairs,
                first_pair=first,
                symmetric=symmetric,
                **values.fields,
            )
            first += values.groups
        plan.dispatch(
            _kernel("finish", self._values[0].type),
            WORKGROUP,
            overwrites=("extent",),
            pairs=self._pairs,
            extent=self.pair,
            count=self._groups,
            shape=(1, 1, 1),
            values_offset=0,
            values_strides=(0, 0, 0),
            symmetric=symmetric,
            first_pair=0,
        )

    def _close_plan(self) -> None:
        if self._plan is not None:
            self._plan.close()
            self._plan = None


def _kernel(entry: str, type_name: str) -> Kernel:
    return Kernel.load(SHADER, entry, {"TYPE": type_name, "WORKGROUP": WORKGROUP})

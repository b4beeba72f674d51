"""`Parts`: tensors and plans that are closed with their model."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np

from ..gpu import Plan
from ..tensor import DType, Tensor, f32


class Parts(ExitStack):
    """Tensors and plans named after their model, closed together in reverse order.

    `tensors` are those created here, by name; the last of several that share one.
    """

    def __init__(self, name: str = ""):
        super().__init__()
        self._name = name
        self.tensors: dict[str, Tensor] = {}

    def copied(self, what: str, array: np.ndarray) -> Tensor:
        """A tensor of the array's elements; f64 becomes f32."""
        host = array.astype(np.float32) if array.dtype == np.float64 else array
        return self._keep(what, Tensor.from_numpy(host, f"{self._name}.{what}"))

    def adopted(self, what: str, tensor: Tensor) -> Tensor:
        """A tensor that was created elsewhere, closed here."""
        tensor.name = f"{self._name}.{what}"
        return self._keep(what, tensor)

    def empty(self, what: str, *shape: int, dtype: DType = f32) -> Tensor:
        """An uninitialized tensor."""
        return self._keep(what, Tensor.empty(shape, dtype, f"{self._name}.{what}"))

    def zeros(self, what: str, *shape: int, dtype: DType = f32) -> Tensor:
        """A tensor of zeros."""
        return self._keep(what, Tensor.zeros(shape, dtype, f"{self._name}.{what}"))

    def views(self, views: dict[str, Tensor]) -> dict[str, Tensor]:
        """Register views that were just created."""
        for view in views.values():
            self.enter_context(view)
        return views

    def plan(self, what: str) -> Plan:
        """An empty plan; its GPU time is reported under its name."""
        return self.enter_context(Plan(f"{self._name}.{what}"))

    def plans(self, *what: str) -> list[Plan]:
        """Several of them."""
        return [self.plan(one) for one in what]

    def _keep(self, what: str, tensor: Tensor) -> Tensor:
        self.tensors[what] = self.enter_context(tensor)
        return tensor

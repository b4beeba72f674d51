"""`UnitAxes`: along which axis a tensor inside a network has its units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..ops.mask import unit_axis
from .registry import ELEMENTWISE

CHANNELS_SECOND = {  # operators on (batch, channels, positions...)
    *("Conv", "ConvInteger", "ConvTranspose", "DeformConv", "QLinearConv"),
    *("BatchNormalization", "GroupNormalization", "InstanceNormalization", "LRN"),
    *("AveragePool", "LpPool", "MaxPool", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"),
    *("DepthToSpace", "SpaceToDepth", "Resize", "Upsample"),
}
SAME_AXES = {"Cast", "Clip", "Dropout", "Identity", "QuantizeLinear", "DequantizeLinear"}  # besides elementwise ones


class UnitAxes:
    """By the operators that compute tensors, where it does not follow from a shape alone.

    `batch` is the first size that all inputs of the network have, 1 if they have none in common.
    """

    def __init__(self, shapes: Iterable[tuple[int, ...]]):
        first = {shape[0] for shape in shapes if len(shape) > 1}
        self.batch = first.pop() if len(first) == 1 else 1
        self._channels_second: set[str] = set()

    def note(self, operator: str, read: Sequence[str], computed: Sequence[str]) -> None:
        """A node of this operator computes these tensors of those."""
        passes_on = operator in ELEMENTWISE or operator in SAME_AXES
        if operator in CHANNELS_SECOND or (passes_on and not self._channels_second.isdisjoint(read)):
            self._channels_second.update(computed)

    def of(self, name: str, shape: tuple[int, ...]) -> int:
        """The axis of a tensor that was noted."""
        if name in self._channels_second and len(shape) > 2:
            return 1
        return unit_axis(shape, self.batch)

"""`UnitAxes`: along which axis a tensor inside a network has its units, followed through the graph."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import onnx

from ..ops.mask import unit_axis
from .inputs import sizes_of
from .registry import ELEMENTWISE
from .values import Value

CHANNELS_SECOND = {  # operators on (batch, channels, positions...)
    *("Conv", "ConvInteger", "ConvTranspose", "DeformConv", "FusedConv", "QLinearConv"),
    *("BatchNormalization", "GroupNormalization", "InstanceNormalization", "LRN"),
    *("AveragePool", "LpPool", "MaxPool", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"),
    *("QLinearAveragePool", "QLinearGlobalAveragePool"),
    *("DepthToSpace", "SpaceToDepth", "Resize", "Upsample"),
}
FEATURES_LAST = {
    *("Gemm", "FusedGemm", "QGemm", "MatMulNBits", "DynamicQuantizeMatMul"),
    *("LSTM", "GRU", "RNN", "DynamicQuantizeLSTM"),
    *("LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization"),
    *("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", "EmbedLayerNormalization"),
    *("BiasAdd", "BiasGelu", "FastGelu", "GroupQueryAttention", "MultiHeadAttention", "QAttention"),
}
PRODUCTS = {  # of matrices, with the indices of both
    **dict.fromkeys(("MatMul", "MatMulInteger", "MatMulIntegerToFloat", "FusedMatMul"), (0, 1)),
    "QLinearMatMul": (0, 3),
}
RESHAPES = {"Flatten", "Reshape", "Squeeze", "Unsqueeze"}
SAME_AXES = {  # besides elementwise ones
    *("Cast", "CastLike", "Clip", "DequantizeLinear", "Dropout", "Hardmax", "Identity", "LogSoftmax", "QLinearAdd"),
    *("QLinearConcat", "QLinearMul", "QLinearSoftmax", "QuantizeLinear", "Softmax"),
    *("Concat", "CumSum", "MeanVarianceNormalization", "Pad", "ReverseSequence", "Slice", "Split", "Tile", "Trilu"),
}
_BATCH = re.compile(r".*batch.*|n|b|bs", re.IGNORECASE | re.DOTALL)  # names of dimensions

Shape = tuple[int, ...]
Sizes = tuple[int | str | None, ...]  # as a file has them: a size that is not fixed is a name


class Part(NamedTuple):
    """A tensor that a node reads or computes; its shape is None if it is none."""

    name: str
    shape: Shape | None
    is_constant: bool = False

    @classmethod
    def of(cls, name: str, value: Value | None) -> Part:
        """What a graph has by this name."""
        if value is None or value.items is not None or value.absent:
            return cls(name, None)
        return cls(name, value.shape, value.host is not None)


class UnitAxes:
    """Where the units of a tensor are: by the operators that it passed, else by its named sizes, else by its shape.

    `inputs` are sizes and shapes of the network's inputs; `declared` are the sizes of tensors as far as they can be
    inferred. `batch` is the size of the named dimension of the batch, else the first size that all inputs have, else 1.
    """

    def __init__(self, inputs: Iterable[tuple[Sizes | None, Shape]] = (), declared: Mapping[str, Sizes] | None = None):
        inputs = list(inputs)
        self._declared = declared or {}
        self._batch_name = _batch_name([sizes for sizes, _ in inputs if sizes is not None])
        named = [
            shape[sizes.index(self._batch_name)]
            for sizes, shape in inputs
            if sizes is not None and self._batch_name in sizes and len(sizes) == len(shape)
        ]
        first = {*named[:1]} or {shape[0] for _, shape in inputs if len(shape) > 1}
        self.batch = first.pop() if len(first) == 1 else 1
        self._axes: dict[str, int | None] = {}  # of what was noted, as far as operators decide it

    def note(self, operator: str, read: Sequence[Part], computed: Sequence[Part], perm: Sequence[int] | None) -> None:
        """A node of this operator computes these tensors of those; `perm` is of a transposition."""
        for part in computed:
            if part.shape is not None:
                self._axes[part.name] = self._axis(operator, read, part.shape, perm)

    def __contains__(self, name: str) -> bool:
        return name in self._axes

    def of(self, name: str, shape: Shape) -> int:
        """The axis of the units of a tensor."""
        axis = self._axes.get(name)
        if axis is None:
            axis = self._by_names(self._declared.get(name, ()), len(shape))
        return unit_axis(shape, self.batch) if axis is None else axis

    def _axis(self, operator: str, read: Sequence[Part], shape: Shape, perm: Sequence[int] | None) -> int | None:
        rank = len(shape)
        last = max(rank - 1, 0)
        if operator in CHANNELS_SECOND:
            return min(1, last)
        if operator in FEATURES_LAST or (operator == "Gather" and _rank(read, 0, True) == 2):  # of a table
            return last
        if operator in PRODUCTS:
            left, right = PRODUCTS[operator]
            if 0 <= _rank(read, right) <= 2 or _rank(read, right, True) >= 0:
                return last
            return max(rank - 2, 0) if 0 <= _rank(read, left) <= 2 else None
        known = [(part.shape, axis) for part in read if part.shape and (axis := self._axes.get(part.name)) is not None]
        if operator == "Transpose" and known:
            return (list(perm) if perm else list(range(rank))[::-1]).index(known[0][1])
        if operator in RESHAPES and known:
            return _reshaped(*known[0], shape)
        if operator in ELEMENTWISE or operator in SAME_AXES:
            left = (axis for other, axis in known if len(other) == rank and (shape[axis] > 1 or other[axis] == 1))
            return next(left, None)
        return None

    def _by_names(self, sizes: Sizes, rank: int) -> int | None:
        """The axis of what does not vary from input to input, of a tensor with an axis of the batch; None without."""
        if self._batch_name is None or self._batch_name not in sizes or len(sizes) != rank:
            return None
        rest = [axis for axis, size in enumerate(sizes) if size != self._batch_name]
        fixed = [axis for axis in rest if isinstance(sizes[axis], int)] or rest
        return (fixed[0] if rank > 3 else fixed[-1]) if fixed else None


def declared_sizes(graph: onnx.GraphProto) -> dict[str, Sizes]:
    """The sizes of the tensors of a graph, as far as they can be inferred."""
    found = ((entry.name, sizes_of(entry)) for entry in graph.value_info if entry.type.HasField("tensor_type"))
    return {name: sizes for name, sizes in found if sizes is not None}


def _batch_name(inputs: Sequence[Sizes]) -> str | None:
    """The name of the dimension of the batch: what it is called, or the first one of all inputs."""
    called = [size for sizes in inputs for size in sizes if isinstance(size, str) and _BATCH.fullmatch(size)]
    first = {sizes[0] for sizes in inputs if len(sizes) > 1}
    name = called[0] if called else first.pop() if len(first) == 1 else None
    return name if isinstance(name, str) else None


def _rank(read: Sequence[Part], index: int, constant: bool = False) -> int:
    """The rank of what is read there, if it is a tensor, or one that is constant; else -1."""
    part = read[index] if index < len(read) else Part("", None)
    return -1 if part.shape is None or (constant and not part.is_constant) else len(part.shape)


def _reshaped(before: Shape, axis: int, after: Shape) -> int | None:
    """The axis that begins where `axis` did before a reshape: units are split, as into heads, or joined."""
    size, start = before[axis], math.prod(before[:axis])
    for number, other in enumerate(after):
        if math.prod(after[:number]) == start and (other > 1 or size == 1):
            return number if max(size, other) % max(min(size, other), 1) == 0 else None
    return None

"""`RowPositions`: the positions of layers' rows on the CPU, read from the GPU again only when they were written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..errors import GpuError
from ..gpu import Traffic
from ..renderer.layers import Layer
from ..tensor import Readback, Tensor

Written = tuple[object, ...]  # changes when a tensor is written, or is another one


class _Read(NamedTuple):
    written: Written
    reading: Readback


class RowPositions:
    """The last reading of each layer is kept."""

    def __init__(self) -> None:
        self._read: dict[str, _Read] = {}
        self._expected: dict[str, Written] = {}  # as of the last `prefetch`

    def of(self, layer: Layer) -> np.ndarray:
        """The positions of its rows, (rows, 3); NaN where they are hidden. Waits for the GPU if it must read them."""
        try:
            found = self._begun(layer).result()
        except GpuError:  # the frame in which it was recorded was dropped
            del self._read[layer.name]
            found = self._begun(layer).result()
        return found.reshape(-1, 3)

    def prefetch(self, layers: Iterable[Layer]) -> None:
        """Begin to read positions that have not been written since the last call; once a frame."""
        expected = {layer.name: _written(_tensor(layer)) for layer in layers}
        for layer in layers:
            if self._expected.get(layer.name) == expected[layer.name]:
                self._begun(layer)
        self._expected = expected
        for name in self._read.keys() - expected.keys():
            del self._read[name]

    def _begun(self, layer: Layer) -> Readback:
        tensor, known = _tensor(layer), self._read.get(layer.name)
        written = _written(tensor)
        if known is None or known.written != written or tensor.owner.fixed:  # a framework may write it unnoticed
            known = self._read[layer.name] = _Read(written, tensor.read_async(Traffic.DIAGNOSTICS))
        return known.reading


def _tensor(layer: Layer) -> Tensor:
    return layer.attributes.tensors["position"].tensor


def _written(tensor: Tensor) -> Written:
    block = tensor.block
    return block.id, block.generation, tensor.owner.version, tensor.shape, tensor.offset, tensor.strides

"""`NotFinite`: finds where in a network values stop being finite."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from ...gpu import Traffic
from ...tensor import Tensor
from ..inside import Source

if TYPE_CHECKING:
    from ...onnx_import import Network


class NotFinite(Source):
    """One run of a network, with the inputs of now, in which statistics of all tensors are taken."""

    def __init__(self, network: Network, inputs: Mapping[str, Tensor], constants: Mapping[str, np.ndarray]):
        from ...onnx_import.probe import Probe

        self._network = network
        with ExitStack() as parts:
            self._probe = parts.enter_context(Probe(len(network.tensors) + len(inputs)))
            for name, tensor in inputs.items():
                self._probe.add(name, "an input of the network", tensor)
            program = network.bind(inputs, constants, self._probe, can_read=True)
            parts.callback(program.close)
            program.replay()
            self._reading = self._probe.records.read_async(Traffic.DIAGNOSTICS)
            self._parts = parts.pop_all()

    @property
    def done(self) -> bool:
        return self._reading.done

    def result(self) -> tuple[str, str] | None:
        from ...onnx_import.probe import first_not_finite, not_finite_constant

        probe, network = self._probe, self._network
        found = first_not_finite(probe.tensors, probe.summaries(self._reading.result()))
        if found is None:
            return None
        constant = not_finite_constant(found.name, probe, network.sources, network.holds_not_finite)
        return constant or (found.name, found.operator)

    def close(self) -> None:
        self._parts.close()

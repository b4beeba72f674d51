"""`LatestValues`: what a tensor had in an earlier frame, on the host, without waiting for the GPU."""

from __future__ import annotations

import numpy as np

from ...gpu import Traffic
from ...tensor import Readback, Tensor


class LatestValues:
    """One transfer to the host at a time: `request` in each frame, `take` what has arrived by a later one."""

    def __init__(self, tensor: Tensor):
        self._tensor = tensor
        self._reading: Readback | None = None

    def request(self) -> None:
        """Record a transfer of the current values, unless one is in progress."""
        if self._reading is None:
            self._reading = self._tensor.read_async(Traffic.DIAGNOSTICS)

    def take(self) -> np.ndarray | None:
        """The values that have arrived, once; None if none have, or if their frame was dropped."""
        if self._reading is None or not self._reading.done:
            return None
        found, self._reading = self.wait(), None
        return found

    def wait(self) -> np.ndarray | None:
        """The values of the transfer in progress, which `take` returns too; None if it was dropped."""
        return None if self._reading is None or self._reading.dropped else self._reading.result()

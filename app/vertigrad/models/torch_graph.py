"""`CudaGraph`: a step of PyTorch's kernels is captured once, and replayed as long as it would be the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.autograd.graph import increment_version


class CudaGraph:
    """Replays the kernels that a function launched, while the `key` of what it depends on stays the same.

    A key that comes for the first time runs the function itself, on the stream of the capture, so that libraries are
    initialized when it is captured the second time. A replay counts as a write to those of the given tensors that the
    function wrote: their `_version` grows. `close` it.
    """

    def __init__(self) -> None:
        self._graph: torch.cuda.CUDAGraph | None = None
        self._key: Any = None  # of the graph
        self._last: Any = None  # of the step before
        self._written: list[torch.Tensor] = []  # by the graph
        self._stream = torch.cuda.Stream()

    def take(self, key: Any, work: Callable[[], object], tensors: Mapping[str, torch.Tensor]) -> None:
        """Do what `work` does, which must do the same whenever `key` is the same. Raises what `work` raises."""
        if self._graph is None or key != self._key:
            if key != self._last:
                self._last = key
                self._run(work)
                return
            self.close()
            graph, before = torch.cuda.CUDAGraph(), {name: tensor._version for name, tensor in tensors.items()}
            with torch.cuda.graph(graph, stream=self._stream):
                work()
            self._written = [tensor for name, tensor in tensors.items() if tensor._version != before[name]]
            self._graph, self._key, self._last = graph, key, key
        self._graph.replay()
        for tensor in self._written:
            increment_version(tensor)

    def close(self) -> None:
        """Forget what was captured. Idempotent."""
        self._graph = self._key = self._last = None
        self._written = []

    def _run(self, work: Callable[[], object]) -> None:
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            work()
        current.wait_stream(self._stream)

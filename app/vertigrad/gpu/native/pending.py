"""Pipelines that another thread still compiles: encoders take them at once, and wait for them when they are set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wgpu.backends.wgpu_native._api import GPUComputePipeline, GPURenderPipeline


class _Pending:
    """Has the raw pipeline from the first time on that it is read; `wait` returns the one that was compiled."""

    def __init__(self, label: str, wait: Callable[[], Any]):
        self._label, self._wait = label, wait

    def __getattr__(self, name: str) -> Any:
        if name != "_internal":
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        self._compiled = self._wait()  # lives as long as this one
        self._internal = self._compiled._internal
        return self._internal

    def __del__(self) -> None:
        """Nothing: `_compiled` releases it."""


class PendingRenderPipeline(_Pending, GPURenderPipeline):
    """A `wgpu.GPURenderPipeline`."""


class PendingComputePipeline(_Pending, GPUComputePipeline):
    """A `wgpu.GPUComputePipeline`."""

"""The one `Gpu` of this process: `gpu` opens it, and its end waits for it."""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import suppress

from .. import errors
from . import native
from .adapter import candidates
from .device import Gpu

_the_gpu: Gpu | None = None
_opening = threading.Lock()


def gpu(adapter: str | None = None, memory: int | None = None) -> Gpu:
    """The one `Gpu` of this process, opened by the first call; it belongs to the thread of that call.

    `adapter` is a number in the list of `vertigrad info`, or picks the best adapter whose name, kind or backend
    contains it (default: the environment variable VERTIGRAD_ADAPTER, else discrete before integrated before software,
    Vulkan before GL). `memory` bounds its
    memory in bytes, in later calls too: free memory beyond it is given back, what is in use stays. Raises `NoAdapter`
    if none fits, `StillInUse` if one that does not fit is open already, `ParameterError` for a bound below 1 byte,
    and `WrongThread`.
    """
    if memory is not None and (not isinstance(memory, int) or memory < 1):
        raise errors.ParameterError(f"gpu(memory=...) is a number of bytes of at least 1, not {memory!r}")
    if _the_gpu is None:
        _open(adapter or os.environ.get("VERTIGRAD_ADAPTER", ""))
    assert _the_gpu is not None
    _the_gpu.tracker.require_thread()
    if adapter and not _the_gpu.adapter.is_selected_by(adapter):
        raise errors.StillInUse(
            f"the GPU of this process is {_the_gpu.adapter}; {adapter!r} cannot be opened next to it"
        )
    if memory is not None:
        _the_gpu.pool.limit(memory)
    return _the_gpu


def _open(adapter: str) -> None:
    global _the_gpu
    with _opening:
        if _the_gpu is None:
            _the_gpu = Gpu(candidates(adapter))
            atexit.register(_close)


def _close() -> None:
    """Let the GPU finish before the interpreter takes the objects apart."""
    if _the_gpu is not None:
        with suppress(errors.WrongThread):  # another thread is still at it; then nothing of its is touched
            _the_gpu.abandon()
        native.wait_all(_the_gpu.device)

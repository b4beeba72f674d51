"""Measure what a process holds: blocks, wgpu objects, memory."""

from __future__ import annotations

import ctypes
from pathlib import Path

import wgpu

from vertigrad.gpu import Gpu


def held(gpu: Gpu) -> tuple[int, int, int]:
    """Live blocks, their bytes, and how many blocks were never closed."""
    return len(gpu.tracker.live), gpu.tracker.live_bytes, gpu.tracker.leak_count


def objects() -> dict[str, int]:
    """wgpu's objects by kind, as Python and as the library itself count them."""
    python, native = wgpu.diagnostics.object_counts.get_dict(), wgpu.diagnostics.wgpu_native_counts.get_dict()
    counts = {f"python {kind}": each["count"] for kind, each in python.items()}
    return counts | {f"native {kind}": each["count"] for kind, each in native.items()}


def resident() -> int:
    """Bytes of the process in memory, after the C library has returned its free memory."""
    ctypes.CDLL(None).malloc_trim(0)
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4096

"""`vertigrad info`: which GPUs there are, which one is used, what it can do, and what falls back."""

from __future__ import annotations

import platform

import wgpu

from .. import __version__
from ..gpu import adapters
from ..gpu.adapter import FALLBACKS, WANTED_FEATURES
from .options import AdapterOption, console, open_gpu

SHOWN_LIMITS = (
    "max-buffer-size",
    "max-storage-buffer-binding-size",
    "max-compute-workgroup-storage-size",
    "max-compute-invocations-per-workgroup",
    "max-compute-workgroups-per-dimension",
    "max-texture-dimension-2d",
    "max-vertex-buffer-array-stride",
    "min-storage-buffer-offset-alignment",
    "min-uniform-buffer-offset-alignment",
)


def command(adapter: AdapterOption = "") -> None:
    """Show adapters, the one in use, its limits and features, and what is missing."""
    console.print(f"Vertigrad {__version__}, wgpu {wgpu.__version__}, Python {platform.python_version()}", highlight=False)
    found = adapters()
    gpu = open_gpu(adapter)
    console.print("adapters:")
    for choice in found:
        mark = "*" if str(choice) == str(gpu.adapter) else " "
        console.print(f"  {mark} {choice}, {choice.driver}", markup=False, highlight=False)
    console.print("limits:")
    for name in SHOWN_LIMITS:
        console.print(f"    {name:44} {gpu.limits[name]:>16,}", highlight=False)
    console.print("features:")
    for name in WANTED_FEATURES:
        state = "yes" if name in gpu.features else f"no: {FALLBACKS[name]}"
        console.print(f"    {name:44} {state}", highlight=False)

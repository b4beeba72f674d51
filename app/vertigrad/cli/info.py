"""`vertigrad info`: which GPUs there are, which one is used, what it can do, and what falls back."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from .options import AdapterOption, console

if TYPE_CHECKING:
    from ..gpu import Gpu

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
    import wgpu

    from .. import __version__
    from ..gpu import adapters, tensor_cores
    from ..gpu.adapter import OPTIONAL_FEATURES
    from ..resources import log_file
    from .running import open_gpu

    console.print(f"Vertigrad {__version__}, wgpu {wgpu.__version__}, Python {platform.python_version()}")
    console.print(f"log of the window: {log_file()}", soft_wrap=True)
    gpu = open_gpu(adapter)
    console.print("adapters (* is in use):")
    for choice in adapters():
        used = "*" if choice.number == gpu.adapter.number else " "
        console.print(f"  {used} {choice.number}: {choice}, driver {choice.driver}")
    console.print("limits:")
    for name in SHOWN_LIMITS:
        console.print(f"    {name:44} {gpu.limits[name]:>16,}")
    console.print("features:")
    for name in OPTIONAL_FEATURES:
        console.print(f"    {name:44} {'yes' if name in gpu.features else 'no'}")
    shares = gpu.frameworks.reason
    console.print(f"memory shared with CUDA: {f'no: {shares}' if shares else 'yes'}")
    reason = tensor_cores.unavailable(gpu.adapter)
    console.print(f"tensor cores: {f'no: {reason}' if reason else 'could be used; no kernel does yet'}", soft_wrap=True)
    missing = _fallbacks(gpu)
    console.print("falls back:" if missing else "falls back: nothing")
    for name, instead in missing.items():
        console.print(f"    {name}: {instead}")


def _fallbacks(gpu: Gpu) -> dict[str, str]:
    """What the adapter lacks, and what is done instead."""
    from ..gpu.adapter import FALLBACKS, OPTIONAL_FEATURES
    from ..renderer.target import handles_samples

    missing = {f"no {name}": FALLBACKS[name] for name in OPTIONAL_FEATURES if name not in gpu.features}
    if gpu.adapter.kind == "software":
        missing["no graphics card in use"] = "everything is computed and drawn on the processor"
    if not handles_samples(gpu):
        missing[f"{gpu.adapter.backend} only"] = "outlines are smoothed through alpha, very bright ones less well"
    return missing

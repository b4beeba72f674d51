"""`facts`: what a report of an error has to say of the program and the machine."""

from __future__ import annotations

import platform

import wgpu

from .. import __version__, resources
from ..gpu import Gpu


def facts(gpu: Gpu) -> dict[str, str]:
    """Versions, GPU, driver, system and files, by label."""
    return {
        "Vertigrad": __version__,
        "GPU": str(gpu.adapter),
        "driver": gpu.adapter.driver or "unknown",
        "wgpu": wgpu.__version__,
        "Python": platform.python_version(),
        "system": platform.platform(),
        "log": str(resources.log_file()),
    }

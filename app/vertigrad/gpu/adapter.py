"""Which GPU to use, and what it can do."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace

import wgpu

from .. import sharing
from ..errors import NoAdapter
from . import native

_KINDS = {"DiscreteGPU": "discrete", "IntegratedGPU": "integrated", "CPU": "software"}
_KIND_ORDER = ("discrete", "integrated", "virtual", "other", "software")
_BACKEND_ORDER = ("Vulkan", "Metal", "D3D12", "OpenGL", "OpenGLES")
FALLBACKS = {
    "timestamp-query": "GPU times are not measured",
    "shader-f16": "f16 tensors raise DtypeError",
    "shader-f64": "networks with float64 are refused, and f64 in WGSL does not compile",
    "subgroup": "scans and sorts use workgroup memory only",
    "float32-filterable": "float textures are sampled without filtering",
    "float32-blendable": "EXR images have 16-bit floats",
    "texture-adapter-specific-format-features": "EXR images have 16-bit floats",
    "indirect-first-instance": "indirect draws start at instance 0",
}
OPTIONAL_FEATURES = tuple(FALLBACKS)


@dataclass(frozen=True)
class AdapterChoice:
    """One adapter of this machine, as it is shown and chosen."""

    adapter: wgpu.GPUAdapter
    name: str
    kind: str
    backend: str
    driver: str
    number: int = 0  # its place in the list of `vertigrad info`, from 1 on

    @property
    def subgroup_sizes(self) -> tuple[int, int]:
        """The fewest and the most invocations that a subgroup of this adapter has; (0, 0) if that is not known."""
        return native.subgroup_sizes(self.adapter)

    @property
    def rank(self) -> tuple[int, int]:
        """Sort key: discrete before integrated before software, then Vulkan before GL."""
        backend = _BACKEND_ORDER.index(self.backend) if self.backend in _BACKEND_ORDER else len(_BACKEND_ORDER)
        return _KIND_ORDER.index(self.kind), backend

    def is_selected_by(self, requested: str) -> bool:
        """Whether `requested` is its number, or a part of its name, kind or backend, in upper or lower case."""
        return requested == str(self.number) or requested.lower() in f"{self.name} {self.kind} {self.backend}".lower()

    def __str__(self) -> str:
        return f"{self.name} ({self.kind}, {self.backend})"


def adapters() -> list[AdapterChoice]:
    """Every adapter of this machine, the one that would be chosen first."""
    logging.getLogger("wgpu").setLevel(logging.ERROR)  # probing absent drivers is not worth a warning each
    if sys.platform == "linux":  # Mesa complains on stderr without one, once for each driver
        os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    with sharing.loading():  # wgpu makes its instance at the first call
        found = wgpu.gpu.enumerate_adapters_sync()
    ordered = sorted((_describe(adapter) for adapter in found), key=lambda choice: choice.rank)
    return [replace(choice, number=number) for number, choice in enumerate(ordered, 1)]


def candidates(requested: str = "") -> list[AdapterChoice]:
    """Adapters that `requested` selects, the best first. Raises `NoAdapter` if it selects none."""
    found = adapters()
    if not found:
        raise NoAdapter(
            "no GPU adapter: neither a Vulkan nor an OpenGL driver answered. On Debian or Ubuntu, "
            "`apt install mesa-vulkan-drivers` gives a software adapter; `vertigrad info` lists the GPUs that are found"
        )
    numbered = [choice for choice in found if requested == str(choice.number)]
    fitting = numbered or [choice for choice in found if choice.is_selected_by(requested)]
    if not fitting:
        listed = "\n".join(f"  {choice.number}: {choice}" for choice in found)
        raise NoAdapter(f"no adapter matches {requested!r}; this machine has:\n{listed}")
    return fitting


def open_device(choice: AdapterChoice) -> wgpu.GPUDevice:
    """A device with the adapter's own limits and those of the optional features that it has.

    Raises `NoAdapter` if its driver refuses: some list an adapter that they cannot open.
    """
    features = [name for name in OPTIONAL_FEATURES if name in choice.adapter.features]
    try:
        return choice.adapter.request_device_sync(required_features=features, label="vertigrad")  # pyright: ignore
    except (RuntimeError, wgpu.GPUError) as error:
        reason = " ".join(str(error).split())
        raise NoAdapter(f"{choice} cannot be opened: {reason}") from error


def open_first(choices: Sequence[AdapterChoice]) -> tuple[AdapterChoice, wgpu.GPUDevice]:
    """The first of these adapters that can be opened, and its device; those that cannot are logged.

    Raises `NoAdapter` if none can.
    """
    refusals = []
    for choice in choices:
        try:
            return choice, open_device(choice)
        except NoAdapter as refusal:
            refusals.append(str(refusal))
            logging.getLogger("vertigrad").warning("passed over: %s", refusal)
    raise NoAdapter("\n".join(refusals))


def _describe(adapter: wgpu.GPUAdapter) -> AdapterChoice:
    info = adapter.info
    backend = info["backend_type"]
    name = info["device"] or adapter.summary
    kind = _KINDS.get(info["adapter_type"], "other")
    if "llvmpipe" in name or "softpipe" in name or "SwiftShader" in name:
        kind = "software"
    return AdapterChoice(adapter, name, kind, backend, info["description"])

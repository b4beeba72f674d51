"""The device: storage, submissions, frames, kernels and plans. Knows bytes and WGSL, no shapes, models or scenes."""

from .adapter import AdapterChoice, adapters
from .binding import Bindable
from .computed import Computed
from .device import Gpu, Sync
from .dispatch import Dispatch
from .frames import Frames
from .kernel import Kernel
from .meter import Direction, Meter, Traffic
from .native import RenderPass, VertexBuffers
from .plan import Plan
from .process import gpu
from .readback import Reading
from .submission import Recorder

__all__ = [
    "AdapterChoice",
    "Bindable",
    "Computed",
    "Direction",
    "Dispatch",
    "Frames",
    "Gpu",
    "Kernel",
    "Meter",
    "Plan",
    "Reading",
    "Recorder",
    "RenderPass",
    "Sync",
    "Traffic",
    "VertexBuffers",
    "adapters",
    "gpu",
]

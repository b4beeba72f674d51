"""Raw calls into wgpu-native: the only folder that makes them. Each documents what it works around or why it is faster.

Written against wgpu-py 0.32.0 / wgpu-native 29.0.1.1.
"""

from . import declarations as declarations  # first: it imports wgpu-py's backend
from .device import set_vsync, subgroup_sizes, surface_formats, surface_usages, timestamp_period, trusted_module
from .dispatch_list import DispatchList, Size
from .encoders import CommandEncoder, ComputeEncoder
from .loss import LossProbe
from .pending import PendingComputePipeline, PendingRenderPipeline
from .queue import Commands, HostImage, has_arrived, map_for_reading, poll, submit, submit_writes, wait, wait_all
from .render_pass import DrawEncoder, RenderPass, VertexBuffers

__all__ = [
    "CommandEncoder",
    "Commands",
    "ComputeEncoder",
    "DispatchList",
    "DrawEncoder",
    "HostImage",
    "LossProbe",
    "PendingComputePipeline",
    "PendingRenderPipeline",
    "RenderPass",
    "Size",
    "VertexBuffers",
    "has_arrived",
    "map_for_reading",
    "poll",
    "set_vsync",
    "subgroup_sizes",
    "submit",
    "submit_writes",
    "surface_formats",
    "surface_usages",
    "timestamp_period",
    "trusted_module",
    "wait",
    "wait_all",
]

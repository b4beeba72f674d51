"""What layers that light their fragments have bound at group 1; mirrored by shaders/common/shadows.wgsl."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import wgpu

from ..gpu import Gpu
from .pipelines import draw_cache


def lighting_layout(gpu: Gpu) -> wgpu.GPUBindGroupLayout:
    """Of group 1: the sun's map, how it is compared, and the share of the sky."""
    kinds: Sequence[dict[str, Any]] = (
        {"texture": {"sample_type": "depth"}},
        {"sampler": {"type": "comparison"}},
        {"texture": {"sample_type": "unfilterable-float"}},
    )
    fragment = wgpu.ShaderStage.FRAGMENT
    entries: list[Any] = [{"binding": n, "visibility": fragment, **kind} for n, kind in enumerate(kinds)]
    return draw_cache(gpu).get("lighting layout", lambda: gpu.device.create_bind_group_layout(entries=entries))

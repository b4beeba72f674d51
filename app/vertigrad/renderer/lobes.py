"""`lobes`: the table of shaders/common/area_lights.wgsl, fitted by tools/fit_area_lights.py."""

from __future__ import annotations

import numpy as np
import wgpu

from .. import resources
from ..gpu import Gpu
from .pipelines import draw_cache

FORMAT = "rgba16float"


def lobes(gpu: Gpu) -> wgpu.GPUTextureView:
    """A texture of half floats: the eye's angle grows to the right, roughness downward. Made once for each device."""
    return draw_cache(gpu).get("area lobes", lambda: _uploaded(gpu))


def _uploaded(gpu: Gpu) -> wgpu.GPUTextureView:
    table = np.load(resources.path("assets", "data", "area_lights.npy")).astype(np.float16)
    rows, columns = table.shape[:2]
    usage = wgpu.TextureUsage.TEXTURE_BINDING | wgpu.TextureUsage.COPY_DST
    texture = gpu.create_texture(size=(columns, rows, 1), format=FORMAT, usage=usage)
    gpu.queue.write_texture(
        {"texture": texture}, table, {"bytes_per_row": 8 * columns, "rows_per_image": rows}, (columns, rows, 1)
    )
    return texture.create_view()

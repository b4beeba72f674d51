"""The triangles of birds, by the functions with which shaders/draw/birds.wgsl draws them."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..gpu import Kernel, Traffic, gpu
from ..renderer.layers.birds import CORNERS, BirdsDrawing
from ..renderer.moment import Moment
from ..tensor import Tensor, f32

SHADER = "draw/bird_triangles.wgsl"
MOST = 1 << 24  # corners of one layer


def corners(drawing: BirdsDrawing, rows: dict[str, np.ndarray], moment: Moment) -> np.ndarray:
    """Positions f32 (n, 45, 3) of three corners of each triangle; those of rows that are not finite are not."""
    position = rows["position"]
    count, one = len(position), np.ones((len(position), 1), np.float32)
    if count * CORNERS > MOST:
        raise InputError(f"layer {drawing.name!r}: {count:,} birds; there may be {MOST // CORNERS:,}")
    if count == 0:
        return np.zeros((0, CORNERS, 3), np.float32)
    uniform = drawing.uniform()
    size, bank = (np.float32(uniform[name]) * rows.get(name, one) for name in ("size", "bank"))
    packed = np.ascontiguousarray(np.concatenate([position, size, rows["direction"], bank], axis=1), np.float32)
    with (
        Tensor.empty(packed.shape, f32, f"{drawing.name}.birds") as birds,
        Tensor.empty((count, CORNERS, 3), f32, f"{drawing.name}.corners") as found,
    ):
        gpu().upload(
            birds.block.buffer, memoryview(packed.reshape(-1).view(np.uint8)), traffic=Traffic.DIAGNOSTICS, unused=True
        )
        Kernel.load(SHADER)(
            count * CORNERS,
            overwrites=("corners",),
            birds=birds,
            corners=found,
            count=count,
            time=moment.time,
            beat=uniform["beat"],
            amplitude=uniform["amplitude"],
            glide=drawing.style.glide,
            up=moment.up,
        )
        return found.read_async(Traffic.DIAGNOSTICS).result()

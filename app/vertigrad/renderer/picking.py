"""`Picker`: which row of which layer is under the cursor, found on the GPU and read some frames later."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import wgpu

from ..gpu import Direction, Gpu, Reading, RenderPass, Traffic
from .camera import OrbitCamera
from .layers.base import Frame, Layer
from .target import CORNERS, CORNERS_BYTES, DEPTH, ROW, ROW_BYTES
from .view import LAYER_AT, VIEW_SIZE, View, view_uniform

REGION = 9  # pixels a side that are searched, the cursor's in the middle
CLIP_AT, CLIP_SIZE = 64, 64  # bytes of `View` that hold `eye_to_clip`
LAYER_BYTES = 4096  # of uniforms that a layer may push in addition to its view

Corners = tuple[int, int, int]


@dataclass(frozen=True)
class PickResult:
    """What is at a pixel of the image.

    `layer` is its index among the layers that were drawn. `cell` is the triangle of a surface, `row` its nearest corner
    and `corners` all three; of points, `cell` and `corners` are None. `depth` is the distance from the eye along the
    direction of view, in world units.
    """

    layer: int
    row: int
    depth: float
    cell: int | None = None
    corners: Corners | None = None


class Picker:
    """Draws a few pixels around the cursor with row indices instead of colors, when `pick` is called."""

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        drawn, read = wgpu.TextureUsage.RENDER_ATTACHMENT, wgpu.TextureUsage.COPY_SRC
        self._rows = self._texture(ROW, drawn | read)
        self._corners = self._texture(CORNERS, drawn | read)
        color = {"clear_value": (0, 0, 0, 0), "load_op": "clear", "store_op": "store"}
        self._pass = RenderPass(
            [{"view": texture.create_view(), **color} for texture in (self._rows, self._corners)],
            {
                "view": self._texture(DEPTH, drawn).create_view(),
                "depth_clear_value": 0.0,
                "depth_load_op": "clear",
                "depth_store_op": "discard",
            },
        )

    def pick(
        self,
        layers: Sequence[Layer],
        camera: OrbitCamera,
        size: tuple[int, int],
        cursor: tuple[float, float],
        then: Callable[[PickResult | None], None],
        view: View | None = None,
    ) -> Reading:
        """Record the search at the pixel `cursor` of an image of `size`; `then` is called when the result has arrived.

        The result is the row nearest to the eye in the nonempty pixel nearest to the cursor, at most half of `REGION`
        away; None if all these pixels are empty. What the clipping planes of `view` cut off cannot be picked.
        Raises `LimitError` for a surface that is too large.
        """
        gpu = self._gpu
        for layer in layers:
            layer.prepare()
        if not gpu.uniforms.fits(len(layers) * (gpu.uniforms.aligned(VIEW_SIZE) + LAYER_BYTES)):
            gpu.submit()
        packed = bytearray(view_uniform(view or View(), camera, size, 0.0))
        packed[CLIP_AT : CLIP_AT + CLIP_SIZE] = _region(camera, size, cursor).T.astype("<f4").tobytes()
        for layer in layers:
            gpu.recorder.use(layer.blocks())
        with gpu.recorder.render_pass("picking", self._pass) as pass_:
            for number, layer in enumerate(layers, start=1):
                struct.pack_into("<I", packed, LAYER_AT, number)
                layer.drawing.draw_rows(pass_, Frame(gpu.uniforms.push(packed), drawn="rows"))
        return self._read(then)

    def _read(self, then: Callable[[PickResult | None], None]) -> Reading:
        """Read both textures; they arrive in the order in which they were requested."""
        rows: list[np.ndarray] = []
        gpu, encoder = self._gpu, self._gpu.recorder.encoder

        def keep(data: memoryview) -> None:
            rows.append(np.frombuffer(data, np.uint32).reshape(REGION, REGION, 4))

        def finish(data: memoryview) -> None:
            then(_nearest(rows[0], np.frombuffer(data, np.uint32).reshape(REGION, REGION, 2)))

        gpu.readback.copy_texture(encoder, self._rows, REGION * ROW_BYTES, keep)
        gpu.meter.count(Direction.DEVICE_TO_HOST, REGION * REGION * (ROW_BYTES + CORNERS_BYTES), Traffic.DIAGNOSTICS)
        return gpu.readback.copy_texture(encoder, self._corners, REGION * CORNERS_BYTES, finish)

    def _texture(self, format: str, usage: int) -> wgpu.GPUTexture:
        size = (REGION, REGION, 1)
        return self._gpu.create_texture(size=size, format=format, usage=usage)  # pyright: ignore


def _region(camera: OrbitCamera, size: tuple[int, int], cursor: tuple[float, float]) -> np.ndarray:
    """Eye space to the clip space of the few pixels around the cursor, which cover the same pixels as the image's."""
    width, height = size
    x, y = (int(coordinate) + 0.5 for coordinate in cursor)
    scale = np.array([width, height]) / REGION
    middle = np.array([2.0 * x / width - 1.0, 1.0 - 2.0 * y / height])
    closer = np.eye(4)
    closer[0, 0], closer[1, 1] = scale
    closer[:2, 3] = -middle * scale
    return closer @ camera.projection(width / height)


def _nearest(rows: np.ndarray, corners: np.ndarray) -> PickResult | None:
    y, x = np.nonzero(rows[:, :, 0])
    if not len(x):
        return None
    middle = REGION // 2
    best = np.argmin(np.hypot(x - middle, y - middle))
    layer, row, cell, bits = (int(value) for value in rows[y[best], x[best]])
    depth = float(np.uint32(bits).view(np.float32))
    if not cell:
        return PickResult(layer - 1, row, depth)
    second, third = (int(value) for value in corners[y[best], x[best]])
    return PickResult(layer - 1, row, depth, cell - 1, (row, second, third))

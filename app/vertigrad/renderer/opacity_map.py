"""`OpacityMap`: optical depths along the sun's light through volumes, for the surfaces behind and in them.

Each texel has the optical depth from the sun to eight planes at even distances (Kim and Neumann 2001, "Opacity Shadow
Maps"); between planes it is linear. The depths of several volumes are added up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import wgpu

from ..gpu import Gpu, RenderPass
from .camera import OrbitCamera
from .layers.base import Frame, Layer
from .quality import Level
from .sun import PLANES, OpacityCamera
from .target import OPACITY


def opacity_camera(layers: Sequence[Layer], camera: OrbitCamera, sun: np.ndarray, level: Level) -> OpacityCamera | None:
    """The camera of the map of these layers; None if none of them attenuates light."""
    boxes = [box for layer in layers if (box := layer.drawing.shadow_box()) is not None]
    return OpacityCamera(camera, sun, boxes, level.opacity_texels) if boxes else None


class OpacityMap:
    """A map of so many `texels` along each side. `view` is bound."""

    def __init__(self, gpu: Gpu, texels: int):
        self._gpu, self.texels = gpu, texels
        usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.TEXTURE_BINDING
        layers = PLANES // 4
        texture = gpu.create_texture(size=(texels, texels, layers), format=OPACITY, usage=usage)
        self.view = texture.create_view(dimension="2d-array")
        parts = [texture.create_view(dimension="2d", base_array_layer=n, array_layer_count=1) for n in range(layers)]
        self._pass = RenderPass([{"view": part, "load_op": "clear", "store_op": "store"} for part in parts])

    def record(self, layers: Sequence[Layer], view: bytes) -> None:
        """Record the optical depths of these layers; `view` has the bytes of `View` along the sun."""
        frame = Frame(self._gpu.uniforms.push(view), drawn="opacity")
        attenuating = [layer.drawing for layer in layers if layer.drawing.shadow_box() is not None]
        for drawing in attenuating:
            drawing.compute_opacity(self.texels, frame)
        with self._gpu.recorder.render_pass("shadows", self._pass) as pass_:
            for drawing in attenuating:
                drawing.draw_opacity(pass_)

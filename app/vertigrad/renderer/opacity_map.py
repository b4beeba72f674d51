"""`OpacityMap`: optical depths along the sun's light through volumes and liquids, for the surfaces behind and in them.

Each texel has the optical depth from the sun to eight planes at even distances (Kim and Neumann 2001, "Opacity Shadow
Maps"); between planes it is linear. Of liquids, which end abruptly, it has those of an even layer instead: how deep it
is, and times that the middle and the extent of the layer, in planes. The depths of several layers are added up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import wgpu

from ..gpu import Gpu, RenderPass
from .camera import OrbitCamera
from .layers.base import Frame, Layer
from .layers.drawing import Drawing
from .quality import Level
from .sun import PLANES, OpacityCamera
from .target import OPACITY


def opacity_camera(layers: Sequence[Layer], camera: OrbitCamera, sun: np.ndarray, level: Level) -> OpacityCamera | None:
    """The camera of the map of these layers; None if none of them attenuates light."""
    boxes = [layer.drawing.shadow_box() for layer in layers if layer.drawing.attenuates]
    return OpacityCamera(camera, sun, boxes, map_texels(layers, level)) if boxes else None


def map_texels(layers: Sequence[Layer], level: Level) -> int:
    """Texels along each side of the map: more where there is no volume, of which each one is a march."""
    marched = any(layer.drawing.attenuates and layer.drawing.shadow_box() for layer in layers)
    return level.opacity_texels if marched else 2 * level.opacity_texels


class OpacityMap:
    """A map of so many `texels` along each side. `view` is bound."""

    def __init__(self, gpu: Gpu, texels: int):
        self._gpu, self.texels = gpu, texels
        usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.TEXTURE_BINDING
        layers = PLANES // 4 + 1
        texture = gpu.create_texture(size=(texels, texels, layers), format=OPACITY, usage=usage)
        self.view = texture.create_view(dimension="2d-array")
        parts = [texture.create_view(dimension="2d", base_array_layer=n, array_layer_count=1) for n in range(layers)]
        self._pass = RenderPass([{"view": part, "load_op": "clear", "store_op": "store"} for part in parts])

    def record(self, drawings: Sequence[Drawing]) -> None:
        """Add up the optical depths of these drawings, which have computed theirs for maps of this size."""
        with self._gpu.recorder.render_pass("shadows", self._pass) as pass_:
            for drawing in drawings:
                drawing.draw_opacity(pass_)


class OpacityMaps:
    """The map of all drawings that attenuate light, and one without each volume, which shades itself."""

    def __init__(self, gpu: Gpu, texels: int):
        self._gpu, self.texels = gpu, texels
        self._maps: list[OpacityMap] = []

    def record(self, layers: Sequence[Layer], view: bytes) -> dict[Drawing, int]:
        """Record the maps, that of all layers first; `view` has the bytes of `View` along the sun.

        Returns the number of the map without each volume, in the order of `view`; -1 where there is nothing else.
        """
        frame = Frame(self._gpu.uniforms.push(view), drawn="opacity")
        attenuating = [layer.drawing for layer in layers if layer.drawing.attenuates]
        for drawing in attenuating:
            drawing.compute_opacity(self.texels, frame)
        maps, numbers = [attenuating], {}
        for drawing in attenuating:
            if drawing.shades_itself:
                others = [one for one in attenuating if one is not drawing]
                numbers[drawing] = len(maps) if others else -1
                maps += [others] if others else []
        for number, drawings in enumerate(maps):
            if number == len(self._maps):
                self._maps.append(OpacityMap(self._gpu, self.texels))
            self._maps[number].record(drawings)
        return numbers

    def view(self, number: int) -> wgpu.GPUTextureView:
        return self._maps[number].view

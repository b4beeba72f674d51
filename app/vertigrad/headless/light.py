"""`LightTarget`: linear light and depth of a scene as arrays, for EXR images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..gpu import Gpu, Reading
from ..renderer.camera import OrbitCamera
from ..renderer.depth_image import FORMAT as DEPTH
from ..renderer.renderer import Renderer
from ..renderer.target import COLOR, PRECISE
from .exr import USUAL_EXR, ExrOptions
from .offscreen import Offscreen, enough_memory
from .output import LightImage


class LightTarget:
    """What images of one size are drawn into, by its `renderer` into its `view`; then call `read`.

    Raises `InputError` for a size that cannot be drawn, and for 32 bits or a depth that this GPU cannot draw.
    """

    def __init__(self, gpu: Gpu, size: tuple[int, int], options: ExrOptions = USUAL_EXR, transparent: bool = False):
        self.size = size
        with enough_memory(size):
            format = PRECISE if options.bits == 32 else COLOR
            self.renderer = Renderer(gpu, format, transparent, with_depth=options.depth)
            self._light = Offscreen(gpu, size, format)
            self._depth = Offscreen(gpu, size, DEPTH) if options.depth else None
        self.view = self._light.view

    def read(self, camera: OrbitCamera, then: Callable[[LightImage], object]) -> Reading:
        """Record the readback of what was drawn last, with `camera`; `then` receives it when it is there."""
        if self._depth is None:
            return self._light.read(lambda light: then(LightImage(light)))
        lights, camera = list[np.ndarray](), replace(camera)
        self.renderer.draw_depth(self._depth.view)
        self._light.read(lights.append)
        return self._depth.read(lambda depth: then(LightImage(lights.pop(), camera.distances(depth[..., 0]))))

"""`Depths`: the depth of solid things for one eye, one sample a pixel."""

from __future__ import annotations

from collections.abc import Iterable

from ..gpu import Gpu, RenderPass
from .layers.base import Frame, Layer
from .target import DEPTH, create_view


class Depths:
    """A texture of depth, `width` by `height` pixels; square without `height`. Depth is reversed."""

    def __init__(self, gpu: Gpu, width: int, height: int = 0):
        self._gpu = gpu
        self.view = create_view(gpu, (width, height or width), DEPTH)
        clear = {"depth_clear_value": 0.0, "depth_load_op": "clear", "depth_store_op": "store"}
        self._pass = RenderPass([], {"view": self.view, **clear})

    def record(self, group: str, layers: Iterable[Layer], view_offset: int) -> None:
        """Record a pass that draws what `layers` have that is solid, timed under `group`."""
        frame = Frame(view_offset, drawn="depth")
        with self._gpu.recorder.render_pass(group, self._pass) as pass_:
            for layer in layers:
                layer.drawing.draw(pass_, frame)

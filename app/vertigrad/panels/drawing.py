"""`Drawing`: what ImGui wants drawn, recorded into the frame's own encoder."""

from __future__ import annotations

from typing import Any

import wgpu
from imgui_bundle import imgui
from wgpu.utils.imgui import ImguiWgpuBackend

from ..gpu import Gpu, RenderPass

_BIND_GROUP = "__imgui_bind_group"  # where wgpu-py looks for the bind group of a texture


class Drawing:
    """Draws for the ImGui context that is the current one when it is made, into targets of one format.

    `backend` is wgpu-py's; it knows the textures.
    """

    def __init__(self, gpu: Gpu, color_format: str):
        self._gpu = gpu
        self.backend: Any = ImguiWgpuBackend(gpu.device, color_format)
        self._pass = RenderPass([{"load_op": "load", "store_op": "store"}])

    def draw(self, target: wgpu.GPUTextureView) -> None:
        """Record the windows built last, over what `target` shows."""
        self._keep_bind_groups()
        data = imgui.get_draw_data()
        _upload_whole(data)
        with self._gpu.recorder.render_pass("gui", self._pass, target) as render:
            self.backend.render(data, render)

    def _keep_bind_groups(self) -> None:
        """Give each texture its bind group, where the backend looks for one.

        wgpu-py 0.32 keeps it under another name than it looks for (Python mangles names that begin with two
        underscores), so it would make one for each window in each frame, 15 µs a piece.
        """
        for view in self.backend._texture_views.values():
            if not hasattr(view, _BIND_GROUP):
                entries = [{"binding": 0, "resource": view}]
                layout = self.backend._texture_bind_group_layout
                setattr(view, _BIND_GROUP, self._gpu.device.create_bind_group(layout=layout, entries=entries))


def _upload_whole(data: imgui.ImDrawData) -> None:
    """Have a new texture uploaded as a whole: wgpu's backend takes what changed last, which may be less."""
    for texture in data.textures or ():
        if texture.status == imgui.ImTextureStatus.want_create:
            changed = texture.update_rect
            changed.x, changed.y, changed.w, changed.h = 0, 0, texture.width, texture.height

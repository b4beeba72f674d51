"""`Drawing`: ImGui's draw lists, recorded into the frame's own encoder."""

from __future__ import annotations

from ctypes import string_at
from typing import Any

import wgpu
from imgui_bundle import imgui
from wgpu.utils.imgui import ImguiWgpuBackend

from ..gpu import Gpu, RenderPass

_INDEX = wgpu.IndexFormat.uint16 if imgui.INDEX_SIZE == 2 else wgpu.IndexFormat.uint32
_BIND_GROUP = "__imgui_bind_group"  # where wgpu-py looks for the bind group of a texture


class Drawing:
    """Draws the ImGui context that is current at its construction, into targets of one format.

    `backend` is wgpu-py's; it knows the textures.
    """

    def __init__(self, gpu: Gpu, color_format: str):
        self._gpu = gpu
        self.backend: Any = ImguiWgpuBackend(gpu.device, color_format)
        self._pass = RenderPass([{"load_op": "load", "store_op": "store"}])
        self._size = (0, 0)  # of the window for which the backend's uniforms were written
        self._vertices: wgpu.GPUBuffer | None = None
        self._indices: wgpu.GPUBuffer | None = None

    def draw(self, target: wgpu.GPUTextureView) -> None:
        """Record the windows built last, over what `target` shows; none if building them failed."""
        data = imgui.get_draw_data()
        if data is None:
            return
        _upload_whole(data)
        with self._gpu.recorder.render_pass("gui", self._pass, target) as render:
            self._render(data, render)

    def _render(self, data: imgui.ImDrawData, render: Any) -> None:
        """As the backend's `render`, in half of the time: no state is set twice."""
        backend = self.backend
        backend._clear_pending_textures()
        width, height = (int(length) for length in data.display_size)
        if width <= 0 or height <= 0 or not data.cmd_lists_count:
            return
        for texture in data.textures or ():
            if texture.status != imgui.ImTextureStatus.ok:
                backend._update_texture(texture)
        self._keep_bind_groups()
        if self._size != (width, height):
            backend._set_render_state(data)
            self._size = width, height
        lists = list(data.cmd_lists)
        self._vertices = self._uploaded(self._vertices, [_vertices(one) for one in lists], wgpu.BufferUsage.VERTEX)
        self._indices = self._uploaded(self._indices, [_indices(one) for one in lists], wgpu.BufferUsage.INDEX)
        render.set_pipeline(backend._render_pipeline)
        render.set_vertex_buffer(0, self._vertices)
        render.set_index_buffer(self._indices, _INDEX, 0)
        render.set_bind_group(0, backend._bind_group)
        _draw_lists(lists, backend._texture_views, render, width, height)

    def _uploaded(self, buffer: wgpu.GPUBuffer | None, parts: list[bytes], usage: int) -> wgpu.GPUBuffer:
        """The buffer with all parts one after the other; another one, with room to spare, if it is too small."""
        content = b"".join(parts)
        if buffer is None or buffer.size < len(content):
            size = -(-len(content) * 3 // 2 // 4) * 4
            buffer = self._gpu.create_buffer(size, usage | wgpu.BufferUsage.COPY_DST, "panels")
        padding = -len(content) % 4
        self._gpu.device.queue.write_buffer(buffer, 0, content + bytes(padding) if padding else content)
        return buffer

    def _keep_bind_groups(self) -> None:
        """Give each texture its bind group, where the backend looks for one.

        wgpu-py 0.32 stores it under another name than it reads (Python mangles names that begin with two underscores),
        so it would create one for each window in each frame, 15 µs each.
        """
        for view in self.backend._texture_views.values():
            if not hasattr(view, _BIND_GROUP):
                entries = [{"binding": 0, "resource": view}]
                layout = self.backend._texture_bind_group_layout
                setattr(view, _BIND_GROUP, self._gpu.device.create_bind_group(layout=layout, entries=entries))


def _vertices(one: imgui.ImDrawList) -> bytes:
    return string_at(one.vtx_buffer.data_address(), one.vtx_buffer.size() * imgui.VERTEX_SIZE)


def _indices(one: imgui.ImDrawList) -> bytes:
    return string_at(one.idx_buffer.data_address(), one.idx_buffer.size() * imgui.INDEX_SIZE)


def _draw_lists(lists: list[imgui.ImDrawList], views: Any, render: Any, width: int, height: int) -> None:
    """Every command within its part of the window."""
    vertex = index = 0
    group, clip = None, (0, 0, width, height)
    for one in lists:
        for command in one.cmd_buffer:
            rect = command.clip_rect
            left, top = max(int(rect.x), 0), max(int(rect.y), 0)
            scissor = left, top, int(min(rect.z, width)) - left, int(min(rect.w, height)) - top
            if scissor[2] <= 0 or scissor[3] <= 0:
                continue
            if scissor != clip:
                render.set_scissor_rect(*scissor)
                clip = scissor
            if (texture := getattr(views[command.tex_ref.get_tex_id()], _BIND_GROUP)) is not group:
                render.set_bind_group(1, texture)
                group = texture
            render.draw_indexed(command.elem_count, 1, command.idx_offset + index, command.vtx_offset + vertex)
        vertex += one.vtx_buffer.size()
        index += one.idx_buffer.size()


def _upload_whole(data: imgui.ImDrawData) -> None:
    """Have a new texture uploaded as a whole: wgpu's backend takes what changed last, which may be less."""
    for texture in data.textures or ():
        if texture.status == imgui.ImTextureStatus.want_create:
            changed = texture.update_rect
            changed.x, changed.y, changed.w, changed.h = 0, 0, texture.width, texture.height

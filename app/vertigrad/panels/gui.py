"""`Gui`: ImGui's context, its look, and the panels."""

from __future__ import annotations

from typing import Any

import wgpu
from imgui_bundle import ImVec2, ImVec4, imgui
from wgpu.utils.imgui import ImguiWgpuBackend

from ..gpu import Gpu
from ..session import Session
from .base import Panel
from .parameters import ParametersPanel
from .run import BAD, RunPanel

WIDTH = 300  # of a panel, in logical pixels
FONT_SIZE = 15.0


class Gui:
    """The panels, drawn over the picture in the frame's own encoder. Sizes are logical pixels times `scale`."""

    def __init__(self, gpu: Gpu, color_format: str, scale: float = 1.0):
        self._gpu = gpu
        self._context = imgui.create_context()
        self._backend = ImguiWgpuBackend(gpu.device, color_format)
        self._panels: tuple[Panel, ...] = (RunPanel(), ParametersPanel())
        self.visible = True
        self._scale = scale
        _style(scale)

    @property
    def io(self) -> imgui.IO:
        """Where input goes."""
        imgui.set_current_context(self._context)
        return imgui.get_io()

    def build(self, session: Session, size: tuple[int, int], seconds: float) -> None:
        """Make this frame's windows for a window of `size` pixels; `seconds` have passed since the last."""
        io = self.io
        io.display_size = ImVec2(*size)
        io.delta_time = max(seconds, 1e-4)
        imgui.new_frame()
        if self.visible:
            self._windows(session, size)
        if session.message:
            self._message(session.message, size)
        imgui.render()

    def draw(self, target: wgpu.GPUTextureView) -> None:
        """Record the windows built last over `target`."""
        attachment: Any = {"view": target, "load_op": "load", "store_op": "store"}
        with self._gpu.recorder.render_pass(group="gui", color_attachments=[attachment]) as render:
            self._backend.render(imgui.get_draw_data(), render)

    def close(self) -> None:
        """Give up the context."""
        imgui.set_current_context(self._context)
        imgui.destroy_context(self._context)

    def _windows(self, session: Session, size: tuple[int, int]) -> None:
        """The panels in the upper corners of the picture, until the user puts them elsewhere."""
        margin, width = 10 * self._scale, WIDTH * self._scale
        corners = ((margin, 0.0), (size[0] - margin, 1.0))
        for panel, (x, pivot) in zip(self._panels, corners, strict=True):
            imgui.set_next_window_pos(ImVec2(x, margin), imgui.Cond_.first_use_ever.value, ImVec2(pivot, 0.0))
            imgui.set_next_window_size_constraints(ImVec2(width, 0), ImVec2(width * 2, max(size[1] - 2 * margin, 80)))
            flags = imgui.WindowFlags_.always_auto_resize | imgui.WindowFlags_.no_focus_on_appearing
            imgui.begin(panel.title, None, flags.value)
            panel.draw(session)
            imgui.end()

    def _message(self, message: str, size: tuple[int, int]) -> None:
        margin = 10 * self._scale
        imgui.set_next_window_pos(ImVec2(size[0] / 2, size[1] - margin), imgui.Cond_.always.value, ImVec2(0.5, 1.0))
        flags = imgui.WindowFlags_.no_decoration | imgui.WindowFlags_.always_auto_resize | imgui.WindowFlags_.no_inputs
        imgui.begin("##message", None, flags.value)
        imgui.push_text_wrap_pos(size[0] * 0.8)
        imgui.text_colored(BAD, message)
        imgui.pop_text_wrap_pos()
        imgui.end()


def _style(scale: float) -> None:
    imgui.style_colors_dark()
    style = imgui.get_style()
    style.window_rounding, style.frame_rounding, style.grab_rounding = 8.0, 5.0, 5.0
    style.window_border_size, style.frame_border_size = 0.0, 0.0
    style.window_padding, style.frame_padding = ImVec2(12, 10), ImVec2(8, 4)
    style.item_spacing = ImVec2(8, 6)
    colors = {
        imgui.Col_.window_bg: ImVec4(0.07, 0.08, 0.10, 0.86),
        imgui.Col_.title_bg: ImVec4(0.07, 0.08, 0.10, 0.95),
        imgui.Col_.title_bg_active: ImVec4(0.10, 0.12, 0.15, 0.98),
        imgui.Col_.frame_bg: ImVec4(0.15, 0.17, 0.21, 1.0),
        imgui.Col_.frame_bg_hovered: ImVec4(0.20, 0.23, 0.28, 1.0),
        imgui.Col_.frame_bg_active: ImVec4(0.24, 0.28, 0.34, 1.0),
        imgui.Col_.slider_grab: ImVec4(0.93, 0.62, 0.30, 1.0),
        imgui.Col_.slider_grab_active: ImVec4(1.0, 0.72, 0.42, 1.0),
        imgui.Col_.check_mark: ImVec4(0.93, 0.62, 0.30, 1.0),
        imgui.Col_.button: ImVec4(0.18, 0.21, 0.26, 1.0),
        imgui.Col_.button_hovered: ImVec4(0.26, 0.30, 0.37, 1.0),
        imgui.Col_.button_active: ImVec4(0.34, 0.38, 0.46, 1.0),
        imgui.Col_.header: ImVec4(0.16, 0.19, 0.23, 1.0),
        imgui.Col_.header_hovered: ImVec4(0.22, 0.26, 0.32, 1.0),
        imgui.Col_.header_active: ImVec4(0.26, 0.31, 0.38, 1.0),
    }
    for place, color in colors.items():
        style.set_color_(place.value, color)
    style.scale_all_sizes(scale)
    style.font_size_base = FONT_SIZE
    style.font_scale_dpi = scale

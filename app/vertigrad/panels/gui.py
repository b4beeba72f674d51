"""`Gui`: ImGui's context, the panels' places, and the drawing of all of it over the picture."""

from __future__ import annotations

from typing import Any

import wgpu
from imgui_bundle import ImVec2, imgui
from wgpu.utils.imgui import ImguiWgpuBackend

from ..gpu import Gpu, RenderPass
from ..session import Session
from .base import Panel
from .look import MARGIN, add_fonts, set_style
from .message import draw_message
from .parameters import ParametersPanel
from .run import RunPanel

WIDEST, NARROWEST = 280.0, 196.0  # a panel's width, in logical pixels
SHARE = 0.26  # of the window's width that a panel takes, between those
LOWEST = 60.0  # height below which a panel is left out

_FLAGS = (
    imgui.WindowFlags_.always_auto_resize
    | imgui.WindowFlags_.no_move
    | imgui.WindowFlags_.no_saved_settings
    | imgui.WindowFlags_.no_focus_on_appearing
)


class Gui:
    """The panels, drawn over the picture in the frame's own encoder. All sizes are pixels of the screen."""

    def __init__(self, gpu: Gpu, color_format: str, scale: float = 1.0):
        self._gpu = gpu
        self._context: Any = imgui.create_context()
        imgui.set_current_context(self._context)
        add_fonts()
        set_style(scale)
        self._scale = scale
        self._backend = ImguiWgpuBackend(gpu.device, color_format)
        self._pass = RenderPass([{"load_op": "load", "store_op": "store"}])
        self._panels: tuple[Panel, ...] = (RunPanel(), ParametersPanel())
        self.visible = True

    @property
    def io(self) -> imgui.IO:
        """Where input goes. Makes this GUI's context the current one."""
        imgui.set_current_context(self._context)
        return imgui.get_io()

    @property
    def cursor(self) -> int:
        """The shape that ImGui wants the mouse to have, an `imgui.MouseCursor_`."""
        return imgui.get_mouse_cursor() if self.io.want_capture_mouse else imgui.MouseCursor_.arrow.value

    def covers(self, x: float, y: float) -> bool:
        """Whether a click at this pixel is for the GUI.

        Asked of the windows as they were drawn last: ImGui's own answer, `want_capture_mouse`, is about where the
        mouse was when the last frame began, and a mouse may cross the screen and click within a frame.
        """
        if self.io.want_capture_mouse and any(self.io.mouse_down):
            return True
        if imgui.is_popup_open("", imgui.PopupFlags_.any_popup.value):
            return True
        return any(
            window.active and not window.hidden and not window.flags & imgui.WindowFlags_.no_mouse_inputs.value
            for window in self._context.windows
            if _contains(window, x, y)
        )

    def build(self, session: Session, size: tuple[int, int], seconds: float, scale: float | None = None) -> None:
        """Make this frame's windows for a window of `size` pixels; `seconds` have passed since the last.

        `scale` is given if it may have changed.
        """
        io = self.io
        if scale is not None and scale != self._scale:
            self._scale = scale
            set_style(scale)
        io.display_size = ImVec2(*size)
        io.delta_time = max(seconds, 1e-4)
        imgui.new_frame()
        below = draw_message(session, size)
        if self.visible:
            self._draw_panels(session, size[0], size[1] - below)
        imgui.render()

    def draw(self, target: wgpu.GPUTextureView) -> None:
        """Record the windows built last over `target`."""
        imgui.set_current_context(self._context)
        with self._gpu.recorder.render_pass("gui", self._pass, target) as render:
            self._backend.render(imgui.get_draw_data(), render)

    def close(self) -> None:
        """Give up the context. Idempotent."""
        if self._context is not None:
            imgui.set_current_context(self._context)
            imgui.destroy_context(self._context)
            self._context = None

    def _draw_panels(self, session: Session, width: float, height: float) -> None:
        """One in each upper corner; in a window too narrow for that, one below the other."""
        margin = MARGIN * self._scale
        panel = min(max(SHARE * width, NARROWEST * self._scale), WIDEST * self._scale)
        beside = width >= 2 * panel + 3 * margin
        top = margin
        for index, drawer in enumerate(self._panels):
            below = 0 if beside else len(self._panels) - 1 - index
            room = (height - top - margin) / (below + 1)
            if room < LOWEST * self._scale:
                return
            left = width - panel - margin if beside and index else margin
            drawn = self._draw_panel(drawer, session, left, top, panel, room)
            top = margin if beside else top + drawn + margin

    @staticmethod
    def _draw_panel(panel: Panel, session: Session, left: float, top: float, width: float, room: float) -> float:
        """Returns the panel's height."""
        imgui.set_next_window_pos(ImVec2(left, top))
        imgui.set_next_window_size_constraints(ImVec2(width, 0.0), ImVec2(width, room))
        expanded, _ = imgui.begin(panel.title, None, _FLAGS)
        if expanded:
            panel.draw(session)
        height = imgui.get_window_size().y
        imgui.end()
        return height


def _contains(window: Any, x: float, y: float) -> bool:
    return window.pos.x <= x < window.pos.x + window.size.x and window.pos.y <= y < window.pos.y + window.size.y

"""Texts that models write, over the lower part of the viewport, as they come."""

from __future__ import annotations

from imgui_bundle import ImVec2, ImVec4, imgui

from ..session import Session
from .docks import Rect
from .rows import scale
from .theme import DIM, TEXT

MARGIN, WIDEST, HIGHEST = 16.0, 760.0, 0.4  # logical pixels, and the fraction of the viewport that a text may take
BACKGROUND = ImVec4(0.05, 0.06, 0.08, 0.82)
_FLAGS = (
    imgui.WindowFlags_.no_decoration
    | imgui.WindowFlags_.no_move
    | imgui.WindowFlags_.no_saved_settings
    | imgui.WindowFlags_.no_focus_on_appearing
    | imgui.WindowFlags_.no_docking
    | imgui.WindowFlags_.no_nav
)


def draw_texts(session: Session, viewport: Rect) -> None:
    """Draw a box for each model that writes a text: the prompt, what was written so far, and a cursor until it ends."""
    bottom = viewport.top + viewport.height - MARGIN * scale()
    for name, instance in session.stage.instances.items():
        written = instance.model.written_text()
        if written is None:
            continue
        width = min(WIDEST * scale(), viewport.width - 2 * MARGIN * scale())
        room = HIGHEST * viewport.height
        imgui.set_next_window_pos(ImVec2(viewport.left + (viewport.width - width) / 2, bottom), 0, ImVec2(0.0, 1.0))
        imgui.set_next_window_size_constraints(ImVec2(width, 0.0), ImVec2(width, room))
        imgui.push_style_color(imgui.Col_.window_bg.value, BACKGROUND)
        imgui.begin(f"##text of {name}", None, _FLAGS | imgui.WindowFlags_.always_auto_resize)
        imgui.text_colored(DIM, name if not written.ended else f"{name}: the text has ended")
        imgui.push_text_wrap_pos(0.0)
        imgui.text_colored(TEXT, written.prompt + written.continuation + ("" if written.ended else "_"))
        imgui.pop_text_wrap_pos()
        imgui.set_scroll_here_y(1.0)
        bottom -= imgui.get_window_height() + MARGIN * scale()
        imgui.end()
        imgui.pop_style_color()

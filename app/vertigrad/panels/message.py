"""`draw_message`: error messages at the bottom of the viewport."""

from __future__ import annotations

import math

from imgui_bundle import ImVec2, imgui
from imgui_bundle import icons_fontawesome_6 as icons

from ..session import Session
from ..session.commands import Dismiss
from .docks import Rect
from .overlay import OVER_VIEWPORT
from .rows import scale
from .theme import BAD, CLEAR, MARGIN

WIDTH = 760.0  # at most, in logical pixels
LINES = 8  # of text; the rest is counted


def draw_message(session: Session, viewport: Rect) -> None:
    """Draw the session's messages, if there are any, at the bottom of the viewport."""
    if not session.messages:
        return
    margin = MARGIN * scale()
    width = min(viewport.width - 2 * margin, WIDTH * scale())
    low = ImVec2(viewport.left + viewport.width / 2, viewport.top + viewport.height - margin)
    imgui.set_next_window_pos(low, imgui.Cond_.always.value, ImVec2(0.5, 1.0))
    imgui.set_next_window_size(ImVec2(width, 0.0))
    imgui.begin("##message", None, OVER_VIEWPORT)
    button = imgui.get_frame_height()
    imgui.text_colored(BAD, icons.ICON_FA_TRIANGLE_EXCLAMATION)
    imgui.same_line()
    imgui.push_text_wrap_pos(width - button - 2 * margin)
    imgui.text_unformatted(shortened("\n".join(session.messages.values())))
    imgui.pop_text_wrap_pos()
    _close_button(session, width, button)
    imgui.end()


def message_top() -> float:
    """Where the messages that were drawn last begin, in pixels; far below if none were."""
    window = imgui.internal.find_window_by_name("##message")
    return window.pos.y if window is not None and window.was_active else math.inf


def shortened(text: str) -> str:
    """The first lines of a long text, and how many more there are."""
    lines = text.splitlines()
    more = len(lines) - LINES
    return "\n".join([*lines[:LINES], f"… and {more} more" if more > 1 else lines[-1]]) if more > 0 else text


def _close_button(session: Session, width: float, button: float) -> None:
    padding = imgui.get_style().window_padding
    imgui.set_cursor_pos(ImVec2(width - button - padding.x / 2, padding.y / 2))
    imgui.push_style_color(imgui.Col_.button.value, CLEAR)
    if imgui.button(f"{icons.ICON_FA_XMARK}##dismiss", ImVec2(button, button)):
        session.post(Dismiss())
    imgui.pop_style_color()
    imgui.set_item_tooltip("dismiss; shown again if it recurs")

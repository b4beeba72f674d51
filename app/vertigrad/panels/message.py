"""Error messages and warnings at the bottom of the viewport."""

from __future__ import annotations

import math

from imgui_bundle import ImVec2, imgui
from imgui_bundle import icons_fontawesome_6 as icons

from ..session import Session
from ..session.commands import Dismiss
from .docks import Rect
from .rows import flat_button, paragraph, scale
from .tables import diagnostic_label
from .theme import ACCENT, BAD, DIM, TEXT
from .windows import MARGIN, OVER_VIEWPORT, overlay

WIDTH, WARNING_WIDTH = 760.0, (160.0, 330.0)  # of messages at most, and of warnings at least and at most
MESSAGE_MARGIN = 10.0  # all in logical pixels
LINES = 8  # of text; the rest is counted


def draw_message(session: Session, viewport: Rect) -> None:
    """Draw the session's messages, if there are any, at the bottom of the viewport."""
    if not session.messages:
        return
    margin, button = MESSAGE_MARGIN * scale(), imgui.get_frame_height()
    width = min(viewport.width - 2 * margin, WIDTH * scale())
    imgui.set_next_window_size(ImVec2(width, 0.0))
    low = viewport.at((0.5, 1.0), margin)
    with overlay("##message", low, (0.5, 1.0), OVER_VIEWPORT, alpha=1.0):
        imgui.text_colored(BAD, icons.ICON_FA_TRIANGLE_EXCLAMATION)
        imgui.same_line()
        paragraph(shortened("\n".join(session.messages.values())), right=width - button - 2 * margin)
        padding = imgui.get_style().window_padding
        imgui.set_cursor_pos(ImVec2(width - button - padding.x / 2, padding.y / 2))
        if flat_button(f"{icons.ICON_FA_XMARK}##dismiss", "dismiss; shown again if it recurs"):
            session.post(Dismiss())


def _message_top() -> float:
    """Where the messages that were drawn last begin, in pixels; far below if none were."""
    window = imgui.internal.find_window_by_name("##message")
    return window.pos.y if window is not None and window.was_active else math.inf


def shortened(text: str) -> str:
    """The first lines of a long text, and how many more there are."""
    lines = text.splitlines()
    more = len(lines) - LINES
    return "\n".join([*lines[:LINES], f"… and {more} more" if more > 1 else lines[-1]]) if more > 0 else text


def draw_warnings(session: Session, viewport: Rect) -> None:
    """Diagnostics above the limits of their models, over the lower right: what is too large, and what can be done."""
    exceeded, margin, (least, most) = session.limits.exceeded, MARGIN * scale(), WARNING_WIDTH
    width = min(viewport.width - 2 * margin, most * scale())
    if not exceeded or width < least * scale():
        return
    corner = viewport.at((1.0, 1.0), margin)
    if session.messages:
        corner.y = min(corner.y, _message_top() - margin)
    imgui.set_next_window_size(ImVec2(width, 0.0))
    with overlay("##warnings", corner, (1.0, 1.0), OVER_VIEWPORT | imgui.WindowFlags_.no_inputs, alpha=0.85):
        for excess in exceeded:
            imgui.text_colored(ACCENT, icons.ICON_FA_TRIANGLE_EXCLAMATION)
            imgui.same_line()
            name = diagnostic_label(session, excess.name)
            paragraph(f"{name} is {excess.value:.3g}; up to {excess.limit.bound:g} is fine", TEXT)
            paragraph(excess.limit.advice, DIM)

"""`draw_warnings`: diagnostics above the limits of their models, over the lower right of the viewport."""

from __future__ import annotations

from imgui_bundle import ImVec2, imgui
from imgui_bundle import icons_fontawesome_6 as icons

from ..session import Session
from .docks import Rect
from .message import message_top
from .overlay import OVER_VIEWPORT, overlay
from .rows import scale
from .theme import ACCENT, DIM, TEXT

WIDTH = 330.0  # at most, in logical pixels
LEAST = 160.0
MARGIN = 12.0


def draw_warnings(session: Session, viewport: Rect) -> None:
    """What is too large, how large it may be, and what can be done about it; nothing while all is well."""
    exceeded, unit = session.limits.exceeded, scale()
    width = min(viewport.width - 2 * MARGIN * unit, WIDTH * unit)
    if not exceeded or width < LEAST * unit:
        return
    low = viewport.top + viewport.height - MARGIN * unit
    low = min(low, message_top() - MARGIN * unit) if session.messages else low
    corner = ImVec2(viewport.left + viewport.width - MARGIN * unit, low)
    imgui.set_next_window_size(ImVec2(width, 0.0))
    with overlay("##warnings", corner, ImVec2(1.0, 1.0), OVER_VIEWPORT | imgui.WindowFlags_.no_inputs, 0.85):
        several = len(session.stage.instances) > 1
        for excess in exceeded:
            model, _, quantity = excess.name.partition(".")
            name = f"{model}: {quantity}" if several else quantity
            imgui.text_colored(ACCENT, icons.ICON_FA_TRIANGLE_EXCLAMATION)
            imgui.same_line()
            imgui.push_text_wrap_pos(0.0)
            imgui.text_colored(
                TEXT, f"{name.replace('_', ' ')} is {excess.value:.3g}; up to {excess.limit.bound:g} is fine"
            )
            imgui.text_colored(DIM, excess.limit.advice)
            imgui.pop_text_wrap_pos()

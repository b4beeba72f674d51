"""The buttons of a script, above the parameters."""

from __future__ import annotations

from imgui_bundle import ImVec2, imgui

from ..session import Session
from ..session.commands import PressButton
from .rows import button_width, explain, fitted, in_rows

ACROSS = 4  # in a row, if their labels fit


def draw_buttons(session: Session) -> None:
    """Draw them in rows; nothing if the script has none."""
    buttons = session.script.buttons
    if not buttons:
        return
    gap, room = imgui.get_style().item_inner_spacing.x, imgui.get_content_region_avail().x
    widest = max(button_width(label) for label in buttons)
    across = max(1, min(ACROSS, len(buttons), int((room + gap) / (widest + gap))))
    for label, width in in_rows(buttons, across):
        text = fitted(label, width - 2 * imgui.get_style().frame_padding.x)
        if imgui.button(f"{text}##script {label}", ImVec2(width, 0.0)):
            session.post(PressButton(label))
        explain(buttons[label])
    imgui.spacing()

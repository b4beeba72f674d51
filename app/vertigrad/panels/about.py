"""`draw_about`: versions, GPU and driver, as a report of an error needs them, in a window over the viewport."""

from __future__ import annotations

import math

from imgui_bundle import ImVec2, imgui

from ..session import Session
from ..session.failures import facts
from .rows import copy_button, paragraph, scale
from .theme import DIM
from .windows import centered, floating
from .workspace import Workspace

NAME = "About Vertigrad###about"
COLUMN, WIDTH = 90.0, 560.0  # of the labels, and of all, in logical pixels


def draw_about(session: Session, workspace: Workspace) -> None:
    """Draw the window if it is open; Escape closes it, as its buttons do."""
    if not workspace.about:
        return
    most = centered(WIDTH, math.inf, (0.94, 0.94), imgui.Cond_.appearing)
    imgui.set_next_window_size_constraints(ImVec2(most.x, 0.0), most)
    with floating(NAME, _FLAGS) as (visible, still_open):
        if visible:
            still_open = _draw_content(session) and still_open
            focused = imgui.is_window_focused(imgui.FocusedFlags_.child_windows.value)
            still_open = still_open and not (focused and imgui.is_key_pressed(imgui.Key.escape, False))
    workspace.about = still_open


def _draw_content(session: Session) -> bool:
    """Returns whether the window stays open."""
    found = facts(session.gpu)
    for label, value in found.items():
        imgui.text_colored(DIM, label)
        imgui.same_line(COLUMN * scale())
        paragraph(value)
    imgui.spacing()
    text = "\n".join(f"{label}: {value}" for label, value in found.items())
    copy_button(text, "copy all of this, for a bug report")
    imgui.same_line()
    return not imgui.button("Close")


_FLAGS = imgui.WindowFlags_.always_auto_resize | imgui.WindowFlags_.no_collapse

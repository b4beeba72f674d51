"""`draw_about`: versions, GPU and driver, as a report of an error needs them, in a window over the viewport."""

from __future__ import annotations

from imgui_bundle import ImVec2, imgui
from imgui_bundle import icons_fontawesome_6 as icons

from ..session import Session
from ..session.failures import facts
from .rows import scale
from .theme import DIM
from .workspace import Workspace

NAME = "About Vertigrad###about"
COLUMN, WIDTH = 90.0, 560.0  # of the labels, and of all, in logical pixels


def draw_about(session: Session, workspace: Workspace) -> None:
    """Draw the window if it is open; Escape closes it, as its buttons do."""
    if not workspace.about:
        return
    display = imgui.get_io().display_size
    imgui.set_next_window_pos(ImVec2(display.x / 2, display.y / 2), imgui.Cond_.appearing.value, ImVec2(0.5, 0.5))
    width = min(WIDTH * scale(), 0.94 * display.x)
    imgui.set_next_window_size_constraints(ImVec2(width, 0.0), ImVec2(width, 0.94 * display.y))
    seen, still_open = imgui.begin(NAME, True, _FLAGS)
    if seen:
        still_open = _draw_content(session) and still_open
        focused = imgui.is_window_focused(imgui.FocusedFlags_.child_windows.value)
        still_open = still_open and not (focused and imgui.is_key_pressed(imgui.Key.escape, False))
    imgui.end()
    workspace.about = bool(still_open)


def _draw_content(session: Session) -> bool:
    """Returns whether the window stays open."""
    found = facts(session.gpu)
    for label, value in found.items():
        imgui.text_colored(DIM, label)
        imgui.same_line(COLUMN * scale())
        imgui.push_text_wrap_pos(0.0)
        imgui.text_unformatted(value)
        imgui.pop_text_wrap_pos()
    imgui.spacing()
    if imgui.button(f"{icons.ICON_FA_COPY}  Copy"):
        imgui.set_clipboard_text("\n".join(f"{label}: {value}" for label, value in found.items()))
    imgui.set_item_tooltip("copy all of this, for a bug report")
    imgui.same_line()
    return not imgui.button("Close")


_FLAGS = (
    imgui.WindowFlags_.no_saved_settings.value
    | imgui.WindowFlags_.no_docking.value
    | imgui.WindowFlags_.always_auto_resize.value
    | imgui.WindowFlags_.no_collapse.value
)

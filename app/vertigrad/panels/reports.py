"""Windows with a report: unexpected errors with their tracebacks, and versions, GPU and driver."""

from __future__ import annotations

import math

from imgui_bundle import ImVec2, imgui, imgui_ctx
from imgui_bundle import icons_fontawesome_6 as icons

from ..resources import log_file
from ..session import Session
from ..session.commands import DismissFailures
from ..session.failures import Failure, facts
from .rows import copy_button, paragraph, scale, strong
from .theme import BAD, DIM, mono
from .windows import centered, floating
from .workspace import Workspace

FAILURES, SIZE = "Something went wrong###failures", (720.0, 420.0)  # in logical pixels, at most
ABOUT, WIDTH, COLUMN = "About Vertigrad###about", 560.0, 90.0  # width of all, and of the labels
_SIDEWAYS = imgui.WindowFlags_.horizontal_scrollbar.value
_FLAGS = imgui.WindowFlags_.always_auto_resize | imgui.WindowFlags_.no_collapse


def draw_failures(session: Session) -> None:
    """Draw the window if the session has errors that were not dismissed."""
    failures = session.failures.shown if session.failures is not None else []
    if not failures:
        return
    size = centered(*SIZE, (0.94, 0.94), imgui.Cond_.appearing)
    imgui.set_next_window_size(size, imgui.Cond_.appearing.value)
    with floating(FAILURES) as (visible, still_open):
        if visible:
            _draw_failures(session, failures)
    if not still_open:
        session.post(DismissFailures())


def _draw_failures(session: Session, failures: list[Failure]) -> None:
    paragraph("The run is paused. Your changes are still here; you can continue working.")
    paragraph(f"Log file: {log_file()}", DIM)
    imgui.begin_child("##failures", ImVec2(0.0, -imgui.get_frame_height_with_spacing()), 0, _SIDEWAYS)
    for failure in reversed(failures):
        _draw_failure(failure)
    imgui.end_child()
    copy_button("\n".join(failure.text for failure in failures), "copy messages and tracebacks")
    imgui.same_line()
    if imgui.button("Dismiss"):
        session.post(DismissFailures())


def _draw_failure(failure: Failure) -> None:
    times = f"   ({failure.count} times)" if failure.count > 1 else ""
    imgui.text_colored(BAD, icons.ICON_FA_TRIANGLE_EXCLAMATION)
    imgui.same_line()
    strong(f"{failure.stage}: {failure.message}{times}")
    with imgui_ctx.push_font(mono(), 0.0):
        imgui.text_unformatted(failure.trace)


def draw_about(session: Session, workspace: Workspace) -> None:
    """Draw the window if it is open; Escape closes it, as its buttons do."""
    if not workspace.about:
        return
    most = centered(WIDTH, math.inf, (0.94, 0.94), imgui.Cond_.appearing)
    imgui.set_next_window_size_constraints(ImVec2(most.x, 0.0), most)
    with floating(ABOUT, _FLAGS) as (visible, still_open):
        if visible:
            still_open = _draw_about(session) and still_open
            focused = imgui.is_window_focused(imgui.FocusedFlags_.child_windows.value)
            still_open = still_open and not (focused and imgui.is_key_pressed(imgui.Key.escape, False))
    workspace.about = still_open


def _draw_about(session: Session) -> bool:
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

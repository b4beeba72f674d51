"""`draw_failures`: unexpected errors, with their tracebacks, in a window over the viewport."""

from __future__ import annotations

from imgui_bundle import ImVec2, imgui, imgui_ctx
from imgui_bundle import icons_fontawesome_6 as icons

from ..resources import log_file
from ..session import Session
from ..session.commands import DismissFailures
from ..session.failures import Failure
from .rows import copy_button, paragraph, strong
from .theme import BAD, DIM, mono
from .windows import centered, floating

SIZE = 720.0, 420.0  # in logical pixels, at most
NAME = "Something went wrong###failures"


def draw_failures(session: Session) -> None:
    """Draw the window if the session has errors that were not dismissed."""
    failures = session.failures.shown if session.failures is not None else []
    if not failures:
        return
    size = centered(*SIZE, (0.94, 0.94), imgui.Cond_.appearing)
    imgui.set_next_window_size(size, imgui.Cond_.appearing.value)
    with floating(NAME) as (visible, still_open):
        if visible:
            _draw_content(session, failures)
    if not still_open:
        session.post(DismissFailures())


def _draw_content(session: Session, failures: list[Failure]) -> None:
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


_SIDEWAYS = imgui.WindowFlags_.horizontal_scrollbar.value

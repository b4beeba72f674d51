"""`draw_failures`: unexpected errors, with their tracebacks, in a window over the viewport."""

from __future__ import annotations

from imgui_bundle import ImVec2, imgui
from imgui_bundle import icons_fontawesome_6 as icons

from ..resources import log_file
from ..session import Session
from ..session.commands import DismissFailures
from ..session.failures import Failure
from .rows import scale
from .theme import BAD, DIM, bold, mono

SIZE = 720.0, 420.0  # in logical pixels, at most
NAME = "Something went wrong###failures"


def draw_failures(session: Session) -> None:
    """Draw the window if the session has errors that were not dismissed."""
    failures = session.failures.shown if session.failures is not None else []
    if not failures:
        return
    display, unit = imgui.get_io().display_size, scale()
    size = ImVec2(min(SIZE[0] * unit, 0.94 * display.x), min(SIZE[1] * unit, 0.94 * display.y))
    imgui.set_next_window_size(size, imgui.Cond_.appearing.value)
    middle = ImVec2(display.x / 2, display.y / 2)
    imgui.set_next_window_pos(middle, imgui.Cond_.appearing.value, ImVec2(0.5, 0.5))
    seen, still_open = imgui.begin(NAME, True, _FLAGS)
    if seen:
        _draw_content(session, failures)
    imgui.end()
    if not still_open:
        session.post(DismissFailures())


def _draw_content(session: Session, failures: list[Failure]) -> None:
    imgui.push_text_wrap_pos(0.0)
    imgui.text_unformatted("The run is paused. Your changes are still here; you can continue working.")
    imgui.text_colored(DIM, f"Log file: {log_file()}")
    imgui.pop_text_wrap_pos()
    imgui.begin_child("##failures", ImVec2(0.0, -imgui.get_frame_height_with_spacing()), 0, _SIDEWAYS)
    for failure in reversed(failures):
        _draw_failure(failure)
    imgui.end_child()
    if imgui.button(f"{icons.ICON_FA_COPY}  Copy"):
        imgui.set_clipboard_text("\n".join(failure.text for failure in failures))
    imgui.set_item_tooltip("copy messages and tracebacks")
    imgui.same_line()
    if imgui.button("Dismiss"):
        session.post(DismissFailures())


def _draw_failure(failure: Failure) -> None:
    times = f"   ({failure.count} times)" if failure.count > 1 else ""
    imgui.text_colored(BAD, icons.ICON_FA_TRIANGLE_EXCLAMATION)
    imgui.same_line()
    imgui.push_font(bold(), 0.0)
    imgui.text_unformatted(f"{failure.stage}: {failure.message}{times}")
    imgui.pop_font()
    imgui.push_font(mono(), 0.0)
    imgui.text_unformatted(failure.trace)
    imgui.pop_font()


_FLAGS = imgui.WindowFlags_.no_saved_settings.value | imgui.WindowFlags_.no_docking.value
_SIDEWAYS = imgui.WindowFlags_.horizontal_scrollbar.value

"""`Boundary`: draws the parts of the GUI, so that one of them that fails takes nothing else with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from imgui_bundle import imgui

from ..session import Session
from .rows import paragraph
from .theme import BAD


class Boundary:
    """Call `draw` for each part between ImGui's new_frame and render.

    After an error in it everything that the part left open (windows, groups, styles) is closed. `abandoned` is called
    then, for what ImGui does not know. `failed` has the panels that are not drawn until the user retries them.
    """

    def __init__(self, abandoned: Callable[[], object]) -> None:
        self.failed: dict[str, str] = {}  # message, by title
        self._abandoned = abandoned

    def draw(self, session: Session, part: str, draw: Callable[..., object], *arguments: Any) -> bool:
        """Draw a part; returns whether it succeeded. Raises its error if nobody shows errors."""
        before = imgui.internal.ErrorRecoveryState()
        imgui.internal.error_recovery_store_state(before)
        try:
            draw(*arguments)
        except Exception as error:
            self._abandoned()
            recover(before)
            session.fail(part, error)
            return False
        return True

    def draw_panel(self, session: Session, title: str, draw: Callable[[Session], object]) -> None:
        """Draw a panel's content; after an error, its message instead."""
        if title in self.failed:
            paragraph(self.failed[title], BAD)
            if imgui.button("Try again"):
                del self.failed[title]
        elif not self.draw(session, f"panel {title}", draw, session):
            self.failed[title] = "this panel failed; the log has the traceback"


def recover(before: imgui.internal.ErrorRecoveryState) -> None:
    """Close what was opened in ImGui since its state was stored, and all popups: nobody may be left to draw them."""
    io = imgui.get_io()
    before_recovery = {name: getattr(io, name) for name in _REPORTS}
    for name in _REPORTS:
        setattr(io, name, False)
    try:
        imgui.internal.error_recovery_try_to_recover_state(before)
        if imgui.is_popup_open("", imgui.PopupFlags_.any_popup.value):
            imgui.internal.close_popup_to_level(0, False)
    finally:
        for name, value in before_recovery.items():
            setattr(io, name, value)


_REPORTS = tuple(
    f"config_error_recovery_enable_{how}" for how in ("assert", "debug_log", "tooltip")
)  # of what was open

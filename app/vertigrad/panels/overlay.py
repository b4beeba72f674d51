"""`overlay`: a small fixed window over the viewport, outside of the layout."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from imgui_bundle import ImVec2, imgui

from .theme import PANEL

OVER_VIEWPORT = (
    imgui.WindowFlags_.no_decoration
    | imgui.WindowFlags_.no_move
    | imgui.WindowFlags_.no_saved_settings
    | imgui.WindowFlags_.no_docking
    | imgui.WindowFlags_.no_nav
    | imgui.WindowFlags_.no_focus_on_appearing
)
FITTED = OVER_VIEWPORT | imgui.WindowFlags_.always_auto_resize


@contextmanager
def overlay(
    name: str, at: ImVec2, pivot: ImVec2 | None = None, flags: imgui.WindowFlags_ = FITTED, alpha: float = 0.9
) -> Iterator[None]:
    """Draw into an overlay. The share `pivot` of its width and height, (0, 0) if left out, lies at the pixel `at`."""
    imgui.set_next_window_pos(at, imgui.Cond_.always.value, pivot or ImVec2(0.0, 0.0))
    imgui.set_next_window_bg_alpha(alpha)
    imgui.push_style_color(imgui.Col_.window_bg.value, PANEL)
    imgui.begin(name, None, flags)
    yield
    imgui.end()
    imgui.pop_style_color()

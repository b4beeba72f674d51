"""Windows outside of the layout: small ones over the viewport, dialogs, and modal ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from imgui_bundle import ImVec2, ImVec4, imgui, imgui_ctx

from .rows import scale
from .theme import PANEL

MARGIN = 12.0  # between overlays and the edges of the viewport, in logical pixels
_FIXED = imgui.WindowFlags_.no_move | imgui.WindowFlags_.no_saved_settings
OVER_VIEWPORT = (
    _FIXED
    | imgui.WindowFlags_.no_decoration
    | imgui.WindowFlags_.no_docking
    | imgui.WindowFlags_.no_nav
    | imgui.WindowFlags_.no_focus_on_appearing
)
FITTED = OVER_VIEWPORT | imgui.WindowFlags_.always_auto_resize
MODAL = _FIXED | imgui.WindowFlags_.no_title_bar | imgui.WindowFlags_.no_resize
_FLOATING = imgui.WindowFlags_.no_saved_settings | imgui.WindowFlags_.no_docking


@contextmanager
def overlay(
    name: str,
    at: ImVec2,
    pivot: tuple[float, float] = (0.0, 0.0),
    flags: imgui.WindowFlags_ = FITTED,
    alpha: float = 0.9,
    background: ImVec4 = PANEL,
) -> Iterator[None]:
    """Draw into an overlay. Its point `pivot`, in fractions of its width and height, is at the pixel `at`."""
    imgui.set_next_window_pos(at, imgui.Cond_.always.value, pivot)
    imgui.set_next_window_bg_alpha(alpha)
    with imgui_ctx.push_style_color(imgui.Col_.window_bg.value, background):
        imgui.begin(name, None, flags)
        yield
        imgui.end()


def centered(
    width: float, height: float, most: tuple[float, float], when: imgui.Cond_ = imgui.Cond_.always, at: float = 0.5
) -> ImVec2:
    """Center the next window on the screen, vertically at the fraction `at` of its height.

    Returns its size in pixels, from logical ones, limited to the fractions `most` of the screen.
    """
    display, unit = imgui.get_io().display_size, scale()
    imgui.set_next_window_pos(ImVec2(display.x / 2, display.y * at), when.value, ImVec2(0.5, 0.5))
    return ImVec2(min(width * unit, most[0] * display.x), min(height * unit, most[1] * display.y))


@contextmanager
def floating(name: str, flags: imgui.WindowFlags_ = imgui.WindowFlags_.none) -> Iterator[tuple[bool, bool]]:
    """A window with a title that can be moved; whether its content is visible, and whether it stays open."""
    visible, still_open = imgui.begin(name, True, _FLOATING | flags)
    yield visible, bool(still_open)
    imgui.end()


@contextmanager
def modal(name: str, flags: imgui.WindowFlags_ = MODAL, padding: ImVec2 | None = None) -> Iterator[bool]:
    """A modal popup; whether it is open."""
    padding = padding or imgui.get_style().window_padding
    with imgui_ctx.push_style_var(imgui.StyleVar_.window_padding.value, padding):
        is_open, _ = imgui.begin_popup_modal(name, None, flags)
    yield is_open
    if is_open:
        imgui.end_popup()

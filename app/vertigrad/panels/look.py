"""How the GUI looks: fonts, colours and sizes, the latter in logical pixels."""

from __future__ import annotations

from pathlib import Path

import imgui_bundle
from imgui_bundle import ImVec2, ImVec4, imgui

FONT_SIZE, ICON_SIZE = 15.0, 12.5
MARGIN = 10.0  # between panels and the edges of the window

TEXT = ImVec4(0.90, 0.92, 0.94, 1.0)
DIM = ImVec4(0.62, 0.66, 0.72, 1.0)
GOOD = ImVec4(0.45, 0.82, 0.58, 1.0)
BAD = ImVec4(0.98, 0.50, 0.44, 1.0)
ACCENT = ImVec4(0.93, 0.62, 0.30, 1.0)
FILL = ImVec4(0.93, 0.62, 0.30, 0.30)  # the part of a slider that is filled
FIELD = ImVec4(0.17, 0.19, 0.23, 1.0)  # behind a value
CLEAR = ImVec4(0.0, 0.0, 0.0, 0.0)

_PANEL = ImVec4(0.07, 0.08, 0.10, 0.88)
_COLORS = {
    imgui.Col_.text: TEXT,
    imgui.Col_.text_disabled: DIM,
    imgui.Col_.text_selected_bg: ImVec4(0.93, 0.62, 0.30, 0.45),
    imgui.Col_.input_text_cursor: ACCENT,
    imgui.Col_.window_bg: _PANEL,
    imgui.Col_.popup_bg: ImVec4(0.09, 0.10, 0.12, 1.0),
    imgui.Col_.title_bg: _PANEL,
    imgui.Col_.title_bg_active: _PANEL,
    imgui.Col_.title_bg_collapsed: _PANEL,
    imgui.Col_.frame_bg: FIELD,
    imgui.Col_.frame_bg_hovered: ImVec4(0.22, 0.25, 0.30, 1.0),
    imgui.Col_.frame_bg_active: ImVec4(0.25, 0.28, 0.34, 1.0),
    imgui.Col_.slider_grab: ACCENT,
    imgui.Col_.slider_grab_active: ACCENT,
    imgui.Col_.check_mark: ACCENT,
    imgui.Col_.button: FIELD,
    imgui.Col_.button_hovered: ImVec4(0.26, 0.30, 0.37, 1.0),
    imgui.Col_.button_active: ImVec4(0.34, 0.38, 0.46, 1.0),
    imgui.Col_.header: ImVec4(1.0, 1.0, 1.0, 0.05),
    imgui.Col_.header_hovered: ImVec4(1.0, 1.0, 1.0, 0.09),
    imgui.Col_.header_active: ImVec4(1.0, 1.0, 1.0, 0.13),
    imgui.Col_.separator: ImVec4(1.0, 1.0, 1.0, 0.10),
    imgui.Col_.scrollbar_bg: CLEAR,
    imgui.Col_.scrollbar_grab: ImVec4(1.0, 1.0, 1.0, 0.16),
    imgui.Col_.scrollbar_grab_hovered: ImVec4(1.0, 1.0, 1.0, 0.26),
    imgui.Col_.scrollbar_grab_active: ImVec4(1.0, 1.0, 1.0, 0.34),
    imgui.Col_.drag_drop_target: ACCENT,
    imgui.Col_.nav_cursor: ACCENT,
}


def add_fonts() -> None:
    """Letters, and the icons among them, into the current context."""
    folder = Path(imgui_bundle.__file__).parent / "assets" / "fonts"
    fonts = imgui.get_io().fonts
    fonts.add_font_from_file_ttf(str(folder / "Roboto" / "Roboto-Regular.ttf"), FONT_SIZE)
    icons = imgui.ImFontConfig()
    icons.merge_mode = True
    icons.pixel_snap_h = True
    fonts.add_font_from_file_ttf(str(folder / "Font_Awesome_6_Free-Solid-900.otf"), ICON_SIZE, icons)


def set_style(scale: float) -> None:
    """Give the current context its look, `scale` pixels to a logical one."""
    style = imgui.get_style()
    _undo_scale(style)
    imgui.style_colors_dark()
    style.window_rounding, style.popup_rounding = 8.0, 6.0
    style.frame_rounding, style.grab_rounding, style.scrollbar_rounding = 4.0, 4.0, 4.0
    style.window_border_size, style.popup_border_size, style.frame_border_size = 0.0, 0.0, 0.0
    style.window_padding, style.frame_padding = ImVec2(12.0, 9.0), ImVec2(7.0, 3.5)
    style.item_spacing, style.item_inner_spacing = ImVec2(6.0, 5.0), ImVec2(5.0, 4.0)
    style.scrollbar_size, style.grab_min_size = 9.0, 6.0
    style.hover_delay_short = 0.3
    for place, color in _COLORS.items():
        style.set_color_(place.value, color)
    style.scale_all_sizes(scale)
    style.font_size_base = FONT_SIZE
    style.font_scale_dpi = scale


def _undo_scale(style: imgui.Style) -> None:
    """ImGui's own sizes again: it rounds them when it scales, so they must be scaled from there, and once."""
    fresh = imgui.Style()
    for name in dir(fresh):
        value = getattr(fresh, name)
        if not name.startswith("_") and isinstance(value, int | float | ImVec2):
            setattr(style, name, value)

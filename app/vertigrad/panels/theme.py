"""The style of the GUI: fonts, colors and sizes, the latter in logical pixels."""

from __future__ import annotations

from pathlib import Path

import imgui_bundle
from imgui_bundle import ImVec2, ImVec4, imgui

FONT_SIZE, ICON_SIZE = 15.0, 12.5
FACES = "Roboto/Roboto-Regular.ttf", "Roboto/Roboto-Bold.ttf", "Inconsolata-Medium.ttf"
ICONS = "Font_Awesome_6_Free-Solid-900.otf"
_FONTS = Path(imgui_bundle.__file__).parent / "assets" / "fonts"

TEXT = ImVec4(0.90, 0.92, 0.94, 1.0)
DIM = ImVec4(0.62, 0.66, 0.72, 1.0)
GOOD = ImVec4(0.45, 0.82, 0.58, 1.0)
BAD = ImVec4(0.98, 0.50, 0.44, 1.0)
ACCENT = ImVec4(0.93, 0.62, 0.30, 1.0)
FILL = ImVec4(0.93, 0.62, 0.30, 0.30)  # the part of a slider that is filled
FIELD = ImVec4(0.17, 0.19, 0.23, 1.0)  # behind a value
OVER = ImVec4(1.0, 1.0, 1.0, 0.05)  # over a field that is held
CLEAR = ImVec4(0.0, 0.0, 0.0, 0.0)

PANEL = ImVec4(0.082, 0.090, 0.106, 1.0)
BAR = ImVec4(0.059, 0.065, 0.078, 1.0)  # menu and tabs: behind the panels
LIFTED = ImVec4(0.106, 0.117, 0.139, 1.0)  # in front of the panels: menus, lists, dialogs


def _white(alpha: float) -> ImVec4:
    return ImVec4(1.0, 1.0, 1.0, alpha)


def _accent(alpha: float) -> ImVec4:
    return ImVec4(ACCENT.x, ACCENT.y, ACCENT.z, alpha)


_COLORS = {
    imgui.Col_.text: TEXT,
    imgui.Col_.text_disabled: DIM,
    imgui.Col_.text_link: ACCENT,
    imgui.Col_.text_selected_bg: _accent(0.45),
    imgui.Col_.input_text_cursor: ACCENT,
    imgui.Col_.window_bg: PANEL,
    imgui.Col_.child_bg: CLEAR,
    imgui.Col_.popup_bg: LIFTED,
    imgui.Col_.border: _white(0.09),
    imgui.Col_.menu_bar_bg: BAR,
    imgui.Col_.title_bg: BAR,
    imgui.Col_.title_bg_active: BAR,
    imgui.Col_.title_bg_collapsed: BAR,
    imgui.Col_.tab: CLEAR,
    imgui.Col_.tab_hovered: _white(0.07),
    imgui.Col_.tab_selected: PANEL,
    imgui.Col_.tab_selected_overline: ACCENT,
    imgui.Col_.tab_dimmed: CLEAR,
    imgui.Col_.tab_dimmed_selected: PANEL,
    imgui.Col_.tab_dimmed_selected_overline: _white(0.18),
    imgui.Col_.docking_preview: _accent(0.40),
    imgui.Col_.docking_empty_bg: BAR,
    imgui.Col_.frame_bg: FIELD,
    imgui.Col_.frame_bg_hovered: ImVec4(0.22, 0.25, 0.30, 1.0),
    imgui.Col_.frame_bg_active: ImVec4(0.25, 0.28, 0.34, 1.0),
    imgui.Col_.slider_grab: ACCENT,
    imgui.Col_.slider_grab_active: ACCENT,
    imgui.Col_.check_mark: ACCENT,
    imgui.Col_.button: FIELD,
    imgui.Col_.button_hovered: ImVec4(0.26, 0.30, 0.37, 1.0),
    imgui.Col_.button_active: ImVec4(0.34, 0.38, 0.46, 1.0),
    imgui.Col_.header: _white(0.05),
    imgui.Col_.header_hovered: _white(0.09),
    imgui.Col_.header_active: _white(0.13),
    imgui.Col_.separator: _white(0.09),
    imgui.Col_.separator_hovered: _accent(0.60),
    imgui.Col_.separator_active: ACCENT,
    imgui.Col_.resize_grip: CLEAR,
    imgui.Col_.resize_grip_hovered: _accent(0.60),
    imgui.Col_.resize_grip_active: ACCENT,
    imgui.Col_.scrollbar_bg: CLEAR,
    imgui.Col_.scrollbar_grab: _white(0.16),
    imgui.Col_.scrollbar_grab_hovered: _white(0.26),
    imgui.Col_.scrollbar_grab_active: _white(0.34),
    imgui.Col_.table_header_bg: ImVec4(0.115, 0.126, 0.149, 1.0),
    imgui.Col_.table_border_strong: _white(0.09),
    imgui.Col_.table_border_light: _white(0.05),
    imgui.Col_.table_row_bg: CLEAR,
    imgui.Col_.table_row_bg_alt: _white(0.02),
    imgui.Col_.plot_lines: ACCENT,
    imgui.Col_.plot_histogram: ACCENT,
    imgui.Col_.drag_drop_target: ACCENT,
    imgui.Col_.nav_cursor: ACCENT,
    imgui.Col_.nav_windowing_highlight: ACCENT,
    imgui.Col_.nav_windowing_dim_bg: ImVec4(0.0, 0.0, 0.0, 0.35),
    imgui.Col_.modal_window_dim_bg: ImVec4(0.0, 0.0, 0.0, 0.45),
    imgui.Col_.unsaved_marker: ACCENT,
}


def add_fonts() -> None:
    """Add the fonts of text, `bold` and `mono` to the current context; icons are glyphs of the first."""
    fonts = imgui.get_io().fonts
    for file in FACES:
        fonts.add_font_from_file_ttf(str(_FONTS / file), FONT_SIZE)
        if file == FACES[0]:
            icons = imgui.ImFontConfig()
            icons.merge_mode = True
            icons.pixel_snap_h = True
            fonts.add_font_from_file_ttf(str(_FONTS / ICONS), ICON_SIZE, icons)


def bold() -> imgui.ImFont:
    """The font of headings, for `imgui.push_font`."""
    return imgui.get_io().fonts.fonts[1]


def mono() -> imgui.ImFont:
    """The monospace font, for columns of numbers and for logs."""
    return imgui.get_io().fonts.fonts[2]


def set_style(scale: float) -> None:
    """Set the style of the current context, with `scale` pixels to a logical one."""
    style = imgui.get_style()
    _undo_scale(style)
    imgui.style_colors_dark()
    style.window_rounding, style.popup_rounding, style.child_rounding = 8.0, 6.0, 6.0
    style.frame_rounding, style.grab_rounding, style.scrollbar_rounding = 4.0, 4.0, 4.0
    style.tab_rounding, style.selectable_rounding, style.menu_item_rounding = 4.0, 4.0, 4.0
    style.window_border_size, style.popup_border_size, style.frame_border_size = 0.0, 1.0, 0.0
    style.window_padding, style.frame_padding = ImVec2(12.0, 9.0), ImVec2(7.0, 4.0)
    style.item_spacing, style.item_inner_spacing = ImVec2(6.0, 5.0), ImVec2(5.0, 4.0)
    style.cell_padding = ImVec2(6.0, 3.0)
    style.scrollbar_size, style.grab_min_size = 10.0, 6.0
    style.tab_bar_border_size, style.tab_bar_overline_size = 0.0, 2.0
    style.tab_close_button_min_width_selected = style.tab_close_button_min_width_unselected = 0.0  # when hovered
    style.docking_separator_size = 2.0
    style.docking_node_has_close_button = False
    style.window_menu_button_position = imgui.Dir.none
    style.hover_delay_short = 0.3
    for index, color in _COLORS.items():
        style.set_color_(index.value, color)
    style.scale_all_sizes(scale)
    style.font_size_base = FONT_SIZE
    style.font_scale_dpi = scale


def _undo_scale(style: imgui.Style) -> None:
    """Restore ImGui's own sizes: it rounds them when it scales, so they must be scaled from there, and once."""
    fresh = imgui.Style()
    for name in dir(fresh):
        value = getattr(fresh, name)
        if not name.startswith("_") and isinstance(value, int | float | ImVec2):
            setattr(style, name, value)

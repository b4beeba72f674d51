"""Hit test: whether a pixel of the window belongs to the GUI."""

from __future__ import annotations

from typing import Any

from imgui_bundle import imgui


def is_covered(context: Any, x: float, y: float) -> bool:
    """Whether a click at this pixel is for one of ImGui's windows, as drawn last.

    ImGui's own answer, `want_capture_mouse`, is for the position of the mouse at the start of the last frame, and a
    mouse may cross the screen and click within a frame.
    """
    if imgui.is_popup_open("", imgui.PopupFlags_.any_popup.value):
        return True
    return any(
        window.active and not window.hidden and not window.flags & imgui.WindowFlags_.no_mouse_inputs.value
        for window in context.windows
        if _contains(window, x, y)
    )


def _contains(window: Any, x: float, y: float) -> bool:
    """Whether a pixel is in a window or on the border by which it is resized, and not in the hole that it may have."""
    fixed = window.flags & (imgui.WindowFlags_.no_resize | imgui.WindowFlags_.always_auto_resize).value
    border = 0.0 if fixed else imgui.get_style().window_border_hover_padding
    low, high = window.outer_rect_clipped.min, window.outer_rect_clipped.max
    if not (low.x - border <= x < high.x + border and low.y - border <= y < high.y + border):
        return False
    hole, offset = window.hit_test_hole_size, window.hit_test_hole_offset
    left, top = window.pos.x + offset.x, window.pos.y + offset.y
    return not (hole.x and left <= x < left + hole.x and top <= y < top + hole.y)

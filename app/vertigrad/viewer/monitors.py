"""Which monitors there are, and where on them a window may lie."""

from __future__ import annotations

from typing import Any

import glfw

GRIP = 60  # pixels of a window that must be on a monitor


def is_wayland() -> bool:
    """Whether the desktop tells no window where it lies."""
    return glfw.get_platform() == glfw.PLATFORM_WAYLAND


def can_be_grasped(position: tuple[int, int]) -> bool:
    """Whether the upper left of a window there could be seen and dragged."""
    x, y = position
    for left, top, width, height in map(glfw.get_monitor_workarea, glfw.get_monitors()):
        if left - GRIP < x < left + width - GRIP and top <= y < top + height - GRIP:
            return True
    return False


def monitor_at(place: tuple[int, int]) -> Any:
    """The monitor that a window is on whose upper left is there: the last that begins left of and above it."""
    monitors = glfw.get_monitors()
    before = [one for one in monitors if all(a <= b for a, b in zip(glfw.get_monitor_pos(one), place, strict=True))]
    return before[-1] if before else monitors[0]

"""The values of what is under the mouse, beside it, while they are probed."""

from __future__ import annotations

from imgui_bundle import ImVec2, imgui, imgui_ctx

from ..session import Session
from ..session.commands import MoveProbe
from ..session.hover import FACTS
from .docks import Rect
from .rows import fact, scale
from .selection import draw_fact
from .theme import DIM, bold
from .windows import FITTED, overlay

WIDTH = 265.0  # all in logical pixels
AWAY = 14.0  # from the mouse
_FLAGS = FITTED | imgui.WindowFlags_.no_inputs


def draw_probe(session: Session, viewport: Rect, free: bool) -> None:
    """Move the probe with the mouse, while that is `free` for the viewport, and show what it has found."""
    hover, mouse = session.hover, imgui.get_mouse_pos()
    if not hover.on:
        return
    inside = free and viewport.contains(mouse.x, mouse.y) and not any(imgui.get_io().mouse_down)
    cursor = (mouse.x - viewport.left, mouse.y - viewport.top) if inside else None
    if cursor != hover.cursor:
        session.post(MoveProbe(cursor, (viewport.width, viewport.height)))
    if inside and hover.row is not None:
        _draw_values(session, viewport)


def _draw_values(session: Session, viewport: Rect) -> None:
    hover, mouse, away = session.hover, imgui.get_mouse_pos(), AWAY * scale()
    row, facts = hover.row, hover.facts
    assert row is not None, "the caller checks"
    right, low = mouse.x > viewport.left + 0.6 * viewport.width, mouse.y > viewport.top + 0.6 * viewport.height
    at = ImVec2(mouse.x - away if right else mouse.x + away, mouse.y - away if low else mouse.y + away)
    width = WIDTH * scale()
    imgui.set_next_window_size_constraints(ImVec2(width, 0.0), ImVec2(width, viewport.height))
    with overlay("##probe", at, (float(right), float(low)), flags=_FLAGS):
        with imgui_ctx.push_font(bold(), 0.0):
            imgui.text(f"{row.layer}  {'row' if row.cell is None else 'vertex'} {row.row:,}")
        for known in facts[:FACTS]:
            draw_fact(known)
        if hover.position is not None:
            fact("hit at", ", ".join(f"{part:.4g}" for part in hover.position), DIM, "")

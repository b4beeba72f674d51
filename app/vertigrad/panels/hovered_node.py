"""The label of the node of a network's graph that the mouse points at in the viewport."""

from __future__ import annotations

from imgui_bundle import ImVec2, imgui

from ..ops.summary import Summary
from ..session import Session
from ..session.commands import HoverNode
from ..session.hovered_node import NodeOnScreen, node_under
from .docks import Rect
from .rows import color, scale
from .tables import number
from .theme import ACCENT, BAD, DIM, bold
from .windows import FITTED, overlay

REACH = 6.0  # beside a node, in logical pixels
AWAY = 10.0  # of the label from the mouse, in logical pixels
_FLAGS = FITTED | imgui.WindowFlags_.no_inputs


def draw_hovered_node(session: Session, viewport: Rect, free: bool) -> None:
    """A ring around the node under the mouse, while that is `free` for the viewport, and what is known of it."""
    mouse = imgui.get_mouse_pos()
    found = None
    if free and viewport.contains(mouse.x, mouse.y) and not any(imgui.get_io().mouse_down):
        cursor, size = (mouse.x - viewport.left, mouse.y - viewport.top), (viewport.width, viewport.height)
        found = node_under(session.stage, session.camera, cursor, size, REACH * scale())
    chosen = session.hovered_node.chosen
    if (None if found is None else (found.model, found.row)) != chosen:
        session.post(HoverNode() if found is None else HoverNode(found.model, found.row))
    if found is not None:
        _draw_ring(found, viewport)
        same = chosen == (found.model, found.row)
        _draw_label(session, found, session.hovered_node.summary if same else None, viewport)


def _draw_ring(found: NodeOnScreen, viewport: Rect) -> None:
    middle = ImVec2(viewport.left + found.pixel[0], viewport.top + found.pixel[1])
    draw = imgui.get_background_draw_list()
    draw.push_clip_rect(viewport.at((0.0, 0.0), 0.0), viewport.at((1.0, 1.0), 0.0))
    draw.add_circle(middle, found.radius + 3.0 * scale(), color(ACCENT), 0, 1.6 * scale())
    draw.pop_clip_rect()


def _draw_label(session: Session, found: NodeOnScreen, summary: Summary | None, viewport: Rect) -> None:
    mouse, away, node = imgui.get_mouse_pos(), AWAY * scale(), found.node
    right, low = mouse.x > viewport.left + 0.6 * viewport.width, mouse.y > viewport.top + 0.7 * viewport.height
    at = ImVec2(mouse.x - away if right else mouse.x + away, mouse.y - away if low else mouse.y + away)
    with overlay("##hovered node", at, (float(right), float(low)), flags=_FLAGS):
        imgui.push_font(bold(), 0.0)
        imgui.text(node.name)
        imgui.pop_font()
        shape = "×".join(map(str, node.shape)) or "one"
        imgui.text_colored(DIM, f"{found.model} · {node.operator} · {node.dtype.name} {shape}")
        if summary is None:
            imgui.text_colored(DIM, "…")
            return
        imgui.text(f"min {number(summary.min)}   max {number(summary.max)}")
        imgui.text(f"mean {number(summary.mean)}   std {number(summary.std)}")
        if summary.nan or summary.infinite:
            imgui.text_colored(BAD, f"NaN {summary.nan:,}   infinite {summary.infinite:,}")

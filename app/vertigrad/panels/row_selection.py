"""Selected rows over the viewport: the region that selects them, how many there are, and what to do with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from imgui_bundle import ImVec2, imgui, imgui_ctx

from ..session import Session
from .actions import Action
from .docks import Rect
from .rows import color, flat_button, scale
from .theme import ACCENT, DIM, FILL, TEXT
from .windows import MARGIN, overlay
from .workspace import Workspace

Point = tuple[float, float]
STEP = 2.0  # pixels between two points of an outline or a stroke, at least
NEEDED = 420.0  # logical pixels of a viewport that has room for the bar
OFFERED = (
    "Invert selection",
    "Hide selected rows",
    "Crop to selection",
    "Show hidden rows",
    "Export selected rows…",
    "Deselect all",
)


@dataclass(frozen=True)
class DrawnRegion:
    """A region that is being drawn: `points` in pixels of the window, as `session.region` has them."""

    shape: str
    points: tuple[Point, ...]
    radius: float = 0.0

    def to(self, cursor: Point) -> DrawnRegion:
        """The same with the cursor at its end."""
        if self.shape == "box":
            return replace(self, points=(self.points[0], cursor))
        is_near = math.dist(cursor, self.points[-1]) < STEP
        return self if is_near else replace(self, points=(*self.points, cursor))


def draw_region(region: DrawnRegion | None, viewport: Rect) -> None:
    """The region that is being drawn."""
    if region is None:
        return
    draw = imgui.get_background_draw_list()
    draw.push_clip_rect(viewport.at((0.0, 0.0), 0.0), viewport.at((1.0, 1.0), 0.0))
    points: list[Any] = [ImVec2(*point) for point in region.points]
    if region.shape == "box":
        low, high = (ImVec2(*(how(a, b) for a, b in zip(*_ends(region), strict=True))) for how in (min, max))
        draw.add_rect_filled(low, high, color(FILL))
        draw.add_rect(low, high, color(ACCENT), 0.0, scale())
    elif region.shape == "lasso":
        draw.add_polyline(points, color(ACCENT), 1.5 * scale(), imgui.ImDrawFlags_.none.value)
        draw.add_line(points[-1], points[0], color(FILL), 1.5 * scale())
    else:
        _draw_stroke(draw, region, points)
    draw.pop_clip_rect()


def _ends(region: DrawnRegion) -> tuple[Point, Point]:
    return region.points[0], region.points[-1]


def _draw_stroke(draw: imgui.ImDrawList, region: DrawnRegion, points: list[Any]) -> None:
    """What the brush has passed over: a wide line, with half a disc at each end."""
    if len(points) == 1:
        draw.add_circle_filled(points[0], region.radius, color(FILL))
        return
    draw.add_polyline(points, color(FILL), 2.0 * region.radius, imgui.ImDrawFlags_.none.value)
    for end, neighbor in ((points[0], points[1]), (points[-1], points[-2])):
        away = math.atan2(end.y - neighbor.y, end.x - neighbor.x)
        draw.path_arc_to(end, region.radius, away - 0.5 * math.pi, away + 0.5 * math.pi)
        draw.path_fill_convex(color(FILL))


def draw_row_selection(actions: Sequence[Action], session: Session, workspace: Workspace, viewport: Rect) -> None:
    """At the bottom of the viewport, while rows are selected or hidden: how many, and what can be done with them."""
    selected, hidden = session.rows.selected, session.rows.hidden
    if (selected is None and not hidden) or viewport.width < NEEDED * scale():
        return
    with overlay("##rows", viewport.at((0.5, 1.0), MARGIN * scale()), (0.5, 1.0)):
        imgui.align_text_to_frame_padding()
        if selected is not None:
            imgui.text_colored(TEXT, f"{selected.count:,} of {selected.rows:,} rows of {selected.layer} selected")
        if hidden:
            if selected is not None:
                imgui.same_line()
            imgui.text_colored(DIM, f"{sum(rows.count for rows in hidden.values()):,} hidden")
        by_name = {action.name: action for action in actions}
        with imgui_ctx.push_style_var(imgui.StyleVar_.item_spacing.value, ImVec2(2 * scale(), 0.0)):
            for name in filter(by_name.__contains__, OFFERED):
                _draw_action(by_name[name], session, workspace)


def _draw_action(action: Action, session: Session, workspace: Workspace) -> None:
    if action.possible(session, workspace):
        imgui.same_line()
        keys = f" ({action.shown_keys})" if action.shown_keys else ""
        if flat_button(f"{action.icon}##{action.name}", f"{action.name}{keys}"):
            action.perform(session, workspace)

"""Several selected rows over the viewport: marks at their positions, their number, and the box that selects them."""

from __future__ import annotations

import numpy as np
from imgui_bundle import ImVec2, imgui

from ..session import Session
from ..session.row_set import pixels_of
from .docks import Rect
from .rows import color, scale
from .theme import ACCENT, FILL, TEXT
from .windows import MARGIN

Point = tuple[float, float]
RADIUS = 1.6  # of a mark, in logical pixels


def draw_row_set(session: Session, viewport: Rect, box: tuple[Point, Point] | None) -> None:
    """The marks, and the box that is being drawn between two pixels of the window."""
    draw = imgui.get_background_draw_list()
    draw.push_clip_rect(viewport.at((0.0, 0.0), 0.0), viewport.at((1.0, 1.0), 0.0))
    if box is not None:
        low, high = (ImVec2(*(how(a, b) for a, b in zip(*box, strict=True))) for how in (min, max))
        draw.add_rect_filled(low, high, color(FILL))
        draw.add_rect(low, high, color(ACCENT), 0.0, scale())
    rows = session.selection.rows
    if rows is not None and viewport.width and viewport.height:
        pixels, is_before = pixels_of(rows.sample, session.camera, (viewport.width, viewport.height))
        for x, y in np.round(pixels[is_before] + (viewport.left, viewport.top), 1).tolist():
            draw.add_circle_filled(ImVec2(x, y), RADIUS * scale(), color(ACCENT), 6)
        text = f"{rows.count:,} rows of {rows.layer} selected (Esc: deselect; File > Export selected rows…)"
        margin = MARGIN * scale()
        draw.add_text(ImVec2(viewport.left + margin, viewport.top + viewport.height - 2.2 * margin), color(TEXT), text)
    draw.pop_clip_rect()

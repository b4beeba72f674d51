"""`draw_timeline`: the frames that can be rewound to, as a strip along which time is dragged."""

from __future__ import annotations

from imgui_bundle import ImVec2, imgui

from ..session import Session
from ..session.commands import GoTo
from .rows import color, fitted, scale
from .tables import size
from .theme import ACCENT, DIM, FIELD, FILL

HEIGHT = 20.0  # of the strip, in logical pixels
LINE = 2.0  # width of the mark of the present


def draw_timeline(session: Session) -> None:
    """Draw the strip over the available width: filled up to the present, not where the run was rewound from."""
    rewind = session.clock.rewind
    if not len(rewind.snapshots):
        _draw_reason(session)
        return
    first, last = rewind.first, rewind.last
    corner, width, height = imgui.get_cursor_screen_pos(), imgui.get_content_region_avail().x, HEIGHT * scale()
    imgui.invisible_button("##timeline", ImVec2(max(width, 1.0), height))
    shown = frame_at(imgui.get_mouse_pos().x - corner.x, width, first, last)
    if imgui.is_item_active():
        if shown != session.clock.heading:
            session.post(GoTo(shown))
    elif imgui.is_item_hovered():
        imgui.set_tooltip(f"frame {shown:,}; drag to rewind\n{_stored_frames(session)}")
    _draw(corner, width, height, position_of(session.clock.heading, first, last))


def frame_at(x: float, width: float, first: int, last: int) -> int:
    """The frame at `x` pixels from the left of a strip of `width`."""
    position = min(max(x / width, 0.0), 1.0) if width > 0.0 else 0.0
    return first + round(position * (last - first))


def position_of(frame: int, first: int, last: int) -> float:
    """The position of a frame along the strip, from 0 to 1; the end, if there is only one."""
    return min(max((frame - first) / (last - first), 0.0), 1.0) if last > first else 1.0


def _draw(corner: ImVec2, width: float, height: float, position: float) -> None:
    draw, rounding = imgui.get_window_draw_list(), imgui.get_style().frame_rounding
    end = corner.x + position * width
    far = ImVec2(corner.x + width, corner.y + height)
    draw.add_rect_filled(corner, far, color(FIELD), rounding)
    draw.add_rect_filled(corner, ImVec2(end, far.y), color(FILL), rounding, imgui.ImDrawFlags_.round_left.value)
    left = min(max(end - LINE * scale() / 2, corner.x), far.x - LINE * scale())
    draw.add_rect_filled(ImVec2(left, corner.y), ImVec2(left + LINE * scale(), far.y), color(ACCENT))


def _stored_frames(session: Session) -> str:
    rewind = session.clock.rewind
    snapshots = rewind.snapshots
    count = f"{len(snapshots)} of {rewind.last - rewind.first + 1:,} frames stored, {size(snapshots.nbytes)}"
    return f"{count} of {size(snapshots.limit)}; others are recomputed"


def _draw_reason(session: Session) -> None:
    limit = session.clock.rewind.snapshots.limit
    reason = "the rewind buffer is off" if not limit else f"a frame takes more than {size(limit)}"
    imgui.align_text_to_frame_padding()
    imgui.text_colored(DIM, fitted(reason, imgui.get_content_region_avail().x))

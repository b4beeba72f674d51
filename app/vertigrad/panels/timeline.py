"""`TimelineStrip`: the frames that can be rewound to, as a strip along which time is dragged, with camera keyframes."""

from __future__ import annotations

from collections.abc import Iterable

from imgui_bundle import ImVec2, imgui

from ..session import Session
from ..session.commands import GoTo, MoveKeyframe
from .rows import color, fitted, scale
from .tables import size
from .theme import ACCENT, DIM, FIELD, FILL, TEXT

HEIGHT = 20.0  # of the strip, in logical pixels
LINE = 2.0  # width of the mark of the present
MARK = 5.0  # half the size of the mark of a keyframe


class TimelineStrip:
    """The strip. A drag of a camera keyframe on it moves that, a drag elsewhere rewinds."""

    def __init__(self) -> None:
        self._moved: int | None = None  # the keyframe that is being dragged

    def draw(self, session: Session) -> None:
        """Draw it over the available width: filled up to the present, not where the run was rewound from."""
        rewind = session.clock.rewind
        if not len(rewind.snapshots):
            _draw_reason(session)
            return
        first, last = rewind.first, rewind.last
        corner, width = imgui.get_cursor_screen_pos(), imgui.get_content_region_avail().x
        height = HEIGHT * scale()
        imgui.invisible_button("##timeline", ImVec2(max(width, 1.0), height))
        x = imgui.get_mouse_pos().x - corner.x
        frame = frame_at(x, width, first, last)
        near = nearest_keyframe(x, width, first, last, session.scene_edits.extras.keyframes, MARK * scale())
        if imgui.is_item_activated():
            self._moved = near
        if imgui.is_item_active() and self._moved is None:
            if frame != session.clock.heading:
                session.post(GoTo(frame))
        elif self._moved is None and imgui.is_item_hovered():
            what = f"camera keyframe at frame {near:,}; drag to move it" if near is not None else "drag to rewind"
            imgui.set_tooltip(f"frame {frame:,}; {what}\n{_stored_frames(session)}")
        self._release(session, frame)
        _draw(corner, width, height, position_of(session.clock.heading, first, last))
        for key in session.scene_edits.extras.keyframes:
            shown = frame if key == self._moved else key
            if first <= shown <= last:
                _draw_keyframe(corner, width, height, position_of(shown, first, last), key in (near, self._moved))

    def _release(self, session: Session, frame: int) -> None:
        """Move the keyframe that was dragged."""
        if self._moved is not None and not imgui.is_item_active():
            if frame != self._moved and self._moved in session.scene_edits.extras.keyframes:
                session.post(MoveKeyframe(self._moved, frame))
            self._moved = None


def nearest_keyframe(
    x: float, width: float, first: int, last: int, keyframes: Iterable[int], reach: float
) -> int | None:
    """The keyframe within `reach` pixels of `x`, counted from the left of a strip of `width`; None if there is none."""
    distances = {key: abs(position_of(key, first, last) * width - x) for key in keyframes if first <= key <= last}
    near = min(distances, key=distances.__getitem__, default=None)
    return near if near is not None and distances[near] <= reach else None


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


def _draw_keyframe(corner: ImVec2, width: float, height: float, position: float, is_near: bool) -> None:
    center, size = ImVec2(corner.x + position * width, corner.y + height / 2), MARK * scale()
    draw = imgui.get_window_draw_list()
    draw.add_circle_filled(center, size, color(ACCENT if is_near else TEXT), 4)  # of four corners: a diamond


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

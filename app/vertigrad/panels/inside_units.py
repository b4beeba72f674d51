"""The units of a tensor inside a model, as squares: a click sets one to zero."""

from __future__ import annotations

import math

import numpy as np
from imgui_bundle import ImVec2, ImVec4, imgui

from ..session import Session
from ..session.commands import Ablate, ToggleUnit
from .rows import color, explain, scale, show_tooltip
from .tables import number, right
from .theme import ACCENT, BAD, DIM, FIELD

UNIT = 12.0  # side of a unit's square, in logical pixels
MOST_UNITS = 4096  # squares that are drawn


def draw_units(session: Session, chosen: tuple[str, str], peaks: np.ndarray, dead: int) -> None:
    """A square for each unit, as bright as its largest magnitude; a click sets it to zero, another one no longer."""
    ablated = session.scene_edits.extras.ablated.get(chosen, ())
    count = min(len(peaks), MOST_UNITS)
    side, room = UNIT * scale(), imgui.get_content_region_avail().x
    across = max(1, int(room // side))
    caption, counts = "units: click to ablate", f"{dead:,} of {len(peaks):,} dead"
    if ablated:
        counts = f"{len(ablated):,} ablated · {counts}"
    imgui.text_colored(DIM, caption)
    if imgui.calc_text_size(f"{caption}  {counts}").x <= room:
        imgui.same_line()
    right(counts, BAD if dead else DIM)
    explain("dead: 0 in all frames seen")
    corner = imgui.get_cursor_screen_pos()
    pressed = imgui.invisible_button("units", ImVec2(across * side, -(-count // across) * side))
    mouse = imgui.get_mouse_pos()
    column, row = int((mouse.x - corner.x) // side), int((mouse.y - corner.y) // side)
    over = row * across + column if imgui.is_item_hovered() and 0 <= column < across else -1
    brightest = float(np.nanmax(peaks, initial=0.0)) or 1.0
    draw = imgui.get_window_draw_list()
    for unit in range(count):
        left, top = corner.x + unit % across * side, corner.y + unit // across * side
        low, high = ImVec2(left + 1.0, top + 1.0), ImVec2(left + side - 1.0, top + side - 1.0)
        draw.add_rect_filled(low, high, color(_tint(float(peaks[unit]), brightest)))
        if unit in ablated:
            draw.add_line(low, high, color(BAD), 2.0 * scale())
            draw.add_line(ImVec2(high.x, low.y), ImVec2(low.x, high.y), color(BAD), 2.0 * scale())
        elif unit == over:
            draw.add_rect(low, high, color(ACCENT))
    if 0 <= over < count:
        verb = "restore it" if over in ablated else "set it to zero"
        show_tooltip(f"unit {over}, largest magnitude {number(float(peaks[over]))}\nclick to {verb}")
        if pressed:
            session.post(ToggleUnit(*chosen, over))
    if ablated and imgui.button("restore all units"):
        session.post(Ablate(*chosen, ()))


def _tint(peak: float, brightest: float) -> ImVec4:
    """Dark for small magnitudes; red for a unit that was zero all the time."""
    if peak == 0.0:
        return ImVec4(0.45, 0.15, 0.15, 1.0)
    share = math.sqrt(min(peak / brightest, 1.0)) if math.isfinite(peak) else 1.0
    ends = (FIELD.x, 0.95), (FIELD.y, 0.85), (FIELD.z, 0.45)
    red, green, blue = (dark + (bright - dark) * share for dark, bright in ends)
    return ImVec4(red, green, blue, 1.0)

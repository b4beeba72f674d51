"""The command palette: type a few letters of what is to be done, press Enter."""

from __future__ import annotations

from collections.abc import Sequence

from imgui_bundle import ImVec2, imgui

from ..session import Session
from .actions import Action
from .rows import color, fitted, scale
from .theme import ACCENT, DIM
from .workspace import Workspace

WIDTH, ROWS = 520.0, 12  # logical pixels; actions visible at a time
NAME = "##palette"


class Palette:
    """A list of the actions that fit what is typed, the best first; arrows choose, Enter does, Escape closes."""

    def __init__(self) -> None:
        self._search, self._chosen = "", 0
        self._open = False
        self._fitting: tuple[str, list[Action]] | None = None  # of which search

    def draw(self, actions: Sequence[Action], session: Session, workspace: Workspace) -> None:
        """Draw it if the workspace has it open."""
        if workspace.palette and not self._open:
            imgui.open_popup(NAME)
            self._search, self._chosen, self._fitting = "", 0, None
        self._open = workspace.palette
        if not self._open:
            return
        display = imgui.get_io().display_size
        width = min(WIDTH * scale(), display.x - 24 * scale())
        imgui.set_next_window_pos(ImVec2(display.x / 2, display.y * 0.14), imgui.Cond_.always.value, ImVec2(0.5, 0.0))
        imgui.set_next_window_size(ImVec2(width, 0.0))
        # Arrows choose from the list; to ImGui they would mean to leave the field.
        if not imgui.begin_popup(NAME, (imgui.WindowFlags_.no_move | imgui.WindowFlags_.no_nav_inputs).value):
            self._open = workspace.palette = False  # a click outside, or Escape
            return
        self._draw_content(actions, session, workspace)
        imgui.end_popup()

    def _draw_content(self, actions: Sequence[Action], session: Session, workspace: Workspace) -> None:
        if imgui.is_window_appearing():
            imgui.set_keyboard_focus_here()
        imgui.set_next_item_width(-1.0)
        changed, self._search = imgui.input_text_with_hint("##search", "Type a command", self._search)
        if self._fitting is None or self._fitting[0] != self._search:
            self._fitting = self._search, ranked(self._search, actions)
        fitting = self._fitting[1]
        self._chosen = 0 if changed else self._moved(len(fitting))
        done = imgui.is_key_pressed(imgui.Key.enter, False) or imgui.is_key_pressed(imgui.Key.keypad_enter, False)
        height = min(max(len(fitting), 1), ROWS) * imgui.get_frame_height_with_spacing()
        imgui.begin_child("##list", ImVec2(0.0, min(height, imgui.get_io().display_size.y * 0.7)))
        for index, action in enumerate(fitting):
            if self._draw_row(index, action, session, workspace):
                self._chosen, done = index, True
        if not fitting:
            imgui.text_disabled("no matching command")
        imgui.end_child()
        if imgui.is_key_pressed(imgui.Key.escape, False):  # which ImGui takes for leaving the field first
            self._open = workspace.palette = False
            imgui.close_current_popup()
        elif done and fitting and fitting[self._chosen].possible(session, workspace):
            self._open = workspace.palette = False
            imgui.close_current_popup()
            fitting[self._chosen].perform(session, workspace)

    def _moved(self, count: int) -> int:
        step = imgui.is_key_pressed(imgui.Key.down_arrow) - imgui.is_key_pressed(imgui.Key.up_arrow)
        return (self._chosen + step) % count if count else 0

    def _draw_row(self, index: int, action: Action, session: Session, workspace: Workspace) -> bool:
        """Returns whether it was clicked."""
        corner, width = imgui.get_cursor_screen_pos(), imgui.get_content_region_avail().x
        height, line = imgui.get_frame_height(), imgui.get_text_line_height()
        possible = action.possible(session, workspace)
        flags = imgui.SelectableFlags_.none if possible else imgui.SelectableFlags_.disabled
        clicked, _ = imgui.selectable(f"##{index}", index == self._chosen, flags.value, ImVec2(0.0, height))
        if index == self._chosen and not imgui.is_item_visible():
            imgui.set_scroll_here_y()
        draw, top, pad = imgui.get_window_draw_list(), corner.y + (height - line) / 2, 8 * scale()
        text = imgui.get_color_u32(imgui.Col_.text if possible else imgui.Col_.text_disabled)
        keys = action.shown_keys
        right = corner.x + width - pad - imgui.calc_text_size(keys).x
        draw.add_text(
            ImVec2(corner.x + pad, top), color(ACCENT if action.is_on(session, workspace) else DIM), action.icon
        )
        name = fitted(f"{action.menu}: {action.name}", right - corner.x - 44 * scale())
        draw.add_text(ImVec2(corner.x + pad + 26 * scale(), top), text, name)
        draw.add_text(ImVec2(right, top), color(DIM), keys)
        return clicked


def ranked(search: str, actions: Sequence[Action]) -> list[Action]:
    """The actions whose names have the letters of `search` in them, in that order; the best fit first.

    The name of the menu may help, but counts less; of names that fit as well the shortest comes first.
    """
    scored = [
        (-max(2 * score(search, action.name), score(search, f"{action.menu} {action.name}")), len(action.name), index)
        for index, action in enumerate(actions)
    ]
    if not search:
        return list(actions)
    return [actions[index] for points, _, index in sorted(scored) if points <= 0]


def score(search: str, name: str) -> int:
    """How well a name fits: more for letters that follow each other or begin a word; −1 if one of them is missing."""
    name = name.lower()
    best = {-1: 0}  # the points so far, by where the last letter was found
    for letter in search.lower().replace(" ", ""):
        best = {
            at: max(points + _gain(name, before, at) for before, points in best.items() if before < at)
            for at in range(min(best) + 1, len(name))
            if name[at] == letter
        }
        if not best:
            return -1
    return max(best.values())


def _gain(name: str, before: int, at: int) -> int:
    begins_word = at == 0 or not name[at - 1].isalnum()
    return 3 if begins_word or at == before + 1 else 1

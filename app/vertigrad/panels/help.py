"""Every shortcut, as the table of actions has it, and what the mouse does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from imgui_bundle import icons_fontawesome_6 as icons
from imgui_bundle import imgui

from ..session import Session
from .actions import MENUS, Action
from .base import Panel
from .controls import search_field
from .rows import scale, section
from .theme import DIM

MOUSE = (
    ("drag", "orbit"),
    ("right or middle drag", "pan; also Shift+drag"),
    ("click", "select the row under the cursor"),
    ("Ctrl+Shift+drag", "select the points or splats in a box; with Alt add them; right button: remove them"),
    ("wheel", "zoom to the cursor; with Ctrl in fine steps"),
    ("Shift+wheel", "pan"),
    ("Alt+wheel", "orbit"),
    ("W A S D Q E", "fly, while the right button is held or in flight mode"),
    ("Ctrl+drag", "interact with the models that support it; with a tool selected, without Ctrl"),
    ("Ctrl+wheel, with a tool", "brush radius; with Shift, brush strength"),
    ("Ctrl+click", "type a value into a slider"),
    ("Ctrl+wheel, over a plot", "zoom; a drag pans, a double click resets"),
    ("drag a tab", "dock its panel elsewhere"),
    ("Ctrl+Tab", "cycle through the panels"),
)
Sections = dict[str, list[tuple[str, str]]]
COLUMN = 150.0  # width of the keys, in logical pixels


class HelpPanel(Panel):
    """Made from the table of actions, which is asked for each time: rows may be added to it."""

    title = "Help"
    icon = icons.ICON_FA_KEYBOARD

    def __init__(self, actions: Callable[[], Sequence[Action]]) -> None:
        self._actions = actions
        self._search = ""
        self._shown: tuple[object, Sections] | None = None  # of which search and actions

    def draw(self, session: Session) -> None:
        self._search, _ = search_field(self._search, 260 * scale(), "search")
        imgui.begin_child("##keys")
        key = self._search, self._actions()
        if self._shown is None or self._shown[0] != key:
            self._shown = key, found(*key)
        for heading, rows in self._shown[1].items():
            if section(heading):
                _draw_rows(rows)
        imgui.end_child()


def found(search: str, actions: Sequence[Action]) -> Sections:
    """Keys and what they do, by menu; of those only what has the search in it."""
    rows = {menu: [(one.shown_keys, one.name) for one in actions if one.menu == menu and one.keys] for menu in MENUS}
    needle = search.lower()
    fitting = {
        heading: [row for row in all_ if needle in f"{row[0]} {row[1]} {heading}".lower()]
        for heading, all_ in {**rows, "Mouse": MOUSE}.items()
    }
    return {heading: rows for heading, rows in fitting.items() if rows}


def _draw_rows(rows: Sequence[tuple[str, str]]) -> None:
    left = imgui.get_cursor_pos_x()
    column, gap = COLUMN * scale(), 12 * scale()
    for keys, meaning in rows:
        imgui.text_unformatted(keys)
        imgui.same_line(left + max(column, imgui.calc_text_size(keys).x + gap))
        imgui.text_colored(DIM, meaning)

"""The log: messages of the program and its scene, the latest at the end."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from imgui_bundle import ImVec2, ImVec4, imgui, imgui_ctx
from imgui_bundle import icons_fontawesome_6 as icons

from ..session import Session
from .base import Panel
from .controls import search_field
from .rows import scale
from .tables import visible_rows
from .theme import ACCENT, BAD, DIM, TEXT, mono

CAPACITY = 2000  # lines, the latest
LOGGERS = "vertigrad", "wgpu"
_ours = logging.getLogger("vertigrad")
LEVELS = {"all": logging.DEBUG, "info": logging.INFO, "warnings": logging.WARNING, "errors": logging.ERROR}


class Line(NamedTuple):
    """One line of a message; the further lines of a longer message have no time of their own."""

    clock: str
    level: int
    text: str


class Journal(logging.Handler):
    """Stores the latest lines of the program's loggers, from any thread, and of the session's messages."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: deque[Line] = deque(maxlen=CAPACITY)
        self.count = 0  # of all lines so far, to detect new ones
        self._messages: dict[str, str] = {}
        for name in LOGGERS:
            logging.getLogger(name).addHandler(self)
        self._level_before = _ours.level
        if not _ours.level:
            _ours.setLevel(logging.INFO)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._add(record.created, record.levelno, record.getMessage())
            if logging.lastResort and not logging.getLogger().handlers and record.levelno >= logging.lastResort.level:
                logging.lastResort.handle(record)  # to stderr as before: it is left out where there is a handler
        except Exception:  # whatever the record's arguments do, a log line must not end the program
            self.handleError(record)

    def take_messages(self, messages: dict[str, str]) -> None:
        """Note what of the session's messages is new, and which of them have been fixed."""
        if messages == self._messages:
            return
        for topic, text in messages.items():
            if self._messages.get(topic) != text:
                self._add(time.time(), logging.ERROR, text)
        for topic in self._messages.keys() - messages.keys():
            self._add(time.time(), logging.INFO, f"{topic}: fixed, or dismissed")
        self._messages = dict(messages)

    def clear(self) -> None:
        """Drop the lines."""
        self.lines.clear()
        self.count += 1

    def close(self) -> None:
        for name in LOGGERS:
            logging.getLogger(name).removeHandler(self)
        _ours.setLevel(self._level_before)
        super().close()

    def _add(self, when: float, level: int, text: str) -> None:
        clock = time.strftime("%H:%M:%S", time.localtime(when))
        for index, line in enumerate(text.splitlines() or [""]):
            self.lines.append(Line("" if index else clock, level, line))
            self.count += 1


class LogPanel(Panel):
    """The journal's lines, of a level and with a text in them that the user chooses."""

    title = "Log"
    icon = icons.ICON_FA_LIST

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._least, self._search = "all", ""
        self._shown: Sequence[Line] = ()
        self._of: tuple[int, str, str] | None = None  # what `_shown` was computed from

    def draw(self, session: Session) -> None:
        self._draw_controls()
        key = (self._journal.count, self._least, self._search)
        if key != self._of:
            self._shown, self._of = self._matching(), key
        self._draw_lines()

    def _draw_controls(self) -> None:
        imgui.set_next_item_width(110 * scale())
        names = list(LEVELS)
        changed, index = imgui.combo("##level", names.index(self._least), names)
        if changed:
            self._least = names[index]
        imgui.set_item_tooltip("lowest level of the lines shown")
        imgui.same_line()
        width = min(imgui.get_content_region_avail().x * 0.5, 260 * scale())
        self._search, _ = search_field(self._search, width, "search")
        imgui.same_line()
        if imgui.button("Copy"):
            imgui.set_clipboard_text("\n".join(f"{line.clock:8}  {line.text}" for line in self._shown))
        imgui.set_item_tooltip("copy the lines shown")
        imgui.same_line()
        if imgui.button("Clear"):
            self._journal.clear()

    def _matching(self) -> list[Line]:
        least, needle = LEVELS[self._least], self._search.lower()
        return [line for line in tuple(self._journal.lines) if line.level >= least and needle in line.text.lower()]

    def _draw_lines(self) -> None:
        imgui.begin_child("##lines", ImVec2(0, 0), 0, imgui.WindowFlags_.horizontal_scrollbar.value)
        at_end = imgui.get_scroll_y() >= imgui.get_scroll_max_y()
        if not self._shown:
            imgui.text_disabled("no messages yet" if not self._journal.lines else "no matching line")
        with imgui_ctx.push_font(mono(), 0.0):
            for number in visible_rows(len(self._shown), imgui.get_text_line_height_with_spacing()):
                line = self._shown[number]
                imgui.text_colored(DIM, line.clock.ljust(8))
                imgui.same_line()
                imgui.text_colored(_tint(line.level), line.text)
        if at_end:
            imgui.set_scroll_here_y(1.0)
        imgui.end_child()


def _tint(level: int) -> ImVec4:
    if level >= logging.ERROR:
        return BAD
    return ACCENT if level >= logging.WARNING else TEXT if level >= logging.INFO else DIM

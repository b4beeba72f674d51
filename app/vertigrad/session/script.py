"""`Script`: what a script adds to the window, buttons, plots and keys of its own, and the events that wait for it."""

from __future__ import annotations

from collections import deque
from typing import Literal, NamedTuple

from .statistics import Series

CAPACITY = 100_000  # points of each line of a plot


class Line:
    """A line of a plot: two series of one length."""

    __slots__ = ("x", "y")

    def __init__(self) -> None:
        self.x, self.y = Series(CAPACITY), Series(CAPACITY)

    def append(self, x: float, y: float) -> None:
        """Add a point at the end."""
        self.x.append(x)
        self.y.append(y)

    def clear(self) -> None:
        """Remove all points."""
        self.x.clear()
        self.y.clear()


class PlotData:
    """A plot: its lines by name, the unit of each axis, and whether y is logarithmic."""

    def __init__(self, x_unit: str = "", unit: str = "", log: bool = False):
        self.x_unit, self.unit, self.log = x_unit, unit, log
        self.lines: dict[str, Line] = {}


class Event(NamedTuple):
    """A button was clicked or a key was pressed; `name` is its label, or the key as the table of actions writes it."""

    kind: Literal["button", "key"]
    name: str


class Script:
    """Empty for scenes that no script shows. The script takes the `events` between two frames."""

    def __init__(self) -> None:
        self.buttons: dict[str, str] = {}  # tooltips, by label
        self.keys: set[str] = set()  # that are the script's, before what they do otherwise
        self.plots: dict[str, PlotData] = {}
        self.events: deque[Event] = deque()

    def press_button(self, label: str) -> None:
        """Note a click on a button, if it is still there."""
        if label in self.buttons:
            self.events.append(Event("button", label))

    def press_key(self, key: str) -> None:
        """Note that a key of the script was pressed."""
        if key in self.keys:
            self.events.append(Event("key", key))

"""`Workspace`: what the GUI itself is like now. Nothing of it belongs to the session."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..session.parameters import Key

ZOOMS = (0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5)  # of everything in the GUI, on top of the monitor's scale
RECENT = 12  # files that are remembered


@dataclass
class Workspace:
    """Which windows are open and how large everything is; actions change it, the GUI draws what it says.

    `opened` is by the panels' titles. What only the window can do is asked for here and done by the viewer's loop:
    `closing` and `fullscreen`.
    """

    visible: bool = True  # the panels and the menu, all at once
    opened: dict[str, bool] = field(default_factory=dict)
    zoom: float = 1.0
    recent: list[Path] = field(default_factory=list)
    focused: str = ""  # the panel that has the keyboard
    gallery: bool = False
    palette: bool = False
    about: bool = False
    browser: bool = False  # the dialog that opens a file
    layout: str = ""  # where the panels were docked when the program was last closed, as ImGui writes it
    layout_scale: float = 1.0  # pixels to a logical one in it
    rearranged: bool = False  # the panels are to be docked where they belong, in the next frame
    raised: str = ""  # the panel that is to come before those it shares its place with
    seen: set[str] = field(default_factory=set)  # the panels that were drawn last, not hidden behind another
    closing: bool = False
    fullscreen: bool = False
    gizmo: Key | None = None  # the place of the scene that is moved by hand

    def toggle(self, panel: str) -> None:
        """Close the panel of this title if it is seen; else open it, before those it shares its place with."""
        if self.visible and panel in self.seen:
            self.opened[panel] = False
        else:
            self.show(panel)

    def show(self, panel: str) -> None:
        """Have the panel of this title seen."""
        self.opened[panel] = self.visible = True
        self.raised = panel

    def go_on(self, steps: int) -> None:
        """Give the keyboard to the next of the panels that are open, or to the one before."""
        opened = [panel for panel, is_open in self.opened.items() if is_open]
        if opened:
            at = opened.index(self.focused) if self.focused in opened else -1 if steps > 0 else 0
            self.show(opened[(at + steps) % len(opened)])

    def enlarge(self, steps: int) -> None:
        """Make everything larger by so many steps of `ZOOMS`; smaller if there are less than none."""
        nearest = min(range(len(ZOOMS)), key=lambda index: abs(ZOOMS[index] - self.zoom))
        self.zoom = ZOOMS[min(max(nearest + steps, 0), len(ZOOMS) - 1)]

    def remember(self, file: Path) -> None:
        """Put a file at the head of the recent ones."""
        file = file.resolve()
        self.recent = [file, *(other for other in self.recent if other != file)][:RECENT]

"""`Workspace`: the state of the GUI itself, which is not part of the session."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..session.parameters import Key

ZOOMS = (0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5)  # of everything in the GUI, on top of the monitor's scale
RECENT = 12  # files that are remembered


@dataclass
class Workspace:
    """Which windows are open and how large everything is; actions change it, the GUI reads it.

    `opened` is by the panels' titles. What only the window can do is asked for here and done by the viewer's loop:
    `closing` and `fullscreen`.
    """

    visible: bool = True  # the panels and the menu, all at once
    opened: dict[str, bool] = field(default_factory=dict)
    zoom: float = 1.0
    recent: list[Path] = field(default_factory=list)
    focused: str = ""  # the panel that has the keyboard
    results: Path | None = None  # the folder of a sweep that the Results panel shows
    gallery: bool = False
    palette: bool = False
    about: bool = False
    browser: bool = False  # the dialog that opens a file
    exporting: str = ""  # what the dialog that exports is opened for: "geometry", "selection" or "measurements"
    export_layer: str = ""  # whose geometry; all if empty
    layout: str = ""  # where the panels were docked when the program was last closed, as ImGui writes it
    layout_scale: float = 1.0  # pixels to a logical one in it
    reset_layout: bool = False  # dock the panels on their default sides in the next frame
    raised: str = ""  # the panel to bring to the front of its dock
    visible_panels: set[str] = field(default_factory=set)  # drawn last, not hidden behind another
    closing: bool = False
    fullscreen: bool = False
    gizmo: Key | None = None  # the position of the scene that has handles in the viewport

    def toggle(self, panel: str) -> None:
        """Close the panel of this title if it is visible; else open it, in front of those in the same dock."""
        if self.visible and panel in self.visible_panels:
            self.opened[panel] = False
        else:
            self.show(panel)

    def show(self, panel: str) -> None:
        """Show the panel of this title."""
        self.opened[panel] = self.visible = True
        self.raised = panel

    def cycle_panels(self, steps: int) -> None:
        """Move the keyboard focus to the next of the open panels, or to the previous one."""
        opened = [panel for panel, is_open in self.opened.items() if is_open]
        if opened:
            at = opened.index(self.focused) if self.focused in opened else -1 if steps > 0 else 0
            self.show(opened[(at + steps) % len(opened)])

    def change_scale(self, steps: int) -> None:
        """Increase the UI scale by so many steps of `ZOOMS`, or decrease it."""
        nearest = min(range(len(ZOOMS)), key=lambda index: abs(ZOOMS[index] - self.zoom))
        self.zoom = ZOOMS[min(max(nearest + steps, 0), len(ZOOMS) - 1)]

    def close_files(self) -> None:
        """Open no dialog that shows files."""
        self.gallery = self.browser = False
        self.exporting = ""

    def remember(self, file: Path) -> None:
        """Put a file at the head of the recent files."""
        file = file.resolve()
        self.recent = [file, *(other for other in self.recent if other != file)][:RECENT]

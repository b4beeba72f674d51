"""`ACTIONS`: everything that can be done by name, in one table.

The menu, the command palette, the list of shortcuts and the keys themselves are made from it. An action posts a command
to the session or changes the workspace; to add one, add a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from imgui_bundle import icons_fontawesome_6 as icons
from imgui_bundle import imgui

from ..session import Session
from ..session.command_line import command_line
from ..session.commands import (
    Ask,
    Command,
    Home,
    OpenDocumentation,
    Play,
    Redo,
    Reload,
    Reset,
    ResetParameters,
    Save,
    SaveTrace,
    Step,
    SwitchSide,
    Undo,
)
from ..session.questions import Question
from .base import Panel
from .workspace import Workspace

Menu = Literal["File", "Edit", "View", "Time", "Camera", "Help"]
MENUS: tuple[Menu, ...] = get_args(Menu)


def _always(session: Session, workspace: Workspace) -> bool:
    return True


@dataclass(frozen=True)
class Action:
    """One row: what is done, from where, by which keys, and whether it is possible now.

    `keys` are written as in "Ctrl+Shift+P"; further ones do the same, only the first is shown. `does` returns the
    command to be posted, or None where it changed the workspace. `on` tells of a switch whether it is on. With
    `repeats` it is done again and again while its key is held. Actions of one `group` stand together in the menu.
    """

    menu: Menu
    name: str
    does: Callable[[Session, Workspace], Command | None]
    keys: tuple[str, ...] = ()
    icon: str = ""
    possible: Callable[[Session, Workspace], bool] = _always
    on: Callable[[Session, Workspace], bool] | None = None
    repeats: bool = False
    group: int = 0
    dialog: bool = False  # it opens a dialog that keeps everything else waiting, and closes it

    def perform(self, session: Session, workspace: Workspace) -> bool:
        """Do it if it is possible now; returns whether it was."""
        if not self.possible(session, workspace):
            return False
        command = self.does(session, workspace)
        if command is not None:
            session.post(command)
        return True


def posts(command: Command) -> Callable[[Session, Workspace], Command]:
    """For a row whose command is always the same."""
    return lambda session, workspace: command


def _toggle(attribute: str) -> Callable[[Session, Workspace], None]:
    """For a row that toggles a flag of the workspace."""

    def toggle(session: Session, workspace: Workspace) -> None:
        setattr(workspace, attribute, not getattr(workspace, attribute))

    return toggle


def _shows(attribute: str) -> Callable[[Session, Workspace], bool]:
    return lambda session, workspace: getattr(workspace, attribute)


def _change_scale(steps: int) -> Callable[[Session, Workspace], None]:
    return lambda session, workspace: workspace.change_scale(steps)


def _reset_layout(session: Session, workspace: Workspace) -> None:
    workspace.reset_layout = workspace.visible = True


def _copy_command_line(session: Session, workspace: Workspace) -> None:
    imgui.set_clipboard_text(command_line(session))


def _is_unsaved(session: Session, workspace: Workspace) -> bool:
    return session.unsaved


def _cycle_panels(steps: int) -> Callable[[Session, Workspace], None]:
    return lambda session, workspace: workspace.cycle_panels(steps)


def _quit(session: Session, workspace: Workspace) -> None:
    workspace.closing = True


ACTIONS: tuple[Action, ...] = (
    Action(
        "File",
        "Gallery…",
        _toggle("gallery"),
        ("Ctrl+G",),
        icons.ICON_FA_TABLE_CELLS_LARGE,
        on=_shows("gallery"),
        dialog=True,
    ),
    Action("File", "Open…", _toggle("browser"), ("Ctrl+O",), icons.ICON_FA_FOLDER_OPEN),
    Action("File", "Save", posts(Save()), ("Ctrl+S",), icons.ICON_FA_FLOPPY_DISK, possible=_is_unsaved),
    Action("File", "Save as…", posts(Ask(Question("name", ""))), ("Ctrl+Shift+S",), icons.ICON_FA_FLOPPY_DISK),
    Action("File", "Reload file", posts(Reload(restart=True)), ("F5",), icons.ICON_FA_ROTATE),
    Action("File", "Export profiler trace", posts(SaveTrace()), icon=icons.ICON_FA_STOPWATCH, group=5),
    Action("File", "Quit", _quit, ("Ctrl+Q",), icons.ICON_FA_XMARK, group=9),
    Action(
        "Edit",
        "Undo",
        posts(Undo()),
        ("Ctrl+Z",),
        icons.ICON_FA_ROTATE_LEFT,
        possible=lambda session, _: bool(session.scene_edits.history.done),
        repeats=True,
    ),
    Action(
        "Edit",
        "Redo",
        posts(Redo()),
        ("Ctrl+Shift+Z", "Ctrl+Y"),
        icons.ICON_FA_ROTATE_RIGHT,
        possible=lambda session, _: bool(session.scene_edits.history.undone),
        repeats=True,
    ),
    Action(
        "Edit",
        "Compare A/B",
        posts(SwitchSide()),
        ("X",),
        icons.ICON_FA_RIGHT_LEFT,
        on=lambda session, _: session.scene_edits.extras.side == "B",
        group=1,
    ),
    Action("Edit", "Reset parameters to file", posts(ResetParameters()), icon=icons.ICON_FA_ARROWS_ROTATE, group=1),
    Action("Edit", "Copy as command line", _copy_command_line, ("Ctrl+Shift+C",), icons.ICON_FA_TERMINAL, group=2),
    Action("View", "Panels", _toggle("visible"), ("G",), icons.ICON_FA_TABLE_COLUMNS, on=_shows("visible")),
    Action("View", "Reset layout", _reset_layout, icon=icons.ICON_FA_BORDER_ALL),
    Action("View", "Full screen", _toggle("fullscreen"), ("F11",), icons.ICON_FA_EXPAND, on=_shows("fullscreen")),
    Action(
        "View",
        "Increase UI scale",
        _change_scale(1),
        ("Ctrl+Plus", "Ctrl+Shift+Plus", "Ctrl+=", "Ctrl+Shift+="),
        repeats=True,
        group=8,
    ),
    Action("View", "Decrease UI scale", _change_scale(-1), ("Ctrl+Minus",), repeats=True, group=8),
    Action("View", "Next panel", _cycle_panels(1), ("F6",), repeats=True, group=7),
    Action("View", "Previous panel", _cycle_panels(-1), ("Shift+F6",), repeats=True, group=7),
    Action(
        "Time",
        "Play",
        lambda session, _: Play(not session.playing),
        ("Space",),
        icons.ICON_FA_PLAY,
        on=lambda session, _: session.playing,
    ),
    Action("Time", "Step forward", posts(Step()), ("N",), icons.ICON_FA_FORWARD_STEP, repeats=True),
    Action("Time", "Step back", posts(Step(-1)), ("B",), icons.ICON_FA_BACKWARD_STEP, repeats=True),
    Action("Time", "Reset simulation", posts(Reset()), ("R",), icons.ICON_FA_BACKWARD_FAST),
    Action("Camera", "Reset camera", posts(Home()), ("H",), icons.ICON_FA_HOUSE),
    Action("Help", "Documentation", posts(OpenDocumentation()), icon=icons.ICON_FA_BOOK),
    Action(
        "Help",
        "Keyboard shortcuts",
        lambda _, workspace: workspace.toggle("Help"),
        ("F1",),
        icons.ICON_FA_KEYBOARD,
        on=lambda _, workspace: workspace.opened["Help"],
    ),
    Action("Help", "Command palette…", _toggle("palette"), ("Ctrl+P", "Ctrl+Shift+P"), icons.ICON_FA_MAGNIFYING_GLASS),
    Action("Help", "About Vertigrad", _toggle("about"), icon=icons.ICON_FA_CIRCLE_INFO, on=_shows("about"), group=1),
)


def for_panels(panels: Iterable[Panel]) -> tuple[Action, ...]:
    """For each panel a row that opens and closes it: by Ctrl and a digit, as long as there are digits."""
    return tuple(_for_panel(panel, number) for number, panel in enumerate(panels, 1))


def _for_panel(panel: Panel, number: int) -> Action:
    keys = (f"Ctrl+{number}",) if number <= 9 else ()

    def toggle(session: Session, workspace: Workspace) -> None:
        workspace.toggle(panel.title)

    return Action(
        "View",
        panel.title,
        toggle,
        keys,
        panel.icon,
        on=lambda session, workspace: workspace.opened[panel.title],
        group=1,
    )

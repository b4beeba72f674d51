"""`Action`: something that can be done by name (`action_table` lists all of them), and which keys may mean one now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from imgui_bundle import imgui

from ..session import Session
from ..session.commands import Command
from .workspace import Workspace

Menu = Literal["File", "Edit", "View", "Time", "Camera", "Help"]
MENUS: tuple[Menu, ...] = get_args(Menu)

FIELD_KEYS = {f"Ctrl+{letter}" for letter in "ACVXYZ"} | {"Ctrl+Shift+Z"}  # text fields have their own use for them
MOVING_KEYS = {"Space", "Enter", "Esc", "Tab", "Shift+Tab", "Left", "Right", "Up", "Down", "Home", "End"}

Test: TypeAlias = Callable[[Session, Workspace], bool]


def tests(test: Callable[[Session], bool]) -> Test:
    """For a row that is possible, or on, by the session alone."""
    return lambda session, workspace: test(session)


def _always(session: Session, workspace: Workspace) -> bool:
    return True


@dataclass(frozen=True)
class Action:
    """One row: what is done, from where, by which keys, and whether it is possible now.

    `keys` are written as in "Ctrl+Shift+P"; further ones do the same, only the first is shown. `does` is the command
    to post; or a function that returns it, or returns None if it changed the workspace instead. `on` tests whether a
    switch is on. With `repeats` it is performed repeatedly while its key is held. Actions of one `group` are next to
    each other in the menu.
    """

    menu: Menu
    name: str
    does: Command | Callable[[Session, Workspace], Command | None]
    keys: tuple[str, ...] = ()
    icon: str = ""
    possible: Test = _always
    on: Test | None = None
    repeats: bool = False
    group: int = 0
    dialog: bool = False  # it opens and closes a modal dialog

    @property
    def shown_keys(self) -> str:
        """The first of its keys, as people write them."""
        return self.keys[0].replace("Plus", "+").replace("Minus", "−") if self.keys else ""

    def is_on(self, session: Session, workspace: Workspace) -> bool:
        """Whether it is a switch that is on."""
        return self.on is not None and self.on(session, workspace)

    def perform(self, session: Session, workspace: Workspace) -> bool:
        """Do it if it is possible now; returns whether it was."""
        if not self.possible(session, workspace):
            return False
        command = self.does(session, workspace) if callable(self.does) else self.does
        if command is not None:
            session.post(command)
        return True


def flag(menu: Menu, name: str, attribute: str, *more: Any, **options: Any) -> Action:
    """A row that toggles a flag of the workspace."""

    def toggle(session: Session, workspace: Workspace) -> None:
        setattr(workspace, attribute, not getattr(workspace, attribute))

    shown = {"on": lambda session, workspace: getattr(workspace, attribute)}
    return Action(menu, name, toggle, *more, **{**shown, **options})


def switch(
    menu: Menu,
    name: str,
    is_on: Callable[[Session], bool],
    turn: Callable[[bool], Command],
    keys: tuple[str, ...],
    icon: str = "",
    **options: Any,
) -> Action:
    """A row that switches something of the session on and off; `turn` gives the command for it."""
    return Action(menu, name, lambda session, _: turn(not is_on(session)), keys, icon, on=tests(is_on), **options)


def by_keys(actions: Sequence[Action]) -> dict[str, list[Action]]:
    """The actions by each of their keys: the first that is possible is done."""
    found: dict[str, list[Action]] = {}
    for action in actions:
        for keys in action.keys:
            found.setdefault(keys, []).append(action)
    return found


def are_free(keys: str, io: imgui.IO) -> bool:
    """Whether keys may mean an action now: not while the GUI itself has a use for them."""
    plain = not keys.startswith(("Ctrl+", "Alt+")) and not _is_function_key(keys)
    if io.want_text_input:
        return not plain and keys not in FIELD_KEYS
    if imgui.is_popup_open("", imgui.PopupFlags_.any_popup.value):
        return not plain
    return not (keys in MOVING_KEYS and io.nav_active and io.nav_visible)


def is_modal() -> bool:
    """Whether a modal dialog is open: all behind it is blocked."""
    return imgui.internal.get_top_most_popup_modal() is not None


def _is_function_key(keys: str) -> bool:
    last = keys.split("+")[-1]
    return len(last) > 1 and last[0] == "F" and last[1:].isdigit()

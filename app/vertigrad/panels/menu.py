"""The menu bar: every action under its heading, with its keys."""

from __future__ import annotations

from collections.abc import Sequence

from imgui_bundle import imgui

from ..session import Session
from .actions import MENUS, Action
from .workspace import Workspace


def draw_menu(actions: Sequence[Action], session: Session, workspace: Workspace) -> None:
    """The bar along the upper edge of the window."""
    if not imgui.begin_main_menu_bar():
        return
    for menu in MENUS:
        shown = sorted((action for action in actions if action.menu == menu), key=lambda action: action.group)
        if shown and imgui.begin_menu(menu):
            _draw_actions(shown, session, workspace)
            imgui.end_menu()
    imgui.end_main_menu_bar()


def _draw_actions(actions: Sequence[Action], session: Session, workspace: Workspace) -> None:
    group = actions[0].group if actions else 0
    for action in actions:
        if action.group != group:
            imgui.separator()
            group = action.group
        on, possible = action.is_on(session, workspace), action.possible(session, workspace)
        if imgui.menu_item(action.name, action.shown_keys, on, possible)[0]:
            action.perform(session, workspace)

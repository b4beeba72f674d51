"""`ANNOTATION_ACTIONS`: the actions that toggle annotations of the viewport."""

from __future__ import annotations

from typing import Any

from imgui_bundle import icons_fontawesome_6 as icons

from ..session import Session
from ..session.commands import Command, SetParameter
from .actions import Action
from .workspace import Workspace


def _row(label: str, name: str, keys: tuple[str, ...], icon: str, off: Any = False, on: Any = True) -> Action:
    """Sets a parameter of the view to one value or the other; undone like all parameters."""

    def is_on(session: Session, workspace: Workspace) -> bool:
        return getattr(session.view, name) != off

    def change(session: Session, workspace: Workspace) -> Command:
        return SetParameter("view", name, off if is_on(session, workspace) else on)

    return Action("View", label, change, keys, icon, on=is_on, group=2)


def _has_legends(session: Session) -> bool:
    return any(layer.colorbar is not None for layer in session.stage.layers.values())


def _shows_bars(session: Session, workspace: Workspace) -> bool:
    shown = session.view.color_bars
    return shown == "all" or (shown == "named" and _has_legends(session))


def _flip_bars(session: Session, workspace: Workspace) -> Command:
    """Those that the scene has; if it has none, one for each layer that could have one."""
    shown = "named" if _has_legends(session) else "all"
    return SetParameter("view", "color_bars", "none" if _shows_bars(session, workspace) else shown)


ANNOTATION_ACTIONS: tuple[Action, ...] = (
    _row("Axes", "axes", ("Shift+A",), icons.ICON_FA_RULER_COMBINED),
    _row("Floor", "floor", ("Shift+G",), icons.ICON_FA_TABLE_CELLS, "none", "under"),
    _row("Scale bar", "scale_bar", ("Shift+B",), icons.ICON_FA_RULER_HORIZONTAL),
    Action("View", "Color bars", _flip_bars, ("Shift+C",), icons.ICON_FA_PALETTE, on=_shows_bars, group=2),
)

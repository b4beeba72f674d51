"""`TOUCH_ACTIONS`: the rows of the table of actions that are about touching the models by hand."""

from __future__ import annotations

from collections.abc import Callable

from imgui_bundle import icons_fontawesome_6 as icons

from ..models.touch import Gesture
from ..session import Session
from ..session.commands import Command, SaveTouches, SetBrush, SetTool
from ..session.hand import Brush, gestures
from .actions import Action, posts
from .workspace import Workspace

KEYS = {Gesture.DRAG: "D", Gesture.EMIT: "E", Gesture.CUT: "C", Gesture.PAINT: "P"}
LARGER = 1.25  # for each press of a key


def _tool(gesture: Gesture) -> Action:
    def toggle(session: Session, workspace: Workspace) -> Command:
        return SetTool(None if session.hand.tool == gesture else gesture)

    return Action(
        "Edit",
        f"{gesture.title()} tool",
        toggle,
        (KEYS[gesture],),
        possible=lambda session, _: gesture in gestures(session.stage),
        on=lambda session, _: session.hand.tool == gesture,
        group=4,
    )


def _larger(factor: float) -> Callable[[Session, Workspace], Command]:
    spec = next(spec for spec in Brush.specs() if spec.name == "radius")

    def change(session: Session, workspace: Workspace) -> Command:
        low, high = spec.min or 0.0, spec.max or 1.0
        return SetBrush(spec.name, min(max(session.hand.brush.radius * factor, low), high))

    return change


def _has_tool(session: Session, workspace: Workspace) -> bool:
    return session.hand.tool is not None


TOUCH_ACTIONS: tuple[Action, ...] = (
    *(_tool(gesture) for gesture in Gesture),
    Action("Edit", "Decrease brush radius", _larger(1 / LARGER), ("[",), possible=_has_tool, repeats=True, group=4),
    Action("Edit", "Increase brush radius", _larger(LARGER), ("]",), possible=_has_tool, repeats=True, group=4),
    Action(
        "File",
        "Save interaction recording",
        posts(SaveTouches()),
        icon=icons.ICON_FA_HAND,
        possible=lambda session, _: bool(session.clock.touches.gestures),
        group=4,
    ),
)

"""`TOOL_ACTIONS`: the actions of the tools that act on the models."""

from __future__ import annotations

from collections.abc import Callable

from imgui_bundle import icons_fontawesome_6 as icons

from ..models.interaction import Gesture
from ..session import Session
from ..session.commands import Command, SaveInteractions, SetBrush, SetTool
from ..session.tool import Brush, gestures
from .actions import Action, posts
from .workspace import Workspace

KEYS = {Gesture.DRAG: "D", Gesture.EMIT: "E", Gesture.CUT: "C", Gesture.PAINT: "P"}
RADIUS_STEP = 1.25  # for each press of a key


def _tool(gesture: Gesture) -> Action:
    def toggle(session: Session, workspace: Workspace) -> Command:
        return SetTool(None if session.tool.gesture == gesture else gesture)

    return Action(
        "Edit",
        f"{gesture.title()} tool",
        toggle,
        (KEYS[gesture],),
        possible=lambda session, _: gesture in gestures(session.stage),
        on=lambda session, _: session.tool.gesture == gesture,
        group=4,
    )


def _scale_radius(factor: float) -> Callable[[Session, Workspace], Command]:
    spec = next(spec for spec in Brush.specs() if spec.name == "radius")

    def change(session: Session, workspace: Workspace) -> Command:
        low, high = spec.min or 0.0, spec.max or 1.0
        return SetBrush(spec.name, min(max(session.tool.brush.radius * factor, low), high))

    return change


def _radius(name: str, factor: float, key: str) -> Action:
    return Action("Edit", name, _scale_radius(factor), (key,), possible=_has_tool, repeats=True, group=4)


def _has_tool(session: Session, workspace: Workspace) -> bool:
    return session.tool.gesture is not None


TOOL_ACTIONS: tuple[Action, ...] = (
    *(_tool(gesture) for gesture in Gesture),
    Action(
        "Edit",
        "Decrease brush radius",
        _scale_radius(1 / RADIUS_STEP),
        ("[",),
        possible=_has_tool,
        repeats=True,
        group=4,
    ),
    Action(
        "Edit", "Increase brush radius", _scale_radius(RADIUS_STEP), ("]",), possible=_has_tool, repeats=True, group=4
    ),
    Action(
        "File",
        "Save interaction recording",
        posts(SaveInteractions()),
        icon=icons.ICON_FA_HAND,
        possible=lambda session, _: bool(session.clock.interactions.gestures),
        group=4,
    ),
)

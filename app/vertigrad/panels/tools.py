"""The tools that act on the models and those that select rows: a palette over the viewport, and the brush's circle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from imgui_bundle import ImVec2, ImVec4, imgui, imgui_ctx
from imgui_bundle import icons_fontawesome_6 as icons

from ..models.interaction import Gesture
from ..params import Params, ParamSpec
from ..session import Session
from ..session.commands import Command, Probe, SetBrush, SetSelecting, SetSelectTool, SetTool
from ..session.row_selection import SelectSettings
from ..session.tool import Brush, gestures
from .action_table import SELECT_KEYS, TOOL_KEYS
from .controls import edit_row
from .docks import Rect
from .rows import color, flat_button, scale
from .theme import ACCENT, CLEAR, DIM, FILL, TEXT
from .windows import MARGIN, overlay

BUTTON = 30.0  # all in logical pixels
WIDTH = 206.0  # of the palette while a tool is held
NEEDED = 300.0, 200.0  # width and height of a viewport that has room for it
LINE = 1.6  # of the circle
TOOLS: dict[Gesture, tuple[str, str]] = {  # icon, and what it does
    Gesture.DRAG: (icons.ICON_FA_HAND, "pull what is inside the brush"),
    Gesture.EMIT: (icons.ICON_FA_DROPLET, "emit more at the cursor"),
    Gesture.CUT: (icons.ICON_FA_SCISSORS, "cut along the path of the cursor"),
    Gesture.PAINT: (icons.ICON_FA_PAINTBRUSH, "paint the field inside the brush"),
}
SELECTING: dict[str, tuple[str, str]] = {
    "box": (icons.ICON_FA_VECTOR_SQUARE, "drag a box"),
    "lasso": (icons.ICON_FA_DRAW_POLYGON, "draw around rows"),
    "brush": (icons.ICON_FA_BRUSH, "brush over rows"),
}
SELECT_HINT = "Shift: add · Ctrl: remove · Alt+drag: camera"
HINT = "Ctrl+wheel: radius · Ctrl+Shift+wheel: strength · Alt+drag: camera"
_SHADOW = ImVec4(0.0, 0.0, 0.0, 0.45)
_PALE = ImVec4(1.0, 1.0, 1.0, 0.75)


def draw_tools(session: Session, viewport: Rect) -> None:
    """At the upper left of the viewport: the tools that a model of the scene supports, those that select, the probe."""
    unit = scale()
    buttons = list(_buttons(session))
    if viewport.width < NEEDED[0] * unit or viewport.height < NEEDED[1] * unit:
        return
    with (
        imgui_ctx.push_style_var(imgui.StyleVar_.window_padding.value, ImVec2(5 * unit, 5 * unit)),
        overlay("##tools", viewport.at((0.0, 0.0), MARGIN * unit)),
    ):
        for index, button in enumerate(buttons):
            if index:
                imgui.same_line(0.0, 3 * unit)
            tints = (TEXT, FILL) if button.is_on else (DIM, CLEAR)
            if flat_button(f"{button.icon}##{button.name}", f"{button.name}: {button.does}", *tints, BUTTON * unit):
                session.post(button.command)
        if session.tool.gesture is not None or session.rows.shape is not None:
            imgui.dummy(ImVec2((WIDTH - 10) * unit, 0.0))
            _draw_settings(session)


def draw_brush_circle(session: Session, viewport: Rect, free: bool) -> None:
    """Around the mouse, while it is `free` for the viewport or a tool is in use: the radius of the brush."""
    tool, rows, mouse = session.tool, session.rows, imgui.get_mouse_pos()
    low, high = viewport.at((0.0, 0.0), 0.0), viewport.at((1.0, 1.0), 0.0)
    inside = low.x <= mouse.x < high.x and low.y <= mouse.y < high.y
    quick = imgui.get_io().key_ctrl and bool(gestures(session.stage))
    selecting = rows.shape == "brush"
    if not (tool.pressed or (free and inside and (tool.gesture is not None or selecting or quick))):
        return
    draw, unit = imgui.get_background_draw_list(), scale()
    share = rows.settings.radius if selecting else tool.brush.radius
    radius, tint = max(share * viewport.height, 2.0), ACCENT if tool.pressed else _PALE
    draw.push_clip_rect(low, high)
    draw.add_circle(mouse, radius, color(_SHADOW), 0, 2.2 * LINE * unit)
    draw.add_circle(mouse, radius, color(tint), 0, LINE * unit)
    draw.add_circle_filled(mouse, 1.8 * unit, color(tint))
    draw.pop_clip_rect()


class _Button(NamedTuple):
    icon: str
    name: str
    does: str
    is_on: bool
    command: Command


def _buttons(session: Session) -> Iterator[_Button]:
    gesture, shape = session.tool.gesture, session.rows.shape
    is_orbit = gesture is None and shape is None
    yield _Button(icons.ICON_FA_ARROWS_SPIN, "Orbit", "drag to move the camera", is_orbit, SetTool(None))
    for one in gestures(session.stage):
        icon, does = TOOLS[one]
        yield _Button(icon, f"{one.title()} ({TOOL_KEYS[one]})", f"{does}\n{HINT}", gesture == one, SetTool(one))
    if session.rows.is_possible:
        for one, (icon, does) in SELECTING.items():
            name = f"Select by {one} ({SELECT_KEYS[one]})"
            yield _Button(icon, name, f"{does}\n{SELECT_HINT}", shape == one, SetSelectTool(one))
    probing = session.hover.on
    does = "show the values under the cursor, with any tool"
    yield _Button(icons.ICON_FA_EYE_DROPPER, "Probe (I)", does, probing, Probe(not probing))


def _draw_settings(session: Session) -> None:
    if session.tool.gesture is not None:
        _draw_rows(session, session.tool.brush, Brush.specs(), SetBrush)
    else:
        specs = [spec for spec in SelectSettings.specs() if spec.name != "radius" or session.rows.shape == "brush"]
        _draw_rows(session, session.rows.settings, specs, SetSelecting)


def _draw_rows(
    session: Session, values: Params, specs: Iterable[ParamSpec], set_value: Callable[[str, Any], Command]
) -> None:
    for spec in specs:
        edited = edit_row(spec.label, spec.doc, spec, None, getattr(values, spec.name))
        if edited.changed:
            session.post(set_value(spec.name, edited.value))

"""The tools that act on the models: a palette over the viewport, and the circle of the brush."""

from __future__ import annotations

from imgui_bundle import ImVec2, ImVec4, imgui, imgui_ctx
from imgui_bundle import icons_fontawesome_6 as icons

from ..models.interaction import Gesture
from ..session import Session
from ..session.commands import SetBrush, SetTool
from ..session.tool import Brush, gestures
from .action_table import TOOL_KEYS
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
HINT = "Ctrl+wheel: radius · Ctrl+Shift+wheel: strength · Alt+drag: camera"
_SHADOW = ImVec4(0.0, 0.0, 0.0, 0.45)
_PALE = ImVec4(1.0, 1.0, 1.0, 0.75)


def draw_tools(session: Session, viewport: Rect) -> None:
    """At the upper left of the viewport: the tools that some model of the scene supports."""
    known, unit = gestures(session.stage), scale()
    if not known or viewport.width < NEEDED[0] * unit or viewport.height < NEEDED[1] * unit:
        return
    with (
        imgui_ctx.push_style_var(imgui.StyleVar_.window_padding.value, ImVec2(5 * unit, 5 * unit)),
        overlay("##tools", viewport.at((0.0, 0.0), MARGIN * unit)),
    ):
        for index, gesture in enumerate((None, *known)):
            if index:
                imgui.same_line(0.0, 3 * unit)
            _draw_button(session, gesture)
        if session.tool.gesture is not None:
            imgui.dummy(ImVec2((WIDTH - 10) * unit, 0.0))
            _draw_brush_settings(session)


def draw_brush_circle(session: Session, viewport: Rect, free: bool) -> None:
    """Around the mouse, while it is `free` for the viewport or a tool is in use: the radius of the brush."""
    tool, mouse = session.tool, imgui.get_mouse_pos()
    low, high = viewport.at((0.0, 0.0), 0.0), viewport.at((1.0, 1.0), 0.0)
    inside = low.x <= mouse.x < high.x and low.y <= mouse.y < high.y
    quick = imgui.get_io().key_ctrl and bool(gestures(session.stage))
    if not (tool.pressed or (free and inside and (tool.gesture is not None or quick))):
        return
    draw, unit = imgui.get_background_draw_list(), scale()
    radius, tint = max(tool.brush.radius * viewport.height, 2.0), ACCENT if tool.pressed else _PALE
    draw.push_clip_rect(low, high)
    draw.add_circle(mouse, radius, color(_SHADOW), 0, 2.2 * LINE * unit)
    draw.add_circle(mouse, radius, color(tint), 0, LINE * unit)
    draw.add_circle_filled(mouse, 1.8 * unit, color(tint))
    draw.pop_clip_rect()


def _draw_button(session: Session, gesture: Gesture | None) -> None:
    if gesture is None:
        icon, name, tooltip = icons.ICON_FA_ARROWS_SPIN, "Orbit", "Orbit: drag to move the camera"
    else:
        name = f"{gesture.title()} ({TOOL_KEYS[gesture]})"
        icon, tooltip = TOOLS[gesture][0], f"{name}: {TOOLS[gesture][1]}\n{HINT}"
    tints = (TEXT, FILL) if session.tool.gesture == gesture else (DIM, CLEAR)
    if flat_button(f"{icon}##{name}", tooltip, *tints, BUTTON * scale()):
        session.post(SetTool(gesture))


def _draw_brush_settings(session: Session) -> None:
    brush = session.tool.brush
    for spec in Brush.specs():
        edited = edit_row(spec.label, spec.doc, spec, None, getattr(brush, spec.name))
        if edited.changed:
            session.post(SetBrush(spec.name, edited.value))

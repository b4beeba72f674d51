"""The tools that act on the models: a palette over the viewport, and the circle of the brush."""

from __future__ import annotations

from imgui_bundle import ImVec2, ImVec4, imgui
from imgui_bundle import icons_fontawesome_6 as icons

from ..models.interaction import Gesture
from ..session import Session
from ..session.commands import SetBrush, SetTool
from ..session.tool import Brush, gestures
from .docks import Rect
from .overlay import overlay
from .rows import color, labeled, scale
from .theme import ACCENT, CLEAR, DIM, FILL, TEXT
from .widgets import edit

MARGIN = 12.0  # all in logical pixels
BUTTON = 30.0
WIDTH = 206.0  # of the palette while a tool is held
NEEDED = 300.0, 200.0  # width and height of a viewport that has room for it
LINE = 1.6  # of the circle
TOOLS: dict[Gesture | None, tuple[str, str, str]] = {  # icon, name and key, what it does
    None: (icons.ICON_FA_ARROWS_SPIN, "Orbit", "drag to move the camera"),
    Gesture.DRAG: (icons.ICON_FA_HAND, "Drag (D)", "pull what is inside the brush"),
    Gesture.EMIT: (icons.ICON_FA_DROPLET, "Emit (E)", "emit more at the cursor"),
    Gesture.CUT: (icons.ICON_FA_SCISSORS, "Cut (C)", "cut along the path of the cursor"),
    Gesture.PAINT: (icons.ICON_FA_PAINTBRUSH, "Paint (P)", "paint the field inside the brush"),
}
HINT = "Ctrl+wheel: radius · Ctrl+Shift+wheel: strength · Alt+drag: camera"
_SHADOW = ImVec4(0.0, 0.0, 0.0, 0.45)
_PALE = ImVec4(1.0, 1.0, 1.0, 0.75)


def draw_tools(session: Session, viewport: Rect) -> None:
    """At the upper left of the viewport: the tools that some model of the scene supports."""
    known, unit = gestures(session.stage), scale()
    if not known or viewport.width < NEEDED[0] * unit or viewport.height < NEEDED[1] * unit:
        return
    imgui.push_style_var(imgui.StyleVar_.window_padding.value, ImVec2(5 * unit, 5 * unit))
    with overlay("##tools", ImVec2(viewport.left + MARGIN * unit, viewport.top + MARGIN * unit)):
        for index, gesture in enumerate((None, *known)):
            if index:
                imgui.same_line(0.0, 3 * unit)
            _draw_button(session, gesture)
        if session.tool.gesture is not None:
            imgui.dummy(ImVec2((WIDTH - 10) * unit, 0.0))
            _draw_brush_settings(session)
    imgui.pop_style_var()


def draw_brush_circle(session: Session, viewport: Rect, free: bool) -> None:
    """Around the mouse, while it is `free` for the viewport or a tool is in use: the radius of the brush."""
    tool, mouse = session.tool, imgui.get_mouse_pos()
    inside = viewport.left <= mouse.x < viewport.left + viewport.width
    inside = inside and viewport.top <= mouse.y < viewport.top + viewport.height
    quick = imgui.get_io().key_ctrl and bool(gestures(session.stage))
    if not (tool.pressed or (free and inside and (tool.gesture is not None or quick))):
        return
    draw, unit = imgui.get_background_draw_list(), scale()
    radius, tint = max(tool.brush.radius * viewport.height, 2.0), ACCENT if tool.pressed else _PALE
    draw.push_clip_rect(
        ImVec2(viewport.left, viewport.top), ImVec2(viewport.left + viewport.width, viewport.top + viewport.height)
    )
    draw.add_circle(mouse, radius, color(_SHADOW), 0, 2.2 * LINE * unit)
    draw.add_circle(mouse, radius, color(tint), 0, LINE * unit)
    draw.add_circle_filled(mouse, 1.8 * unit, color(tint))
    draw.pop_clip_rect()


def _draw_button(session: Session, gesture: Gesture | None) -> None:
    icon, name, does = TOOLS[gesture]
    held = session.tool.gesture == gesture
    imgui.push_style_color(imgui.Col_.button.value, FILL if held else CLEAR)
    imgui.push_style_color(imgui.Col_.text.value, TEXT if held else DIM)
    if imgui.button(f"{icon}##{name}", ImVec2(BUTTON * scale(), BUTTON * scale())):
        session.post(SetTool(gesture))
    imgui.pop_style_color(2)
    imgui.set_item_tooltip(f"{name}: {does}" + (f"\n{HINT}" if gesture is not None else ""))


def _draw_brush_settings(session: Session) -> None:
    brush = session.tool.brush
    for spec in Brush.specs():
        imgui.push_id(spec.name)
        with labeled(spec.label, spec.doc):
            edited = edit(spec, None, getattr(brush, spec.name))
        imgui.pop_id()
        if edited.changed:
            session.post(SetBrush(spec.name, edited.value))

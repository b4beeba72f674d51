"""The buttons that choose in which form a tensor inside a model is drawn."""

from __future__ import annotations

from imgui_bundle import icons_fontawesome_6 as icons
from imgui_bundle import imgui

from ..renderer.layers.tensor import TensorLayer
from ..renderer.layers.tensor_shapes import default_form, objection
from ..session import Session
from ..session.commands import SetParameter
from .rows import icon_button, scale
from .theme import ACCENT, DIM, TEXT

FORMS = {
    "image": (icons.ICON_FA_IMAGE, "an image, its channels side by side"),
    "bars": (icons.ICON_FA_CHART_COLUMN, "bars"),
    "points": (
        icons.ICON_FA_BRAILLE,
        "points: a row begins with coordinates and ends with the color",
    ),
    "surface": (icons.ICON_FA_MOUNTAIN, "a surface, whose height is the value"),
    "lines": (icons.ICON_FA_BEZIER_CURVE, "lines"),
    "volume": (icons.ICON_FA_CUBE, "a volume"),
}


def draw_forms(session: Session, layer: str, shape: tuple[int, ...]) -> None:
    """A button for each form; those that do not fit the shape are disabled, and say why."""
    running = session.stage.layers.get(layer)
    if not isinstance(running, TensorLayer):
        return
    now = default_form(shape) if running.style.draw == "auto" else running.style.draw
    imgui.align_text_to_frame_padding()
    imgui.text_colored(DIM, "draw as")
    for form, (icon, text) in FORMS.items():
        imgui.same_line(0.0, 4.0 * scale())
        why_not = objection(form, shape)
        tint = ACCENT if form == now else TEXT
        if icon_button(f"{icon}###draw {form}", why_not or f"draw it as {text}", not why_not, tint) and form != now:
            session.post(SetParameter(f"layers.{layer}", "draw", form))

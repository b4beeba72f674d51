"""The buttons that choose in which form a tensor inside a model is drawn."""

from __future__ import annotations

from collections.abc import Sequence

from imgui_bundle import icons_fontawesome_6 as icons
from imgui_bundle import imgui

from ..renderer.layers.tensor import TensorLayer
from ..renderer.layers.tensor_shapes import default_form, objection
from ..session import Session
from ..session.commands import SetParameters
from ..session.parameters import Key
from .rows import icon_button, scale
from .tables import width
from .theme import ACCENT, DIM, TEXT

LABEL = "draw as"
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


def draw_forms(session: Session, layers: Sequence[str], shape: tuple[int, ...]) -> None:
    """A button for each form of these layers of tensors; those that do not fit the shape are disabled, and say why."""
    running = [session.stage.layers.get(layer) for layer in layers]
    first = running[0] if running else None
    if not isinstance(first, TensorLayer):
        return
    now = default_form(shape) if first.style.draw == "auto" else first.style.draw
    gap, side = 4.0 * scale(), imgui.get_frame_height()
    if imgui.get_content_region_avail().x >= width(LABEL) + len(FORMS) * (gap + side):
        imgui.align_text_to_frame_padding()
        imgui.text_colored(DIM, LABEL)
        imgui.same_line(0.0, gap)
    for number, (form, (icon, text)) in enumerate(FORMS.items()):
        if number:
            imgui.same_line(0.0, gap)
        why_not = objection(form, shape)
        tint = ACCENT if form == now else TEXT
        if icon_button(f"{icon}###draw {form}", why_not or f"draw it as {text}", not why_not, tint) and form != now:
            session.post(SetParameters({Key(f"layers.{layer}", "draw"): form for layer in layers}, f"draw as {form}"))

"""The names of the tensors inside models that are drawn, below them in the viewport."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from imgui_bundle import ImVec2, imgui

from ..renderer.layers.tensor import TensorLayer
from ..scene.inside import MINUS, TENSOR
from ..scene.schema import OutputRef
from ..session import Session
from ..session.row_set import pixels_of
from ..session.shown_tensors import GRAPH
from .docks import Rect
from .rows import color, fitted_end, scale
from .tables import width
from .theme import ACCENT, DIM

BELOW = 6.0  # a tensor, in logical pixels
NARROWEST = 48.0  # caption, in logical pixels


class Caption(NamedTuple):
    """A tensor, such as "net:attn" or "net:attn − old", the pixel at its top, and how wide it may be in pixels."""

    text: str
    chosen: bool
    pixel: tuple[float, float]
    room: float


def draw_captions(session: Session, viewport: Rect) -> None:
    """Write the name of each tensor below it, as far as it fits."""
    draw = imgui.get_background_draw_list()
    draw.push_clip_rect(viewport.at((0.0, 0.0), 0.0), viewport.at((1.0, 1.0), 0.0))
    for one in captions(session, (viewport.width, viewport.height)):
        text = fitted_end(one.text, max(one.room, NARROWEST * scale()))
        x, y = viewport.left + one.pixel[0] - 0.5 * width(text), viewport.top + one.pixel[1] + BELOW * scale()
        draw.add_text(ImVec2(x, y), color(ACCENT if one.chosen else DIM), text)
    draw.pop_clip_rect()


def captions(session: Session, size: tuple[float, float]) -> Iterator[Caption]:
    """Those of tensors in front of the camera, in a viewport of `size`."""
    for name, spec in session.scene_edits.extras.tensors.items():
        layer, ref, minus = session.stage.layers.get(name), spec.attributes[TENSOR], spec.attributes.get(MINUS)
        if not isinstance(layer, TensorLayer) or layer.form is None or not isinstance(ref, OutputRef):
            continue
        if ref.output in GRAPH:
            continue
        style = layer.style
        low = np.array(style.center) - (0.0, layer.form.half_height(style), 0.0)
        ends = low + 0.5 * style.size * np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
        pixels, is_before = pixels_of(ends, session.camera, size)
        if is_before.all():
            x, y = pixels[1].tolist()
            text = ref.text + (f" − {minus.model}" if isinstance(minus, OutputRef) else "")
            chosen = session.tensor_statistics.chosen == (ref.model, ref.output) and minus is None
            yield Caption(text, chosen, (x, y), float(np.linalg.norm(pixels[2] - pixels[0])))

"""The two images of a comparison: where they are, and what is written over them."""

from __future__ import annotations

from imgui_bundle import icons_fontawesome_6 as icons
from imgui_bundle import imgui

from ..session import Session
from ..session.commands import StopComparing
from ..session.comparison import GAP
from .docks import Rect
from .rows import fitted, flat_button, scale
from .theme import TEXT
from .windows import MARGIN, overlay


def scene_panes(session: Session, viewport: Rect) -> tuple[Rect, ...]:
    """The parts of the viewport for the image of the scene and, while it is compared, for the other one."""
    if session.comparison is None:
        return (viewport,)
    (left, height), (right, _) = session.comparison.panes((viewport.width, viewport.height))
    return (
        Rect(viewport.left, viewport.top, left, height),
        Rect(viewport.left + left + GAP, viewport.top, right, height),
    )


def draw_comparison(session: Session, panes: tuple[Rect, ...]) -> None:
    """Over each image what runs there, and over the right one the button that ends it."""
    if session.comparison is None:
        return
    margin, button = MARGIN * scale(), imgui.get_frame_height()
    for index, (pane, label) in enumerate(zip(panes, session.comparison.labels, strict=True)):
        room = pane.width - 4 * margin - (button if index else 0.0)
        if room <= 0:
            continue
        with overlay(f"##run {index}", pane.at((0.5, 0.0), margin), (0.5, 0.0)):
            imgui.align_text_to_frame_padding()
            imgui.text_colored(TEXT, fitted(label, room))
            if index:
                imgui.same_line()
                if flat_button(f"{icons.ICON_FA_XMARK}##stop comparing", "end this run; the left one goes on"):
                    session.post(StopComparing())

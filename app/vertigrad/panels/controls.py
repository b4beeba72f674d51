"""Labeled controls for several panels: sliders, checkboxes, and the widgets of parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from imgui_bundle import ImVec2, imgui, imgui_ctx
from imgui_bundle import icons_fontawesome_6 as icons

from ..params import ParamSpec
from ..scene import UiHint
from ..session import Session
from ..session.commands import Command
from .rows import explain, labeled
from .slider import slide_number
from .widgets import Edit, edit

T = TypeVar("T")
SEARCH = f"{icons.ICON_FA_MAGNIFYING_GLASS}  search"


def slider_row(
    label: str, tooltip: str, value: float, ends: tuple[float, float], text: str, log: bool = False
) -> float | None:
    """A row with a slider; the value that was chosen in this frame, if any. `text` writes it, as in C's printf."""
    with imgui_ctx.push_id(label), labeled(label, tooltip):
        changed, value = slide_number(value, ends, text, log)
    return value if changed else None


def checkbox_row(label: str, tooltip: str, on: bool) -> bool | None:
    """A row with a checkbox; whether it was turned on or off in this frame, if it was."""
    with labeled(label, tooltip):
        changed, on = imgui.checkbox(f"##{label}", on)
    return on if changed else None


def checkbox(label: str, tooltip: str, on: bool) -> bool | None:
    """A checkbox before its label; whether it was turned on or off in this frame, if it was."""
    changed, on = imgui.checkbox(label, on)
    explain(tooltip)
    return on if changed else None


def post_change(session: Session, value: T | None, command: Callable[[T], Command]) -> None:
    """Post the command for the value that one of these rows returned, if it was changed in this frame."""
    if value is not None:
        session.post(command(value))


def edit_row(label: str, tooltip: str, spec: ParamSpec, hint: UiHint | None, value: Any, room: float = 0.0) -> Edit:
    """A row with the widget of a parameter."""
    with imgui_ctx.push_id(label), labeled(label, tooltip, room):
        return edit(spec, hint, value)


def search_field(
    text: str, width: float, hint: str = SEARCH, flags: imgui.InputTextFlags_ = imgui.InputTextFlags_.none
) -> tuple[str, bool]:
    """A search field, `width` pixels wide if there is room, or all but so many: its text, and whether it changed."""
    imgui.set_next_item_width(min(width, imgui.get_content_region_avail().x))
    changed, text = imgui.input_text_with_hint("##search", hint, text, flags)
    return text, changed


def name_field(hint: str, typed: str, tooltip: str) -> tuple[str, str]:
    """A field for a new name, and a button; what is typed, and the name in the frame in which it is chosen."""
    side, gap = imgui.get_frame_height(), imgui.get_style().item_inner_spacing.x
    imgui.set_next_item_width(imgui.get_content_region_avail().x - side - gap)
    flags = imgui.InputTextFlags_.enter_returns_true.value
    entered, typed = imgui.input_text_with_hint("##name", hint, typed, flags)
    imgui.same_line(0.0, gap)
    pressed = imgui.button(f"{icons.ICON_FA_PLUS}##add", ImVec2(side, 0.0))
    imgui.set_item_tooltip(tooltip)
    return ("", typed.strip()) if (entered or pressed) and typed.strip() else (typed, "")

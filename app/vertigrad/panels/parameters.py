"""`ParametersPanel`: every parameter of the scene's models and layers, from their own declarations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from imgui_bundle import imgui

from ..params import ParamSpec
from ..scene import UiHint
from ..session import Session
from ..session.commands import SetParameter
from .base import Panel
from .widgets import edit


class ParametersPanel(Panel):
    """A widget for each parameter. One that makes its model anew is set when the mouse lets go, all others at once."""

    title = "Parameters"

    def __init__(self) -> None:
        self._editing: dict[tuple[str, str], Any] = {}

    def draw(self, session: Session) -> None:
        imgui.push_item_width(imgui.get_content_region_avail().x * 0.55)
        for owner, params in session.parameters().items():
            opened = imgui.TreeNodeFlags_.default_open if owner.startswith("models.") else imgui.TreeNodeFlags_.none
            if imgui.collapsing_header(owner.partition(".")[2] or owner, opened.value):
                imgui.push_id(owner)
                hints = session.hints(owner)
                for spec in params.specs():
                    self._draw_one(session, owner, spec, hints, getattr(params, spec.name))
                imgui.pop_id()
        imgui.pop_item_width()

    def _draw_one(
        self, session: Session, owner: str, spec: ParamSpec, hints: Mapping[str, UiHint], current: Any
    ) -> None:
        key = (owner, spec.name)
        if current is None:
            return
        changed, value = edit(spec, hints.get(spec.name), self._editing.get(key, current))
        if not spec.rebuild:
            if changed:
                session.post(SetParameter(owner, spec.name, value))
            return
        if changed:
            self._editing[key] = value
        if key in self._editing and not imgui.is_item_active():
            session.post(SetParameter(owner, spec.name, self._editing.pop(key)))

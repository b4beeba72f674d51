"""`ParametersPanel`: every parameter of the scene's models, layers and view, from their own declarations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from imgui_bundle import imgui

from .. import resources
from ..params import Params, ParamSpec
from ..scene import Scene, UiHint
from ..session import Session
from ..session.commands import SetParameter
from .base import Panel
from .rows import changed_mark, labelled, section
from .widgets import edit, explanation, written


class ParametersPanel(Panel):
    """A row for each parameter, with a dot where the value is no longer the scene's; a click on the dot puts it back.

    A value is set while a slider moves. One that makes its model anew waits until the mouse lets go, and one that is
    typed until Enter is pressed or the field is left.
    """

    title = "Parameters"

    def __init__(self) -> None:
        self._scene: Scene | None = None
        self._pending: dict[tuple[str, str], Any] = {}
        self._room = 0.0  # width of the widest label

    def draw(self, session: Session) -> None:
        if session.scene is not self._scene:
            self._scene, self._pending = session.scene, {}
        originals, self._room = session.originals(), _widest_label(session)
        for owner, params in session.parameters().items():
            kind, _, name = owner.partition(".")
            if section(f"{name or kind}##{owner}", _type(session.scene, kind, name), opened=kind == "models"):
                imgui.push_id(owner)
                self._draw_all(session, owner, params, originals[owner])
                imgui.pop_id()

    def _draw_all(self, session: Session, owner: str, params: Params, original: Params) -> None:
        hints: Mapping[str, UiHint] = session.hints(owner)
        for spec in params.specs():
            imgui.push_id(spec.name)
            self._draw_one(session, owner, spec, hints.get(spec.name), getattr(original, spec.name))
            imgui.pop_id()

    def _draw_one(self, session: Session, owner: str, spec: ParamSpec, hint: UiHint | None, original: Any) -> None:
        key, folder = (owner, spec.name), session.scene.path.parent
        current = getattr(session.parameters()[owner], spec.name)
        if changed_mark(current != original, f"{written(original)} in the scene; click to put it back"):
            session.post(SetParameter(owner, spec.name, original))
        with labelled(_label(spec, hint), explanation(spec), self._room):
            shown = _named(current, folder) if spec.kind == "file" else current
            edited = edit(spec, hint, self._pending.get(key, shown))
        if edited.changed:
            self._pending[key] = edited.value
        waits = edited.active and (spec.rebuild or imgui.get_io().want_text_input)
        if key in self._pending and not waits:
            value = self._pending.pop(key)
            if value != shown:
                session.post(SetParameter(owner, spec.name, value))


def _label(spec: ParamSpec, hint: UiHint | None) -> str:
    return (hint.label if hint else None) or spec.label


def _widest_label(session: Session) -> float:
    labels = (
        _label(spec, session.hints(owner).get(spec.name))
        for owner, params in session.parameters().items()
        for spec in params.specs()
    )
    return max(imgui.calc_text_size(label).x for label in labels)


def _type(scene: Scene, kind: str, name: str) -> str:
    match kind:
        case "models":
            return scene.models[name].type
        case "layers":
            return scene.layers[name].type
    return ""


def _named(file: Path | None, folder: Path) -> str | None:
    """What a scene in `folder` calls a file."""
    for base, prefix in ((resources.root() / "assets", "assets/"), (folder.resolve(), "")):
        if file is not None and file.is_relative_to(base):
            return prefix + file.relative_to(base).as_posix()
    return None if file is None else file.as_posix()

"""`PacingRows`: frame pacing, rewind memory, and seeds and substeps of the models."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from imgui_bundle import imgui

from ..params import ParamSpec
from ..scene import UiHint
from ..scene.model_instance import ModelInstance
from ..scene.schema import ModelSettings
from ..session import Session
from ..session.commands import Command, SetPacing, SetRewindMemory, SetSeed, SetSubsteps
from .controls import edit_row
from .rows import fact
from .widgets import explanation

LABELS = {
    "frames_in_flight": "frames in flight",
    "fps_limit": "FPS limit",
    "unfocused_fps_limit": "FPS limit in background",
    "steps": "steps per frame",
    "budget": "GPU budget",
}
HINTS = {"steps": UiHint(max=64), "substeps": UiHint(max=64)}
SETTINGS = {spec.name: spec for spec in ModelSettings.specs()}
REWIND_MEMORY = ParamSpec(
    name="rewind_memory",
    kind="number",
    min=0.0,
    max=1e6,
    slider_max=2048.0,
    unit="MB",
    doc="memory for stepping back in time; 0: none",
)


class PacingRows:
    """Rows for frame pacing. What is typed is taken when Enter is pressed or the field is left."""

    def __init__(self) -> None:
        self._typed: dict[str, Any] = {}
        self._tooltips: dict[str, str] = {}  # tooltips, by parameter

    def draw(self, session: Session) -> None:
        """Draw the rows."""
        room = max(imgui.calc_text_size(label).x for label in LABELS.values())
        for spec in session.pacing.specs():
            value, command = getattr(session.pacing, spec.name), partial(SetPacing, spec.name)
            self._row(session, LABELS.get(spec.name, spec.label), spec, value, command, room)
        megabytes = session.clock.rewind.snapshots.limit / (1 << 20)
        self._row(session, "rewind memory", REWIND_MEMORY, megabytes, _set_rewind_memory, room)
        for name, instance in _stepping(session).items():
            label, command = _of(session, name, "substeps"), lambda value, name=name: SetSubsteps(name, value)
            self._row(session, label, SETTINGS["substeps"], instance.substeps, command, room)
        pacer = session.clock.pacer
        if pacer.slices and pacer.step_ms:
            fact("step time", f"{pacer.step_ms:.0f} ms, spread over several frames")

    def draw_seeds(self, session: Session) -> None:
        """Draw a row for the seed of each model."""
        for name, instance in _stepping(session).items():
            model = name if len(session.stage.instances) > 1 else None
            command = partial(SetSeed, model=model)
            self._row(session, _of(session, name, "seed"), SETTINGS["seed"], instance.spec.seed, command)

    def _row(
        self,
        session: Session,
        label: str,
        spec: ParamSpec,
        value: Any,
        command: Callable[[Any], Command],
        room: float = 0.0,
    ) -> None:
        if spec.name not in self._tooltips:
            self._tooltips[spec.name] = explanation(spec)
        hint, shown = HINTS.get(spec.name), self._typed.get(label, value)
        edited = edit_row(label, self._tooltips[spec.name], spec, hint, shown, room)
        if edited.changed:
            self._typed[label] = edited.value
        typing = edited.active and imgui.get_io().want_text_input
        if label in self._typed and not typing:
            chosen = self._typed.pop(label)
            if chosen != value:
                session.post(command(chosen))


def _stepping(session: Session) -> dict[str, ModelInstance]:
    """The models with steps: those of a script's arrays have neither seed nor substeps."""
    return {name: instance for name, instance in session.stage.instances.items() if instance.model.has_steps}


def _of(session: Session, model: str, setting: str) -> str:
    return f"{model}: {setting}" if len(_stepping(session)) > 1 else setting


def _set_rewind_memory(megabytes: float) -> Command:
    return SetRewindMemory(round(megabytes * (1 << 20)))

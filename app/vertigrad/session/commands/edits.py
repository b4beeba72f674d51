"""Commands that change what a scene file contains: parameters, seeds, presets; and their history."""

from __future__ import annotations

from typing import Any

from ...errors import ParameterError
from ...scene import Animation
from ..command import command, command_of
from ..parameters import MODELS, Key
from ..scene_edits import SceneEdits
from ..session import Session

_edits = command_of("parameters", lambda session: session.scene_edits)
SetParameters = _edits(SceneEdits.change)
Randomize = _edits(SceneEdits.randomize)
SwitchSide = _edits(SceneEdits.switch_side)


@command("{owner}.{name}")
def SetParameter(session: Session, owner: str, name: str, value: Any, stroke: int | None = None) -> None:
    """Set a parameter; `owner` as in `Session.parameters`. A file is named as in the scene file.

    All that come with one `stroke`, such as the drag of a slider, are undone together.
    """
    session.scene_edits.change({Key(owner, name): value}, name.replace("_", " "), stroke=stroke)


@command("parameters")
def ResetParameters(session: Session, keys: tuple[Key, ...] = ()) -> None:
    """Reset parameters to the values of the scene; all of them if none are named."""
    session.scene_edits.reset(keys or tuple(session.scene_edits.values()))


@command("{owner}.{name}")
def Animate(session: Session, owner: str, name: str, animation: Animation | None, stroke: int | None = None) -> None:
    """Animate a parameter, or change its animation; None stops it."""
    session.scene_edits.animate(Key(owner, name), animation, stroke)


@command("models.{model}.substeps")
def SetSubsteps(session: Session, model: str, substeps: int) -> None:
    """Set the number of a model's steps per frame."""
    session.scene_edits.change({_setting(session, model, "substeps"): substeps}, f"substeps of {model}")


@command("seed")
def SetSeed(session: Session, seed: int, model: str | None = None) -> None:
    """Reset all models, with another seed for one of them or all."""
    models = list(session.stage.instances) if model is None else [model]
    session.scene_edits.change({_setting(session, name, "seed"): seed for name in models}, "seed")
    session.running.reset()


@command("presets")
def SavePreset(session: Session, name: str) -> None:
    """Save the values that differ from the scene under the name of a preset, or a new name."""
    edits = session.scene_edits
    edits.change_extras(edits.extras.with_preset(name, edits.differing()), f"save preset {name}")


@command("presets")
def UpdatePreset(session: Session, name: str) -> None:
    """Set a preset to the current values of its parameters, and of those that differ from the scene."""
    edits = session.scene_edits
    preset, now = edits.extras.preset(name), edits.values()
    values = {key: now[key] for key in preset.values if key in now} | edits.differing()
    edits.change_extras(edits.extras.with_preset(name, values), f"update preset {name}")


@command("presets")
def ApplyPreset(session: Session, name: str) -> None:
    """Set the values of a preset."""
    session.scene_edits.change(session.scene_edits.extras.preset(name).values, f"preset {name}")


@command("presets")
def RenamePreset(session: Session, name: str, other: str) -> None:
    """Rename a preset."""
    session.scene_edits.change_extras(session.scene_edits.extras.renamed(name, other), f"rename preset {name}")


@command("presets")
def DeletePreset(session: Session, name: str) -> None:
    """Delete a preset."""
    session.scene_edits.change_extras(session.scene_edits.extras.without_preset(name), f"delete preset {name}")


@command("history")
def Undo(session: Session) -> None:
    """Undo the last change of parameters, seeds, substeps, presets, animations, bookmarks or keyframes."""
    session.report("undo", session.scene_edits.undo())


@command("history")
def Redo(session: Session) -> None:
    """Redo the step that was undone last."""
    session.report("undo", session.scene_edits.redo())


def _setting(session: Session, model: str, name: str) -> Key:
    if model not in session.stage.instances:
        raise ParameterError(f"there is no model {model!r}")
    return Key(f"{MODELS}{model}", name)

"""Commands about the runs of a sweep."""

from __future__ import annotations

from pathlib import Path

from ...errors import InputError
from ...scene import load
from ...scene.settings import path_in
from .. import saving
from ..command import command
from ..parameters import file_values, key_at
from ..running import SceneSource
from ..session import Session


@command("scene")
def OpenRun(session: Session, path: Path, sets: tuple[str, ...], seed: int | None, discard: bool = False) -> None:
    """Show a run of a sweep from its start: the scene at `path` with the settings and the seed of the run.

    If another scene is open, and unsaved changes would be lost, ask first, unless they are to be discarded. In the same
    scene presets stay, and Undo restores changed parameters.
    """
    source = SceneSource(path.absolute(), sets, seed)
    if (
        discard
        or source.same_file_as(session.source)
        or not saving.ask_before(session, OpenRun(path, sets, seed, discard=True))
    ):
        session.open(source)


@command("scene")
def CompareRuns(
    session: Session,
    path: Path,
    left: tuple[tuple[str, ...], int | None],
    right: tuple[tuple[str, ...], int | None],
    labels: tuple[str, str] = ("", ""),
    discard: bool = False,
) -> None:
    """Show two runs of a sweep side by side, from their start: settings and seed of each, and what to call it.

    The left one becomes the open scene; if another one is open, as `OpenRun`.
    """
    source = SceneSource(path.absolute(), *left)
    if (
        discard
        or source.same_file_as(session.source)
        or not saving.ask_before(session, CompareRuns(path, left, right, labels, discard=True))
    ):
        session.compare(source, SceneSource(path.absolute(), *right), labels)


@command("scene")
def StopComparing(session: Session) -> None:
    """End the run at the right of a comparison."""
    session.stop_comparing()


@command("presets")
def SaveRunAsPreset(session: Session, name: str, sets: tuple[str, ...]) -> None:
    """Save the parameters of a run under the name of a preset of the open scene, which must be that of the run."""
    scene = load(session.source.path, sets=sets)
    values = file_values(scene)
    chosen = {key_at(path): values.get(key_at(path)) for text in sets if (path := path_in(scene, text))}
    unsaved = [".".join(map(str, key.path)) for key in chosen if key not in session.scene_edits.values()]
    if unsaved:
        raise InputError(f"a preset has parameters only, not {', '.join(unsaved)}")
    edits = session.scene_edits
    edits.change_extras(edits.extras.with_preset(name, chosen), f"save preset {name}")

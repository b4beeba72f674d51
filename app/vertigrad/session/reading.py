"""What a session does with files: opens a scene, reads it again, takes over what changed in it and in its models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UntrustedCode
from ..scene import Scene, load, trust
from ..scene.change import merged
from ..scene.stage import Stage
from .saving import Question

if TYPE_CHECKING:
    from .commands import Command
    from .session import Session


@dataclass(frozen=True)
class Origin:
    """Where a scene is read from, and what the command line says of it; `sets` hold only for this file."""

    path: Path
    sets: tuple[str, ...] = ()
    seed: int | None = None

    def read(self, session: Session) -> Scene:
        """The scene as its file is now, sized for the adapter. Raises as `load`."""
        return session.sizes.settled(load(self.path, sets=self.sets, seed=self.seed))

    def elsewhere(self, path: Path | None) -> Origin:
        """The same for another file, which the settings of this one are not for."""
        return self if path is None or path == self.path else replace(self, path=path, sets=())


@dataclass(frozen=True)
class Allow:
    """A command: the user lets these Python files run, now and later; then what waited for that is done."""

    files: tuple[Path, ...]
    then: Command

    topic = "scene"

    def apply(self, session: Session) -> None:
        """Carry it out."""
        trust.allow(self.files, remember=True)
        session.post(self.then)


def ask_to_run(session: Session, error: UntrustedCode, command: Command) -> None:
    """Let the user decide whether a scene's Python may run; `command` waits for that."""
    session.question = Question("code", f"{error}.", Allow(error.files, command))


def open_anew(session: Session, path: Path | None) -> None:
    """Build the scene of `path`, or the one that runs, from the start, in the place of what runs.

    Raises what reading and building raise; what runs stays then.
    """
    values, origin = session.tweaks.values(), session.origin.elsewhere(path)
    other = origin.path != session.origin.path
    scene = origin.read(session)
    stage = Stage(scene, session.gpu)
    session.diagnostics.clear()
    session.watches.forget()
    session.inspector.clear()
    session.messages.clear()
    session.stage.close()
    before = session.scene
    session.scene, session.stage, session.origin = scene, stage, origin
    session.view = scene.view.model_copy()
    session.selection.clear()
    session.hand.release()
    session.clock.played = None if other else session.clock.played
    session.cameras.reopen(scene, other)
    if other:
        session.fit_camera()
    session.clock.restart(stage)
    session.changes += 1
    session.tweaks.scene_read(None if other else before, values)


def take_over(session: Session) -> None:
    """Become what the scene's file says now. Raises as `load` and `Stage.adopt`; all is as it was then."""
    scene = session.origin.read(session)
    before, view = session.scene, merged(session.view, session.scene.view, scene.view)
    if session.stage.adopt(scene):
        session.rebuilt()
    session.scene = scene
    session.view.take(view)
    session.cameras.reopen(scene, other=False)
    session.clock.stale = True
    session.tweaks.scene_read(before)


def reread(session: Session, file: Path) -> None:
    """Take in a file that models were made of and that was written anew. Raises as `take_over` and `Stage.reread`."""
    if file in session.stage.sources():
        take_over(session)
    elif session.stage.reread(file):
        session.rebuilt()
    session.clock.code_changed()


def as_it_runs(session: Session) -> Scene:
    """The scene with the parameters that its models have now."""
    actors, specs = session.stage.actors, session.stage.specs
    models: Mapping[str, Any] = {
        name: replace(specs[name], params=actors[name].params) for name in session.scene.models
    }
    return replace(session.scene, models=models)

"""Commands of the tools that act on the models."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ...models.interaction import Gesture
from ..files import new_file
from ..session import Session
from ..tool import Pixels


class SetTool(NamedTuple):
    """Select the tool that a drag in the viewport uses; None: it moves the camera."""

    tool: Gesture | None

    topic = "interaction"

    def apply(self, session: Session) -> None:
        session.tool.select(self.tool, session.stage)


class SetBrush(NamedTuple):
    """Set the radius or the strength of the brush."""

    name: str
    value: Any

    topic = "brush"

    def apply(self, session: Session) -> None:
        session.tool.brush.take(session.tool.brush.with_values({self.name: self.value}))


class BeginInteraction(NamedTuple):
    """Begin an interaction with what is visible at a pixel of a viewport of `size`; it keeps that depth as it moves.

    Ends a replay of an interaction recording.
    """

    gesture: Gesture
    cursor: Pixels
    size: tuple[int, int]

    topic = "interaction"

    def apply(self, session: Session) -> None:
        session.tool.press(self.gesture, session.stage, session.camera, self.cursor, self.size, session.view)
        session.clock.played = None


class MoveInteraction(NamedTuple):
    """Move the tool to another pixel."""

    cursor: Pixels
    size: tuple[int, int]

    topic = "interaction"

    def apply(self, session: Session) -> None:
        session.tool.move(self.cursor, self.size)


class EndInteraction(NamedTuple):
    """End the interaction."""

    topic = "interaction"

    def apply(self, session: Session) -> None:
        session.tool.release()


class SaveInteractions(NamedTuple):
    """Write the interactions since the start of the simulation to a file, to be replayed; by default to a new one."""

    path: Path | None = None

    topic = "save inputs"

    def apply(self, session: Session) -> None:
        path = self.path or new_file(f"{session.scene.path.stem}-interactions", ".jsonl")
        session.save_interactions(path)
        session.written[self.topic] = path


class PlayInteractions(NamedTuple):
    """Reset the simulation, and replay the interactions of a file.

    Without `restart` it continues from the current state, which is right before the first step.
    """

    path: Path
    restart: bool = True

    topic = "play inputs"

    def apply(self, session: Session) -> None:
        session.play_interactions(self.path)
        if self.restart:
            session.reset()
            session.clock.play(True)

"""Commands of a hand that touches the models."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ...models.touch import Gesture
from ..files import new_file
from ..hand import Pixels
from ..session import Session


class SetTool(NamedTuple):
    """A drag in the picture means this gesture from now on; None: it moves the camera."""

    tool: Gesture | None

    topic = "touch"

    def apply(self, session: Session) -> None:
        session.hand.take_up(self.tool, session.stage)


class SetBrush(NamedTuple):
    """Touch with another radius, in heights of the picture, or another strength."""

    name: str
    value: Any

    topic = "brush"

    def apply(self, session: Session) -> None:
        session.hand.brush.take(session.hand.brush.with_values({self.name: self.value}))


class Touch(NamedTuple):
    """Touch the models at a pixel of a picture of `size`: what is seen there, and then, as deep, wherever it moves.

    A record of touches that was being played ends here.
    """

    gesture: Gesture
    cursor: Pixels
    size: tuple[int, int]

    topic = "touch"

    def apply(self, session: Session) -> None:
        session.hand.press(self.gesture, session.stage, session.camera, self.cursor, self.size, session.view)
        session.clock.played = None


class MoveTouch(NamedTuple):
    """The hand is at another pixel."""

    cursor: Pixels
    size: tuple[int, int]

    topic = "touch"

    def apply(self, session: Session) -> None:
        session.hand.move(self.cursor, self.size)


class EndTouch(NamedTuple):
    """The hand lets go."""

    topic = "touch"

    def apply(self, session: Session) -> None:
        session.hand.release()


class SaveTouches(NamedTuple):
    """Write what was done by hand since the models' start, to be done again; to a new file if none is named."""

    path: Path | None = None

    topic = "save inputs"

    def apply(self, session: Session) -> None:
        path = self.path or new_file(f"{session.scene.path.stem}-touches", ".jsonl")
        session.save_touches(path)
        session.written[self.topic] = path


class PlayTouches(NamedTuple):
    """All models begin again, and what a file says is done to them.

    Without `restart` they go on from where they are, which is right before their first step.
    """

    path: Path
    restart: bool = True

    topic = "play inputs"

    def apply(self, session: Session) -> None:
        session.play_touches(self.path)
        if self.restart:
            session.reset()
            session.clock.play(True)

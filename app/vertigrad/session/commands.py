"""What may be asked of a session: small values that panels, keys and the mouse post."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Protocol

from .session import Session


class Command(Protocol):
    """A change of the session. Applied at the start of a frame and nowhere else."""

    @property
    def topic(self) -> str:
        """What it is about: the message that it fails with stands until one of the same topic succeeds."""
        ...

    def apply(self, session: Session) -> None:
        """Carry the change out. What it raises of `VertigradError` is shown to the user; the session goes on."""


class SetParameter(NamedTuple):
    """A parameter gets another value; `owner` as in `Session.parameters`."""

    owner: str
    name: str
    value: Any

    @property
    def topic(self) -> str:
        return f"{self.owner}.{self.name}"

    def apply(self, session: Session) -> None:
        session.set_parameter(self.owner, self.name, self.value)


class Play(NamedTuple):
    """Time passes, or stands still."""

    on: bool

    topic = "time"

    def apply(self, session: Session) -> None:
        session.play(self.on)


class Step(NamedTuple):
    """Stand still after some more frames."""

    frames: int = 1

    topic = "time"

    def apply(self, session: Session) -> None:
        session.step_frames(self.frames)


class SetSpeed(NamedTuple):
    """Model seconds that pass in a second of 60 frames."""

    speed: float

    topic = "time"

    def apply(self, session: Session) -> None:
        session.set_speed(self.speed)


class Reset(NamedTuple):
    """Every model back to its start."""

    topic = "reset"

    def apply(self, session: Session) -> None:
        session.reset()


class Reload(NamedTuple):
    """Read the scene file again, or another one."""

    path: Path | None = None

    topic = "scene"

    def apply(self, session: Session) -> None:
        session.reload(self.path)


class Orbit(NamedTuple):
    """The eye circles its target, in radians."""

    dx: float
    dy: float

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.camera.orbit(self.dx, self.dy)


class Pan(NamedTuple):
    """Eye and target move together, in heights of the picture."""

    dx: float
    dy: float

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.camera.pan(self.dx, self.dy)


class Zoom(NamedTuple):
    """Nearer by `factor`, towards the cursor (clip coordinates) in a picture of that aspect."""

    factor: float
    cursor: tuple[float, float]
    aspect: float

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.camera.zoom(self.factor, self.cursor, self.aspect)


class Home(NamedTuple):
    """The camera back to where the scene has it."""

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.go_home()


class Dismiss(NamedTuple):
    """Take the messages off the picture, whatever they are about."""

    topic = "messages"

    def apply(self, session: Session) -> None:
        session.messages.clear()

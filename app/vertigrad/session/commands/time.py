"""Commands about time."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import ParameterError
from ..parameters import MODELS, Key
from ..session import Session


class Play(NamedTuple):
    """Time passes, or stands still."""

    on: bool

    topic = "time"

    def apply(self, session: Session) -> None:
        session.clock.play(self.on)


class Step(NamedTuple):
    """Stand still after some more frames; before the present one if they are negative."""

    frames: int = 1

    topic = "time"

    def apply(self, session: Session) -> None:
        session.clock.step_frames(self.frames)


class GoTo(NamedTuple):
    """Pause at an earlier or later frame of the rewind buffer, or the nearest one."""

    frame: int

    topic = "time"

    def apply(self, session: Session) -> None:
        session.clock.go_to(self.frame)


class SetSpeed(NamedTuple):
    """Model seconds that pass in a second of 60 frames."""

    speed: float

    topic = "time"

    def apply(self, session: Session) -> None:
        session.clock.set_speed(self.speed)


class SetSubsteps(NamedTuple):
    """A model takes its time in so many steps a frame."""

    model: str
    substeps: int

    @property
    def topic(self) -> str:
        return f"models.{self.model}.substeps"

    def apply(self, session: Session) -> None:
        session.scene_edits.change({_key(session, self.model, "substeps"): self.substeps}, f"substeps of {self.model}")


class SetSeed(NamedTuple):
    """All models begin again, one of them or all from another seed."""

    seed: int
    model: str | None = None

    topic = "seed"

    def apply(self, session: Session) -> None:
        models = list(session.stage.instances) if self.model is None else [self.model]
        session.scene_edits.change({_key(session, model, "seed"): self.seed for model in models}, "seed")
        session.reset()


class Reset(NamedTuple):
    """Every model back to its start."""

    topic = "reset"

    def apply(self, session: Session) -> None:
        session.reset()


def _key(session: Session, model: str, name: str) -> Key:
    """The setting of a model. Raises `ParameterError` if there is no such model."""
    if model not in session.stage.instances:
        raise ParameterError(f"there is no model {model!r}")
    return Key(f"{MODELS}{model}", name)

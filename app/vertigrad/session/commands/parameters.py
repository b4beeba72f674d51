"""Commands that change parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...scene import Animation
from ..parameters import Key
from ..session import Session


class SetParameter(NamedTuple):
    """A parameter gets another value; `owner` as in `Session.parameters`.

    All that come with one `stroke`, such as the drag of a slider, are undone together.
    """

    owner: str
    name: str
    value: Any
    stroke: int | None = None

    @property
    def topic(self) -> str:
        return f"{self.owner}.{self.name}"

    def apply(self, session: Session) -> None:
        session.set_parameter(self.owner, self.name, self.value, self.stroke)


class SetParameters(NamedTuple):
    """Several parameters get other values, all or none; undone together."""

    values: Mapping[Key, Any]
    label: str

    topic = "parameters"

    def apply(self, session: Session) -> None:
        session.scene_edits.change(self.values, self.label)


class ResetParameters(NamedTuple):
    """Parameters back to what the scene has; all of them if none are named."""

    keys: tuple[Key, ...] = ()

    topic = "parameters"

    def apply(self, session: Session) -> None:
        session.scene_edits.reset(self.keys or tuple(session.scene_edits.values()))


class Randomize(NamedTuple):
    """Parameters get random values, within the ranges of their sliders; always the same ones for a `seed`."""

    keys: tuple[Key, ...]
    seed: int

    topic = "parameters"

    def apply(self, session: Session) -> None:
        session.scene_edits.randomize(self.keys, self.seed)


class Animate(NamedTuple):
    """A parameter moves by itself from now on, or in another way; it stands still if `animation` is None."""

    owner: str
    name: str
    animation: Animation | None
    stroke: int | None = None

    @property
    def topic(self) -> str:
        return f"{self.owner}.{self.name}"

    def apply(self, session: Session) -> None:
        session.scene_edits.animate(Key(self.owner, self.name), self.animation, self.stroke)

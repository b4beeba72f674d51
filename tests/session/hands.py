"""A model that can be touched and has a limit, for the tests of hands, records and limits."""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad.models import registry
from vertigrad.models.base import Limit
from vertigrad.models.physics.nbody import NBody
from vertigrad.models.touch import Gesture
from vertigrad.session import Session

from .running import Rising, Scaled

TOUCHED = """
version = 1
[camera]
position = [0, 0, 4]
[models.row]
type = "touched"
count = 33
[layers.dots]
type = "points"
position = "row.position"
size = 0.1
"""


class Touched(Rising):
    """A row of points; while it is touched time passes for them as many times as fast as the touch is strong."""

    gestures = frozenset({Gesture.PAINT, Gesture.CUT})
    limits = {"top": Limit(0.4, "go down again")}  # noqa: RUF012
    told: list[object]

    def __init__(self, name, params, inputs, seed):
        self.told, self._touch = [], None
        super().__init__(name, params, inputs, seed)

    def touch(self, touch):
        self.told.append(touch)
        self._touch = touch

    def step(self, dt):
        super().step(dt if self._touch is None else dt * (1.0 + self._touch.strength + self._touch.velocity[0]))


def use_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let scenes name it, and few others, which are imported quickly."""
    known = {"touched": Touched, "rising": Rising, "scaled": Scaled, "nbody": NBody}
    monkeypatch.setattr(registry, "types", lambda: known)
    monkeypatch.setattr(Rising, "fails", None)


def run_frame(session: Session) -> None:
    """One frame without a picture, at the end of which all that was asked for has arrived."""
    with session.gpu.frames.frame():
        session.apply()
        session.advance()
    session.gpu.sync()
    while session.gpu.readback.in_flight:
        session.gpu.poll()


def do(session: Session, *commands) -> None:
    """Carry out, and run until nothing is left to do for models that stand still."""
    for command in commands:
        session.post(command)
    run_frame(session)
    while not session.playing and not session.clock.resting:
        run_frame(session)


def bits(session: Session) -> bytes:
    """All of the models' states."""
    instances = session.stage.instances.values()
    return b"".join(np.ascontiguousarray(t.numpy()).tobytes() for a in instances for t in a.model.state().values())

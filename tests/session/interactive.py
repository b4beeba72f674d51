"""A model that supports interactions and has a limit, for the tests of tools, recordings and limits."""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad.models import registry
from vertigrad.models.base import Limit
from vertigrad.models.interaction import Gesture
from vertigrad.models.physics.nbody import NBody
from vertigrad.session import Session

from .running import Rising, Scaled

INTERACTIVE = """
version = 1
[camera]
position = [0, 0, 4]
[models.row]
type = "interactive"
count = 33
[layers.dots]
type = "points"
position = "row.position"
size = 0.1
"""


class Interactive(Rising):
    """A row of points; an interaction makes their time pass faster, by its strength."""

    gestures = frozenset({Gesture.PAINT, Gesture.CUT})
    limits = {"top": Limit(0.4, "go down again")}  # noqa: RUF012
    interactions: list[object]

    def __init__(self, name, params, inputs, seed):
        self.interactions, self._interaction = [], None
        super().__init__(name, params, inputs, seed)

    def interact(self, interaction):
        self.interactions.append(interaction)
        self._interaction = interaction

    def step(self, dt):
        super().step(
            dt if self._interaction is None else dt * (1.0 + self._interaction.strength + self._interaction.velocity[0])
        )


def use_interactive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register it, with few other models, which are imported quickly."""
    known = {"interactive": Interactive, "rising": Rising, "scaled": Scaled, "nbody": NBody}
    monkeypatch.setattr(registry, "types", lambda: known)
    monkeypatch.setattr(Rising, "fails", None)


def run_frame(session: Session) -> None:
    """One frame without an image, after which all readbacks have arrived."""
    with session.gpu.frames.frame():
        session.apply()
        session.advance()
    session.gpu.sync()
    while session.gpu.readback.in_flight:
        session.gpu.poll()


def do(session: Session, *commands) -> None:
    """Execute commands, and run frames until the paused models are up to date."""
    for command in commands:
        session.post(command)
    run_frame(session)
    while not session.playing and not session.clock.idle:
        run_frame(session)


def bits(session: Session) -> bytes:
    """The states of all models."""
    instances = session.stage.instances.values()
    return b"".join(np.ascontiguousarray(t.numpy()).tobytes() for a in instances for t in a.model.state().values())

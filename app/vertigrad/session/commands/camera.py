"""Commands that move the camera."""

from __future__ import annotations

from typing import NamedTuple

from ..session import Session


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

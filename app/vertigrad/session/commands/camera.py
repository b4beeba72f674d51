"""Commands that move the camera."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import InputError
from ...renderer.camera import OrbitCamera
from ..cameras import STILL, Thrust
from ..session import Session

AROUND = 0.15  # share of the layers' size that is shown around a selected row


class Orbit(NamedTuple):
    """The eye circles its target, in radians."""

    dx: float
    dy: float

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.cameras.moved_by_user().orbit(self.dx, self.dy)


class Turn(NamedTuple):
    """The eye stays and looks elsewhere, in radians."""

    dx: float
    dy: float

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.cameras.moved_by_user().turn(self.dx, self.dy)


class Pan(NamedTuple):
    """Eye and target move together, in heights of the viewport."""

    dx: float
    dy: float

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.cameras.moved_by_user().pan(self.dx, self.dy)


class Zoom(NamedTuple):
    """Nearer by `factor`, towards the cursor (clip coordinates) in a picture of that aspect."""

    factor: float
    cursor: tuple[float, float]
    aspect: float

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.cameras.moved_by_user().zoom(self.factor, self.cursor, self.aspect)


class Fly(NamedTuple):
    """Fly on: to the right, up, forward; 1 is full speed, all 0 stands still."""

    thrust: Thrust

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.cameras.moved_by_user()
        session.cameras.thrust = self.thrust


class FlightMode(NamedTuple):
    """The flight keys fly, and the mouse looks around, without a button held; or not."""

    on: bool

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.cameras.flight_mode = self.on
        session.cameras.thrust = STILL


class FlyFaster(NamedTuple):
    """Fly so many times as fast from now on."""

    factor: float

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.cameras.accelerate(self.factor)


class Home(NamedTuple):
    """The camera back to where the scene has it."""

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.go_home()


class FrameAll(NamedTuple):
    """Frame all layers."""

    topic = "camera"

    def apply(self, session: Session) -> None:
        width, height = session.viewport_size
        session.cameras.frame(session.stage.layers.values(), width / height)


class FrameSelection(NamedTuple):
    """The selected row into the middle, with what is around it."""

    topic = "camera"

    def apply(self, session: Session) -> None:
        place = session.selection.place()
        if place is None:
            raise InputError("nothing is selected that could be framed; click a point or a surface first")
        session.cameras.frame_place(session.stage.layers.values(), place, AROUND)


class Face(NamedTuple):
    """Look at the target from this direction, in world space."""

    direction: tuple[float, float, float]

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.cameras.face(self.direction)


class ViewFrom(NamedTuple):
    """Look at the target along an axis, from the front, back, right, left, top or bottom."""

    side: str

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.cameras.face_side(self.side)


class Parallel(NamedTuple):
    """With perspective or without."""

    on: bool

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.cameras.change(orthographic=self.on)


class SetLens(NamedTuple):
    """Set the vertical field of view in degrees; the target keeps its size in the viewport."""

    fov: float

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.cameras.set_lens(self.fov)


class RememberView(NamedTuple):
    """Remember this view for `PreviousView`: the user is about to move the camera."""

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.cameras.remember()


class PreviousView(NamedTuple):
    """Go back to the previous view."""

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.cameras.go_back()


class JumpTo(NamedTuple):
    """Set the camera at once, without a transition."""

    camera: OrbitCamera

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.cameras.jump(self.camera)


class Turntable(NamedTuple):
    """Auto-rotate around the target, in degrees per second; 0 stops it."""

    rate: float

    topic = "camera"

    def apply(self, session: Session) -> None:
        session.cameras.turntable = self.rate


class GoToBookmark(NamedTuple):
    """Move to a bookmark."""

    name: str

    topic = "bookmark"

    def apply(self, session: Session) -> None:
        session.cameras.go(session.scene_edits.extras.bookmark(self.name))


class AddBookmark(NamedTuple):
    """Keep this view under a name; saving the scene writes it into the file."""

    name: str

    topic = "bookmark"

    def apply(self, session: Session) -> None:
        extras = session.scene_edits.extras.with_bookmark(self.name, session.cameras.heading)
        session.scene_edits.change_extras(extras, f"bookmark {self.name}")


class DeleteBookmark(NamedTuple):
    """Delete a bookmark."""

    name: str

    topic = "bookmark"

    def apply(self, session: Session) -> None:
        session.scene_edits.change_extras(
            session.scene_edits.extras.without_bookmark(self.name), f"delete bookmark {self.name}"
        )

"""Commands that move the camera, and its bookmarks."""

from __future__ import annotations

from ...errors import InputError
from ...renderer.camera import OrbitCamera
from ..cameras import STILL, Thrust
from ..command import command
from ..session import Session

AROUND = 0.15  # share of the layers' size that is shown around a selected row


@command("camera")
def Orbit(session: Session, dx: float, dy: float) -> None:
    """The eye circles its target, in radians."""
    session.cameras.moved_by_user().orbit(dx, dy)


@command("camera")
def Turn(session: Session, dx: float, dy: float) -> None:
    """The eye stays and looks elsewhere, in radians."""
    session.cameras.moved_by_user().turn(dx, dy)


@command("camera")
def Pan(session: Session, dx: float, dy: float) -> None:
    """Eye and target move together, in heights of the viewport."""
    session.cameras.moved_by_user().pan(dx, dy)


@command("camera")
def Zoom(session: Session, factor: float, cursor: tuple[float, float], aspect: float) -> None:
    """Nearer by `factor`, towards the cursor (clip coordinates) in a picture of that aspect."""
    session.cameras.moved_by_user().zoom(factor, cursor, aspect)


@command("camera")
def Fly(session: Session, thrust: Thrust) -> None:
    """Fly on: to the right, up, forward; 1 is full speed, all 0 stands still."""
    session.cameras.moved_by_user()
    session.cameras.thrust = thrust


@command("camera")
def FlightMode(session: Session, on: bool) -> None:
    """The flight keys fly, and the mouse looks around, without a button held; or not."""
    session.cameras.flight_mode = on
    session.cameras.thrust = STILL


@command("camera")
def FlyFaster(session: Session, factor: float) -> None:
    """Fly so many times as fast from now on."""
    session.cameras.accelerate(factor)


@command("camera")
def Home(session: Session) -> None:
    """The camera back to where the scene has it."""
    session.running.go_home()


@command("camera")
def FrameAll(session: Session) -> None:
    """Frame all layers."""
    width, height = session.viewport_size
    session.cameras.frame(session.stage.layers.values(), width / height)


@command("camera")
def FrameSelection(session: Session) -> None:
    """The selected row into the middle, with what is around it."""
    place = session.selection.place()
    if place is None:
        raise InputError("nothing is selected that could be framed; click a point or a surface first")
    session.cameras.frame_place(session.stage.layers.values(), place, AROUND)


@command("camera")
def Face(session: Session, direction: tuple[float, float, float]) -> None:
    """Look at the target from this direction, in world space."""
    session.cameras.face(direction)


@command("camera")
def ViewFrom(session: Session, side: str) -> None:
    """Look at the target along an axis, from the front, back, right, left, top or bottom."""
    session.cameras.face_side(side)


@command("camera")
def Parallel(session: Session, on: bool) -> None:
    """With perspective or without."""
    session.cameras.change(orthographic=on)


@command("camera")
def SetLens(session: Session, fov: float) -> None:
    """Set the vertical field of view in degrees; the target keeps its size in the viewport."""
    session.cameras.set_lens(fov)


@command("camera")
def RememberView(session: Session) -> None:
    """Remember this view for `PreviousView`: the user is about to move the camera."""
    session.cameras.remember()


@command("camera")
def PreviousView(session: Session) -> None:
    """Go back to the previous view."""
    session.cameras.go_back()


@command("camera")
def JumpTo(session: Session, camera: OrbitCamera) -> None:
    """Set the camera at once, without a transition."""
    session.cameras.jump(camera)


@command("camera")
def Turntable(session: Session, rate: float) -> None:
    """Auto-rotate around the target, in degrees per second; 0 stops it."""
    session.cameras.turntable = rate


@command("bookmark")
def GoToBookmark(session: Session, name: str) -> None:
    """Move to a bookmark."""
    session.cameras.go(session.scene_edits.extras.bookmark(name))


@command("bookmark")
def AddBookmark(session: Session, name: str) -> None:
    """Keep this view under a name; saving the scene writes it into the file."""
    extras = session.scene_edits.extras.with_bookmark(name, session.cameras.heading)
    session.scene_edits.change_extras(extras, f"bookmark {name}")


@command("bookmark")
def DeleteBookmark(session: Session, name: str) -> None:
    """Delete a bookmark."""
    extras = session.scene_edits.extras.without_bookmark(name)
    session.scene_edits.change_extras(extras, f"delete bookmark {name}")

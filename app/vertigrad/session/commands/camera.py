"""Commands that move the camera, and its bookmarks."""

from __future__ import annotations

from ...errors import InputError
from ...renderer.camera import OrbitCamera
from ...scene.schema import Bookmark
from ...scene.viewpoints import marked
from ..cameras import NO_THRUST, Cameras, Thrust
from ..command import command, command_of
from ..parameters import Key
from ..running import Running
from ..session import Session

AROUND = 0.15  # of the layers' size, that is shown around a selected row

_move = command_of("camera", lambda session: session.cameras.moved_by_user())
Orbit = _move(OrbitCamera.orbit)
Turn = _move(OrbitCamera.turn)
Pan = _move(OrbitCamera.pan)
Zoom = _move(OrbitCamera.zoom)

_camera = command_of("camera", lambda session: session.cameras)
Face = _camera(Cameras.face)
ViewFrom = _camera(Cameras.face_side)
SetLens = _camera(Cameras.set_lens)
JumpTo = _camera(Cameras.jump)
RememberView = _camera(Cameras.remember)
PreviousView = _camera(Cameras.go_back)
FlyFaster = _camera(Cameras.accelerate)
Home = command_of("camera", lambda session: session.running)(Running.go_home)


@command("camera")
def Fly(session: Session, thrust: Thrust) -> None:
    """Fly on: to the right, up, forward; 1 is full speed, all 0 stops."""
    session.cameras.moved_by_user()
    session.cameras.thrust = thrust


@command("camera")
def FlightMode(session: Session, on: bool) -> None:
    """Turn flight mode on or off: keys fly and the mouse turns the view, without a button held."""
    session.cameras.flight_mode = on
    session.cameras.thrust = NO_THRUST


@command("camera")
def FrameAll(session: Session) -> None:
    """Frame all layers."""
    width, height = session.pane(session.viewport_size)
    session.cameras.frame(session.stage.layers.values(), width / height)


@command("view.focus")
def FocusSelection(session: Session) -> None:
    """Focus the view's lens on the selected row."""
    position = session.selection.position()
    if position is None:
        raise InputError("nothing is selected that could be in focus; click a point or a surface first")
    session.scene_edits.change({Key("view", "focus"): position}, "focus")


@command("camera")
def FrameSelection(session: Session) -> None:
    """Center the selected row, with what is around it."""
    position = session.selection.position()
    if position is None:
        raise InputError("nothing is selected that could be framed; click a point or a surface first")
    session.cameras.frame_position(session.stage.layers.values(), position, AROUND)


@command("camera")
def LookThroughCamera(session: Session) -> None:
    """Move to where the selected camera is, and look along it."""
    found = session.selection.camera
    if found is None:
        raise InputError("no camera is selected; click the frustum of one first")
    session.cameras.go(marked(session.scene, Bookmark.parse({**found._asdict(), "orthographic": False})))


@command("camera")
def Parallel(session: Session, on: bool) -> None:
    """Turn the orthographic projection on or off."""
    session.cameras.change(orthographic=on)


@command("camera")
def Turntable(session: Session, rate: float) -> None:
    """Auto-rotate around the target, in degrees per second; 0 stops it."""
    session.cameras.turntable = rate


GoToView = _camera(Cameras.go)
FollowKeyframes = _camera(Cameras.set_following)


@command("keyframe")
def SetKeyframe(session: Session, frame: int | None = None) -> None:
    """Set a camera keyframe with this view, by default at the current frame; saving writes it into the file."""
    frame = session.clock.heading if frame is None else frame
    extras = session.scene_edits.extras.with_keyframe(frame, session.cameras.heading)
    session.scene_edits.change_extras(extras, f"keyframe {frame}")


@command("keyframe")
def DeleteKeyframe(session: Session, frame: int | None = None) -> None:
    """Delete the camera keyframe at a frame, by default at the current one."""
    frame = session.clock.heading if frame is None else frame
    session.scene_edits.change_extras(session.scene_edits.extras.without_keyframe(frame), f"delete keyframe {frame}")


@command("keyframe")
def MoveKeyframe(session: Session, frame: int, to: int) -> None:
    """Move a camera keyframe to another frame, in place of one that is there."""
    extras = session.scene_edits.extras.with_keyframe_moved(frame, to)
    session.scene_edits.change_extras(extras, f"move keyframe {frame}")


@command("bookmark")
def GoToBookmark(session: Session, name: str) -> None:
    """Move to a bookmark."""
    session.cameras.go(session.scene_edits.extras.bookmark(name))


@command("bookmark")
def AddBookmark(session: Session, name: str) -> None:
    """Save this view under a name; saving the scene writes it into the file."""
    extras = session.scene_edits.extras.with_bookmark(name, session.cameras.heading)
    session.scene_edits.change_extras(extras, f"bookmark {name}")


@command("bookmark")
def DeleteBookmark(session: Session, name: str) -> None:
    """Delete a bookmark."""
    extras = session.scene_edits.extras.without_bookmark(name)
    session.scene_edits.change_extras(extras, f"delete bookmark {name}")

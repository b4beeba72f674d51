"""`CAMERA_ACTIONS`: the actions of camera, selection, screenshots and videos."""

from __future__ import annotations

from imgui_bundle import icons_fontawesome_6 as icons

from ..session import Session
from ..session.capture import CaptureRequest
from ..session.commands import (
    Command,
    Deselect,
    FlightMode,
    FrameAll,
    FrameSelection,
    Parallel,
    PreviousView,
    StartRecording,
    StopRecording,
    TakeScreenshot,
    Turntable,
    ViewFrom,
)
from .actions import Action, posts
from .workspace import Workspace

TURNTABLE = 20.0  # degrees a second that its key begins with

SIDE_KEYS = {"front": "1", "back": "Shift+1", "right": "3", "left": "Shift+3", "top": "7", "bottom": "Shift+7"}


def _is_selected(session: Session, workspace: Workspace) -> bool:
    return session.selection.row is not None


def _records(session: Session, workspace: Workspace) -> bool:
    return session.capture is not None and session.capture.recording is not None


def _turns(session: Session, workspace: Workspace) -> bool:
    return session.cameras.turntable != 0.0


def _record(session: Session, workspace: Workspace) -> Command:
    return StopRecording() if _records(session, workspace) else StartRecording()


def _show_capture(session: Session, workspace: Workspace) -> None:
    workspace.show("Capture")


CAMERA_ACTIONS: tuple[Action, ...] = (
    Action("File", "Screenshot", posts(TakeScreenshot()), ("F12",), icons.ICON_FA_CAMERA, group=4),
    Action(
        "File", "Screenshot with panels", posts(TakeScreenshot(CaptureRequest(panels=True))), ("Ctrl+F12",), group=4
    ),
    Action("File", "Screenshot at another size…", _show_capture, ("Shift+F12",), group=4),
    Action("File", "Record a video", _record, ("F10",), icons.ICON_FA_FILM, on=_records, group=4),
    Action("Edit", "Deselect all", posts(Deselect()), ("Esc",), possible=_is_selected, group=3),
    Action("Camera", "Frame all", posts(FrameAll()), ("F",), icons.ICON_FA_EXPAND),
    Action(
        "Camera",
        "Frame selected",
        posts(FrameSelection()),
        ("Shift+F",),
        icons.ICON_FA_CROSSHAIRS,
        possible=_is_selected,
    ),
    Action(
        "Camera",
        "Previous view",
        posts(PreviousView()),
        ("Backspace",),
        icons.ICON_FA_ARROW_LEFT,
        possible=lambda session, _: session.cameras.can_go_back,
    ),
    *(
        Action("Camera", f"View from the {side}", posts(ViewFrom(side)), (key,), group=1)
        for side, key in SIDE_KEYS.items()
    ),
    Action(
        "Camera",
        "Orthographic",
        lambda session, _: Parallel(not session.cameras.heading.orthographic),
        ("5", "O"),
        icons.ICON_FA_CUBE,
        on=lambda session, _: session.cameras.heading.orthographic,
        group=2,
    ),
    Action(
        "Camera",
        "Turntable",
        lambda session, workspace: Turntable(0.0 if _turns(session, workspace) else TURNTABLE),
        ("T",),
        icons.ICON_FA_ARROWS_SPIN,
        on=_turns,
        group=2,
    ),
    Action(
        "Camera",
        "Fly",
        lambda session, _: FlightMode(not session.cameras.flight_mode),
        ("V",),
        icons.ICON_FA_PLANE,
        on=lambda session, _: session.cameras.flight_mode,
        group=2,
    ),
)

"""`KeyframeMethods`: camera keyframes of a script's viewer or scene."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from ..errors import InputError
from ..params import unknown
from ..renderer.camera import OrbitCamera
from ..scene.schema import Bookmark
from ..scene.viewpoints import entries, marked
from ..session import Session
from .checks import checked_integer
from .values import plain


class KeyframeMethods(ABC):
    """Keyframes move the camera smoothly while time passes, in scripts, in the window and in `vertigrad render`."""

    @abstractmethod
    def _open_session(self) -> Session:
        """The session. Raises `InputError` if it is closed."""

    def keyframe(self, frame: int, **values: Any) -> None:
        """Set a camera keyframe at a frame of the run (from 0), in place of one that is there.

        `values` are `position`, `target`, `fov` [degrees] and `orthographic`; what is not given is as the camera is
        now. `save` writes them. Raises `InputError`, `ParameterError`.
        """
        session = self._open_session()
        camera = camera_with(session, values, "keyframe")
        edits = session.scene_edits
        edits.change_extras(edits.extras.with_keyframe(checked_integer(frame, "frame"), camera), f"keyframe {frame}")

    def keyframes(self) -> dict[int, dict[str, Any]]:
        """The camera keyframes by frame, those of the window too: `position`, `target`, `fov`, `orthographic`."""
        found = self._open_session().scene_edits.extras.keyframes
        return {frame: camera_values(view) for frame, view in found.items()}

    def remove_keyframe(self, frame: int) -> None:
        """Delete the camera keyframe at a frame. Raises `ParameterError` if there is none."""
        edits = self._open_session().scene_edits
        edits.change_extras(edits.extras.without_keyframe(checked_integer(frame, "frame")), f"delete keyframe {frame}")


def camera_values(camera: OrbitCamera) -> dict[str, Any]:
    """Position, target, field of view and projection as a scene has them."""
    return {key: plain(value) for key, value in entries(camera).items()}


def camera_with(session: Session, values: Mapping[str, Any], call: str) -> OrbitCamera:
    """The camera of a session with other values. Raises `InputError` for names that are none, `ParameterError`."""
    if wrong := [key for key in values if key not in Bookmark.model_fields]:
        raise InputError(f"{call}: {unknown('value', wrong[0], Bookmark.model_fields)}")
    own = camera_values(session.cameras.heading)
    return marked(session.scene, Bookmark.parse({**own, **{key: plain(value) for key, value in values.items()}}))

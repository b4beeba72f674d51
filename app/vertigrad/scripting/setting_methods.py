"""`SettingMethods`: camera, view, labels and gizmos of a script's viewer, by the names of the scene format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import InputError, ParameterError
from ..params import unknown
from ..scene.schema import Bookmark
from ..scene.viewpoints import entries, home, marked
from ..session.parameters import Key, spec_of
from .content import Content, plain
from .controls import Control
from .document import CONTROLS


class SettingMethods(ABC):
    """What a scene has under [camera] and [view]."""

    _content: Content
    _camera_set: bool

    @abstractmethod
    def _show_gizmo(self, key: Key | None) -> None:
        """Show handles in the viewport for a parameter."""

    def camera(self, **values: Any) -> dict[str, Any]:
        """Place the camera: `position`, `target`, `fov` [degrees], `up` ("y" or "z"), `orthographic`, `bookmarks`.

        What is not given stays as it is now; `fit=True` moves the eye until everything is seen. Returns all values but
        the bookmarks. Raises `InputError`.
        """
        content = self._content
        content.require_open()
        if values:
            with content.document.changing():
                content.document.values["camera"] |= {
                    **self._camera_values(),
                    "fit": False,
                    **{key: plain(value) for key, value in values.items()},
                }
                content.read_again("camera")
            self._camera_set = not values.get("fit", False)
            content.session.cameras.jump(home(content.session.scene))
            if not self._camera_set:
                content.session.running.fit()
        return self._camera_values()

    def keyframe(self, frame: int, **values: Any) -> None:
        """Set a camera keyframe at a frame of the run (from 0), in place of one that is there.

        `values` are `position`, `target`, `fov` [degrees] and `orthographic`; what is not given is as the camera is
        now. Between keyframes the camera moves smoothly while time passes; `save` writes them. Raises `InputError`,
        `ParameterError`.
        """
        content = self._content
        content.require_open()
        if wrong := [key for key in values if key not in Bookmark.model_fields]:
            raise InputError(f"keyframe: {unknown('value', wrong[0], Bookmark.model_fields)}")
        own = {key: value for key, value in self._camera_values().items() if key != "up"}
        bookmark = Bookmark.parse({**own, **{key: plain(value) for key, value in values.items()}})
        edits = content.session.scene_edits
        camera = marked(content.session.scene, bookmark)
        edits.change_extras(edits.extras.with_keyframe(frame, camera), f"keyframe {frame}")
        self._camera_set = True

    def keyframes(self) -> dict[int, dict[str, Any]]:
        """The camera keyframes by frame, those of the window too: `position`, `target`, `fov`, `orthographic`."""
        self._content.require_open()
        found = self._content.session.scene_edits.extras.keyframes
        return {frame: {key: plain(value) for key, value in entries(view).items()} for frame, view in found.items()}

    def remove_keyframe(self, frame: int) -> None:
        """Delete the camera keyframe at a frame. Raises `ParameterError` if there is none."""
        self._content.require_open()
        edits = self._content.session.scene_edits
        edits.change_extras(edits.extras.without_keyframe(frame), f"delete keyframe {frame}")

    def view(self, **values: Any) -> dict[str, Any]:
        """Change the view: `background`, `axes`, `theme`, `exposure` and whatever a scene has under [view].

        Returns all its values. Raises `ParameterError`.
        """
        self._content.require_open()
        if values:
            self._content.session.running.assign({Key("view", key): plain(value) for key, value in values.items()})
        return dict(self._content.session.view)

    def labels(self, points: Mapping[str, Sequence[float]]) -> None:
        """Write texts at points of the world, (x, y, z) each, instead of those before. Raises `InputError`."""
        for words, point in points.items():
            if ";" in words or not words.strip():
                raise InputError(f"{words!r} cannot be a label: it needs letters, and no semicolon")
            if np.shape(point) != (3,):
                raise InputError(f"label {words!r}: expected a point (x, y, z), got shape {np.shape(point)}")
        text = "; ".join(f"{words} {' '.join(repr(float(x)) for x in point)}" for words, point in points.items())
        self.view(labels=text)

    def gizmo(self, position: Control | str | None) -> None:
        """Show handles in the viewport for a position: a control of `vector`, or a path such as "view.clip_origin".

        None hides them. Raises `InputError` for what is no position. Without a window it only checks that.
        """
        self._content.require_open()
        if position is None:
            return self._show_gizmo(None)
        owner, _, name = (
            f"models.{CONTROLS}.{position.name}" if isinstance(position, Control) else position
        ).rpartition(".")
        owners = self._content.session.parameters()
        if owner not in owners:
            raise InputError(f"{position}: {unknown('owner of parameters', owner, owners)}")
        try:
            spec = spec_of(owners, Key(owner, name))
        except ParameterError as error:
            raise InputError(f"{position}: {error}") from None
        if not spec.gizmo:
            raise InputError(f"{position}: is no position; a control is one with `vector(..., gizmo=True)`")
        self._show_gizmo(Key(owner, name))

    def _camera_values(self) -> dict[str, Any]:
        camera = self._content.session.cameras.heading
        return {**{key: plain(value) for key, value in entries(camera).items()}, "up": camera.up}

"""`SettingMethods`: camera, view, labels and gizmos of a script's viewer, by the names of the scene format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, ParameterError
from ..params import unknown
from ..scene.viewpoints import home
from ..session.parameters import Key, spec_of
from .checks import checked_number, checked_text, described
from .content import Content
from .controls import Control
from .document import CONTROLS
from .keyframe_methods import camera_values
from .values import plain


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

    def view(self, **values: Any) -> dict[str, Any]:
        """Change the view: `background`, `axes`, `theme`, `exposure` and whatever a scene has under [view].

        Returns all its values. Raises `ParameterError`.
        """
        self._content.require_open()
        if values:
            changed = {key: value if isinstance(value, Path) else plain(value) for key, value in values.items()}
            self._content.session.running.assign({Key("view", key): value for key, value in changed.items()})
        return dict(self._content.session.view)

    def labels(self, points: Mapping[str, Sequence[float]]) -> None:
        """Write texts at points of the world, (x, y, z) each, instead of those before. Raises `InputError`."""
        if not isinstance(points, Mapping):
            raise InputError(f"points: expected a dict such as {{'summit': (0, 1, 0)}}, got {described(points)}")
        found = []
        for words, point in points.items():
            if ";" in checked_text(words, "label"):
                raise InputError(f"{words!r} cannot be a label: a semicolon separates labels")
            if np.shape(point) != (3,):
                raise InputError(f"label {words!r}: expected a point (x, y, z), got shape {np.shape(point)}")
            found.append(" ".join([words, *(repr(checked_number(x, f"label {words!r}")) for x in point)]))
        self.view(labels="; ".join(found))

    def gizmo(self, position: Control | str | None) -> None:
        """Show handles in the viewport for a position: a control of `vector`, or a path such as "view.clip_origin".

        None hides them. Raises `InputError` for what is no position. Without a window it only checks that.
        """
        self._content.require_open()
        if position is None:
            return self._show_gizmo(None)
        is_control = isinstance(position, Control)
        path = f"models.{CONTROLS}.{position.name}" if is_control else checked_text(position, "position")
        owner, _, name = path.rpartition(".")
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
        return {**camera_values(camera), "up": camera.up}

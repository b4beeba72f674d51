"""`ViewportSamples`: the samples of a viewport: of one that does not change, and of one whose image is reprojected."""

from __future__ import annotations

import math

import numpy as np

from ..renderer.camera import OrbitCamera
from ..renderer.lens import Sample
from ..renderer.view import TEMPORAL
from ..session import Session

TURN, SHIFT = math.radians(30.0), 0.5  # of a camera between two frames that is a cut; of the distance to its target


class ViewportSamples:
    """At rest, the image of a view with an aperture or temporal anti-aliasing is the mean of its samples.

    While it changes, the one is sharp, and samples of the other are blended with the image before, reprojected: anew
    after a cut of the camera, in another size, with other layers and settings. `sample` is that of the frame about to
    be drawn, None for an image of its own.
    """

    def __init__(self, session: Session):
        self._session = session
        self._shown: tuple[object, ...] = ()
        self._settings: tuple[object, ...] = ()
        self._camera = OrbitCamera()
        self.sample: Sample | None = None

    @property
    def pending(self) -> bool:
        """Whether samples are missing."""
        sample = self.sample
        drawn = sample.index + 1 if sample is not None and not sample.moving else 0
        return self._gathers and drawn < self._session.view.samples

    @property
    def _gathers(self) -> bool:
        view = self._session.view
        return (view.aperture > 0.0 or self._is_temporal) and self._session.comparison is None

    @property
    def _is_temporal(self) -> bool:
        return self._session.view.anti_aliasing == TEMPORAL

    def frame(self, size: tuple[int, int]) -> None:
        """Choose the sample of the next frame, of a viewport of this size; after the last one it stays the same."""
        session, before = self._session, self.sample
        if not self._gathers:
            self._shown, self._settings, self.sample = (), (), None
            return
        settings, camera = self._of_settings(size), OrbitCamera(**vars(session.camera))
        shown = (*settings, session.running.changes, session.time, *vars(camera).values())
        if shown == self._shown:
            goes_on = before is not None and not before.moving
            self.sample = Sample(before.index + 1 if before is not None and goes_on else 0, True)
        elif self._is_temporal:
            goes_on = before is not None and settings == self._settings and not is_cut(self._camera, camera)
            self.sample = Sample(before.index + 1 if before is not None and goes_on else 0, True, moving=True)
        else:
            self.sample = None
        self._shown, self._settings, self._camera = shown, settings, camera

    def _of_settings(self, size: tuple[int, int]) -> tuple[object, ...]:
        """What an image depends on, but for models, time and camera."""
        session = self._session
        layers = [(one.drawing, *vars(one.style).values()) for one in session.stage.layers.values()]
        return size, session.quality.level, tuple(vars(session.view).values()), *layers


def is_cut(before: OrbitCamera, now: OrbitCamera) -> bool:
    """Whether what a camera saw before says little about what it sees now."""
    same = (before.up, before.orthographic) == (now.up, now.orthographic) and abs(before.fov - now.fov) < 5.0
    away = float(np.linalg.norm(np.subtract(before.position, now.position)))
    cosine = float(before.rotation()[:, 2] @ now.rotation()[:, 2])
    return not same or cosine < math.cos(TURN) or away > SHIFT * min(before.distance, now.distance)

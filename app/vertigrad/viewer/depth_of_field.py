"""`DepthOfField`: the samples of a viewport that does not change, one in each frame."""

from __future__ import annotations

from ..renderer.lens import Sample
from ..session import Session


class DepthOfField:
    """A view with an aperture is sharp while it changes; at rest the mean of its samples replaces that.

    `sample` is that of the frame about to be drawn, None for a sharp one.
    """

    def __init__(self, session: Session):
        self._session = session
        self._shown: tuple[object, ...] = ()
        self.sample: Sample | None = None

    @property
    def pending(self) -> bool:
        """Whether samples are missing."""
        view = self._session.view
        drawn = self.sample.index + 1 if self.sample is not None else 0
        return view.aperture > 0.0 and self._session.comparison is None and drawn < view.samples

    def frame(self, size: tuple[int, int]) -> None:
        """Choose the sample of the next frame, of a viewport of this size; after the last one it stays the same."""
        session = self._session
        if session.view.aperture == 0.0 or session.comparison is not None:
            self._shown, self.sample = (), None
            return
        shown = self._state(size)
        if shown != self._shown:
            self._shown, self.sample = shown, None
        else:
            self.sample = Sample(self.sample.index + 1 if self.sample is not None else 0, True)

    def _state(self, size: tuple[int, int]) -> tuple[object, ...]:
        """Everything that the image depends on."""
        session, running = self._session, self._session.running
        layers = [(one.drawing, *vars(one.style).values()) for one in session.stage.layers.values()]
        view, camera = tuple(vars(session.view).values()), tuple(vars(session.camera).values())
        return size, running.changes, session.time, session.quality.level, view, camera, *layers

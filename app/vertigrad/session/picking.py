"""`CursorPicker`: what is visible under the cursor, found on the GPU and read back some frames later."""

from __future__ import annotations

from collections.abc import Callable

from ..gpu import Gpu
from ..gpu.readback import Reading
from ..renderer.camera import OrbitCamera
from ..renderer.picking import Picker, PickResult
from ..renderer.view import View
from ..scene.stage import Stage


class CursorPicker:
    """One request at a time: another one, or `cancel`, discards the result of the request before."""

    def __init__(self, gpu: Gpu, stage: Stage, camera: OrbitCamera, view: View):
        self._gpu, self._stage, self._camera, self._view = gpu, stage, camera, view
        self._picker: Picker | None = None  # created with the first request
        self._reading: Reading | None = None

    @property
    def pending(self) -> bool:
        """Whether a result is being read back."""
        return self._reading is not None

    def request(
        self, cursor: tuple[float, float], size: tuple[int, int], then: Callable[[PickResult | None], object]
    ) -> None:
        """Record the search at the pixel `cursor` of a viewport of `size`; `then` gets what is there, None if nothing.

        Raises `LimitError`.
        """

        def finish(result: PickResult | None) -> None:
            if self._reading is reading:
                self._reading = None
                then(result)

        self._picker = self._picker or Picker(self._gpu)
        layers = list(self._stage.layers.values())
        reading = self._reading = self._picker.pick(layers, self._camera, size, cursor, finish, self._view)

    def cancel(self) -> None:
        """Discard the result of the request, if there is one."""
        self._reading = None

    def dropped(self) -> bool:
        """Whether the result was lost because the frame of the request was dropped; the request is over then."""
        lost = self._reading is not None and self._reading.dropped
        if lost:
            self.cancel()
        return lost

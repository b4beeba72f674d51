"""`Comparison`: a second scene that runs next to the open one, with its camera and its time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import wgpu

from ..errors import InputError
from ..renderer.camera import OrbitCamera
from ..renderer.quality import Level
from ..renderer.renderer import Renderer
from .cameras import viewpoint
from .clock import REPLAYED, Clock
from .running import Running, SceneSource

if TYPE_CHECKING:
    from .session import Session

GAP = 2  # pixels between the two images


class Comparison:
    """What runs at the right; `labels` says what differs at the left and at the right. Raises as `Running`.

    It follows the clock of the open scene: it takes the same steps, with the same interactions, and is reset and
    rewound with it.
    """

    def __init__(self, session: Session, source: SceneSource, labels: tuple[str, str] = ("", "")):
        self.running, self.labels = Running(session.gpu, source, session.sizes), labels
        self._session = session
        self.running.clock.play(False)  # it moves when the other one has
        self.running.clock.pacer.budget = session.pacing.budget
        self.running.clock.set_rewind_memory(session.clock.rewind.snapshots.limit)

    def behind(self, clock: Clock) -> bool:
        """Whether it is not at the frame of this clock yet."""
        return self.running.clock.frame != clock.frame or not self.running.clock.idle

    def follow(self, clock: Clock) -> None:
        """Record the steps that lead to the frame of this clock, as far as there is time in this frame.

        Raises what a model raises; then the models of both are as before their steps.
        """
        try:
            self._follow(clock)
        except BaseException:
            clock.take_back()
            raise

    def draw(
        self,
        renderer: Renderer,
        camera: OrbitCamera,
        target: wgpu.GPUTextureView,
        size: tuple[int, int],
        corner: tuple[int, int] = (0, 0),
        level: Level | None = None,
    ) -> None:
        """Record the right part of a viewport of `size`, next to what `renderer` drew in the left one."""
        running, (left, pane) = self.running, self.panes(size)
        layers, at = list(running.stage.layers.values()), (corner[0] + left[0] + GAP, corner[1])
        neighbor, time = renderer.neighbor, running.clock.time
        if min(pane) > 0:
            running.stage.look(partial(viewpoint, camera, pane), wait=not self._session.reads_ahead)
        neighbor.draw(layers, camera, running.view, target, pane, time, at, level=level, keep=True)

    @staticmethod
    def panes(size: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
        """The sizes of the left and of the right image in a viewport of `size`; between them are `GAP` pixels."""
        left = max(0, (size[0] - GAP) // 2)
        return (left, size[1]), (max(0, size[0] - left - GAP), size[1])

    def close(self) -> None:
        """Free what it uses. Idempotent."""
        self.running.close()

    # inside -----------------------------------------------------------------------------------------------------

    def _follow(self, clock: Clock) -> None:
        running, own = self.running, self.running.clock
        own.played = clock.interactions
        if clock.frame < own.heading:
            self._go_back(clock.frame)
        missing = clock.frame - own.heading
        if missing > 0:
            own.step_frames(missing)
            own.steps = min(missing, REPLAYED)
        running.scene_edits.apply_animations(own.time)
        if own.advance():
            running.stepped()

    def _go_back(self, frame: int) -> None:
        try:
            if frame > 0:
                self.running.clock.go_to(frame)
                return
        except InputError:
            pass  # no snapshot: it is computed from the start
        self.running.reset()

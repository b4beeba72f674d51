"""`QualityWatch`: watches what frames of a window take, so that they are drawn as finely as there is time for."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..renderer.quality import AUTO
from ..session import Session
from ..session.commands import SetQuality
from ..session.quality import AutoQuality, first_level
from ..session.statistics import computes
from ..session.timeline import LATE


class QualityWatch:
    """Call `frame` when the session's timeline has begun a frame: what is known of those before it is judged.

    What that changes is posted to the session.
    """

    def __init__(self, session: Session):
        self._session = session
        self._auto = AutoQuality(first_level(session.gpu.adapter.kind))
        self._scene: Any = session.scene.path
        self._known: tuple[Any, ...] = ()
        timer = session.gpu.timer
        self._timed = timer.available and session.gpu.adapter.kind != "software"  # there, passes end before their work
        self._times: Mapping[str, float] = session.gpu.timer.latest  # the times that were judged last

    def frame(self, steady: bool, held_back: bool) -> None:
        """A frame begins. It is not `steady` if it came late for another reason than work, `held_back` if it waited."""
        self._judge(steady, held_back)
        if self._auto.quality != self._session.quality:
            self._session.post(SetQuality(self._auto.quality))

    def _judge(self, steady: bool, held_back: bool) -> None:
        session, timeline, auto = self._session, self._session.timeline, self._auto
        recording = session.capture is not None and session.capture.recording is not None
        self._notice_changes()
        if not steady or recording or session.view.quality != AUTO or not len(timeline.frame_ms):
            auto.rest()
            return
        target = timeline.target_ms
        period = target if held_back else timeline.frame_ms[-1]
        if not self._timed:
            auto.take(time.perf_counter(), period, target, session.clock.pacer.drawing_ms)
        elif self._session.gpu.timer.latest is not self._times:
            self._times = self._session.gpu.timer.latest
            self._take_timed(period, target)

    def _take_timed(self, period: float, target: float) -> None:
        """What the work took, since frames also wait for the screen; all that they took if they are late."""
        auto, cpu_ms = self._auto, self._session.timeline.cpu_ms
        work = max(sum(self._times.values()), cpu_ms[-1])
        late = period > LATE * target > 0.0
        draw = sum(ms for group, ms in self._times.items() if not computes(group))
        auto.take(time.perf_counter(), max(work, period) if late else work, target, draw)

    def _notice_changes(self) -> None:
        """What was learned of a viewport does not hold for one of another size, or after the user changed something."""
        session = self._session
        if session.scene.path != self._scene:
            self._scene = session.scene.path
            self._auto.restart()
        known = session.viewport_size, session.scene_edits.revision
        if known != self._known:
            self._known = known
            self._auto.forget()

"""`QualityWatch`: tells the session what frames of its window took, so that it draws as finely as there is time for."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..renderer.quality import AUTO
from ..session import Session
from ..session.statistics import computes
from ..session.timeline import LATE


class QualityWatch:
    """Call `frame` when the session's timeline has begun a frame: what is known of those before it is passed on."""

    def __init__(self, session: Session):
        self._session = session
        self._scene: Any = session.scene.path
        self._known: tuple[Any, ...] = ()
        timer = session.gpu.timer
        self._timed = timer.available and session.gpu.adapter.kind != "software"  # there, passes end before their work
        self._seen: Mapping[str, float] = session.gpu.timer.latest  # that was looked at last

    def frame(self, steady: bool, held_back: bool) -> None:
        """A frame begins. It is not `steady` if it came late for another reason than work, `held_back` if it waited."""
        session, timeline = self._session, self._session.timeline
        auto, filming = session.quality, session.studio is not None and session.studio.film is not None
        self._notice_changes()
        if not steady or filming or session.view.quality != AUTO or not len(timeline.frame_ms):
            auto.rest()
            return
        target = timeline.target_ms
        period = target if held_back else float(timeline.frame_ms.values[-1])
        if not self._timed:
            auto.take(time.perf_counter(), period, target)
        elif self._session.gpu.timer.latest is not self._seen:
            self._seen = self._session.gpu.timer.latest
            self._take_timed(period, target)

    def _take_timed(self, period: float, target: float) -> None:
        """What the work took, since frames also wait for the screen; all that they took if they are late."""
        auto, cpu_ms = self._session.quality, self._session.timeline.cpu_ms.values
        work = max(sum(self._seen.values()), float(cpu_ms[-1]))
        late = period > LATE * target > 0.0
        draw = sum(ms for group, ms in self._seen.items() if not computes(group))
        auto.take(time.perf_counter(), max(work, period) if late else work, target, draw)

    def _notice_changes(self) -> None:
        """What was learned of a picture does not hold for one of another size, or after the user changed something."""
        session = self._session
        if session.scene.path != self._scene:
            self._scene = session.scene.path
            session.quality.restart()
        known = session.picture_size, session.tweaks.revision, session.scene
        if known != self._known:
            self._known = known
            session.quality.forget()

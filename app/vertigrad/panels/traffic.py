"""`FrameTraffic`: bytes copied per frame, by kind and direction; `draw_copies` shows those of geometry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..gpu import Traffic
from ..session import Session
from .rows import fact
from .tables import size
from .theme import BAD, GOOD, TEXT

DIRECTIONS = {"host_to_device": "to GPU", "device_to_device": "on GPU", "device_to_host": "to host"}


@dataclass
class FrameTraffic:
    """Bytes per frame, by kind and direction, averaged since the last call of `update`.

    Geometry that commands copied to build models is not counted: it is copied once.
    """

    per_frame: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    _before: dict[str, dict[str, int]] | None = None
    _frame: int = 0

    def update(self, session: Session) -> Mapping[str, Mapping[str, float]]:
        """Average over the frames since the last call."""
        totals, frame = session.gpu.meter.read(), session.gpu.tracker.frame
        for direction, nbytes in session.allocations.loaded.items():
            totals[Traffic.GEOMETRY.value][direction] -= nbytes
        before, frames = self._before or totals, max(1, frame - self._frame)
        self.per_frame = {
            kind: {direction: max(0, total - before[kind][direction]) / frames for direction, total in counts.items()}
            for kind, counts in totals.items()
        }
        self._before, self._frame = totals, frame
        return self.per_frame

    def total(self, traffic: Traffic) -> float:
        """Bytes per frame of one kind, in all directions."""
        return sum(self.per_frame.get(traffic.value, {}).values())

    @property
    def uploaded(self) -> float:
        """Bytes of geometry per frame from the host to the GPU."""
        return self.per_frame.get(Traffic.GEOMETRY.value, {}).get("host_to_device", 0.0)


def draw_copies(traffic: FrameTraffic) -> None:
    """A row for the geometry copied per frame. Uploads are usually meant, as of a video; other copies stand out."""
    copied = traffic.total(Traffic.GEOMETRY)
    if not copied:
        fact("copied per frame", "0 B · zero copy", GOOD, "layers draw the memory that the models wrote")
    elif copied == traffic.uploaded:
        fact("upload per frame", size(copied), TEXT, "geometry copied from the host to the GPU")
    else:
        fact("copied per frame", size(copied), BAD, "geometry that was copied, in any direction")

"""`Rescue`: copies of the models' state on the host, made now and then, to continue after the GPU's device was lost.

Everything else that a session holds is on the host anyway. A driver that is updated or reset, or a GPU that is taken
away, loses the device and all memory on it.
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ..errors import DeviceLost, NoAdapter, OutOfMemory, VertigradError
from ..gpu import Gpu, Reading, Traffic
from ..scene.stage import Stage
from . import loading
from .clock import Clock
from .running import Running
from .snapshots import state, words

if TYPE_CHECKING:
    from .session import Session

EVERY = 3.0  # seconds between copies, at least; longer, so that no more than
MAX_FRACTION = 0.01  # of the time is spent on them
HOST_RATE = 2e9  # bytes per second at which a state is copied on the host once it has arrived
LARGEST = 128 << 20  # bytes of a state that is copied: it delays the frame in which it arrives
ATTEMPTS = 6  # to reopen the device, and
WAIT = 0.5  # seconds between them, doubled each time: a driver that was reset needs a while

_log = logging.getLogger("vertigrad")


class HostState:
    """The state of all models at `frame` and `time` [s], being read back; `complete` when all of it has arrived."""

    def __init__(self, gpu: Gpu, stage: Stage, clock: Clock):
        self.frame, self.time, self.start = clock.frame, clock.time, clock.rewind.starts
        self.scalars, self.extra = stage.scalars(), stage.extra_states()
        self.nbytes = 0
        self._readings: dict[tuple[str, str], Reading] = {}
        for key, owner in state(stage):
            gpu.make_resident(owner)
            nbytes = words(owner.block.nbytes)
            if nbytes:
                self.nbytes += nbytes
                self._readings[key] = gpu.recorder.read(owner.block, 0, nbytes, Traffic.SNAPSHOTS)

    @property
    def complete(self) -> bool:
        """Whether all bytes have arrived."""
        return all(reading.data is not None for reading in self._readings.values())

    @property
    def dropped(self) -> bool:
        """Whether some will never arrive, because their frame was dropped."""
        return any(reading.dropped for reading in self._readings.values())

    def fits(self, stage: Stage) -> bool:
        """Whether the models of `stage` have tensors of the same names and sizes, and the same of them extra state."""
        if stage.extra_states().keys() != self.extra.keys():
            return False
        sizes = {key: words(owner.block.nbytes) for key, owner in state(stage) if owner.block.nbytes}
        return sizes == {key: reading.nbytes for key, reading in self._readings.items()}

    def restore(self, gpu: Gpu, stage: Stage) -> None:
        """Upload it; the models continue from this state."""
        for key, owner in state(stage):
            if key in self._readings:
                gpu.make_writable(owner, keep=False)
                data = self._readings[key].data
                assert data is not None
                gpu.upload(owner.block.buffer, data[: owner.block.nbytes], traffic=Traffic.SNAPSHOTS)
        stage.load_scalars(self.scalars)
        stage.load_extra_states(self.extra)


class Rescue:
    """Stores the last state that reached the host, a new one `every` so many seconds; none while that is 0."""

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self.every = 0.0
        self.last: HostState | None = None
        self._coming: HostState | None = None
        self._due, self._of = 0.0, -1

    def update(self, stage: Stage, clock: Clock, changes: int) -> None:
        """Start a copy if one is due and the models are between two steps; they have changed `changes` times so far."""
        self._take_in()
        now = time.perf_counter()
        if not self.every or now < self._due or self._coming is not None:
            return
        if stage.in_progress is not None or changes == self._of:
            return
        if sum(owner.block.nbytes for _, owner in state(stage)) > LARGEST:
            return
        try:
            self._coming = HostState(self._gpu, stage, clock)
        except OutOfMemory:
            self._due = now + 10 * self.every
            return
        self._of = changes
        cost = time.perf_counter() - now + self._coming.nbytes / HOST_RATE
        self._due = now + max(self.every, cost / MAX_FRACTION)

    def usable(self, clock: Clock) -> HostState | None:
        """The last state, unless models were reset or rewound since it was copied."""
        self._take_in()
        last = self.last
        return last if last is not None and last.start == clock.rewind.starts and last.frame <= clock.frame else None

    def forget(self) -> None:
        """Drop the states: their models are gone. The next may be copied at once."""
        self.last = self._coming = None
        self._due, self._of = 0.0, -1

    def _take_in(self) -> None:
        if self._coming is not None and self._coming.complete:
            self.last, self._coming = self._coming, None
        elif self._coming is not None and self._coming.dropped:
            self._coming = None


def recover(session: Session) -> str:
    """Reopen the GPU after its device was lost, and rebuild what runs; returns a message about the models.

    Scene, parameters, history, unsaved edits, camera and watches stay. The models continue from the last state that
    reached the host, or else from the start. What was in progress begins again. Raises `DeviceLost` if that cannot be
    done.
    """
    before = session.running
    state = session.rescue.usable(before.clock)
    lost = before.clock.frame
    _reopen(session.gpu)
    session.allocations.device_opened()
    try:
        running = Running(session.gpu, before.source, session.sizes, before, before.scene)
        running.scene_edits.continue_from(before.scene_edits)
    except VertigradError as error:
        raise DeviceLost(f"the GPU was lost, and what ran cannot be rebuilt: {error}") from error
    session.running = running
    with suppress(VertigradError):
        session.stop_comparing()
    with suppress(VertigradError):  # much of it needs the device; the rest is freed with it
        before.close()
    with suppress(VertigradError):
        session.commands.restart()
    loading.restart(session)
    text = "The GPU's device was lost and has been reopened. "
    if state is not None and state.fits(running.stage):
        with running.stage.rewriting():
            state.restore(session.gpu, running.stage)
        running.clock.resumed(state.frame, state.time)
        text += f"The models continue from frame {state.frame:,}, the last that was copied to the host, of {lost:,}."
    else:
        text += "The models continue from the start: no state had been copied to the host."
    session.rescue.forget()
    _log.warning(text)
    session.report("device", text)
    return text


def _reopen(gpu: Gpu) -> None:
    for attempt in range(ATTEMPTS):
        try:
            return gpu.reopen()
        except NoAdapter as error:
            if attempt == ATTEMPTS - 1:
                raise DeviceLost(f"the GPU was lost, and cannot be reopened: {error}") from error
            time.sleep(WAIT * 2**attempt)

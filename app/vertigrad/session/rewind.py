"""`RewindBuffer`: the recorded steps of the models, and the snapshots from which they can be repeated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from ..errors import InputError, OutOfMemory
from ..gpu import Gpu
from ..models.interaction import Interaction
from ..params import Params
from ..scene.stage import Stage
from .snapshots import Snapshot, Snapshots

ZERO_STEPS = 64  # steps of zero length at one frame that are remembered


class RecordedStep(NamedTuple):
    """One step of all models: `dt` [s], the number of frames it advances (0 or 1), and all that it depends on.

    `settings` has each model's parameters and substeps; `code` counts changes of the models' code, such as a shader:
    only a step of the same code can be repeated. `interaction` is the one that acts in it.
    """

    dt: float
    frames: int
    settings: Mapping[str, tuple[Params, int]]
    code: int
    interaction: Interaction | None = None

    @contextmanager
    def applied(self, stage: Stage) -> Iterator[None]:
        """Context in which the models have this step's parameters and substeps."""
        current = settings(stage)
        _apply(stage, self.settings)
        try:
            yield
        finally:
            _apply(stage, current)


class RewindBuffer:
    """The frames that can be rewound to: `first` to `last`. The models are at `frame`.

    A frame is recomputed, bit for bit, from the nearest snapshot before it and the steps that followed. The buffer
    is empty while the snapshots' limit is 0.
    """

    def __init__(self, gpu: Gpu, limit: int = 0):
        self.snapshots = Snapshots(gpu, limit)
        self.frame = 0
        self.starts = 0  # how often it was cleared: earlier states do not belong to these models
        self._steps: dict[int, tuple[RecordedStep, ...]] = {}  # by the frame at which they began, in order
        self._done = 0  # how many steps that began at `frame` were taken
        self._code = 0
        self._settings: Mapping[str, tuple[Params, int]] = {}

    @property
    def first(self) -> int:
        """The earliest frame in the buffer."""
        return next(iter(self.snapshots), self.frame)

    @property
    def last(self) -> int:
        """The latest frame in the buffer; later than `frame` after rewinding."""
        if not self.snapshots or not self._steps:
            return self.frame
        last = next(reversed(self._steps))
        return last + self._steps[last][-1].frames

    def start(self, stage: Stage, frame: int, time: float) -> None:
        """Clear the buffer, and begin with the models' current state."""
        self.starts += 1
        self.snapshots.clear()
        self._steps.clear()
        self.frame, self._done = frame, 0
        self._take_if_due(stage, time)

    def change_code(self, stage: Stage, time: float) -> None:
        """The models' code has changed: earlier steps cannot be repeated, snapshots stay."""
        self._code += 1
        self._drop_future()
        self._steps.pop(self.frame, None)
        self._done = 0
        self._take(stage, time)

    def next_step(self, stage: Stage, dt: float, frames: int, interaction: Interaction | None = None) -> RecordedStep:
        """A step of the models with their current parameters and this interaction."""
        if not _same(self._settings, stage):
            self._settings = settings(stage)
        return RecordedStep(dt, frames, self._settings, self._code, interaction)

    def record(self, step: RecordedStep, stage: Stage, time: float) -> None:
        """Record a step that ended at `time` [s]. One that differs from the recorded step drops the later ones."""
        if not self.snapshots:
            self._steps.clear()
        here = self._steps.get(self.frame, ())
        if here[self._done : self._done + 1] != (step,):
            self._drop_future()
            self._steps[self.frame] = (*here[: self._done], step)
        self._done = 0 if step.frames else self._done + 1
        self.frame += step.frames
        if self._done > ZERO_STEPS:
            self.change_code(stage, time)
        self._take_if_due(stage, time)

    def go_to(self, frame: int, stage: Stage) -> tuple[float, list[RecordedStep]]:
        """Restore the snapshot at or before `frame`; returns its time and the steps from there.

        The steps are empty if they cannot be repeated. Raises `InputError` if there is no snapshot.
        """
        frame = min(max(frame, self.first), self.last)
        snapshot = self.snapshot_before(frame)
        snapshot.restore(stage)
        steps = [step for at in range(snapshot.frame, frame) for step in self._steps[at]]
        steps += [step for step in self._steps.get(frame, ()) if not step.frames]
        self.frame, self._done = snapshot.frame, 0
        return snapshot.time, steps if all(step.code == self._code for step in steps) else []

    def snapshot_before(self, frame: int) -> Snapshot:
        """The snapshot from which `frame` is recomputed. Raises `InputError` if there is none."""
        snapshot = self.snapshots.before(min(max(frame, self.first), self.last))
        if snapshot is None:
            raise InputError("there is nothing to rewind to: the rewind buffer has too little memory for a snapshot")
        return snapshot

    def mark(self) -> tuple[int, int]:
        """The current position, for `take_back`."""
        return self.frame, self._done

    def take_back(self, mark: tuple[int, int]) -> None:
        """Drop the steps since `mark`, which were not submitted, and their snapshots."""
        rewritten = self.frame == mark[0] and self._done != mark[1]
        self.frame, self._done = mark
        self._drop_future()
        if rewritten:
            self.snapshots.drop_after(self.frame - 1)
        taken = self._steps.pop(self.frame, ())[: self._done]
        if taken:
            self._steps[self.frame] = taken

    @property
    def shortage(self) -> str:
        """The message if there is no memory for snapshots; empty if there is."""
        if not self.snapshots.paused:
            return ""
        return (
            "GPU memory is short: the rewind buffer was cleared; it is refilled when there is room. "
            "A smaller rewind buffer (--rewind-memory), smaller models, or other programs closed would help"
        )

    def shrink(self) -> None:
        """Memory is short: release all snapshots, and take none for a while."""
        self.snapshots.shrink(self.frame)

    # inside -----------------------------------------------------------------------------------------------------

    def _take_if_due(self, stage: Stage, time: float) -> None:
        """Take a snapshot if one is due at this frame, and drop the steps before the first."""
        snapshots = self.snapshots
        if self._done or not snapshots.is_due(self.frame) or self.frame <= snapshots.last:
            return
        self._take(stage, time)
        while self._steps and next(iter(self._steps)) < self.first:
            del self._steps[next(iter(self._steps))]

    def _take(self, stage: Stage, time: float) -> None:
        """Take a snapshot; if there is no memory for it, drop all and take none for a while."""
        if self.snapshots.limit:
            try:
                self.snapshots.take(stage, self.frame, time)
            except OutOfMemory:
                self.shrink()

    def _drop_future(self) -> None:
        self.snapshots.drop_after(self.frame)
        while self._steps and next(reversed(self._steps)) > self.frame:  # in the order of their frames
            self._steps.popitem()


def settings(stage: Stage) -> dict[str, tuple[Params, int]]:
    """Copies of each model's parameters, and its substeps."""
    return {name: (instance.params.model_copy(), instance.substeps) for name, instance in stage.instances.items()}


def _same(known: Mapping[str, tuple[Params, int]], stage: Stage) -> bool:
    """Whether the models have these settings; called in each frame, so it reads pydantic's values directly."""
    if known.keys() != stage.instances.keys():
        return False
    for name, (params, substeps) in known.items():
        instance = stage.instances[name]
        if substeps != instance.substeps or params.__dict__ != instance.params.__dict__:
            return False
    return True


def _apply(stage: Stage, values: Mapping[str, tuple[Params, int]]) -> None:
    for name, (params, substeps) in values.items():
        instance = stage.instances[name]
        instance.params.take(params)
        instance.substeps = substeps

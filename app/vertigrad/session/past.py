"""`Past`: what the models were made to do, step by step, and the snapshots from which it can be done again."""

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


class Step(NamedTuple):
    """One step of all models: `dt` [s], by how many frames it takes them on (0 or 1), and all that it depends on.

    `settings` has each model's parameters and substeps; `code` counts the changes of what the models are made of, such
    as a shader: only a step of the same code can be repeated. `interaction` is the one that acts in it.
    """

    dt: float
    frames: int
    settings: Mapping[str, tuple[Params, int]]
    code: int
    interaction: Interaction | None = None

    @contextmanager
    def applied(self, stage: Stage) -> Iterator[None]:
        """The models have this step's parameters and substeps inside, and their own again afterwards."""
        now = settings(stage)
        _give(stage, self.settings)
        try:
            yield
        finally:
            _give(stage, now)


class Past:
    """The frames that can be gone back to: `first` to `last`. The models stand at `frame`.

    A frame is made again, bit for bit, from the nearest snapshot before it and the steps that followed that. It keeps
    nothing while the snapshots' limit is 0.
    """

    def __init__(self, gpu: Gpu, limit: int = 0):
        self.snapshots = Snapshots(gpu, limit)
        self.frame = 0
        self.starts = 0  # how often all was forgotten: states from before do not belong to these models
        self._steps: dict[int, tuple[Step, ...]] = {}  # by the frame at which they began, in their order
        self._done = 0  # how many steps that began at `frame` were made
        self._code = 0
        self._settings: Mapping[str, tuple[Params, int]] = {}

    @property
    def first(self) -> int:
        """The earliest frame that there is."""
        return next(iter(self.snapshots), self.frame)

    @property
    def last(self) -> int:
        """The latest frame that there is; later than `frame` after going back."""
        if not self.snapshots or not self._steps:
            return self.frame
        last = next(reversed(self._steps))
        return last + self._steps[last][-1].frames

    def start(self, stage: Stage, frame: int, time: float) -> None:
        """Forget everything, and begin with the models as they are."""
        self.starts += 1
        self.snapshots.clear()
        self._steps.clear()
        self.frame, self._done = frame, 0
        self._keep(stage, time)

    def change_code(self, stage: Stage, time: float) -> None:
        """The models are made of something else from here on: earlier steps cannot be repeated, snapshots stay."""
        self._code += 1
        self._drop_future()
        self._steps.pop(self.frame, None)
        self._done = 0
        self._take(stage, time)

    def next_step(self, stage: Stage, dt: float, frames: int, interaction: Interaction | None = None) -> Step:
        """A step of the models with their current parameters and this interaction."""
        if not _same(self._settings, stage):
            self._settings = settings(stage)
        return Step(dt, frames, self._settings, self._code, interaction)

    def made(self, step: Step, stage: Stage, time: float) -> None:
        """A step was made that ended at `time` [s]: one that was remembered, or the first of another future."""
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
        self._keep(stage, time)

    def go_to(self, frame: int, stage: Stage) -> tuple[float, list[Step]]:
        """Record the return to the snapshot at or before `frame`; returns its time and the steps from there.

        The frame reached is the snapshot's own if the steps that followed it cannot be repeated. Raises `InputError` if
        there is no snapshot.
        """
        frame = min(max(frame, self.first), self.last)
        snapshot = self.snapshot_before(frame)
        snapshot.restore(stage)
        steps = [step for at in range(snapshot.frame, frame) for step in self._steps[at]]
        steps += [step for step in self._steps.get(frame, ()) if not step.frames]
        self.frame, self._done = snapshot.frame, 0
        return snapshot.time, steps if all(step.code == self._code for step in steps) else []

    def snapshot_before(self, frame: int) -> Snapshot:
        """The snapshot from which `frame` is reached. Raises `InputError` if there is none."""
        snapshot = self.snapshots.before(min(max(frame, self.first), self.last))
        if snapshot is None:
            raise InputError("there is nothing to go back to: snapshots take no memory, or too little for one")
        return snapshot

    def mark(self) -> tuple[int, int]:
        """Where the models are now, for `take_back`."""
        return self.frame, self._done

    def take_back(self, mark: tuple[int, int]) -> None:
        """The steps since `mark` were dropped before they were submitted, and with them the snapshots of these."""
        rewritten = self.frame == mark[0] and self._done != mark[1]
        self.frame, self._done = mark
        self._drop_future()
        if rewritten:
            self.snapshots.drop_after(self.frame - 1)
        made = self._steps.pop(self.frame, ())[: self._done]
        if made:
            self._steps[self.frame] = made

    @property
    def shortage(self) -> str:
        """What is to be said if there is no memory for snapshots; empty if there is."""
        if not self.snapshots.paused:
            return ""
        return (
            "GPU memory is short: the frames to go back to were let go; they are kept again when there is room. "
            "A smaller rewind buffer (--past), smaller models, or other programs closed would help"
        )

    def give_way(self) -> None:
        """Memory is short: let go of every snapshot, and take none for a while."""
        self.snapshots.give_way(self.frame)

    def close(self) -> None:
        """Give the snapshots back. Idempotent."""
        self.snapshots.clear()

    # inside -----------------------------------------------------------------------------------------------------

    def _keep(self, stage: Stage, time: float) -> None:
        """Take a snapshot if this frame is a new one that is to have one, and forget what is before the first."""
        snapshots = self.snapshots
        if self._done or not snapshots.wants(self.frame) or self.frame <= snapshots.last:
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
                self.give_way()

    def _drop_future(self) -> None:
        """What was made after the state that the models are in is not what will be made."""
        self.snapshots.drop_after(self.frame)
        while self._steps and next(reversed(self._steps)) > self.frame:  # they are in the order of their frames
            self._steps.popitem()


def settings(stage: Stage) -> dict[str, tuple[Params, int]]:
    """Copies of each model's parameters, and its substeps."""
    return {name: (instance.params.model_copy(), instance.substeps) for name, instance in stage.instances.items()}


def _same(given: Mapping[str, tuple[Params, int]], stage: Stage) -> bool:
    """Whether the models have these settings; asked in each frame, so it looks at pydantic's values directly."""
    if given.keys() != stage.instances.keys():
        return False
    for name, (params, substeps) in given.items():
        instance = stage.instances[name]
        if substeps != instance.substeps or params.__dict__ != instance.params.__dict__:
            return False
    return True


def _give(stage: Stage, given: Mapping[str, tuple[Params, int]]) -> None:
    for name, (params, substeps) in given.items():
        instance = stage.instances[name]
        instance.params.take(params)
        instance.substeps = substeps

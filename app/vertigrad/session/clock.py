"""`Clock`: lets time pass for the models, forward by steps, backward with the rewind buffer."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..errors import ParameterError
from ..gpu import Gpu
from ..models.interaction import Interaction
from ..scene.stage import Stage
from .interaction_recording import InteractionRecording
from .pacing import Pacer
from .rewind import RecordedStep, RewindBuffer

FPS = 60  # frames in a second of model time, and of a video: one image per frame
STEP = 1.0 / FPS  # seconds of a frame's step: fixed, so that a run can be repeated whatever the frame rate
REPLAYED = 64  # steps per frame at most, while steps are repeated to reach an earlier frame


class Clock:
    """`time` [s] is the simulated time since the models' start, `frame` the number of their steps; `speed` is model
    seconds in a second of 60 frames.

    `stale` is whether a parameter changed since the last step: a paused model is then redrawn. `interaction` is
    that of the next steps, `interactions` the recording of past ones, and `played`, if there is one, a recording that
    is replayed: it also sets the length of the steps.

    Another scene, or the `same` one rebuilt, gets a clock with the settings of the one `before`.
    """

    def __init__(self, gpu: Gpu, stage: Stage, before: Clock | None = None, same: bool = False):
        self.playing = before.playing if before else True
        self.speed = before.speed if before else 1.0
        self.time = 0.0
        self.stale = False
        self.steps_requested = before.steps_requested if before else 0  # further steps, although it does not play
        self.steps = before.steps if before else 1  # per frame
        self.interaction: Interaction | None = None
        self._interaction_steps = 0  # the number of remaining steps that lead to `interaction`
        self.interactions = InteractionRecording()
        self.played: InteractionRecording | None = before.played if before and same else None
        self.passed = 0.0
        self._part = 1.0, True
        self.pacer = Pacer(gpu, before.pacer if before else None)
        self.rewind = RewindBuffer(gpu, before.rewind.snapshots.limit if before else 0)
        self._tracker = gpu.tracker
        self._marked: _Mark | None = None  # the state before this frame's steps
        self._stage = stage
        self._begun: RecordedStep | None = None  # the step that the stage has in progress, if any
        self._asked: Callable[[], object] | None = None
        self._answering = False
        self._replayed: deque[RecordedStep] = deque()  # steps to repeat, to reach the requested frame
        self.rewind.start(stage, 0, 0.0)

    @property
    def frame(self) -> int:
        """Steps since the models' start."""
        return self.rewind.frame

    @property
    def heading(self) -> int:
        """The frame that is being recomputed; `frame` if none is."""
        return self.frame + sum(step.frames for step in self._replayed)

    @property
    def moves(self) -> bool:
        """Whether time passes in this frame."""
        return self.playing or self.steps_requested > 0

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do for the models."""
        if self.playing or self.steps_requested or self.stale:
            return False
        begun = self._begun if self._stage.in_progress is not None else None
        interacting = begun is not None and not begun.frames
        asked = self._asked is not None and self._stage.in_progress is None
        return not (self._replayed or asked or self._answering or interacting)

    # what commands do -------------------------------------------------------------------------------------------

    def play(self, on: bool) -> None:
        """Let time pass, or pause at once."""
        self.playing = on
        self.steps_requested = self._interaction_steps = 0

    def halt(self) -> None:
        """Pause, and drop the steps that failed."""
        self.play(False)
        self._replayed.clear()
        self.stale = False

    def step_frames(self, count: int = 1) -> None:
        """Take the steps of `count` frames, then pause; go back as many if it is negative."""
        if count < 0:
            self.go_to(self.heading + count)
        else:
            self.play(False)
            self.steps_requested = count

    def go_to(self, frame: int) -> None:
        """Pause at `frame`, or at the nearest one in the rewind buffer. Raises `InputError` if it is empty."""
        self.rewind.snapshot_before(frame)  # raises before anything is changed
        with self._stage.rewriting():
            self.time, replayed = self.rewind.go_to(frame, self._stage)
        self.play(False)
        self._replayed = deque(replayed)

    def set_speed(self, speed: float) -> None:
        """Model seconds that pass in a second of 60 frames. Raises `ParameterError` unless it is a number from 0 on."""
        if not 0.0 <= speed < math.inf:
            raise ParameterError(f"speed: expected a finite number from 0 on, got {speed:g}; step back to rewind")
        self.speed = speed

    def restart(self) -> None:
        """Reset time to zero, with the models as they are."""
        self.time = 0.0
        self._interaction_steps = 0
        self.interactions.clear()
        self._restart_rewind(0)

    def resumed(self, frame: int, time: float) -> None:
        """The models have their state of `frame` and `time` [s]; earlier frames cannot be rewound to."""
        self.time = time
        self._restart_rewind(frame)

    def rebuilt(self) -> None:
        """Some models were rebuilt, and no longer fit their snapshots; time goes on."""
        self._restart_rewind(self.frame)

    def code_changed(self) -> None:
        """The models' code changed: earlier snapshots can be rewound to, but earlier steps cannot be repeated."""
        self._replayed.clear()
        self.rewind.change_code(self._stage, self.time)
        self.stale = True

    def set_rewind_memory(self, nbytes: int) -> None:
        """Set the memory limit of snapshots in bytes; 0 for none."""
        self.rewind.snapshots.limit = nbytes
        if not self.rewind.snapshots:
            self._restart_rewind(self.frame)

    # a frame ----------------------------------------------------------------------------------------------------

    def set_interaction(self, ask: Callable[[float], Interaction | None]) -> None:
        """Set `interaction` for the steps of this frame; `ask` gets their seconds.

        A stroke with remaining steps is continued first.
        """
        if self._stage.in_progress is None and (
            self.interaction is None or not self._interaction_steps or self.played is not None
        ):
            self._interaction_steps = self.steps if self.playing else min(self.steps, self.steps_requested)
            self.interaction = ask(STEP * self.speed * self._interaction_steps)

    def advance(self, part: float = 1.0, last: bool = True) -> bool:
        """Record the steps of this frame, if any; returns whether the state changed.

        With a `part` below 1 they are that fraction as long; the `last` part ends the frame. `passed` is the fraction
        of the frame that is over.

        Raises what a model raises; then the models are unchanged, as far as nothing was submitted in between.
        """
        self._part = part, last
        self.passed = 0.0 if last else self.passed + part
        self.pacer.begin(self._stage.in_progress is not None)
        stage, submitted = self._stage, self._tracker.submitted
        mark = None if self.idle else _Mark(stage, self.time, self.rewind.mark(), stage.scalars(), submitted)
        self._marked = mark
        try:
            moved = self._move()
            self.pacer.end()
        except BaseException:
            self.take_back()
            raise
        return moved

    def take_back(self) -> None:
        """The frame was dropped: restore models and time to before its steps.

        Steps that were already submitted stay.
        """
        marked, self._marked = self._marked, None
        if marked is None or marked.submitted != self._tracker.submitted or self._stage is not marked.stage:
            return
        self.time = marked.time
        self.rewind.take_back(marked.rewind)
        self._stage.load_scalars(marked.scalars)

    def ask(self, record: Callable[[], object]) -> None:
        """Record something that reads the models, between two steps; over several frames if these take as long."""
        if self.pacer.slices:
            self._asked = record
        else:
            self.pacer.measured()
            record()

    # inside -----------------------------------------------------------------------------------------------------

    def _move(self) -> bool:
        """Take the steps of this frame that there is time for; returns whether there were any."""
        moved = False
        if self._answer():
            for _ in range(max(self.steps, min(len(self._replayed), REPLAYED))):
                if not self.pacer.has_time() or not self._advance():
                    break
                moved = True
        return moved

    def _answer(self) -> bool:
        """Continue the work of `ask`, if it is due; returns whether the models may step."""
        stage = self._stage
        if stage.in_progress is not None and stage.in_progress.lost:
            stage.cancel()
        if self._asked is not None and stage.in_progress is None:
            stage.begin(self._asked)
            self._asked, self._answering = None, True
        if self._answering:
            self._answering = not stage.proceed(self.pacer.grant)
        return not self._answering

    def _advance(self) -> bool:
        step = self._due()
        if step is None or not self._go_on(step):
            return False
        self._begun = None
        if self._replayed and step is self._replayed[0]:
            self._replayed.popleft()
        elif step.frames:
            self.steps_requested = max(0, self.steps_requested - 1)
            self.interactions.record(self.frame, step.dt, step.interaction)
        self.time += step.dt
        self.rewind.record(step, self._stage, self.time)
        return True

    def _due(self) -> RecordedStep | None:
        """The step to begin or to continue now. A step in progress waits while time is paused."""
        begun = self._begun if self._stage.in_progress is not None else None
        if begun is not None and (self.moves or self._replayed or not begun.frames):
            return begun
        if self._replayed:
            return self._replayed[0]
        if self.moves:
            played = self.played.at(self.frame) if self.played is not None else None
            dt, interaction = self._next_interaction() if played is None else played[1:]
            part, last = self._part
            return self.rewind.next_step(self._stage, part * dt, int(last), interaction)
        return self.rewind.next_step(self._stage, 0.0, 0) if self.stale else None

    def _next_interaction(self) -> tuple[float, Interaction | None]:
        dt = STEP * self.speed
        self._interaction_steps = max(0, self._interaction_steps - 1)
        return dt, self.interaction and self.interaction.later(-self._interaction_steps * dt)

    def _go_on(self, step: RecordedStep) -> bool:
        stage, pacer = self._stage, self.pacer
        if stage.in_progress is None or step is not self._begun:
            stage.apply_interaction(step.interaction)
            if self._replayed:
                with step.applied(stage):
                    self._start(step)
            else:
                self._start(step)
                self.stale = False
        return stage.proceed(pacer.grant)

    def _start(self, step: RecordedStep) -> None:
        """Record the step whole, or as work that continues over several frames."""
        if not self.pacer.slices:
            self._stage.step(step.dt)
            self.pacer.stepped()
        else:
            self.pacer.weigh(self._stage.begin_step(step.dt).work())
            self._begun = step

    def _restart_rewind(self, frame: int) -> None:
        self._replayed.clear()
        self.rewind.start(self._stage, frame, self.time)


class _Mark(NamedTuple):
    """The state of the models of `stage` when submission number `submitted` was the last."""

    stage: Stage
    time: float
    rewind: tuple[int, int]
    scalars: Mapping[str, Mapping[str, float]]
    submitted: int

"""`Pacing`: frame pacing; `Pacer`: how much of the models' work goes into each frame."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from ..gpu import Gpu
from ..params import Params, integer, number, switch
from .statistics import computes

if TYPE_CHECKING:
    from ..gpu.kernel import Kernel

EASED = 0.7  # share of the budget under which a step is no longer cut into parts
TRUST = 300  # frames for which a step that was found to be short is taken to be so
REMEMBERED = 16  # frames whose times may still be on their way
DRAWINGS = 5  # frames of which the median is what drawing takes: a single slow one counts for nothing
PROBE = 4  # workgroups of a kernel that was never measured, to begin with
GROWTH = 4.0  # times as many as were measured last, at most
DISTINCT = 2  # times as many: from there on two measurements tell whether more take longer
SAME = 1.3  # times as long: not longer
EASE = 1.3  # times what the least takes, if that alone is beyond the budget


class Pacing(Params):
    """Frame pacing; 0 is for no limit."""

    frames_in_flight: int = integer(2, min=1, max=3, doc="frames by which the CPU may be ahead of the GPU")
    vsync: bool = switch(True, doc="synchronize frames with the display's refresh")
    fps_limit: float = number(0.0, min=0.0, max=1000.0, slider_max=120.0, unit="/s", doc="limit on frames per second")
    unfocused_fps_limit: float = number(
        10.0, min=0.0, max=1000.0, slider_max=60.0, unit="/s", doc="FPS limit while the window has no focus"
    )
    steps: int = integer(1, min=1, max=1000, scale="log", doc="simulation steps per frame")
    budget: float = number(
        0.0,
        min=0.0,
        max=1000.0,
        slider_max=100.0,
        unit="ms",
        doc="GPU time per frame for the models, or as much as drawing takes if that is more; "
        "a longer step continues in the next frames",
    )


class Pacer:
    """Grants the models' work its share of each frame, by what it cost in the frames before.

    A part of a step may take the budget, or as long as drawing does if that is longer: else slow drawing would leave
    the models a small share of the time. What workgroups of each kernel take is learned from the timer; where that
    tells nothing, by waiting for them.
    `step_ms` is what a step takes as a whole, None before one or all its parts were measured. The budget, and what
    is known of kernels on this adapter, are taken over from the pacer `before`.
    """

    def __init__(self, gpu: Gpu, before: Pacer | None = None):
        self.budget = before.budget if before else 0.0
        known = before if before and before._gpu is gpu else None
        self.step_ms: float | None = known.step_ms if known else None
        self._gpu = gpu
        self._long = known is not None and known._long
        self._timed = gpu.timer.available and gpu.adapter.kind != "software"  # there, passes end before their work
        self._begun = 0.0
        self._ended: float | None = None  # when the last part of a step was done, if it was in the frame before
        self._drawings: deque[float] = deque(known._drawings if known else (), DRAWINGS)  # ms
        self._trusted = 0  # the frame up to which a step is known to be short
        self._costs: dict[_Key, Cost] = dict(known._costs) if known else {}
        self._sent: dict[int, _Sent] = {}  # by frame
        self._now = _Sent()
        self._left = 0.0
        self._arrived = 0.0  # the newest times that were looked at

    @property
    def slices(self) -> bool:
        """Whether a step is too long for a frame."""
        return self.budget > 0.0 and self._long

    @property
    def slice_ms(self) -> float:
        """What a part of a step may take in a frame."""
        return max(self.budget, median(self._drawings or (0.0,)))

    @property
    def drawing_ms(self) -> float | None:
        """What drawing takes of a frame in which steps are cut; None where that is not known."""
        return median(self._drawings) if self.slices and self._drawings else None

    def begin(self, in_progress: bool) -> None:
        """A frame begins; `in_progress` is whether part of a step was recorded before."""
        if self._timed:
            self._learn_from_timer()
        else:
            self._suspect()
        frame = self._gpu.tracker.frame
        self._now = self._sent[frame] = _Sent()
        self._sent.pop(frame - REMEMBERED, None)
        if (self.slices or in_progress) and not self._timed:
            self._gpu.wait_idle()
            self._begun = time.perf_counter()
            if self._ended is not None:
                self._drawings.append((self._begun - self._ended) * 1e3)
        self._ended = None
        self._left = self.slice_ms if self.budget else 0.0  # without a budget all is granted

    def end(self) -> None:
        """All of this frame's work was recorded. If passes are not timed, wait for it: that is how long it took."""
        parts = self._now.parts
        if parts and self.budget and not self._timed:
            self._gpu.wait_idle()
            self._ended = time.perf_counter()
            self._learn_parts(parts, (self._ended - self._begun) * 1e3)

    def has_time(self) -> bool:
        """Whether another step may follow in this frame; the first always may."""
        steps, now = self._now.steps, self._now
        if not self.budget or not (steps or now.parts):
            return True
        return not now.parts and (steps + 1) * (self.step_ms or 0.0) <= self.budget

    def stepped(self) -> None:
        """A step was recorded as a whole."""
        self._now.steps += 1

    def measured(self) -> None:
        """Something else was recorded in this frame: it tells nothing about a step."""
        self._now.mixed = True

    def weigh(self, work: list[tuple[str, Kernel, int]]) -> None:
        """The dispatches of a step that is to be cut: if all were measured, it is known how long it takes.

        A step in which nothing had to be computed tells nothing about others.
        """
        if work and all((group, kernel) in self._costs for group, kernel, _ in work):
            self.step_ms = sum(self._costs[group, kernel].ms(count) for group, kernel, count in work)
            self._long = self.step_ms > EASED * self.budget
            if not self._long:
                self._trusted = self._gpu.tracker.frame + TRUST

    def grant(self, group: str, kernel: Kernel, left: int, splits: bool) -> int:
        """How many of the `left` workgroups of a dispatch may be recorded in this frame."""
        if not self.budget:
            return left
        key = group, kernel
        first, cost = not self._now.parts, self._costs.get(key)
        if not splits:
            fitting = left if first or (cost is not None and cost.ms(left) <= self._left) else 0
        elif cost is None:
            fitting = PROBE if first else 0
        else:
            fitting = cost.affordable(self._left, self.slice_ms)
        count = min(left, fitting)
        if count:
            self._left -= cost.ms(count) if cost else self._left  # what is not known goes alone
            self._now.parts.append(_Part(key, count, telling=not splits or fitting <= left))
        return count

    # learning ---------------------------------------------------------------------------------------------------

    def _learn_from_timer(self) -> None:
        submissions = self._gpu.timer.submissions
        fresh = list(takewhile(lambda timed: timed.arrived > self._arrived, reversed(submissions)))
        for timed in reversed(fresh):  # in their order
            sent = self._sent.pop(timed.frame, None)
            if sent is not None:
                times: dict[str, float] = defaultdict(float)
                for span in timed.spans:
                    times[span.group] += span.ms
                self._take(sent, times)
        if submissions:
            self._arrived = submissions[-1].arrived

    def _suspect(self) -> None:
        """Without times it is known only how long whole frames took: a long one is looked into.

        What it took is no measurement of its step: drawing is part of it, and while the CPU was busy with the frame
        after it, the time before it was waited for is not.
        """
        took = self._gpu.frames.took
        sent = self._sent.pop(took.frame, None) if took is not None else None
        if took is None or sent is None or not sent.steps or self._gpu.tracker.frame < self._trusted:
            return
        if took.ms > self.budget:
            self._long, self.step_ms = True, None

    def _take(self, sent: _Sent, times: dict[str, float]) -> None:
        self._drawings.append(sum(ms for group, ms in times.items() if not computes(group)))
        computed = [ms for group, ms in times.items() if computes(group)]
        if sent.steps and computed and not sent.parts and not sent.mixed:
            self.step_ms = sum(computed) / sent.steps
            self._long = self.step_ms > self.budget
        for group in {part.key[0] for part in sent.parts}:
            if group in times:
                self._learn_parts([part for part in sent.parts if part.key[0] == group], times[group])

    def _learn_parts(self, parts: Sequence[_Part], ms: float) -> None:
        """Parts that took so long together: what is not known takes the rest, else all take as many times longer."""
        known = [self._costs[part.key].ms(part.count) if part.key in self._costs else 0.0 for part in parts]
        rest, total = max(ms - sum(known), 1e-6), max(sum(known), 1e-9)
        for part, expected in zip(parts, known, strict=True):
            if part.key not in self._costs:
                self._costs[part.key] = Cost(part.count, rest)
            elif part.telling:
                self._costs[part.key].learn(part.count, ms * expected / total)


@dataclass
class Cost:
    """`measured` workgroups in one dispatch took `measured_ms` when they were measured last.

    A GPU may take as long for one as for hundreds: `least_ms` is what it takes in any case, 0 if nothing says so.
    `other` and `other_ms` are an earlier measurement, of many more or fewer.
    """

    measured: int
    measured_ms: float
    least_ms: float = 0.0
    other: int = 0
    other_ms: float = 0.0

    def ms(self, count: int) -> float:
        """What so many are expected to take, at most."""
        return self.measured_ms / self.measured * count

    def affordable(self, left: float, budget: float) -> int:
        """How many fit into `left` ms of `budget`; at least one if that is all of it."""
        if left < budget:
            return max(int(left * self.measured / self.measured_ms), 0)
        factor = min(max(budget, EASE * self.least_ms) / self.measured_ms, GROWTH)
        cost_nothing = self.measured_ms <= SAME * self.least_ms
        if cost_nothing or (not self.other and self.measured_ms <= DISTINCT * budget):  # or it is to be found out
            factor = max(factor, float(DISTINCT))
        return max(int(self.measured * factor), 1)

    def learn(self, count: int, ms: float) -> None:
        """So many took so long."""
        ms = max(ms, 1e-6)
        if not count / DISTINCT < self.measured < count * DISTINCT:
            self.other, self.other_ms = self.measured, self.measured_ms
        self.measured, self.measured_ms = count, ms
        if self.other and not count / DISTINCT < self.other < count * DISTINCT:
            (_, short), (_, long) = sorted([(count, ms), (self.other, self.other_ms)])
            self.least_ms = short if long <= SAME * short else 0.0


class _Part(NamedTuple):
    """Workgroups of a kernel. Not `telling` if they were the last few of a dispatch, where more would have had time."""

    key: _Key
    count: int
    telling: bool


class _Sent:
    """What was recorded in one frame: whole steps, or parts of one."""

    __slots__ = ("mixed", "parts", "steps")

    def __init__(self) -> None:
        self.steps = 0
        self.parts: list[_Part] = []
        self.mixed = False


_Key = tuple[str, "Kernel"]

"""`AutoQuality`: the rendering quality at which frames are in time. It gets times, and has no clock.

The session has only what was decided, a `Quality`; `commands.SetQuality` changes it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import median

from ..renderer.quality import AUTO, CHOSEN, HIGH, LOW, Level, level_of

USUAL_MS = 1000.0 / 60.0  # of a frame, where neither the user nor the screen says how long it may take
SLOW = 1.15  # times as long as wanted: too slow
IN_TIME = 1.05
HELD = 0.93  # of the time: frames that take longer may be waiting for the screen
ROOM = 0.85  # of the time, which a finer level must be expected to leave free
GAIN = 0.9  # what the cheapest level must bring the time down to, or it is not the drawing that takes it
DRAWN = 0.2  # share of a frame under which its drawing is not worth saving
SETTLING = 1.0  # seconds after a beginning or a change in which nothing is judged: pipelines are made
WINDOW = 1.2  # seconds over which frames are judged, by their median: a hiccup is none of its business
FEWEST = 5  # frames that are judged
PATIENCE, LONG_PATIENCE = 2.5, 10.0  # seconds in time before a finer level, where there is room or may be
LOSS = 3.0  # times as patient after each finer level that did not hold
PROBATION = 30.0  # seconds for which one must hold; and before another try where all were in vain
GUESS = 2.0  # times as long as the next cheaper level, before that was measured
LEAST_GAIN = 1.1  # that is believed: anything else may have changed meanwhile
WORSE = 1.5  # times as long as when it was in vain: worth another try
JUDGED_EVERY = 0.05  # seconds: there may be a thousand frames in one
SHOWN_EVERY = 0.5  # seconds between two values that are shown


@dataclass(frozen=True)
class Quality:
    """The level in force where the view says "auto", and why: what frames took lately (0: not known), and may take.

    `in_vain` says that frames are late, but not because of rendering.
    """

    level: Level = HIGH
    ms: float = 0.0
    target_ms: float = USUAL_MS
    in_vain: bool = False


class AutoQuality:
    """Goes down a level while frames take too long, and up again when there is clear room for it.

    Call `take` after each frame, `rest` when none was due. A level that does not hold is tried again later and later.
    If even the cheapest one brings little, drawing is not what takes the time, and is done finely again.
    `quality` is what it decided. It begins with the level `first`: the finest, or a cheap one where an image of the
    finest may take seconds.
    """

    def __init__(self, first: Level = HIGH) -> None:
        self._first = CHOSEN.index(first)
        self.ms = 0.0  # what a frame took lately; 0: not known yet
        self.target_ms = USUAL_MS
        self._judged = self._shown_at = 0.0  # when that was done last
        self._recent: deque[tuple[float, float]] = deque()  # (when, ms)
        self.restart()

    def restart(self) -> None:
        """Other frames follow, of which nothing is known."""
        self._index = self._first
        self.ms = 0.0
        self._vain_ms = 0.0  # what frames took when a cheaper level brought little; 0: none was in vain
        self._vain = 0
        self._again = 0.0  # when cheaper levels are tried again that were in vain
        self.forget()
        self.rest()

    def forget(self) -> None:
        """What was learned of the frames holds no longer, such as when the user changed something; the level does.

        That cheaper levels brought little stays known until frames take much longer: else each edit would make slow
        frames flicker through all levels again.
        """
        self._elsewhere = False  # frames are late, and little of them is drawing
        self._descent: tuple[int, float] | None = None  # the level from which it goes down, and ms there
        self._cost: dict[int, float] = {}  # ms of a frame at a level, when it was left for a cheaper one
        self._gain: dict[int, float] = {}  # times as long as at the next cheaper level
        self._failures = 0
        self._calm_since: float | None = None
        self._raised: float | None = None  # when a finer level was tried that has not proved itself yet

    def rest(self) -> None:
        """No frame was due, or one that tells nothing: those before and after are apart."""
        self._recent.clear()
        self._settled: float | None = None
        self._calm_since = None

    @property
    def in_vain(self) -> bool:
        """Whether frames are late, but not because of rendering."""
        return self._elsewhere or self._vain_ms > 0.0

    @property
    def level(self) -> Level:
        """The level that it chose."""
        return CHOSEN[self._index]

    @property
    def quality(self) -> Quality:
        """What it decided, and why."""
        return Quality(self.level, self.ms, self.target_ms, self.in_vain)

    def take(self, now: float, ms: float, target_ms: float = 0.0, drawing_ms: float | None = None) -> bool:
        """A frame ended at `now`, in s, and took `ms`, where `target_ms` is wanted; whether the level is another now.

        `drawing_ms` is what drawing took of it, where that is known.
        """
        self.target_ms = target_ms or USUAL_MS
        self._settled = now + SETTLING if self._settled is None else self._settled
        if now < self._settled:
            return False
        self._recent.append((now, ms))
        if now - self._judged < JUDGED_EVERY:
            return False
        self._judged = now
        while now - self._recent[0][0] > WINDOW and len(self._recent) > FEWEST:
            self._recent.popleft()
        if len(self._recent) < FEWEST or now - self._recent[0][0] < 0.6 * WINDOW:
            return False
        typical = median(ms for _, ms in self._recent)
        if not self.ms or now - self._shown_at >= SHOWN_EVERY:
            self.ms, self._shown_at = typical, now
        return self._judge(now, typical, drawing_ms)

    def _judge(self, now: float, typical: float, drawing_ms: float | None) -> bool:
        self._learn(typical)
        if typical > IN_TIME * self.target_ms:
            self._calm_since = None
            return typical > SLOW * self.target_ms and self._lower(now, typical, drawing_ms)
        self._elsewhere, self._vain_ms, self._descent = False, 0.0, None
        self._calm_since = now if self._calm_since is None else self._calm_since
        if self._raised is not None and now - self._raised > PROBATION:
            self._raised, self._failures = None, 0
        return self._index + 1 < len(CHOSEN) and self._raise(now, typical, exact=drawing_ms is not None)

    def _learn(self, typical: float) -> None:
        """How much the last step down brought; known as soon as frames of the cheaper level can be judged."""
        finer = self._index + 1
        if finer in self._cost and finer not in self._gain:
            self._gain[finer] = max(self._cost[finer] / max(typical, 1e-6), LEAST_GAIN)

    def _lower(self, now: float, typical: float, drawing_ms: float | None) -> bool:
        """The next cheaper level, if that may help; back from the cheapest one if that did not.

        A finer one, of which nothing is known, where most of the time would still not be that of drawing.
        """
        self._elsewhere = drawing_ms is not None and drawing_ms < DRAWN * typical
        finer = self._index + 1
        if finer < len(CHOSEN) and finer not in self._cost and drawing_ms and GUESS * drawing_ms < DRAWN * typical:
            return self._go(finer)
        in_vain = typical < WORSE * self._vain_ms if self._vain_ms else now < self._again
        if self._elsewhere or in_vain:
            return False
        self._vain_ms, self._descent = 0.0, self._descent or (self._index, typical)
        if self._index > 0:
            self._cost[self._index] = typical
            self._gain.pop(self._index, None)
            self._failures += self._raised is not None
            self._raised = None
            return self._go(self._index - 1)
        start, before = self._descent
        if start == 0 or typical < GAIN * before:
            self._descent = 0, typical
            return False
        self._vain_ms, self._again = typical, now + PROBATION * LOSS**self._vain
        self._vain += 1
        return self._go(start)

    def _raise(self, now: float, typical: float, exact: bool) -> bool:
        """The next finer level, if it is known to fit; where frames may wait for the screen, perhaps."""
        assert self._calm_since is not None
        fits = typical * self._gain.get(self._index + 1, GUESS) <= ROOM * self.target_ms
        may_fit = not exact and typical > HELD * self.target_ms
        patience = (PATIENCE if fits else LONG_PATIENCE) * LOSS**self._failures
        if not (fits or may_fit) or now - self._calm_since < patience:
            return False
        self._raised = now
        return self._go(self._index + 1)

    def _go(self, index: int) -> bool:
        self._index = index
        self.rest()
        return True


def first_level(adapter_kind: str) -> Level:
    """The level with which frames of a window begin on an adapter."""
    return LOW if adapter_kind == "software" else HIGH


def level_in_force(quality: str, auto: Quality) -> Level:
    """The level that a view's `quality` means in a window."""
    return auto.level if quality == AUTO else level_of(quality)


def describe_level(quality: str, auto: Quality) -> tuple[str, str]:
    """The level in force as a short text, and the reason for it at length."""
    if quality != AUTO:
        return quality, "rendering quality, set by view.quality"
    times = f", {auto.ms:.{int(auto.ms < 10.0)}f} ms of {auto.target_ms:.1f} ms" if auto.ms else ""
    reason = "rendering quality: the highest at which frames are in time; they take, of their budget"
    late = ". They are late, but not because of rendering" if auto.in_vain else ""
    return f"{AUTO}: {auto.level.name}{times}", reason + late

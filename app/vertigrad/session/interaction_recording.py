"""`InteractionRecording`: the interactions of a run, step by step; and the file from which they are replayed.

The file has a line of JSON for each change: the first step, the time step, and the interaction from there on.
Numbers are read back as the same bits. Parameters are not in it: where they were changed during the run, a replay is
the same only up to there.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError, ParameterError
from ..models.interaction import Gesture, Interaction
from ..params import described, shown, unknown
from ..scene.stage import Stage
from .tool import gestures

FORMAT, VERSION = "vertigrad interactions", 1
OLD_FORMAT = "vertigrad touches"  # up to version 0.1, with "touch" for "interaction"
LONGEST = 64 << 20  # bytes of a file that may be a recording
LARGEST = 3.4e38  # numbers go to the GPU in 32 bits


class InteractionChange(NamedTuple):
    """From the step that begins at `frame` on: steps of `dt` seconds, with this interaction or none."""

    frame: int
    dt: float
    interaction: Interaction | None


class InteractionRecording:
    """The changes of a run, in the order of their frames. It is known up to the step that begins before `end`."""

    def __init__(self, changes: Sequence[InteractionChange] = (), end: int = 0):
        self._changes = list(changes)
        self.end = end

    def at(self, frame: int) -> InteractionChange | None:
        """What holds for the step that begins at `frame`; None if that is not known."""
        index = bisect_right(self._changes, frame, key=_frame)
        return self._changes[index - 1] if index and frame < self.end else None

    def record(self, frame: int, dt: float, interaction: Interaction | None) -> None:
        """Record a step. If it differs from the recorded step of this frame, later ones are dropped."""
        if frame == self.end and self._changes:
            _, last_dt, last_interaction = self._changes[-1]
            if last_dt == dt and last_interaction == interaction:
                self.end = frame + 1
                return
        known = self.at(frame)
        if known is not None and known[1:] == (dt, interaction):
            return
        del self._changes[bisect_left(self._changes, frame, key=_frame) :]
        if not self._changes or self._changes[-1][1:] != (dt, interaction):
            self._changes.append(InteractionChange(frame, dt, interaction))
        self.end = frame + 1

    def until(self, frame: int) -> InteractionRecording:
        """Those of the steps that began before `frame`."""
        return InteractionRecording([change for change in self._changes if change.frame < frame], min(self.end, frame))

    def clear(self) -> None:
        """Forget all of them."""
        self._changes.clear()
        self.end = 0

    @property
    def gestures(self) -> set[Gesture]:
        """Those that occur."""
        return {change.interaction.gesture for change in self._changes if change.interaction is not None}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InteractionRecording) and (self._changes, self.end) == (other._changes, other.end)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def text(self, scene: str) -> str:
        """The text of the file; `scene` is the scene's title, for people."""
        heading = {"format": FORMAT, "version": VERSION, "scene": scene, "end": self.end}
        return "".join(f"{json.dumps(line)}\n" for line in (heading, *map(_plain, self._changes)))


def _frame(change: InteractionChange) -> int:
    return change.frame


def read_interactions(path: Path) -> InteractionRecording:
    """The recording in a file. Raises `InputError` with the line in which something is wrong."""
    try:
        with path.open("rb") as file:
            lines = file.read(LONGEST).decode("utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError:
        raise InputError(f"{path}: not an interaction recording: it is no text") from None
    heading, *rest = [(number, line) for number, line in enumerate(lines, 1) if line.strip()] or [(1, "")]
    try:
        end = _end(_object(heading[1]))
    except ValueError as error:
        raise InputError(f"{path}:{heading[0]}: not an interaction recording: {error}") from None
    changes: list[InteractionChange] = []
    for number, line in rest:
        try:
            changes.append(_change(_object(line), changes))
        except ValueError as error:
            raise InputError(f"{path}:{number}: {error}") from None
    if changes and not changes[-1].frame < end:
        raise InputError(f"{path}:1: end is {end}, but the last change is at step {changes[-1].frame}")
    return InteractionRecording(changes, end)


def require_known(interactions: InteractionRecording, stage: Stage, path: Path) -> None:
    """Raise `ParameterError` if no model of the scene supports a gesture of the recording."""
    unsupported = interactions.gestures - set(gestures(stage))
    if unsupported:
        raise ParameterError(f"{path}: no model of the scene supports {', '.join(sorted(unsupported))}")


# lines --------------------------------------------------------------------------------------------------------------


def _plain(change: InteractionChange) -> dict[str, Any]:
    interaction = change.interaction
    return {
        "frame": change.frame,
        "dt": change.dt,
        "interaction": None if interaction is None else interaction._asdict(),
    }


def _object(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("expected a line of JSON") from None
    if not isinstance(found, dict):
        raise ValueError(f"expected an object in braces, got {described(found)}")
    return found


def _end(heading: Mapping[str, Any]) -> int:
    if heading.get("format") not in (FORMAT, OLD_FORMAT):
        raise ValueError(f'it does not begin with {{"format": {shown(FORMAT)}, …}}')
    if heading.get("version") != VERSION:
        raise ValueError(f"this Vertigrad reads version {VERSION}, not {shown(heading.get('version'))}")
    return _whole(heading, "end")


def _change(line: Mapping[str, Any], before: Sequence[InteractionChange]) -> InteractionChange:
    line = {"interaction" if key == "touch" else key: value for key, value in line.items()}
    _known(line, InteractionChange._fields)
    frame, dt = _whole(line, "frame"), _finite(line.get("dt"), "dt")
    if before and frame <= before[-1].frame:
        raise ValueError(f"frame {frame} does not come after {before[-1].frame}")
    if not before and frame:
        raise ValueError(f"the first change must be at frame 0, not {frame}")
    interaction = line.get("interaction")
    return InteractionChange(frame, dt, None if interaction is None else _interaction(interaction))


def _interaction(entry: Any) -> Interaction:
    if not isinstance(entry, dict):
        raise ValueError(f"interaction: expected an object in braces, got {described(entry)}")
    _known(entry, Interaction._fields)
    gesture = entry.get("gesture")
    if gesture not in list(Gesture):
        raise ValueError(unknown("gesture", str(gesture), list(Gesture)))
    origin, direction, point, velocity = (_vector(entry, name) for name in Interaction._fields[1:5])
    radius, strength = (_finite(entry.get(name), name) for name in ("radius", "strength"))
    parallel = entry.get("parallel", False)
    if not isinstance(parallel, bool):
        raise ValueError(f"parallel: expected true or false, got {described(parallel)}")
    if abs(math.hypot(*direction) - 1.0) > 1e-6:
        raise ValueError(f"direction: expected a vector of length 1, got one of {math.hypot(*direction):.6g}")
    if not radius > 0.0:
        raise ValueError(f"radius: expected a number above 0, got {radius:g}")
    return Interaction(Gesture(gesture), origin, direction, point, velocity, radius, strength, parallel)


def _known(entry: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in entry:
        if name not in names:
            raise ValueError(unknown("key", name, names))


def _whole(entry: Mapping[str, Any], name: str) -> int:
    value = entry.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{name}: expected an integer from 0 on, got {described(value)}")
    return value


def _vector(entry: Mapping[str, Any], name: str) -> tuple[float, float, float]:
    value = entry.get(name)
    if not isinstance(value, list) or len(value) != 3:
        raise ValueError(f"{name}: expected 3 numbers, got {described(value)}")
    x, y, z = (_finite(part, name) for part in value)
    return x, y, z


def _finite(value: Any, name: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not abs(value) <= LARGEST:  # NaN is not, either
        raise ValueError(f"{name}: expected a finite number, got {described(value)}")
    return float(value)

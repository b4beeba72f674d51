"""The last seconds of a run as a trace: for Perfetto (ui.perfetto.dev) and chrome://tracing.

Written in the trace-event format of Chrome ("Trace Event Format", Google, 2016): metadata events "M", complete events
"X" and counters "C", times in µs. A track shows the phases of each frame on the CPU, further ones the passes on the
GPU: a group each, and below it each kernel, if those were timed.

The GPU has a clock of its own. It is aligned with the CPU's so that no pass begins before its commands were recorded:
the true times are these or later, by the delay of the GPU at its least busy moment.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..errors import InputError
from ..gpu import Gpu
from ..gpu.timer import Span, Timed
from .timeline import Frame, Timeline

SECONDS = 10.0  # of a trace
CPU, GPU, KERNELS = 1, 2, 3  # numbers of the tracks
_PROCESS = 1
_TRACKS = {CPU: "CPU: frames", GPU: "GPU: groups", KERNELS: "GPU: kernels"}

Event = dict[str, Any]


def trace(timeline: Timeline, gpu: Gpu, title: str, seconds: float = SECONDS) -> dict[str, Any]:
    """The trace of the last `seconds` as JSON has it. Raises `InputError` if there was no frame yet."""
    frames = list(timeline.frames)
    if not frames:
        raise InputError("there is nothing to trace yet: no frame was shown")
    since = frames[-1].end - seconds
    frames = [frame for frame in frames if frame.begin >= since] or frames[-1:]
    begin = frames[0].begin
    timed = [submission for submission in gpu.timer.submissions if submission.recorded >= begin]
    events = [*_names(title, any(span.kernel for one in timed for span in one.spans))]
    for frame in frames:
        events += _frame(frame, begin)
        events += _counters(frame, begin)
    events += _passes(timed, begin)
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"scene": title, "adapter": gpu.report(), "gpu clock": _clock_note(gpu)},
    }


def packed(content: dict[str, Any]) -> bytes:
    """The trace as the bytes of its file."""
    return json.dumps(content, separators=(",", ":")).encode()


def clock_offset(submissions: Iterable[Timed]) -> float:
    """Seconds to add to the GPU's clock for the CPU's: the least with which nothing begins before it is recorded."""
    first = (one.recorded - min(span.begin for span in one.spans) * 1e-9 for one in submissions if one.spans)
    return max(first, default=0.0)


def _names(title: str, kernels: bool) -> Iterator[Event]:
    yield _event("M", "process_name", 0, args={"name": f"Vertigrad: {title}"})
    for number, name in _TRACKS.items():
        if number != KERNELS or kernels:
            yield _event("M", "thread_name", number, args={"name": name})
            yield _event("M", "thread_sort_index", number, args={"sort_index": number})


def _event(phase: str, name: str, track: int, **more: Any) -> Event:
    return {"ph": phase, "name": name, "pid": _PROCESS, "tid": track, **more}


def _complete(name: str, kind: str, track: int, begin: float, end: float, arguments: dict[str, Any]) -> Event:
    """From `begin` to `end`, in s since the trace begins."""
    return _event("X", name, track, cat=kind, ts=begin * 1e6, dur=max(end - begin, 0.0) * 1e6, args=arguments)


def _frame(frame: Frame, since: float) -> Iterator[Event]:
    named = {"frame": frame.number}
    facts = {**named, "CPU ms": round(frame.cpu_ms, 4)}
    yield _complete(f"frame {frame.number}", "frame", CPU, frame.begin - since, frame.end - since, facts)
    for (phase, begin), (_, end) in itertools.pairwise([*frame.phases, ("", frame.end)]):
        yield _complete(phase, "phase", CPU, begin - since, end - since, named)


def _counters(frame: Frame, since: float) -> Iterator[Event]:
    counters = {
        "geometry copied [bytes]": {"copied": frame.copied},
        "GPU memory [bytes]": {"in use": frame.used, "free for reuse": frame.spare},
    }
    for name, values in counters.items():
        yield _event("C", name, 0, ts=(frame.end - since) * 1e6, args=values)


def _passes(submissions: Sequence[Timed], since: float) -> Iterator[Event]:
    offset = clock_offset(submissions) - since
    for submission in submissions:
        named = {"frame": submission.frame}
        for group, spans in itertools.groupby(submission.spans, key=lambda span: span.group):
            together = list(spans)
            yield _complete(group, "gpu", GPU, *_over(together, offset), named)
            for span in together:
                if span.kernel:
                    yield _complete(span.kernel, "kernel", KERNELS, *_over([span], offset), {**named, "group": group})


def _over(spans: Sequence[Span], offset: float) -> tuple[float, float]:
    """From the first begin to the last end, in s of the CPU's clock."""
    return min(span.begin for span in spans) * 1e-9 + offset, max(span.end for span in spans) * 1e-9 + offset


def _clock_note(gpu: Gpu) -> str:
    if not gpu.timer.available:
        return "this adapter has no timestamps"
    if gpu.adapter.kind == "software":
        return "a software adapter: passes may end here before their work has finished"
    return "aligned with the CPU's so that no pass begins before it was recorded"

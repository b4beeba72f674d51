"""Counts that fit the adapter: what "auto" stands for in a scene, found by measuring steps and remembered.

A step is timed at a small count, then at larger ones, as a power of the count says that they will do; the count is that
whose step takes `TARGET_MS`. Everything else of the model is as the scene has it, so each scene gets its own.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..atomic_file import write_state
from ..errors import InputError, VertigradError
from ..gpu import Gpu
from ..params import Auto, Params, ParamSpec
from ..resources import state_folder
from ..scene import ModelSpec, Scene
from ..scene.model_tables import MAX_OUTPUT_BYTES
from ..scene.stage import Stage
from .clock import STEP

TARGET_MS = 4.0  # a quarter of a frame at 60 Hz: drawing may take 11; shared by the models that have a say
START = 512  # the count that is measured first, or the share of the default if that is less
SHARE = 8  # of the default is the least that is chosen, if no soft limit says so: something is to be seen
GROWTH = 8.0  # times as many as were measured last, at most
LOW, HIGH = 0.85, 1.15  # shares of the target: a step between them was near enough, the rest is calculated
SLACK = 1.25  # times what a step takes at least: where that is beyond the target, fewer would gain nothing
TRIES = 8
SECONDS = 4.0  # after which no further count is tried
BATCH_MS = 20.0  # steps that are timed together take so long, if there are not more than
BATCH = 32  # of them
WARM_UP = 1.0  # seconds of steps before the first measurement: the clocks of an idle GPU are low for a while
POWERS = 0.4, 3.0  # of the count with which a step's time may rise
FILE, VERSION = "counts.json", 3
LONGEST = 1 << 20  # bytes of a file that may be ours
_log = logging.getLogger("vertigrad")


class Sizes:
    """What "auto" stands for on this adapter: asked of this run's memory, of the file, and at last of the adapter."""

    def __init__(self, gpu: Gpu, file: Path | None = None):
        self._gpu = gpu
        self._file = file or state_folder() / FILE
        self._known: dict[tuple[Path, str, str, str], int] = {}  # of this run: they stay, whatever else is changed

    def settled(self, scene: Scene) -> Scene:
        """The scene with a number in the place of every "auto". Raises what building a model raises."""
        automatic = {name: autos(scene.models[name].params) for name in scene.order}
        automatic = {name: specs for name, specs in automatic.items() if specs}
        for name, specs in automatic.items():  # those that give inputs come first
            for spec in specs:
                count = self.of(scene, name, spec.name, TARGET_MS / len(automatic))
                scene = _with(scene, name, spec.name, count)
        return scene

    def of(self, scene: Scene, model: str, parameter: str, target_ms: float = TARGET_MS) -> Auto:
        """One of them, for a model as `scene` has it. Raises what building the model raises."""
        key = scene.path, model, scene.models[model].type, parameter
        if key not in self._known:
            self._known[key] = self._found(scene, model, parameter, target_ms)
            _log.info("%s.%s: auto: %s", model, parameter, f"{self._known[key]:,}")
        return Auto(self._known[key])

    def _found(self, scene: Scene, model: str, parameter: str, target_ms: float) -> int:
        key = _key(scene.models[model], parameter, target_ms)
        adapter = self._gpu.adapter
        identity = f"{adapter.name}, {adapter.backend}, {adapter.driver}"
        stored = _read(self._file)
        known, spec = stored.get(identity, {}).get(key), _spec(scene.models[model].params, parameter)
        if known is not None and (spec.min or 1) <= known <= (spec.max or known):
            return known
        count = measured(self._gpu, scene, model, parameter, target_ms)
        stored.setdefault(identity, {})[key] = count
        text = json.dumps({"version": VERSION, "adapters": stored}, indent=1) + "\n"
        write_state(self._file, text, "counts will be measured again")
        return count


def autos(params: Params) -> list[ParamSpec]:
    """The parameters whose value is "auto"."""
    return [spec for spec in params.specs() if isinstance(getattr(params, spec.name), Auto)]


# measuring ----------------------------------------------------------------------------------------------------------


def measured(gpu: Gpu, scene: Scene, model: str, parameter: str, target_ms: float) -> int:
    """The count with which a step of the model takes `target_ms` here, in two digits; within the parameter's limits.

    Where a model of a count cannot be built, fewer are tried. Raises what building raises if no count can be.
    """
    spec = scene.models[model]
    least, most = _bounds(gpu, spec, parameter)
    warm_up = 0.0 if gpu.adapter.kind == "software" else WARM_UP

    def step_ms(count: int) -> float:
        nonlocal warm_up
        ms = _take_step(gpu, scene, model, parameter, count, warm_up)
        warm_up = 0.0
        return ms

    try:
        start = min(START, (_spec(spec.params, parameter).default or START * SHARE) // SHARE)
        return fitted(step_ms, least, most, target_ms, start)
    except VertigradError as error:
        raise InputError(f"models.{model}.{parameter}: no count could be measured for auto: {error}") from error


def fitted(step_ms: Callable[[int], float], least: int, most: int, target_ms: float, start: int = START) -> int:
    """The count between two whose step takes `target_ms`, if a count takes `step_ms`, which may raise.

    Where a step takes longer however few there are, it is that whose step takes `SLACK` times as long as with none.
    """
    count, times = min(max(start, least), most), dict[int, float]()
    began = time.monotonic()
    for _ in range(TRIES):
        try:
            times[count] = step_ms(count)
        except VertigradError:
            if count == least:
                raise
            count = most = max(least, count // (2 if times else int(GROWTH)))
            if count in times:
                break
            continue
        fixed = _fixed(times)
        room = max(target_ms, SLACK * fixed) - fixed
        beyond = {one: ms - fixed for one, ms in times.items()}  # what depends on the count
        base = max((one for one, ms in beyond.items() if ms <= HIGH * room), default=min(times))
        above = min((one for one, ms in beyond.items() if one > base and ms > HIGH * room), default=None)
        following = int(min(max(_count_for(beyond, base, room, above), least), most, GROWTH * base))
        near = LOW <= beyond[base] / room <= HIGH
        if near and len(times) == 1 and count < most:  # one alone does not tell what of its time is the count's
            following, near = min(2 * count, most), False
        if near or following in times or time.monotonic() - began > SECONDS:
            return _rounded(following, least)
        count = following
    return _rounded(count, least)


def _fixed(times: Mapping[int, float]) -> float:
    """The time that a step takes however few there are: where the line through the two smallest counts begins."""
    if len(times) < 2:
        return 0.0
    few, more = sorted(times)[:2]
    begins = (times[few] * more - times[more] * few) / (more - few)
    return min(max(begins, 0.0), 0.98 * min(times.values()))


def _count_for(times: Mapping[int, float], count: int, target_ms: float, above: int | None = None) -> int:
    """Where the time is the target's, if it rises with a power of the count; the power is that between two counts.

    `above` is a count that took too long: the power is that up to there, and the result is less.
    """
    others = [other for other in times if other != count]
    power = 1.0
    if above is not None and times[above] > max(times[count], target_ms):
        power = math.log(times[above] / times[count]) / math.log(above / count)
        return min(max(1, int(count * (target_ms / times[count]) ** (1.0 / power))), above - 1)
    if others:
        other = min(others, key=lambda other: abs(math.log(other / count)))
        power = math.log(times[other] / times[count]) / math.log(other / count)
    power = min(max(power, POWERS[0]), POWERS[1])
    return max(1, int(count * (target_ms / times[count]) ** (1.0 / power)))


def _rounded(count: int, least: int) -> int:
    """Down to two digits, as people choose counts."""
    unit = 10 ** max(0, len(str(count)) - 2)
    return max(count // unit * unit, least)


def _take_step(gpu: Gpu, scene: Scene, model: str, parameter: str, count: int, warm_up: float = 0.0) -> float:
    """Milliseconds of a step with this count, from recording to the end of its work: the shortest of three readings.

    The GPU is busy with steps for `warm_up` seconds before.
    """
    with closing(Stage(_alone(_with(scene, model, parameter, count), model), gpu)) as stage:
        instance = stage.instances[model]

        def seconds(steps: int) -> float:
            gpu.sync()
            began = time.perf_counter()
            for _ in range(steps):
                instance.step(STEP)
                gpu.submit()
            gpu.sync()
            return time.perf_counter() - began

        def batch() -> int:
            """Steps that take about `BATCH_MS` together."""
            return min(max(round(BATCH_MS / max(seconds(1) * 1e3, 1e-3)), 1), BATCH)

        seconds(1)  # kernels are compiled in the first
        while warm_up > 0.0:
            warm_up -= seconds(batch())
        steps = batch()
        return max(min(seconds(steps) for _ in range(3)) / steps * 1e3, 1e-6)


def _alone(scene: Scene, model: str) -> Scene:
    """A model and those whose outputs it takes, directly or not; nothing is drawn."""
    needed = {model}
    for name in reversed(scene.order):
        if name in needed:
            needed |= {ref.model for ref in scene.models[name].inputs.values()}
    order = tuple(name for name in scene.order if name in needed)
    return replace(scene, models={name: scene.models[name] for name in order}, order=order, layers={})


def _bounds(gpu: Gpu, spec: ModelSpec, parameter: str) -> tuple[int, int]:
    """Between which counts is chosen; the upper one so that each output has room in a binding of this adapter."""
    declared = _spec(spec.params, parameter)
    few = declared.slider_min if declared.slider_min is not None else (declared.default or 0) // SHARE
    least, most = int(max(declared.min or 1, few, 1)), int(declared.max or 1 << 26)
    room = min(MAX_OUTPUT_BYTES, int(gpu.limits["max-storage-buffer-binding-size"]))
    while most > least and _largest(spec, parameter, most) > room:
        most = max(most // 2, least)
    return least, most


def _largest(spec: ModelSpec, parameter: str, count: int) -> int:
    outputs = spec.kind.output_specs(spec.params.with_values({parameter: count}))
    return max((output.nbytes for output in outputs.values()), default=0)


def _with(scene: Scene, model: str, parameter: str, count: int) -> Scene:
    spec = scene.models[model]
    params = spec.params.with_values({parameter: count})
    changed = replace(spec, params=params, outputs=spec.kind.output_specs(params))
    return replace(scene, models={**scene.models, model: changed})


def _spec(params: Params, parameter: str) -> ParamSpec:
    return next(spec for spec in params.specs() if spec.name == parameter)


# remembering --------------------------------------------------------------------------------------------------------


def _key(spec: ModelSpec, parameter: str, target_ms: float) -> str:
    """All that a step's time depends on, but for the adapter: its type to be read, the rest in a few letters."""
    values = {name: str(value) for name, value in spec.params if not isinstance(value, Auto)}
    inputs = {name: str(ref) for name, ref in spec.inputs.items()}
    text = json.dumps([values, inputs, spec.substeps, target_ms], sort_keys=True)
    return f"{spec.type}.{parameter} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _read(file: Path) -> dict[str, dict[str, int]]:
    """What the file says, by adapter; nothing if there is none, or one that is not understood."""
    try:
        with file.open("rb") as opened:
            content = json.loads(opened.read(LONGEST))
        if content["version"] != VERSION:
            return {}
        return {adapter: _counts(counts) for adapter, counts in content["adapters"].items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        _log.warning("%s is not used: %s: %s; counts are measured anew", file, type(error).__name__, error)
        return {}


def _counts(counts: Mapping[str, Any]) -> dict[str, int]:
    if not all(isinstance(count, int) and not isinstance(count, bool) and count > 0 for count in counts.values()):
        raise ValueError("counts must be integers above 0")
    return dict(counts)

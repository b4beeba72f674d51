"""Variants of kernels, chosen by measuring: once per adapter, driver and class of sizes, and stored on disk.

A `Family` is one kernel with its variants. Whoever launches it asks `choose`, which looks up what was measured on this
adapter, or else takes the family's own default; nothing is ever measured there. `vertigrad tune` measures. A variant
counts only if its numbers are right on this adapter.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import platformdirs

from ..atomic_file import write_file
from ..errors import GpuError, InputError, TensorError
from ..gpu import Gpu, Plan, gpu

WORKGROUP_STORAGE = "max-compute-workgroup-storage-size"  # limits of an adapter
WORKGROUP_INVOCATIONS = "max-compute-invocations-per-workgroup"
VERSION = 1  # of the file; what was written by another is not read
FOLDER = "VERTIGRAD_CACHE"  # environment variable: the folder to keep files in, instead of the user's cache
LEAST_SECONDS = 0.01  # how long one measurement takes at least
WARM_UP_SECONDS = 0.3  # of work on each class of sizes first, so that the GPU's clocks have risen
NEAR = 1.25  # times the fastest: what is measured a second time, in turns
MOST_COPIES = 20  # of one dispatch in a plan, so that the CPU does not hold back short ones
ROUNDS = 5
log = logging.getLogger("vertigrad")

V = TypeVar("V")
T = TypeVar("T", contravariant=True)


@dataclass(frozen=True)
class Family(Generic[V]):
    """A kernel's variants by name, and the default for each class of sizes.

    `revision` counts changes of the kernel after which old measurements are not valid. `fits` says whether an
    adapter's limits allow a variant for a class; `default` gives one that fits, or raises `LimitError`.
    """

    name: str
    revision: int
    variants: Mapping[str, V]
    default: Callable[[str, Gpu], V]
    fits: Callable[[V, str, Gpu], bool]

    def choose(self, key: str) -> V:
        """The variant for a class of sizes: what was measured on this adapter, or the default."""
        cached = _cached(gpu()).get(self.name)
        name = cached.choices.get(key) if cached and cached.revision == self.revision else None
        chosen = self.variants.get(name) if name else None
        return self.default(key, gpu()) if chosen is None or not self.fits(chosen, key, gpu()) else chosen


class Problem(Protocol[T]):
    """A product, a sort, ... of one size, with its operands on the GPU."""

    def reset(self) -> None:
        """Overwrite the result with something wrong."""

    def run(self, variant: T, /) -> None:
        """Record it once, by this variant."""

    def error(self) -> float:
        """How wrong the result is, as a multiple of what is allowed: right up to 1. Waits for the GPU."""
        ...


class Tuned(NamedTuple):
    """A family, and a problem to measure each class of sizes by."""

    family: Family
    problems: Mapping[str, Callable[[], AbstractContextManager[Problem]]]


class Measurement(NamedTuple):
    """One variant on one class of sizes: milliseconds, infinite if it does not run or its numbers are wrong."""

    family: str
    key: str
    variant: str
    ms: float
    error: float


def measure(tuned: Tuned) -> Iterator[Measurement]:
    """Measure every variant that fits on every class of sizes: all of them once, those near the fastest in turns."""
    family = tuned.family
    for key, create in tuned.problems.items():
        with create() as problem, ExitStack() as stack:
            runs: dict[str, _Run] = {}
            for name, variant in family.variants.items():
                if not family.fits(variant, key, gpu()):
                    continue
                error = _error(problem, variant)
                if error <= 1.0:
                    runs[name] = _Run(stack.enter_context(Plan("tuning")), _copies(problem, variant), error)
                    with runs[name].plan.recording():
                        for _ in range(runs[name].copies):
                            problem.run(variant)
                else:
                    yield Measurement(family.name, key, name, math.inf, error)
            for name, ms in _milliseconds(runs).items():
                yield Measurement(family.name, key, name, ms, runs[name].error)


def count(tuned: Tuned) -> int:
    """How many measurements there will be."""
    family = tuned.family
    return sum(family.fits(variant, key, gpu()) for key in tuned.problems for variant in family.variants.values())


def fastest(measurements: Iterable[Measurement]) -> dict[str, dict[str, str]]:
    """{family: {key: variant}} of those that were right and took the least time."""
    best: dict[tuple[str, str], Measurement] = {}
    for found in measurements:
        pair = found.family, found.key
        if math.isfinite(found.ms) and (pair not in best or found.ms < best[pair].ms):
            best[pair] = found
    choices: dict[str, dict[str, str]] = {}
    for (family, key), found in best.items():
        choices.setdefault(family, {})[key] = found.variant
    return choices


def keep(families: Iterable[Family], choices: Mapping[str, Mapping[str, str]]) -> Path:
    """Write the choices of `families` for this adapter, next to other ones; returns the file. Raises `InputError`."""
    path, cached = file(gpu()), dict(_cached(gpu()))
    cached |= {family.name: Cached(family.revision, choices.get(family.name, {})) for family in families}
    written = {
        "version": VERSION,
        "adapter": _identity(gpu()),
        "families": {name: {"revision": one.revision, "choices": dict(one.choices)} for name, one in cached.items()},
    }
    try:
        write_file(path, json.dumps(written, indent=1).encode(), make_folder=True)
    except InputError as error:
        raise InputError(f"{error}; {FOLDER} names another folder") from error
    _read.cache_clear()
    return path


def file(device: Gpu) -> Path:
    """Where the choices for an adapter are stored."""
    return _path(os.environ.get(FOLDER, ""), _identity(device))


class Cached(NamedTuple):
    """What a file has of one family."""

    revision: int
    choices: Mapping[str, str]


def _identity(device: Gpu) -> str:
    """What measurements are good for: adapter, backend and driver."""
    choice = device.adapter
    return f"{choice.name}, {choice.backend}, {choice.driver}"


def _cached(device: Gpu) -> Mapping[str, Cached]:
    return _read(os.environ.get(FOLDER, ""), _identity(device))


def _path(folder: str, identity: str) -> Path:
    base = Path(folder) if folder else platformdirs.user_cache_path("vertigrad")
    name = re.sub(r"[^a-z0-9]+", "-", identity.lower()).strip("-")[:40].strip("-")
    return base / "tuning" / f"{name}-{hashlib.sha256(identity.encode()).hexdigest()[:12]}.json"


@cache
def _read(folder: str, identity: str) -> Mapping[str, Cached]:
    """What is stored for an adapter; empty, and a warning, if the file is damaged or was written for something else."""
    path = _path(folder, identity)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["version"] != VERSION or content["adapter"] != identity:
            raise ValueError(f"it is for {content['adapter']}, version {content['version']}")
        return {name: _family(one) for name, one in content["families"].items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        log.warning("%s is not used: %s: %s; `vertigrad tune` writes it anew", path, type(error).__name__, error)
        return {}


def _family(content: Mapping[str, Any]) -> Cached:
    choices = content["choices"]
    if not all(isinstance(text, str) for pair in choices.items() for text in pair):
        raise ValueError("choices must be names of variants")
    return Cached(int(content["revision"]), dict(choices))


def _error(problem: Problem, variant: Any) -> float:
    """How wrong a variant is; infinitely, if it does not run."""
    try:
        problem.reset()
        problem.run(variant)
        return problem.error()
    except (GpuError, TensorError):
        return math.inf


class _Run(NamedTuple):
    """A variant that is right, recorded so many times that the CPU does not hold back short ones."""

    plan: Plan
    copies: int
    error: float


def _copies(problem: Problem, variant: Any) -> int:
    return min(max(1, int(LEAST_SECONDS / _seconds(lambda: problem.run(variant), 1))), MOST_COPIES)


def _milliseconds(runs: Mapping[str, _Run]) -> dict[str, float]:
    """Of each run, the median of several rounds in which they take turns: clocks wander."""
    for run in runs.values():
        end = time.perf_counter() + WARM_UP_SECONDS / len(runs)
        while time.perf_counter() < end:
            _seconds(run.plan.replay, 1)
    found = {name: _once(run) for name, run in runs.items()}
    near = [name for name, ms in found.items() if ms <= NEAR * min(found.values())]
    rounds = [{name: _once(runs[name]) for name in near} for _ in range(ROUNDS)]
    return found | {name: sorted(times[name] for times in rounds)[ROUNDS // 2] for name in near}


def _once(run: _Run) -> float:
    """Milliseconds of one of the copies; many replays less one, so that waiting does not count."""
    more = math.ceil(LEAST_SECONDS / max(_seconds(run.plan.replay, 1), 1e-6))
    seconds = _seconds(run.plan.replay, 1 + more) - _seconds(run.plan.replay, 1)
    return max(seconds, 0.0) / more / run.copies * 1e3


def _seconds(record: Callable[[], object], runs: int) -> float:
    gpu().sync()
    start = time.perf_counter()
    for _ in range(runs):
        record()
    gpu().sync()
    return time.perf_counter() - start

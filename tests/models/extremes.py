"""Parameters at the ends of their ranges: one, or a random pair; outputs are finite, or a limit says why not.

`python -m tests.models.extremes --pairs 500` tries random pairs of all physics models on the GPU that vertigrad
selects, and prints what it found. `make explore` and tests/models/test_extremes.py take fewer. The same seed gives the
same pairs.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from vertigrad.errors import VertigradError
from vertigrad.models import Model, registry
from vertigrad.params import ParamSpec

STEP = 1.0 / 60.0

# Sizes at which a step costs little: what a model has where it is not at an end.
SMALL: dict[str, dict[str, Any]] = {
    "cloth": {"resolution": 8, "solver_substeps": 4},
    "flock": {"count": 64},
    "flow": {"count": 128},
    "fluid": {"spacing": 0.2, "count": 0, "iterations": 2},
    "gray_scott": {"resolution": 16},
    "lattice_boltzmann": {"rows": 24, "columns": 48},
    "mpm": {"count": 200, "resolution": 8},
    "nbody": {"count": 64},
    "nbody_barnes_hut": {"count": 128},
    "obstacle": {},
    "nca_fit": {"resolution": 12, "steps": 4, "hidden": 8, "channels": 8},
    "neural_field": {"resolution": 8},
    "sdf_surface": {"resolution": 9, "sdf_resolution": 0},
    "shallow_water": {"rows": 12, "columns": 16},
    "smoke": {"cells": 16, "tracers": 64},
    "splat_fit": {"views": 2, "resolution": 16, "count": 100, "learning_rate_half_life": 10, "test_view": 0},
    "wave_source": {"resolution": 32, "steps": 16, "receivers": 2},
    "wind": {"resolution": 4},
}
# The upper ends of sizes, in place of those that fill the memory.
LARGE: dict[str, dict[str, int]] = {
    "cloth": {"resolution": 24},
    "flock": {"count": 2048},
    "flow": {"count": 4096},
    "fluid": {"count": 400},
    "gray_scott": {"resolution": 64},
    "lattice_boltzmann": {"rows": 64, "columns": 128},
    "mpm": {"count": 2000, "resolution": 20},
    "nbody": {"count": 512},
    "nbody_barnes_hut": {"count": 1024},
    "nca_fit": {"resolution": 28, "steps": 24, "hidden": 64, "channels": 16},
    "neural_field": {"resolution": 64},
    "sdf_surface": {"resolution": 33, "sdf_resolution": 32},
    "shallow_water": {"rows": 64, "columns": 64},
    "smoke": {"cells": 24, "tracers": 2048},
    "splat_fit": {"views": 6, "resolution": 40, "count": 400, "test_view": 1},
    "wave_source": {"resolution": 48, "steps": 40},
    "wind": {"resolution": 24},
}
# Ends at which a box has many more cells or particles than the sizes say, with others that leave it few.
WITH: dict[tuple[str, str, Any], dict[str, Any]] = {
    ("cloth", "length", 50.0): {"resolution": 4},
    ("cloth", "width", 0.05): {"resolution": 4},
    ("fluid", "spacing", 0.002): {"tank": (0.05, 0.05, 0.05), "column": (0.02, 0.02, 0.02)},
    ("smoke", "width", 1000.0): {"height": 200.0},
    ("smoke", "depth", 1000.0): {"height": 200.0},
    ("smoke", "height", 0.01): {"width": 0.02, "depth": 0.02},
}


class Extreme(NamedTuple):
    """A model with some of its parameters at an end of their ranges."""

    model: str
    values: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.model}: " + ", ".join(f"{name} = {value}" for name, value in self.values.items())

    def fault(self, frames: int) -> str:
        """Unreported problems within so many frames of 1/60 s; empty without any, or if the values are refused."""
        values = SMALL[self.model].copy()
        for name, end in self.values.items():
            values |= WITH.get((self.model, name, end), {})
        return fault(registry.types()[self.model], values | self.values, frames)


def physics() -> list[str]:
    """Types of models whose state follows from physical steps."""
    return [name for name in SMALL if registry.types()[name].__module__.startswith("vertigrad.models.physics")]


def ends(spec: ParamSpec) -> Iterator[Any]:
    """The minimum and maximum of a parameter, or all of its choices."""
    match spec.kind:
        case "number" | "angle" | "integer":
            yield from (end for end in (spec.min, spec.max) if end is not None)
        case "vector":
            yield from ((end,) * spec.length for end in (spec.min, spec.max) if end is not None)
        case "choice":
            yield from spec.choices
        case "switch":
            yield from (False, True)


def singles(name: str) -> Iterator[tuple[str, Any]]:
    """Each parameter of a type of model, with each end that is not the value that it has otherwise."""
    for spec in registry.types()[name].Params.specs():
        usual, large = SMALL[name].get(spec.name, spec.default), LARGE.get(name, {}).get(spec.name)
        found = [end if large is None or end != spec.max else large for end in ends(spec)]
        yield from ((spec.name, end) for end in found if end != usual)


def fits(model: str, first: tuple[str, Any], second: tuple[str, Any]) -> bool:
    """Whether these two are of different parameters, and neither is what the other needs for a box of few cells."""
    one, other = WITH.get((model, *first), {}), WITH.get((model, *second), {})
    return first[0] != second[0] and first[0] not in other and second[0] not in one and not one.keys() & other.keys()


def pairs(count: int, seed: int, models: list[str]) -> Iterator[Extreme]:
    """Random pairs of parameters, each at one of its ends; all of `models` have as many."""
    chance = random.Random(seed)
    choices = {name: list(singles(name)) for name in models}
    for number in range(count):
        name = models[number % len(models)]
        first = chance.choice(choices[name])
        second = chance.choice([other for other in choices[name] if fits(name, first, other)])
        yield Extreme(name, dict(sorted([first, second])))


def exceeded(model: Model) -> list[str]:
    """Diagnostics above their limits, or NaN, and `dropped_time`."""
    found = {name: tensor.numpy().item() for name, tensor in model.diagnostics().items()}
    late = ["dropped_time"] if any(clock.dropped > 0.0 for clock in model.clocks) else []
    return late + [name for name, limit in model.limits.items() if not found[name] <= limit.bound]


def broken(model: Model) -> list[str]:
    """Outputs with numbers that are not finite."""
    outputs = {name: tensor for name, tensor in model.outputs().items() if tensor.dtype.name in ("f16", "f32")}
    return [name for name, tensor in outputs.items() if not np.isfinite(tensor.numpy()).all()]


def fault(kind: type[Model], values: dict[str, Any], frames: int) -> str:
    """Numbers that are not finite although no limit was exceeded in a frame before, with these values."""
    try:
        model = kind("model", kind.Params.parse(values), {}, 0)
    except VertigradError:
        return ""
    try:
        for frame in range(frames):
            if exceeded(model):
                return ""
            model.step(STEP)
            found = broken(model)
            if found:
                return f"{', '.join(found)} not finite in frame {frame}, and no limit was exceeded before"
    finally:
        model.close()
    return ""


def main() -> int:
    """Try the pairs; the exit code is 1 if there were faults."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=500, help="number of pairs, over all models")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--frames", type=int, default=60, help="frames of each, of 1/60 s")
    parser.add_argument("--models", nargs="*", default=physics(), help="types of models; by default all of physics")
    options = parser.parse_args()
    faults, begun = 0, time.monotonic()
    for extreme in pairs(options.pairs, options.seed, options.models):
        started = time.monotonic()
        what = extreme.fault(options.frames)
        took = time.monotonic() - started
        faults += bool(what)
        if what or took > 20.0:
            print(f"{extreme}: {what or 'finite or reported'} ({took:.0f} s)", flush=True)
    print(f"{options.pairs} pairs, seed {options.seed}: {faults} faults ({time.monotonic() - begun:.0f} s)")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""Each parameter of each simulation at both ends of its range: outputs are finite, or a limit reports an error.

Three frames each; with VERTIGRAD_EXPLORE, which `make explore` sets, a second and a half.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

from vertigrad.errors import VertigradError
from vertigrad.gpu import Gpu
from vertigrad.models import Model, registry
from vertigrad.params import ParamSpec

FRAMES = 90 if "VERTIGRAD_EXPLORE" in os.environ else 3
STEP = 1.0 / 60.0

# Sizes at which a step costs little. Parameters named here keep these values: their ends are limited by memory.
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
    "nca_fit": {"resolution": 12, "steps": 4, "hidden": 8, "channels": 8},
    "neural_field": {"resolution": 8},
    "sdf_surface": {"resolution": 9, "sdf_resolution": 0},
    "shallow_water": {"rows": 12, "columns": 16},
    "smoke": {"cells": 16, "tracers": 64},
    "splat_fit": {"views": 2, "resolution": 16, "count": 100, "learning_rate_half_life": 10, "test_view": 0},
    "wave_source": {"resolution": 32, "steps": 16, "receivers": 2},
    "wind": {"resolution": 4},
}
# Ends at which a box has many more cells than these sizes say, or a frame thousands of steps.
COSTLY = {
    "cloth": {"length", "width"},
    "gray_scott": {"time_scale"},
    "lattice_boltzmann": {"steps_per_second"},
    "mpm": {"time_step", "courant", "time_scale"},
    "shallow_water": {"time_scale", "time_step"},
    "smoke": {"width", "depth", "height", "time_step"},
    "splat_fit": {"densify_interval"},
}
FROM_FILES_AND_INPUTS = {
    "torch",  # data and external files, whose numbers are arbitrary
    *(
        "array",
        "asset",
        "bars",
        "image",
        "image_grid",
        "language_model",
        "mesh",
        "point_cloud",
        "recording",
        "onnx",
        "relief",
        "splat_mesh",
        "splat_photos",
        "splats",
        "train",
        "video",
        "volume",
        "wgsl",
    ),
}


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


def cases(name: str) -> Iterator[tuple[str, Any]]:
    for spec in registry.types()[name].Params.specs():
        if spec.name not in SMALL[name] and spec.name not in COSTLY.get(name, ()):
            yield from ((spec.name, end) for end in ends(spec) if end != spec.default)


def exceeded(model: Model) -> bool:
    """Whether a diagnostic is above its limit, or NaN."""
    found = {name: tensor.numpy().item() for name, tensor in model.diagnostics().items()}
    late = any(clock.dropped > 0.0 for clock in model.clocks)
    return late or any(not found[name] <= limit.bound for name, limit in model.limits.items())


def broken(model: Model) -> list[str]:
    """Outputs with numbers that are not finite."""
    outputs = {name: tensor for name, tensor in model.outputs().items() if tensor.dtype.name in ("f16", "f32")}
    return [name for name, tensor in outputs.items() if not np.isfinite(tensor.numpy()).all()]


def fault(kind: type[Model], values: dict[str, Any]) -> str:
    """Unreported problems with these values."""
    try:
        model = kind("model", kind.Params.parse(values), {}, 0)
    except VertigradError:
        return ""
    try:
        for frame in range(FRAMES):
            model.step(STEP)
            if frame % 10 == 9 or frame == FRAMES - 1:
                found = broken(model)
                if exceeded(model):
                    return ""
                if found:
                    return f"{', '.join(found)} not finite in frame {frame}, and no limit is exceeded"
    finally:
        model.close()
    return ""


@pytest.mark.parametrize("name", SMALL)
def test_the_ends_of_every_range_are_finite_or_reported_or_refused(gpu: Gpu, name: str) -> None:
    kind = registry.types()[name]
    faults = {(key, value): fault(kind, {**SMALL[name], key: value}) for key, value in cases(name)}
    assert faults
    assert {case: what for case, what in faults.items() if what} == {}


def test_every_simulation_is_tested() -> None:
    assert SMALL.keys() | FROM_FILES_AND_INPUTS == set(registry.types())


def test_unreported_non_finite_values_are_found(gpu: Gpu) -> None:
    class Silent(registry.types()["gray_scott"]):  # type: ignore[misc]
        limits: ClassVar = {}

        def step(self, dt: float) -> None:
            self.outputs()["u"][...] = float("nan")

    assert fault(Silent, {"resolution": 8}).startswith("u not finite")

"""Parameters of each simulation at the ends of their ranges: outputs are finite, or a limit reports an error.

Each alone for three frames, and a few random pairs. With VERTIGRAD_EXPLORE, which `make explore` sets, a second and a
half of each, and many pairs of the seed VERTIGRAD_SEED.
"""

from __future__ import annotations

import os
from typing import ClassVar

import pytest

from vertigrad.gpu import Gpu
from vertigrad.models import registry

from .extremes import SMALL, Extreme, fault, pairs, physics, singles

EXPLORE = "VERTIGRAD_EXPLORE" in os.environ
FRAMES = 90 if EXPLORE else 3
PAIRS = 50 if EXPLORE else 2  # of each model
SEED = int(os.environ.get("VERTIGRAD_SEED", "0")) if EXPLORE else 0
FROM_FILES_AND_INPUTS = {
    "torch",  # data and external files, whose numbers are arbitrary
    *(
        "array",
        "asset",
        "bars",
        "foam",
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


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", SMALL)
def test_the_ends_of_every_range_are_finite_or_reported_or_refused(gpu: Gpu, name: str) -> None:
    faults = {case: Extreme(name, dict([case])).fault(FRAMES) for case in singles(name)}
    assert faults
    assert {case: what for case, what in faults.items() if what} == {}


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", physics())
def test_random_pairs_are_finite_or_reported_or_refused(gpu: Gpu, name: str) -> None:
    faults = {str(pair): pair.fault(FRAMES) for pair in pairs(PAIRS, SEED, [name])}
    assert len(faults) == PAIRS
    assert {pair: what for pair, what in faults.items() if what} == {}


def test_pairs_are_repeated_by_their_seed() -> None:
    first, again, other = (list(map(str, pairs(40, seed, physics()))) for seed in (1, 1, 2))
    assert first == again != other
    assert all(len(pair.values) == 2 for pair in pairs(40, 1, physics()))


def test_every_simulation_is_tested() -> None:
    assert SMALL.keys() | FROM_FILES_AND_INPUTS == set(registry.types())


def test_unreported_non_finite_values_are_found(gpu: Gpu) -> None:
    class Silent(registry.types()["gray_scott"]):  # type: ignore[misc]
        limits: ClassVar = {}

        def step(self, dt: float) -> None:
            self.outputs()["u"][...] = float("nan")

    assert fault(Silent, {"resolution": 8}, 3).startswith("u not finite")

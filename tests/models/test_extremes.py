"""Parameters of each simulation at the ends of their ranges: outputs are finite, or a limit was exceeded before.

Each alone for three frames, and 50 random pairs of each model, which take turns. With VERTIGRAD_EXPLORE, which
`make explore` sets, a second and a half of each, and pairs of the seed VERTIGRAD_SEED.
"""

from __future__ import annotations

import os

import pytest

from vertigrad.gpu import Gpu
from vertigrad.models import registry

from .extremes import SMALL, Extreme, ends, fault, pairs, physics, singles

EXPLORE = "VERTIGRAD_EXPLORE" in os.environ
FRAMES = 90 if EXPLORE else 3
PAIRS, BATCHES = 50, 10  # of each model: pairs, and tests that share them
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
    faults = [(str(one), one.fault(FRAMES)) for one in (Extreme(name, dict([case])) for case in singles(name))]
    assert faults
    assert [(one, what) for one, what in faults if what] == []


@pytest.mark.turns(4 * BATCHES)
@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("name", physics())
def test_random_pairs_are_finite_or_reported_or_refused(gpu: Gpu, name: str, batch: int) -> None:
    faults = [(str(pair), pair.fault(FRAMES)) for pair in list(pairs(PAIRS, SEED, [name]))[batch::BATCHES]]
    assert len(faults) * BATCHES == PAIRS
    assert [(pair, what) for pair, what in faults if what] == []


def test_pairs_are_repeated_by_their_seed() -> None:
    first, again, other = (list(map(str, pairs(40, seed, physics()))) for seed in (1, 1, 2))
    assert first == again != other
    assert all(len(pair.values) == 2 for pair in pairs(40, 1, physics()))


def test_every_simulation_is_tested() -> None:
    assert SMALL.keys() | FROM_FILES_AND_INPUTS == set(registry.types())


def test_non_finite_values_are_found_unless_a_limit_was_exceeded_before(gpu: Gpu) -> None:
    class Unstable(registry.types()["gray_scott"]):  # type: ignore[misc]
        """Its outputs are not numbers from the second frame on, and then its `cfl` is not either."""

        def step(self, dt: float) -> None:
            for name, first in (("u", 0.0), ("v", self.first_v)):
                self.outputs()[name][...] = float("nan") if self.stepped else first
            self.stepped = True

        stepped, first_v = False, 0.0

    class Forewarned(Unstable):
        first_v = 100.0

    assert fault(Unstable, {"resolution": 8}, 1) == ""
    assert fault(Unstable, {"resolution": 8}, 3).startswith("u, v not finite in frame 1")
    assert fault(Forewarned, {"resolution": 8}, 3) == ""


def test_both_ends_of_every_parameter_are_tried() -> None:
    """Sizes have a smaller upper end; an end that is the usual value is tried with every other parameter."""
    for name, usual in SMALL.items():
        tried = list(singles(name))
        for spec in registry.types()[name].Params.specs():
            found = [value for key, value in tried if key == spec.name]
            count = len(set(ends(spec)) - {usual.get(spec.name, spec.default)})
            assert len(found) == count, (name, spec.name)

"""Each packaged scene shows its first image soon on a software adapter."""

import pytest

from vertigrad import gpu
from vertigrad.resources import scenes

from .first_images import BOUND, measured


@pytest.mark.turns(28)
@pytest.mark.parametrize("scene", [path.stem for path in scenes()])
def test_the_first_image_is_cheap(scene: str) -> None:
    """In CPU seconds of all threads: wall time depends on what else runs. Modules and pipelines are compiled before."""
    if gpu().adapter.kind != "software":
        pytest.skip("the bound is one of software adapters")
    for _ in range(2):  # the first one compiles pipelines, if Mesa has none on the disk
        _, cpu = measured(scene)["image"]
        if cpu < BOUND:
            return
    pytest.fail(f"{cpu:.1f} CPU seconds up to the first image of {scene}, {BOUND:.0f} are allowed")

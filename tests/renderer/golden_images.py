"""Golden images in `golden/`, and the comparison with them."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

GOLDEN = Path(__file__).parent / "golden"
FAILED = Path(__file__).parents[2] / "out" / "golden"
SIZE = (256, 192)
MEAN, WORST = 0.35, 24  # levels of 255: the mean, and of any pixel of an outline


def check(shown, name):
    file, renewing = GOLDEN / f"{name}.png", "VERTIGRAD_UPDATE_GOLDEN" in os.environ
    if renewing and not file.exists():
        Image.fromarray(shown).save(file)
    expected = np.asarray(Image.open(file).convert("RGB")).astype(int)
    difference = np.abs(shown.astype(int) - expected)
    if difference.mean() > MEAN or np.quantile(difference.max(axis=-1), 0.999) > WORST:
        FAILED.mkdir(parents=True, exist_ok=True)
        strong = np.clip(8 * difference, 0, 255).astype(np.uint8)
        side_by_side = np.concatenate([shown, expected.astype(np.uint8), strong], axis=1)
        Image.fromarray(shown).save(FAILED / f"{name}.png")
        Image.fromarray(side_by_side).save(FAILED / f"{name}-difference.png")
        if renewing:
            Image.fromarray(shown).save(file)
        pytest.fail(f"{name}: off by {difference.mean():.2f} levels on average, see {FAILED / name}-difference.png")


@pytest.fixture
def software_only(gpu):
    if gpu.adapter.kind != "software" or gpu.adapter.backend != "Vulkan":
        pytest.skip(f"golden images are of the software adapter on Vulkan; this is {gpu.adapter}")

"""`--quality`: the level at which images are drawn; without it the level is the same on every machine."""

import numpy as np
from PIL import Image

from ..session.running import SCENE, written


def test_the_level_of_this_run(row, vertigrad, tmp_path):
    scene = written(tmp_path, SCENE)
    shown = {}
    for level in ("", "auto", "high", "low"):
        file, option = tmp_path / f"{level or 'none'}.png", ("--quality", level) if level else ()
        outcome = vertigrad("render", scene, "-o", file, "--size", "96x64", *option)
        assert (outcome.code, outcome.messages) == (0, []), outcome.err
        with Image.open(file) as image:
            shown[level] = np.asarray(image).astype(int)
    assert (shown[""] == shown["high"]).all() and (shown["auto"] == shown["high"]).all()
    assert np.abs(shown["low"] - shown["high"]).max() > 0


def test_an_unknown_level(row, vertigrad, tmp_path):
    outcome = vertigrad("render", written(tmp_path, SCENE), "-o", tmp_path / "out.png", "--quality", "lwo")
    assert outcome.code == 2 and not (tmp_path / "out.png").exists()
    assert 'expected one of auto, low, medium, high, ultra; did you mean "low"?' in outcome.err

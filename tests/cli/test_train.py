"""`vertigrad train`: networks are trained without drawing, and the trained weights are written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vertigrad.tensor.weights import read_arrays

from ..session.learning import hills_in
from ..session.running import SCENE, use_models


@pytest.fixture
def hills(tmp_path: Path) -> Path:
    """A scene whose model learns a plane."""
    return hills_in(tmp_path)


def test_it_trains_and_writes_the_weights(vertigrad, hills, tmp_path):
    files = [tmp_path / "hills.safetensors", tmp_path / "hills.onnx"]
    outcome = vertigrad("train", hills, "--steps", 25, *(word for file in files for word in ("-o", file)))
    assert (outcome.code, outcome.messages) == (0, []), outcome.err
    message = [line.split("test_loss ") for line in outcome.out.splitlines() if "test_loss" in line]
    losses = [float(rest.split(",")[0]) for _, rest in message]
    assert len(losses) == 13 and losses[-1] < losses[0]
    assert "step 24 after" in outcome.out and "step 25 after" in outcome.out
    weights = read_arrays(files[0])
    assert {name: array.shape for name, array in weights.items()}["0.weight"] == (16, 2)
    import onnxruntime

    session = onnxruntime.InferenceSession(str(files[1]), providers=["CPUExecutionProvider"])
    positions = np.random.default_rng(0).uniform(-1, 1, (5, 2)).astype(np.float32)
    hidden = positions @ weights["0.weight"].T + weights["0.bias"]
    expected = (hidden / (1 + np.exp(-hidden))) @ weights["2.weight"].T + weights["2.bias"]
    np.testing.assert_allclose(session.run(None, {"x": positions})[0], expected, atol=1e-5)


def test_the_newest_weights_on_request(vertigrad, hills, tmp_path):
    files = {option: tmp_path / f"{option}.safetensors" for option in ("--best", "--no-best")}
    for option, file in files.items():
        assert (
            vertigrad("train", hills, "--steps", 3, option, "-o", file, "--set", "learner.learning_rate=9.0").code == 0
        )
    best, newest = (read_arrays(file)["2.bias"] for file in files.values())
    assert not np.array_equal(best, newest)


def test_it_continues_from_weights(vertigrad, hills, tmp_path):
    first, second = tmp_path / "first.safetensors", tmp_path / "second.safetensors"
    assert vertigrad("train", hills, "--steps", 5, "-o", first).code == 0
    hills_in(tmp_path, 'learning_rate = 0.0\nweights = "first.safetensors"')
    assert vertigrad("train", hills, "--steps", 1, "-o", second).code == 0
    one, two = read_arrays(first), read_arrays(second)
    assert all(np.array_equal(array, two[name]) for name, array in one.items())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "weights.txt"], "--output weights.txt: expected a name that ends in .safetensors or .onnx"),
        (["-o", "nowhere/weights.onnx"], "there is no folder nowhere"),
        (["--model", "lerner"], 'did you mean "learner"'),
    ],
)
def test_an_unwritable_output_is_reported_before_training(vertigrad, hills, arguments, message):
    outcome = vertigrad("train", hills, *arguments)
    assert outcome.code == 2 and message in outcome.messages[-1] and "step" not in outcome.out


def test_a_scene_without_training(vertigrad, tmp_path, monkeypatch):
    use_models(monkeypatch)
    path = tmp_path / "scene.toml"
    path.write_text(SCENE, encoding="utf-8")
    outcome = vertigrad("train", path)
    assert outcome.code == 2 and "no model of this scene learns" in outcome.messages[-1]

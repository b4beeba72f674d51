"""Layers of tensors inside models: found by the end of their name, live on edit, errors with near names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from vertigrad.errors import SceneError
from vertigrad.gpu import Gpu
from vertigrad.scene import load
from vertigrad.scene.schema import InnerRef
from vertigrad.scene.stage import Stage

from ..models.test_inside import W1, W2, network

SCENE = """version = 1
[models.values]
type = "array"
file = "x.npy"
[models.net]
type = "onnx"
file = "net.onnx"
inputs = {{ x = "values.values" }}
{models}
[layers]
{layers}
"""
X = np.random.default_rng(1).normal(size=(5, 3)).astype(np.float32)


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., object]:
    network(tmp_path)
    np.save(tmp_path / "x.npy", X)
    return lambda layers, models="": load(tmp_path / "scene.toml", text=SCENE.format(layers=layers, models=models))


@pytest.fixture
def stage(steady: Gpu, read) -> Iterator[Callable[[str, str], Stage]]:
    stages: list[Stage] = []

    def build(layers: str, models: str = "") -> Stage:
        stages.append(Stage(read(layers, models), steady))
        return stages[-1]

    yield build
    for each in stages:
        each.close()


def shown(stage: Stage, layer: str) -> np.ndarray:
    stage.layers[layer].prepare()
    return stage.layers[layer].form.attributes["pixels"].numpy()  # pyright: ignore[reportAttributeAccessIssue]


def test_a_layer_draws_a_tensor_inside_and_edits_are_live(stage, read) -> None:
    running = stage('a = { tensor = "net:0/sum" }')
    assert str(running.scene.layers["a"].attributes["tensor"]) == "net./enc/0/sum"
    np.testing.assert_allclose(shown(running, "a"), X @ W1, rtol=1e-5, atol=1e-6)
    model, first = running.instances["net"].model, running.layers["a"]
    both = 'a = { tensor = "net:0/sum" }\nb = { tensor = "net:relu" }\nc = { tensor = "net.out", draw = "image" }'
    assert not running.apply_scene(read(both))  # no model is built
    assert running.instances["net"].model is model and running.layers["a"] is first
    running.step(0.1)
    hidden = np.maximum(X @ W1, 0.0)
    for name, expected in (("a", X @ W1), ("b", hidden), ("c", hidden @ W2)):
        np.testing.assert_allclose(shown(running, name), expected, rtol=1e-5, atol=1e-5)
    running.apply_scene(read('b = { tensor = "net:relu", draw = "surface" }'))
    running.step(0.1)
    assert list(running.instances["net"].observed_tensors) == ["/enc/0/relu"]
    running.layers["b"].prepare()


def test_another_model_reads_a_tensor_inside(stage, read) -> None:
    grid = '[models.grid]\ntype = "image_grid"\ngap = 0\nnormalize = false\ninputs = { values = "net:relu" }'
    layer = 'a = { type = "image", pixels = "grid.image" }'
    running = stage(layer, grid)
    running.step(0.1)
    hidden = np.maximum(X @ W1, 0.0)
    np.testing.assert_allclose(running.instances["grid"].outputs["image"].numpy(), hidden, rtol=1e-5, atol=1e-6)
    running.apply_scene(read(layer + '\nb = { tensor = "net:sum" }', grid))  # recorded again, over other memory
    running.step(0.1)
    np.testing.assert_allclose(running.instances["grid"].outputs["image"].numpy(), hidden, rtol=1e-5, atol=1e-6)


def test_an_edit_that_fails_changes_nothing(stage, read) -> None:
    running = stage('a = { tensor = "net:sum" }')
    with pytest.raises(SceneError, match="a volume needs three axes"):
        running.apply_scene(read('a = { tensor = "net:sum" }\nb = { tensor = "net:relu", draw = "volume" }'))
    running.step(0.1)
    assert list(running.instances["net"].observed_tensors) == ["/enc/0/sum"]
    np.testing.assert_allclose(shown(running, "a"), X @ W1, rtol=1e-5, atol=1e-6)


def test_state_and_weights_of_any_model_are_found(stage) -> None:
    running = stage('a = { tensor = "values:values", draw = "image" }')
    np.testing.assert_array_equal(shown(running, "a"), X)
    with pytest.raises(SceneError, match=r'layers.a.tensor: values: no tensor "valeus" inside; did you mean "values"'):
        stage('a = { tensor = "values:valeus" }')


def test_names_of_tensors_may_have_any_characters(steady: Gpu, tmp_path: Path) -> None:
    """Spaces, dots, colons, brackets, quotes, slashes at the end, line breaks, and letters of other scripts."""
    names = ["a b", "a.b", "a:b", "a[3]", 'a"b', "a/", "a\nb", "α/β 😀", " ", "."]
    nodes = [helper.make_node("Identity" if number % 2 else "Neg", ["x"], [name]) for number, name in enumerate(names)]
    x, y = (helper.make_tensor_value_info(name, 1, [5, 3]) for name in "xy")
    graph = helper.make_graph([*nodes, helper.make_node("Abs", ["x"], ["y"])], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "net.onnx")
    np.save(tmp_path / "x.npy", X)
    texts = [json.dumps(f"net:{name}", ensure_ascii=False) for name in names]
    layers = "\n".join(f'l{number} = {{ tensor = {text}, draw = "image" }}' for number, text in enumerate(texts))
    running = Stage(load(tmp_path / "scene.toml", text=SCENE.format(layers=layers, models="")), steady)
    for number, name in enumerate(names):
        ref = running.scene.layers[f"l{number}"].attributes["tensor"]
        assert isinstance(ref, InnerRef) and ref.output == name
        np.testing.assert_array_equal(shown(running, f"l{number}"), X if number % 2 else -X)
    running.close()


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ('a = { tensor = "net:rely" }', 'net: no tensor "rely" inside; did you mean "/enc/0/relu"?'),
        ('a = { tensor = "net:attn" }', 'net: "attn" is the end of 2 names: "/enc/1/attn", "/dec/1/attn"; give more'),
        ('a = { tensor = "nett:relu" }', 'unknown model "nett"; did you mean "net"?'),
        ("a = { tensor = 3 }", 'expected "MODEL.OUTPUT"'),
        ('a = { tensor = "net:relu", draw = "cloud" }', "draw"),
        ('a = { type = "image", tensor = "net:relu" }', "tensor"),
    ],
)
def test_errors_say_where_and_what_is_near(read, layer: str, message: str) -> None:
    with pytest.raises(SceneError) as error:
        read(layer)
    assert message in str(error.value) and "layers.a" in str(error.value)

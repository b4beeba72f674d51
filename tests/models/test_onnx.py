"""A network in a scene: inputs from sliders, constants, time, its own outputs and other models; drawn outputs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from vertigrad import Tensor
from vertigrad.errors import SceneError
from vertigrad.gpu import Gpu
from vertigrad.models.neural.onnx import Onnx, declare
from vertigrad.scene import load
from vertigrad.session import Session
from vertigrad.session.commands import SetParameter

Make = Callable[..., Onnx]
SCENE = """version = 1
[models.net]
type = "onnx"
file = "net.onnx"
{table}
[layers.points]
type = "points"
position = "net.y"
"""


def network(folder: Path) -> Path:
    """y = x + bias (n, 3), with x recurrent or another model's output; z = scale · 2."""
    entry = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Add", ["x", "bias"], ["y"]),
        helper.make_node("Mul", ["scale", "two"], ["z"]),
        helper.make_node("Identity", ["z"], ["z.out"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [entry("x", 1, ["n", 3]), entry("bias", 1, [3]), entry("scale", 1, [])],
        [entry("y", 1, ["n", 3]), entry("z.out", 1, [])],
        [numpy_helper.from_array(np.float32(2.0), "two")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "net.onnx")
    return folder / "net.onnx"


def default_table(folder: Path) -> dict[str, Any]:
    return {
        "file": str(network(folder)),
        "dims": {"n": 5},
        "inputs": {
            "x": {"feedback": "y", "start": "uniform"},
            "bias": {"slider": [-1, 1], "value": [0.5, 0.25, 0.0]},
            "scale": {"time": 3.0},
        },
    }


@pytest.fixture
def make(steady: Gpu, tmp_path: Path) -> Iterator[Make]:
    created: list[Onnx] = []

    def make_model(linked: dict[str, Tensor] | None = None, seed: int = 0, **changes: Any) -> Onnx:
        kind, faults = declare({**default_table(tmp_path), **changes}, Path)
        assert not faults
        values = {key: value for key, value in changes.items() if key in kind.Params.model_fields}
        created.append(kind("net", kind.Params(file=tmp_path / "net.onnx", **values), linked or {}, seed))
        return created[-1]

    yield make_model
    for model in created:
        model.close()


def test_outputs_are_fed_back_once_a_step(make: Make) -> None:
    model = make(seed=4)
    start = np.random.default_rng(4).random((5, 3), np.float32)
    bias = np.array([0.5, 0.25, 0.0])
    np.testing.assert_allclose(model.outputs()["y"].numpy(), start + bias, rtol=1e-6)
    for _ in range(3):
        model.step(0.1)
    np.testing.assert_allclose(model.outputs()["y"].numpy(), start + 4 * bias, rtol=1e-6)
    model.step(0.0)
    np.testing.assert_allclose(model.outputs()["y"].numpy(), start + 4 * bias, rtol=1e-6)
    model.reset()
    np.testing.assert_allclose(model.outputs()["y"].numpy(), start + bias, rtol=1e-6)


def test_tensors_inside_the_network_are_outputs_if_a_scene_names_them(make: Make, tmp_path: Path) -> None:
    model = make(outputs={"doubled": "z", "y": "y"})
    model.step(0.5)
    assert model.outputs().keys() == {"doubled", "y"}
    assert model.outputs()["doubled"].numpy() == pytest.approx(3.0)
    assert all(comparison.holds for comparison in model.compare_with_reference())
    _, faults = declare({**default_table(tmp_path), "outputs": {"a": "zz"}}, Path)
    assert [fault.message for fault in faults] == ['unknown output "zz"; did you mean "z"?']


def test_time_and_sliders_take_effect_in_the_next_step(make: Make) -> None:
    model = make()
    model.step(0.5)
    assert model.outputs()["z_out"].numpy() == pytest.approx(2 * 3.0 * 0.5)
    before = model.outputs()["y"].numpy()
    model._params.change("bias", (0.0, 0.0, 1.0))
    model.step(0.0)
    np.testing.assert_allclose(model.outputs()["y"].numpy() - before, np.tile([-0.5, -0.25, 1.0], (5, 1)), atol=1e-6)


def test_a_snapshot_gives_the_same_bits_again(make: Make) -> None:
    model = make(seed=1)
    model.step(0.1)
    saved, numbers = {name: tensor.numpy() for name, tensor in model.state().items()}, model.scalar_state()
    model.step(0.1)
    later = model.outputs()["y"].numpy()
    for name, tensor in model.state().items():
        tensor[...] = saved[name]
    model.load_scalar_state(numbers)
    model.step(0.1)
    np.testing.assert_array_equal(model.outputs()["y"].numpy(), later)


def test_a_tensor_of_another_model_is_read_without_a_copy(make: Make, steady: Gpu) -> None:
    with Tensor.from_numpy(np.ones((7, 3), np.float32), "other") as other:
        model = make({"x": other}, inputs={**default_inputs(), "x": "other.position"}, dims={})
        before = steady.meter.read()
        model.step(0.1)
        np.testing.assert_allclose(model.outputs()["y"].numpy(), 1 + np.tile([0.5, 0.25, 0.0], (7, 1)))
        other.fill_(3.0)
        model.step(0.1)
        np.testing.assert_allclose(model.outputs()["y"].numpy(), 3 + np.tile([0.5, 0.25, 0.0], (7, 1)))
        assert other.owner in model._running._program.plan._owners
        assert before is not None
        model.close()


def default_inputs() -> dict[str, Any]:
    return {"bias": {"slider": [-1, 1], "value": [0.5, 0.25, 0.0]}, "scale": 1.0}


def test_it_agrees_with_the_reference(make: Make) -> None:
    model = make()
    model.step(0.3)
    for comparison in model.compare_with_reference():
        assert comparison.holds, str(comparison)


def test_parameters_come_from_sliders_and_dimensions(make: Make) -> None:
    specs = {spec.name: spec for spec in make()._params.specs()}
    assert list(specs) == ["file", "bias", "n"]
    assert (specs["bias"].kind, specs["bias"].length, specs["bias"].slider_min, specs["bias"].slider_max) == (
        "vector", 3, -1.0, 1.0,
    )  # fmt: skip
    assert specs["bias"].default == (0.5, 0.25, 0.0)
    assert (specs["n"].kind, specs["n"].default, specs["n"].rebuild) == ("integer", 5, True)


# scenes -----------------------------------------------------------------------------------------------------------

WHOLE = """dims = { n = 4 }
inputs.x = { start = "normal" }
inputs.bias = { slider = [-1, 1] }
inputs.scale = 2.0
"""


def scene(folder: Path, table: str = WHOLE) -> Path:
    network(folder)
    (folder / "scene.toml").write_text(SCENE.format(table=table), encoding="utf-8")
    return folder / "scene.toml"


def test_a_scene_runs_and_its_sliders_move(steady: Gpu, tmp_path: Path) -> None:
    path = scene(tmp_path)
    with Session(steady, path, sets=["net.bias=[1, 0, 0]", "net.n=6"]) as session:
        position = session.stage.instances["net"].outputs["y"]
        assert position.shape == (6, 3)
        before = position.numpy()
        session.carry_out(SetParameter("models.net", "bias", (0.0, 2.0, 0.0)))
        session.advance()
        after = session.stage.instances["net"].outputs["y"].numpy()
        np.testing.assert_allclose(after - before, np.tile([-1, 2, 0], (6, 1)), atol=1e-6)
        session.carry_out(SetParameter("models.net", "n", 9))
        assert session.stage.instances["net"].outputs["y"].shape == (9, 3)


@pytest.mark.parametrize(
    ("old", "new", "point", "message"),
    [
        ("{ n = 4 }", "{ m = 4 }", "5:10  models.net.dims.m", 'unknown dimension "m"'),
        ("{ n = 4 }", "{ n = 0 }", "5:", "integer from 1"),
        ('{ start = "normal" }', '{ start = "gauss" }', "6:12", "zeros, ones, normal"),
        ('{ start = "normal" }', '{ feedback = "w" }', "6:12", "no output \"w\"|no output 'w'"),
        ("[-1, 1]", "[1, -1]", "7:15", "low below high"),
        ("{ slider = [-1, 1] }", "{ knob = 3 }", "7:15", "expected one of slider"),
        ("inputs.scale = 2.0\n", "", "2:", "needs the input scale"),
        ("inputs.scale", "inputs.scales", "8:", 'did you mean "scale"'),
        ("inputs.scale = 2.0", "inputs.scale = true", "8:", "got true"),
        ("inputs.scale = 2.0", 'inputs.scale = "galaxy.mass"', "8:", 'unknown model "galaxy"'),
        ("dims", "sizes", "5:1  models.net.sizes", "unknown parameter"),
        ("dims = { n = 4 }\n", "outputs = { y = 'q' }\n", "5:", 'unknown output "q"'),
    ],
)
def test_problems_are_reported_with_their_location(
    tmp_path: Path, old: str, new: str, point: str, message: str
) -> None:
    assert old in WHOLE
    with pytest.raises(SceneError) as caught:
        load(scene(tmp_path, WHOLE.replace(old, new)))
    lines = str(caught.value).splitlines()
    assert any(f"scene.toml:{point}" in line and re.search(message, line) for line in lines), lines


def test_an_unreadable_network_is_one_problem(tmp_path: Path) -> None:
    path = scene(tmp_path)
    (tmp_path / "net.onnx").write_bytes(b"nothing of the kind")
    with pytest.raises(SceneError) as caught:
        load(path)
    assert len(caught.value.problems) == 1
    assert "scene.toml:4:8  models.net.file" in str(caught.value)


def test_a_network_outside_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    path = scene(tmp_path / "inner", WHOLE)
    network(tmp_path)
    path.write_text(path.read_text().replace('"net.onnx"', '"../net.onnx"'))
    with pytest.raises(SceneError, match="leaves the scene's folder"):
        load(path)


def test_an_unsupported_node_is_reported_when_the_scene_is_built(steady: Gpu, tmp_path: Path) -> None:
    path = scene(tmp_path)
    created = onnx.load(tmp_path / "net.onnx")
    created.graph.node.append(helper.make_node("Cast", ["y"], ["wide"], to=TensorProto.DOUBLE))
    created.graph.output.append(helper.make_tensor_value_info("wide", TensorProto.DOUBLE, ["n", 3]))
    onnx.save(created, tmp_path / "net.onnx")
    with pytest.raises(SceneError, match="double"):
        Session(steady, path)

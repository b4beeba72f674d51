"""A network file opens as a scene: sliders for small inputs, a layer chosen by the shape of its output."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.scene import load
from vertigrad.session import Session

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def saved(folder: Path, inputs: dict[str, tuple[int, list]], outputs: dict[str, list], ops: list[tuple]) -> Path:
    entry = helper.make_tensor_value_info
    graph = helper.make_graph(
        [
            helper.make_node(op, list(node_inputs), list(node_outputs), **attributes)
            for op, node_inputs, node_outputs, attributes in ops
        ],
        "net",
        [entry(name, elem, shape) for name, (elem, shape) in inputs.items()],
        [entry(name, FLOAT, shape) for name, shape in outputs.items()],
    )
    node_outputs = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(node_outputs, full_check=True)
    onnx.save(node_outputs, folder / "some net.onnx")
    return folder / "some net.onnx"


def identity(folder: Path, shape: list) -> Path:
    return saved(folder, {"x": (FLOAT, shape)}, {"y": shape}, [("Identity", ["x"], ["y"], {})])


@pytest.mark.parametrize(
    ("shape", "layer", "source"),
    [
        ([50, 3], "points", "net.position"),
        (["n", 3], "points", "net.position"),
        ([1, 50, 3], "points", "net.position"),
        ([1, 3, 20, 30], "surface", "relief.position"),
        ([20, 30, 3], "surface", "relief.position"),
        ([1, 3, "h", "w"], "surface", "relief.position"),
        ([1, 1, 20, 30], "surface", "relief.position"),
        ([20, 30], "surface", "relief.position"),
        ([10], "surface", "bars.position"),
        ([1, 10], "surface", "bars.position"),
        (["batch", 10], "surface", "bars.position"),
        ([2, 10], "surface", "bars.position"),
        ([], "surface", "bars.position"),
    ],
)
def test_the_layer_depends_on_the_output(steady: Gpu, tmp_path: Path, shape: list, layer: str, source: str) -> None:
    path = identity(tmp_path, shape)
    scene = load(path)
    (drawn,) = scene.layers.values()
    assert (drawn.type, str(drawn.attributes["position"])) == (layer, source)
    assert scene.camera.fov == 40
    with Session(steady, path) as session:
        session.advance()
        assert all(tensor.size for tensor in session.stage.instances["net"].outputs.values())


def test_inputs_are_sliders_or_constants(tmp_path: Path) -> None:
    inputs = {"a.b": (FLOAT, [1, 3]), "large": (FLOAT, [1, 500]), "label": (INT64, [1]), "points": (FLOAT, ["n", 3])}
    ops = [
        ("Add", ["points", "a.b"], ["p"], {}),
        ("ReduceMean", ["large"], ["m"], {"keepdims": 0}),
        ("Cast", ["label"], ["f"], {"to": FLOAT}),
        ("Add", ["p", "m"], ["q"], {}),
        ("Add", ["q", "f"], ["y"], {}),
    ]
    scene = load(saved(tmp_path, inputs, {"y": ["n", 3]}, ops))
    specs = {spec.name: spec for spec in scene.models["net"].params.specs()}
    assert set(specs) == {"file", "a_b", "n"}
    assert (specs["a_b"].length, specs["a_b"].slider_min, specs["a_b"].slider_max) == (3, -2.0, 2.0)
    assert specs["n"].default == 4096
    assert scene.title == "some net"


def test_the_camera_sees_everything(steady: Gpu, tmp_path: Path) -> None:
    """Distant points with large distances: all of them are in the image when the scene opens."""
    path = saved(tmp_path, {"x": (FLOAT, [64, 3])}, {"y": [64, 3]}, [("Identity", ["x"], ["y"], {})])
    node_outputs = onnx.load(path)
    node_outputs.graph.node[0].CopyFrom(helper.make_node("Add", ["x", "shift"], ["y"]))
    node_outputs.graph.initializer.append(helper.make_tensor("shift", FLOAT, [3], [500.0, -200.0, 900.0]))
    onnx.save(node_outputs, path)
    with Session(steady, path) as session:
        points = session.stage.instances["net"].outputs["position"].numpy()
        camera = session.camera
        middle = (points.min(axis=0) + points.max(axis=0)) / 2
        np.testing.assert_allclose(camera.target, middle, atol=0.1)
        away = float(np.linalg.norm(np.subtract(camera.position, middle)))
        radius = float(np.linalg.norm(points - middle, axis=1).max())
        assert radius < away < 20 * radius


def test_outputs_that_cannot_be_drawn_are_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none of its outputs looks like.*docs/onnx\.md"):
        load(identity(tmp_path, [2, 3, 4, 5, 6]))
    (tmp_path / "bad.onnx").write_bytes(b"no network")
    with pytest.raises(InputError, match=r"bad\.onnx"):
        load(tmp_path / "bad.onnx")

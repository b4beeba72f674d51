"""Graphs whose inputs and outputs have no shape in the file, which onnxruntime runs, against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from vertigrad.errors import SceneError
from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network
from vertigrad.scene import load
from vertigrad.session import Session

from .networks import node, reals

onnxruntime = pytest.importorskip("onnxruntime", reason="compares with onnxruntime")
FLOAT = TensorProto.FLOAT
SCENE = """version = 1
[models.net]
type = "onnx"
file = "net.onnx"
inputs.x = {feed}
outputs = {{ values = "y" }}
"""


def network(shape: Any, result: Any, typed: bool = True) -> onnx.ModelProto:
    """y = softmax(x w), of any rank."""
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Softmax", ["a"], ["y"], axis=-1)]
    output = helper.make_tensor_value_info("y", FLOAT, result) if typed else helper.make_empty_tensor_value_info("y")
    weights = [onnx.numpy_helper.from_array(reals(4, 5, seed=3), "w")]
    graph = helper.make_graph(nodes, "shapeless", [helper.make_tensor_value_info("x", FLOAT, shape)], [output], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize(
    ("shape", "result", "typed"),
    [(None, None, True), (["n", 4], None, True), (None, ["n", 5], True), (None, None, False), (["n", 4], None, False)],
)
def test_a_network_needs_no_shapes(gpu: Gpu, shape: Any, result: Any, typed: bool) -> None:
    proto = network(shape, result, typed)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    with Network(proto) as ours:
        assert ours.inputs["x"] == (np.float32, None if shape is None else ("n", 4))
        for sizes in ((3, 4), (1, 4), *([(2, 3, 4), (4,)] if shape is result is None else [])):
            x = reals(*sizes)
            np.testing.assert_allclose(ours.run({"x": x})["y"], session.run(None, {"x": x})[0], rtol=1e-5, atol=1e-6)


def test_an_input_of_a_scene_without_a_shape(gpu: Gpu, tmp_path: Path) -> None:
    onnx.save(network(None, ["n", 5]), tmp_path / "net.onnx")
    path = tmp_path / "scene.toml"
    path.write_text(SCENE.format(feed="[[1.0, 2.0, 3.0, 4.0]]"), encoding="utf-8")
    reference = onnxruntime.InferenceSession(tmp_path / "net.onnx").run(None, {"x": np.float32([[1, 2, 3, 4]])})[0]
    with Session(gpu, path) as session:
        found = session.stage.instances["net"].outputs["values"].numpy()
        np.testing.assert_allclose(found, reference[0], rtol=1e-5)
    path.write_text(SCENE.format(feed="{ slider = [0, 1] }"), encoding="utf-8")
    with pytest.raises(SceneError, match="gives it no shape: use a constant"):
        load(path)

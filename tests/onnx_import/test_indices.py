"""Indices that only the GPU has and that are out of range are errors that name the node, as they are of onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network

from .networks import model, node, reals

onnxruntime = pytest.importorskip("onnxruntime", reason="compares with onnxruntime")
X = reals(40, 4)
Indexed = tuple[str, tuple[int, ...], Sequence[int], Mapping[str, Any], str]
INDEXED: list[Indexed] = [  # operator, shape of the indices, the wrong ones at their end, attributes, and message
    ("Gather", (2, 3), [40], {}, "index 40 along axis 0 of size 40; valid are from -40 to 39"),
    ("Gather", (), [-5], {"axis": 1}, "index -5 along axis 1 of size 4"),
    ("GatherElements", (40, 2), [4], {"axis": 1}, "index 4 along axis 1 of size 4"),
    ("GatherND", (3, 2), [39, 4], {}, "index 4 along axis 1 of size 4"),
    ("GatherND", (40, 1), [-5], {"batch_dims": 1}, "index -5 along axis 1 of size 4"),
    ("ScatterElements", (1, 4), [-41], {}, "index -41 along axis 0 of size 40"),
    ("ScatterND", (1, 1), [40], {}, "index 40 along axis 0 of size 40"),
]


def network(op: str, shape: Sequence[int], attributes: Mapping[str, Any]) -> onnx.ModelProto:
    """The indices are the negative of those that are given: the GPU computes them."""
    elem = TensorProto.INT32 if op.endswith("Elements") else TensorProto.INT64
    names = ["x", "index", *(["update"] if op.startswith("Scatter") else [])]
    nodes = [node("Neg", "i", ["index"]), node(op, names, "y", name="culprit", **attributes)]
    return model(
        nodes, {"x": list(X.shape), "i": (elem, list(shape))}, "y", {"update": np.ones((1, 4), np.float32)}, opset=17
    )


def run(proto: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> np.ndarray:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(proto.SerializeToString(), options).run(None, dict(feeds))[0]


@pytest.mark.parametrize("indexed", INDEXED, ids=lambda one: f"{one[0]}: {one[-1][:12]}")
def test_an_index_out_of_range_is_an_error(steady: Gpu, indexed: Indexed) -> None:
    op, shape, wrong, attributes, message = indexed
    proto = network(op, shape, attributes)
    right = np.zeros(shape, np.int32 if op.endswith("Elements") else np.int64)
    outside = right.copy()
    outside.reshape(-1)[outside.size - len(wrong) :] = -np.array(wrong)
    with Network(proto) as ours:
        for feeds in ({"x": X, "i": right}, {"x": X, "i": outside}, {"x": X, "i": right}):
            if feeds["i"] is outside:
                with pytest.raises(Exception, match="ONNXRuntimeError"):
                    run(proto, feeds)
                with pytest.raises(InputError, match=rf"^test: {op} \('culprit', .*\): {message}"):
                    ours.run(feeds)
            else:
                np.testing.assert_array_equal(ours.run(feeds)["y"], run(proto, feeds))


@pytest.mark.parametrize("index", [-40, 39])
def test_the_ends_of_the_range_are_not(steady: Gpu, index: int) -> None:
    proto, feeds = network("Gather", (1,), {}), {"x": X, "i": np.array([-index])}
    with Network(proto) as ours:
        np.testing.assert_array_equal(ours.run(feeds)["y"], run(proto, feeds))


def test_an_index_beyond_32_bits_is_an_error(steady: Gpu) -> None:
    proto, feeds = network("Gather", (1,), {}), {"x": X, "i": np.array([1 << 40])}
    with Network(proto) as ours, pytest.raises(InputError, match="index -2147483648 along axis 0 of size 40"):
        ours.run(feeds)


def test_nothing_is_indexed(steady: Gpu) -> None:
    proto, feeds = network("Gather", (0,), {}), {"x": X, "i": np.zeros(0, np.int64)}
    with Network(proto) as ours:
        assert ours.run(feeds)["y"].shape == (0, 4)


def test_programs_of_tensors_are_not_slower(steady: Gpu) -> None:
    """Indices are checked when outputs are read: scenes do not read them, and record no more kernels than before."""
    proto, indices = network("Gather", (5,), {}), np.zeros(5, np.int64)
    with Network(proto) as ours:
        program = ours.bind({"x": X, "i": indices}, {})
        assert len(ours.program({"x": X, "i": indices}).plan) == len(program.plan) + 2
        program.close()


@pytest.mark.parametrize("op", ["GatherND", "ScatterND"])
def test_more_indices_than_axes_are_an_error(steady: Gpu, op: str) -> None:
    proto = network(op, (1, 3), {})
    proto.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT  # ONNX infers none
    with Network(proto) as ours, pytest.raises(InputError, match=rf"{op} .*3 indices each for a tensor of 2 axes"):
        ours.run({"x": X, "i": np.zeros((1, 3), np.int64)})


@pytest.mark.parametrize("constants", [{}, {"i": np.array([0])}])
@pytest.mark.parametrize("op", ["Gather", "GatherElements"])
def test_a_number_has_no_elements(steady: Gpu, op: str, constants: Mapping[str, np.ndarray]) -> None:
    """The shapes are not in the file: what is wrong is found when it runs."""
    feeds = {"x": np.array(3, np.float32), "i": np.array([0])}
    elems = {"x": TensorProto.FLOAT, "i": TensorProto.INT64}
    inputs = {name: (elem, None) for name, elem in elems.items() if name not in constants}
    proto = model([node(op, "xi", "y")], inputs, {"y": None}, constants)
    with Network(proto) as ours, pytest.raises(InputError, match=f"{op} .*a tensor without axes"):
        ours.run({name: feeds[name] for name in inputs})

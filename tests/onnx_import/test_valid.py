"""Constants and attributes that onnxruntime rejects are errors that name the node, folded or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network

from .networks import reals

onnxruntime = pytest.importorskip("onnxruntime", reason="compares with onnxruntime")
X, IMAGE, WHOLE = reals(40, 4), reals(1, 2, 3, 3), np.arange(100, dtype=np.int64).reshape(25, 4)
ONES = np.ones((1, 4), np.float32)
Invalid = tuple[str, np.ndarray, Sequence[Any], Mapping[str, Any], str]
INVALID: list[Invalid] = [
    (
        "Gather",
        X,
        [np.array([0, 40])],
        {},
        r"index 40 along axis 0 of size 40; valid are from -40 to 39 \(input 'c0'\)",
    ),
    ("Gather", X, [np.array(-5)], {"axis": 1}, "index -5 along axis 1 of size 4"),
    ("Gather", X[:0], [np.array(0)], {}, "index 0 along axis 0 of size 0; valid are none"),
    ("GatherElements", X, [np.array([[0, 4]])], {"axis": 1}, "index 4 along axis 1 of size 4"),
    ("GatherND", X, [np.array([[0, 4]])], {}, "index 4 along axis 1 of size 4"),
    ("GatherND", X, [np.array([[0], [4]] * 20)], {"batch_dims": 1}, "index 4 along axis 1 of size 4"),
    ("ScatterElements", X, [np.array([[40, 0, 0, 0]]), ONES], {}, "index 40 along axis 0 of size 40"),
    ("ScatterND", X, [np.array([[40]]), ONES], {}, "index 40 along axis 0 of size 40"),
    ("Div", WHOLE, [np.array([1, 0, 2, 3])], {}, r"integers are divided by 0.*\(input 'c0'\)"),
    ("Mod", WHOLE, [np.array(0)], {}, "integers are divided by 0"),
    ("Range", np.array(0), [np.array(5), np.array(0)], {}, "a step of 0"),
    ("Slice", X, [np.array([0]), np.array([2]), np.array([0]), np.array([0])], {}, "a step of 0"),
    ("Slice", X, [np.array([0]), np.array([2]), np.array([5])], {}, "axes 5 of a tensor with 2 axes"),
    ("Slice", X, [np.array([0, 1]), np.array([2]), np.array([0])], {}, "2 starts, 1 ends, 1 axes"),
    ("Squeeze", X, [np.array([5])], {}, "axes 5 of a tensor with 2 axes; valid are -2 to 1"),
    ("Unsqueeze", X, [np.array([0, 0])], {}, r"axes \[0, 0\] name one twice"),
    ("Unsqueeze", X, [np.array([7])], {}, "axes 7 of a tensor with 3 axes"),
    ("Tile", X, [np.array([1])], {}, "1 repeats for a tensor with 2 axes"),
    ("OneHot", WHOLE[0], [np.array(-3), np.array([0.0, 1.0], np.float32)], {}, "a depth of -3"),
    ("CumSum", X, [np.array(5)], {}, "axes 5 of a tensor with 2 axes"),
    ("Split", X, [np.array([1, 3])], {"axis": 1}, r"parts \[1, 3\] for 1 outputs"),
    ("Flatten", X, [], {"axis": 9}, "axis 9 of a tensor with 2 axes; valid are -2 to 2"),
    ("ReduceSum", X, [np.array([7])], {}, "axes 7 of a tensor with 2 axes"),
    ("ReduceMean", X, [], {"axes": [7]}, "axes 7 of a tensor with 2 axes"),
    ("EyeLike", X[0], [], {}, "a tensor with 1 axes; it must be a matrix"),
    ("Trilu", X[0], [], {}, "a tensor with 1 axes; it must be a matrix"),
    ("Conv", IMAGE, [reals(4, 2, 5, 5)], {}, "a window of 5 x 5 on an image of 3 x 3"),
    ("Conv", IMAGE, [reals(4, 2, 5, 5)], {"auto_pad": "VALID"}, "a window of 5 x 5 on an image of 3 x 3"),
    ("Conv", IMAGE, [reals(4, 2, 2, 2)], {"dilations": [3, 1]}, "a window of 4 x 2 on an image of 3 x 3"),
    ("MaxPool", IMAGE, [], {"kernel_shape": [5, 5]}, "a window of 5 x 5 on an image of 3 x 3"),
    (
        "AveragePool",
        IMAGE,
        [],
        {"kernel_shape": [7, 5], "pads": [1, 1, 1, 1]},
        "a window of 7 x 5 on an image of 5 x 5",
    ),
    (
        "MaxPool",
        IMAGE,
        [],
        {"kernel_shape": [2, 2], "pads": [0, 2, 0, 0]},
        r"pads \[0, 2, 0, 0\] for a window of 2 x 2",
    ),
    ("Resize", IMAGE, [None, None, np.array([1, 2, 0, 4])], {}, r"sizes \[1, 2, 0, 4\]; they must be positive"),
    ("Resize", IMAGE, [None, np.array([1, 1, 0, 1], np.float32)], {}, "scales .*; they must be positive"),
]


def network(op: str, x: np.ndarray, constants: Sequence[Any], attributes: Mapping[str, Any], folded: bool) -> Any:
    names = ["x", *(f"c{i}" if one is not None else "" for i, one in enumerate(constants))]
    weights = [numpy_helper.from_array(one, f"c{i}") for i, one in enumerate(constants) if one is not None]
    entry = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), [None] * x.ndim)
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], name="culprit", **attributes)],
        "invalid",
        [] if folded else [entry],
        [helper.make_empty_tensor_value_info("y")],
        [*weights, *([numpy_helper.from_array(x, "x")] if folded else [])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("invalid", INVALID, ids=lambda one: f"{one[0]}: {one[-1][:30]}")
def test_what_onnxruntime_rejects_is_an_error(gpu: Gpu, invalid: Invalid, folded: bool) -> None:
    op, x, constants, attributes, message = invalid
    proto: onnx.ModelProto = network(op, x, constants, attributes, folded)
    inputs = {} if folded else {"x": x}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        onnxruntime.InferenceSession(proto.SerializeToString(), options).run(None, inputs)
    with Network(proto) as ours, pytest.raises(InputError, match=rf"^invalid: {op} \('culprit', .*\): {message}"):
        ours.run(inputs)


@pytest.mark.parametrize(
    ("op", "x", "constants", "attributes"),
    [
        ("Gather", X, [np.array([-40, 39])], {}),
        ("GatherND", X, [np.array([[-40, 3], [39, -4]])], {}),
        ("ScatterND", X, [np.array([[-1]]), ONES], {}),
        ("Flatten", X, [], {"axis": 2}),
        ("Unsqueeze", X, [np.array([-1, 0])], {}),
        ("Slice", X, [np.array([99]), np.array([-99]), np.array([0]), np.array([-3])], {}),
        ("Conv", IMAGE, [reals(4, 2, 5, 5)], {"auto_pad": "SAME_UPPER"}),
        ("Conv", IMAGE, [reals(4, 2, 5, 5)], {"pads": [1, 1, 1, 1]}),
        ("MaxPool", IMAGE, [], {"kernel_shape": [3, 3]}),
        ("AveragePool", IMAGE, [], {"kernel_shape": [4, 3], "strides": [2, 2], "ceil_mode": 1}),
        ("Div", WHOLE, [np.array([1, -1, 2, 3])], {}),
        ("Div", X, [np.float32([1, 2, 3, 0])], {}),
        ("Range", np.array(9), [np.array(1), np.array(-2)], {}),
    ],
)
def test_what_is_at_the_ends_of_the_ranges_is_not(
    gpu: Gpu, op: str, x: np.ndarray, constants: Sequence[Any], attributes: Mapping[str, Any]
) -> None:
    proto = network(op, x, constants, attributes, folded=False)
    (expected,) = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x": x})
    with Network(proto) as ours:
        np.testing.assert_allclose(ours.run({"x": x})["y"], expected, rtol=1e-4, atol=1e-5)

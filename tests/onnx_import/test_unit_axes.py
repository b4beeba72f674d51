"""Units of batched activations: along which axis they are, and what is set to zero in every sample."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
from onnx import helper, numpy_helper

from vertigrad import Tensor
from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network
from vertigrad.onnx_import.unit_axes import UnitAxes

RNG = np.random.default_rng(6)


@pytest.mark.parametrize(
    ("shape", "batch", "axis"),
    [
        ((), 1, 0),
        ((7,), 1, 0),
        ((5, 7), 5, 1),
        ((1, 6, 7), 1, 2),  # tokens of features
        ((3, 6, 7), 3, 2),
        ((3, 6, 7), 1, 0),  # channels
        ((3, 6, 7, 8), 3, 1),
        ((3, 6, 7, 8, 9), 1, 1),
    ],
)
def test_axes_by_shape(shape: tuple[int, ...], batch: int, axis: int) -> None:
    assert UnitAxes([(batch, 4), (batch, 2, 2), ()]).of("x", shape) == axis


def test_inputs_of_other_first_sizes_have_no_batch() -> None:
    assert UnitAxes([(3, 4), (2, 4)]).batch == 1


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("name", ["conv", "active", "features"])
def test_a_unit_is_zero_in_every_sample(steady: Gpu, batch: int, name: str) -> None:
    """A convolution over time, with channels behind the batch, and features of each time behind them."""
    weights = {"w": RNG.normal(size=(4, 3, 3)), "v": RNG.normal(size=(6, 5))}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["conv"]),
        helper.make_node("Sigmoid", ["conv"], ["active"]),
        helper.make_node("MatMul", ["active", "v"], ["features"]),
        helper.make_node("Tanh", ["features"], ["y"]),
    ]
    entry = helper.make_tensor_value_info
    constants = [numpy_helper.from_array(value.astype(np.float32), key) for key, value in weights.items()]
    graph = helper.make_graph(nodes, "g", [entry("x", 1, [batch, 3, 8])], [entry("y", 1, [batch, 4, 5])], constants)
    x = RNG.normal(size=(batch, 3, 8)).astype(np.float32)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    expected = _by_numpy(x, weights, name, 1)
    with Network(model) as network, Tensor.from_numpy(x) as given:
        network.show_inside([name], [name])
        with closing(network.bind({"x": given}, {})) as program:
            program.masks[name].set([1])
            program.replay()
            np.testing.assert_allclose(program.tensor("y").numpy(), expected, rtol=1e-4, atol=1e-5)


def _by_numpy(x: np.ndarray, weights: dict[str, np.ndarray], masked: str, unit: int) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(x, 3, axis=2)
    values = {"conv": np.einsum("nctk,ock->not", windows, weights["w"])}
    if masked == "conv":
        values["conv"][:, unit] = 0.0
    values["active"] = 1.0 / (1.0 + np.exp(-values["conv"]))
    if masked == "active":
        values["active"][:, unit] = 0.0
    values["features"] = values["active"] @ weights["v"]
    if masked == "features":
        values["features"][:, :, unit] = 0.0
    return np.tanh(values["features"])

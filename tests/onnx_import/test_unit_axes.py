"""Units of batched activations: along which axis they are, and what is set to zero in every sample."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
from onnx import helper, numpy_helper

from vertigrad import Tensor
from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network
from vertigrad.onnx_import.unit_axes import UnitAxes, _reshaped

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
    assert UnitAxes([(None, (batch, 4)), (None, (batch, 2, 2)), (None, ())]).of("x", shape) == axis


def test_inputs_of_other_first_sizes_have_no_batch() -> None:
    assert UnitAxes([(None, (3, 4)), (None, (2, 4))]).batch == 1
    assert UnitAxes().batch == 1


@pytest.mark.parametrize(
    ("sizes", "batch"),
    [
        ([("batch_size", "sequence"), ("batch_size", 8)], 3),
        ([("T", "N", 80), (1, "N", 16)], 4),  # time, batch, features, and a state
        ([("p2o.DynamicDimension.0", 3, "p2o.DynamicDimension.1")], 3),
        ([("first", "second"), ("other", "second")], 1),  # neither is called a batch
        ([("B", 1), (None, 7), None], 3),
    ],
)
def test_the_batch_has_a_name(sizes: list, batch: int) -> None:
    shapes = {4: [(3, 4, 80), (1, 4, 16)]}.get(batch, [(3, 5), (9, 5), (2, 2)])
    assert UnitAxes(zip(sizes, shapes, strict=False)).batch == batch


@pytest.mark.parametrize(
    ("sizes", "axis"),
    [
        (("T", "batch", 16), 2),
        (("batch", "T", 12, 64), 2),  # heads
        (("batch", 12, "T", "T"), 1),
        (("batch", "H", "W", 32), 3),
        ((2, "T", "batch", 16), 0),
        ((16, "batch"), 0),
        (("batch", 7, 16), 2),
        (("batch", "T"), 1),
        (("T", 16, 8), 0),  # no axis of the batch: by its shape
        (("batch",), 0),
    ],
)
def test_axes_by_names_of_dimensions(sizes: tuple, axis: int) -> None:
    axes = UnitAxes([(("batch", "T"), (3, 5))], {"x": sizes})
    shape = tuple({"batch": 3, "T": 5}.get(size, size) if size not in ("H", "W") else 9 for size in sizes)
    assert axes.of("x", shape) == axis
    assert axes.of("x", (3, *shape, 4)) == UnitAxes([(None, (3, 5))]).of("x", (3, *shape, 4)), "of another rank"


@pytest.mark.parametrize(
    ("before", "axis", "after", "found"),
    [
        ((2, 5, 12), 2, (2, 5, 3, 4), 2),  # heads
        ((2, 5, 3, 4), 2, (2, 5, 12), 2),
        ((1, 8, 4, 4), 1, (1, 128), 1),
        ((1, 8, 4, 4), 1, (8, 16), 0),
        ((1, 5, 12), 2, (1, 1, 5, 12), 3),
        ((1, 1, 12), 2, (1, 1, 3, 4), 2),
        ((2, 6, 2), 1, (2, 4, 3), None),  # neither split nor joined
        ((2, 6), 1, (12,), None),
        ((2, 0), 1, (2, 0, 3), None),
    ],
)
def test_axes_through_a_reshape(before: tuple, axis: int, after: tuple, found: int | None) -> None:
    assert _reshaped(before, axis, after) == found


def test_units_are_followed_through_a_transposed_network(steady: Gpu) -> None:
    """Time, batch, features: with fixed sizes, of which none says what it is."""
    time, batch, hidden, heads = 7, 2, 12, 3
    nodes = [
        helper.make_node("GRU", ["x", "w", "r"], ["steps", ""], hidden_size=hidden),  # (time, 1, batch, hidden)
        helper.make_node("Squeeze", ["steps", "one"], ["squeezed"]),
        helper.make_node("MatMul", ["squeezed", "v"], ["features"]),
        helper.make_node("Relu", ["features"], ["active"]),
        helper.make_node("Transpose", ["active"], ["by channel"], perm=[1, 2, 0]),  # (batch, hidden, time)
        helper.make_node("Conv", ["by channel", "k"], ["conv"]),
        helper.make_node("Reshape", ["active", "split"], ["heads"]),
        helper.make_node("Transpose", ["heads"], ["heads first"], perm=[2, 1, 0, 3]),
        helper.make_node("MatMul", ["left", "by channel"], ["mixed"]),
        helper.make_node("Slice", ["heads", "one", "two", "two"], ["one head"]),  # one unit is none
        helper.make_node("Slice", ["heads", "one", "three", "two"], ["two heads"]),
        helper.make_node("Sigmoid", ["x"], ["unknown"]),
    ]
    normal = {"w": (1, 3 * hidden, 4), "r": (1, 3 * hidden, hidden), "v": (hidden, hidden), "k": (5, hidden, 3)}
    constants = {name: RNG.normal(size=size).astype(np.float32) for name, size in normal.items()}
    constants |= {"left": RNG.normal(size=(9, hidden)).astype(np.float32)}
    constants |= {name: np.array([number]) for number, name in enumerate(("one", "two", "three"), 1)}
    constants["split"] = np.array([time, batch, heads, hidden // heads])
    weights = [numpy_helper.from_array(value, key) for key, value in constants.items()]
    entry = helper.make_tensor_value_info
    shapes = {"conv": (2, 5, 5), "heads first": (3, 2, 7, 4), "mixed": (2, 9, 7), "unknown": (7, 2, 4)}
    shapes |= {"one head": (7, 2, 1, 4), "two heads": (7, 2, 2, 4)}
    outputs = [entry(name, 1, shape) for name, shape in shapes.items()]
    graph = helper.make_graph(nodes, "g", [entry("x", 1, [time, batch, 4])], outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    expected = {"steps": 3, "squeezed": 2, "features": 2, "active": 2, "by channel": 1, "conv": 1, "heads": 2}
    expected |= {"heads first": 0, "mixed": 1, "unknown": 2, "one head": 1, "two heads": 2}
    x = RNG.normal(size=(time, batch, 4)).astype(np.float32)
    with Network(model) as network, Tensor.from_numpy(x) as given:
        network.show_inside([*expected], [*expected])
        with closing(network.bind({"x": given}, {})) as program:
            assert {name: mask.axis for name, mask in program.masks.items()} == expected
            program.masks["active"].set([0])
            program.replay()
            assert not program.tensor("by channel").numpy()[:, 0].any()
            assert not program.tensor("heads").numpy()[:, :, 0, 0].any()


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

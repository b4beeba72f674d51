"""Values beyond the GPU's 32 bits are two words or an error, and never a wrong number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

from vertigrad.errors import InputError, UnsupportedOp
from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network

from .networks import model, node

INT64, UINT64, INT32, UINT32, FLOAT = (
    TensorProto.INT64,
    TensorProto.UINT64,
    TensorProto.INT32,
    TensorProto.UINT32,
    TensorProto.FLOAT,
)


def cast(source: int, target: int) -> Network:
    return Network(model([node("Cast", "x", "y", to=target)], {"x": (source, ["n"])}, {"y": (target, ["n"])}))


@pytest.mark.parametrize(
    ("source", "target", "fits", "wide", "beyond"),
    [
        (FLOAT, INT64, [-(2.0**31), 2147483520.0, 1.9, -1.9], [2.0**31, 1e10, -1e10, -9.2e18], [1e19, np.inf, -np.inf]),
        (FLOAT, UINT64, [0.0, 4294967040.0], [4294967296.0, 1.8e19], [-1.0, 1.9e19]),
        (INT32, UINT64, [0, 2147483647], [-1], []),
        (INT32, INT64, [-2147483648, 2147483647], [], []),
        (UINT32, INT64, [0, 2147483647], [2147483648, 4294967295], []),
        (UINT32, UINT64, [0, 4294967295], [], []),
        (INT64, UINT64, [0, 2147483647], [-1], []),
    ],
)
def test_a_cast_to_64_bits_is_exact_or_an_error(
    steady: Gpu, source: int, target: int, fits: list[Any], wide: list[Any], beyond: list[Any]
) -> None:
    kinds = {FLOAT: np.float32, INT32: np.int32, UINT32: np.uint32, INT64: np.int64, UINT64: np.uint64}
    with cast(source, target) as network:
        x = np.array(fits, kinds[source])
        found = network.run({"x": x})["y"]
        assert found.dtype == kinds[target]
        np.testing.assert_array_equal(found, x.astype(kinds[target]))
        for value in wide:
            x = np.array([fits[0], value], kinds[source])
            np.testing.assert_array_equal(network.run({"x": x})["y"], x.astype(kinds[target]))
        for value in beyond:
            with pytest.raises(InputError, match="does not fit the 64 bits"):
                network.run({"x": np.array([fits[0], value], kinds[source])})


def test_an_elementwise_node_after_a_cast_does_not_hide_an_overflow(steady: Gpu) -> None:
    nodes = [node("Mul", "xx", "a"), node("Cast", "a", "b", to=INT64), node("Cast", "b", "y", to=FLOAT)]
    with Network(model(nodes, {"x": [2]}, "y")) as network:
        np.testing.assert_array_equal(network.run({"x": np.array([3, 4], np.float32)})["y"], [9, 16])
        np.testing.assert_array_equal(network.run({"x": np.array([3, 1e5], np.float32)})["y"], [9, 1e10])
        with pytest.raises(InputError, match=r"Cast .*does not fit the 64 bits"):
            network.run({"x": np.array([3, 1e10], np.float32)})


@pytest.mark.parametrize(
    ("dtype", "elem"), [(np.uint8, TensorProto.UINT8), (np.int8, TensorProto.INT8), (np.int16, TensorProto.INT16)]
)
def test_small_integers_wrap_at_each_node(steady: Gpu, dtype: type, elem: int) -> None:
    nodes = [node("Add", "xw", "a"), node("Cast", "a", "y", to=FLOAT)]
    limits = np.iinfo(dtype)
    x, w = np.array([limits.max, limits.min, 3], dtype), np.array([100, limits.min, 4], dtype)
    with Network(model(nodes, {"x": (elem, [3]), "w": (elem, [3])}, "y")) as network:
        np.testing.assert_array_equal(network.run({"x": x, "w": w})["y"], (x + w).astype(np.float32))


@pytest.mark.parametrize(
    ("how", "update", "count", "refused"),
    [
        ("add", 1 << 29, 3, False),  # inputs are limited to 2 ** 24
        ("add", 1 << 29, 4, True),
        ("mul", 2, 6, False),
        ("mul", 2, 7, True),
        ("mul", 1, 10_000, False),
        ("max", 1 << 30, 9, False),
        ("none", 1 << 30, 9, False),
    ],
)
@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
def test_all_updates_of_an_index_count_for_the_bound(
    steady: Gpu, op: str, how: str, update: int, count: int, refused: bool
) -> None:
    x, updates = np.array([1, -1], np.int64), np.full(count, update)
    indices = np.zeros((count, 1) if op == "ScatterND" else count, np.int64)
    nodes = [node(op, ["x", "at", "updates"], "a", reduction=how), node("Neg", "a", "y")]
    proto = model(nodes, {"x": (INT64, [2])}, "y", {"at": indices, "updates": updates})
    with Network(proto) as network:
        if refused:
            with pytest.raises(UnsupportedOp, match="32 bits"):
                network.run({"x": x})
            return
        first = {"add": 1 + count * update, "mul": update**count}.get(how, update)
        np.testing.assert_array_equal(network.run({"x": x})["y"], [-first, 1])


@pytest.mark.parametrize("keep", [0, 1])
def test_the_mean_of_integers_is_exact(steady: Gpu, keep: int) -> None:
    large = np.array([[2147483647, 2147483645], [16777217, 16777219], [-7, 0], [-2147483648, -2147483647]], np.int32)
    for dtype, elem in ((np.int32, INT32), (np.uint32, UINT32)):
        x = large.astype(dtype)
        exact = np.trunc(x.astype(np.float64).mean(1, keepdims=bool(keep))).astype(dtype)
        proto = model(
            [node("ReduceMean", ["x", "axes"], "y", keepdims=keep)], {"x": (elem, [4, 2])}, "y", {"axes": np.array([1])}
        )
        with Network(proto) as network:
            np.testing.assert_array_equal(network.run({"x": x})["y"], exact)


def test_a_mean_of_many_integers_is_refused(steady: Gpu) -> None:
    proto = model([node("ReduceMean", "x", "y")], {"x": (INT32, [50_000])}, "y")
    with Network(proto) as network, pytest.raises(UnsupportedOp, match="46,340"):
        network.run({"x": np.zeros(50_000, np.int32)})


def test_doubles_are_floats_as_asked(steady: Gpu) -> None:
    double = TensorProto.DOUBLE
    nodes = [
        node("Mul", "xc", "a"),
        node("Constant", "", "k", value=numpy_helper.from_array(np.array(0.25))),
        node("Add", "ak", "b"),
        node("Cast", "b", "f", to=FLOAT),
        node("Cast", "f", "y", to=double),
    ]
    proto = model(nodes, {"x": (double, [3])}, {"y": (double, [3])}, {"c": np.array([1.5, -2.0, 3.0])})
    x = np.array([0.1, 2.0, -4.0])
    with Network(proto, float64_as_f32=True) as network:
        found = network.run({"x": x.astype(np.float32)})["y"]
        with pytest.raises(InputError, match="is float32, not float64"):
            network.run({"x": x})
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, x * [1.5, -2.0, 3.0] + 0.25, rtol=1e-6)


# sizes of dimensions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("free", [-1, "?", "-1", "*", "None"])
def test_a_negative_or_unnamed_size_is_free(steady: Gpu, free: int | str) -> None:
    sizes = [free, 2, free, free]
    proto = model([node("Relu", "x", "a"), node("GlobalMaxPool", "a", "y")], {"x": sizes}, {"y": [free, 2, 1, 1]})
    with Network(proto) as network:
        assert network.inputs["x"][1] == (None, 2, None, None)
        for shape in ((1, 2, 4, 6), (3, 2, 5, 4)):
            x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
            np.testing.assert_array_equal(network.run({"x": x})["y"], np.maximum(x, 0).max((2, 3), keepdims=True))
        assert network.output_specs()["y"].shape == (None, 2, 1, 1)
    assert proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value == 2
    first = proto.graph.input[0].type.tensor_type.shape.dim[0]
    assert first.dim_value == free or first.dim_param == free, "the caller's model is left as it is"


def test_a_size_with_a_name_is_the_same_everywhere(steady: Gpu) -> None:
    proto = model([node("Relu", "x", "y")], {"x": ["n", "n"]}, "y")
    with Network(proto) as network, pytest.raises(InputError, match="n = 2"):
        network.run({"x": np.zeros((2, 3), np.float32)})


UINT8, BYTES = TensorProto.UINT8, np.zeros((3, 5), np.uint8)
ONES, ZEROS = np.ones(5, np.float32), np.zeros(5, np.uint8)
NBITS = {"K": 32, "N": 8, "bits": 4, "block_size": 16, "domain": "com.microsoft"}
PACKED = np.zeros((8, 2, 8), np.uint8)
WRONG_SCALES: dict[str, tuple[str, int, list[Any], dict[str, Any], str]] = {
    "scales of an axis": ("DequantizeLinear", UINT8, [ONES], {}, "do not broadcast"),
    "zero points of an axis": ("DequantizeLinear", UINT8, [ONES[:3], ZEROS[:2]], {}, "do not broadcast"),
    "scales of blocks": (
        "DequantizeLinear",
        UINT8,
        [np.ones((4, 5), np.float32)],
        {"block_size": 2},
        "axis 1 of 3 has 2 blocks",
    ),
    "scales to quantize": ("QuantizeLinear", FLOAT, [ONES, ZEROS], {}, "do not broadcast"),
    "scales of rows": (
        *("QLinearMatMul", UINT8, [ONES[:2], ZEROS[:2], BYTES, ONES[0], ZEROS[0], ONES[0], ZEROS[0]], {}),
        "do not broadcast",
    ),
    "zero points of columns": ("MatMulInteger", UINT8, [BYTES, ZEROS[0], ZEROS[:4]], {}, "do not broadcast"),
    "scales of columns": (
        *("DynamicQuantizeMatMul", FLOAT, [BYTES, ONES[:4], ZEROS[:4]], {"domain": "com.microsoft"}),
        "do not broadcast",
    ),
    "scales of 4 bits": ("MatMulNBits", FLOAT, [PACKED, ONES], NBITS, "5 scales; 8 rows of 2 blocks have 16"),
    "zero points of 4 bits": (
        *("MatMulNBits", FLOAT, [PACKED, np.ones(16, np.float32), ZEROS[:3]], NBITS),
        "3 bytes of zero points; 8 rows of 1 blocks have 8",
    ),
    "bytes of 4 bits": ("MatMulNBits", FLOAT, [PACKED[:7], ONES], NBITS, "112 bytes for 8 x 32 weights of 4 bits"),
    "scales that are not finite": (
        *("DequantizeLinear", UINT8, [np.float32([1, np.nan, np.inf])], {}),
        r"the scale 1 is nan; 2 of 3 are not finite",
    ),
    "a scale that is infinite": ("QuantizeLinear", FLOAT, [np.float32(np.inf), ZEROS[0]], {}, "the scale is inf"),
    "scales of columns that are not finite": (
        *("QLinearMatMul", UINT8, [ONES[0], ZEROS[0], BYTES, ONES * np.nan, ZEROS, ONES[0], ZEROS[0]], {}),
        "the scale 0 is nan",
    ),
    "an axis that there is not": ("DequantizeLinear", UINT8, [ONES[:3]], {"axis": 7}, "axis 7 of a tensor with 2 axes"),
    "blocks of nothing": ("MatMulNBits", FLOAT, [PACKED, ONES], NBITS | {"block_size": 0}, "in blocks of 0"),
}


@pytest.mark.parametrize("what", WRONG_SCALES)
def test_quantized_weights_whose_scales_do_not_fit(what: str, steady: Gpu) -> None:
    op, elem, constants, attributes, message = WRONG_SCALES[what]
    named = {f"c{index}": array for index, array in enumerate(constants)}
    shape = [4, 32 if op == "MatMulNBits" else 3]
    proto = model(
        [node(op, ["x", *named], ["y"], **attributes)],
        {"x": (elem, shape)},
        {"y": (UINT8 if "QLinear" in op or op == "QuantizeLinear" else FLOAT, [4, "n"])},
        {name: np.asarray(array) for name, array in named.items()},
        others={"com.microsoft": 1},
    )
    with Network(proto) as network, pytest.raises(InputError, match=f"{op} .*{message}"):
        network.run({"x": np.zeros(shape, np.uint8 if elem == UINT8 else np.float32)})


def test_constant_weights_whose_scale_is_not_finite(steady: Gpu) -> None:
    constants = {"w": BYTES, "scale": np.float32(np.nan)}
    nodes = [node("DequantizeLinear", ["w", "scale"], "v"), node("MatMul", ["x", "v"], "y")]
    with (
        Network(model(nodes, {"x": [4, 3]}, {"y": [4, 5]}, constants)) as network,
        pytest.raises(InputError, match="nan"),
    ):
        network.run({"x": np.zeros((4, 3), np.float32)})


@pytest.mark.parametrize(
    ("op", "constants", "message"),
    [
        ("Range", [0.0, 1e18, 1.0], "1e.18 numbers from 0.0"),
        ("Range", [0.0, np.nan, 1.0], "cannot compute length"),
        ("Resize", [[1e9, 1e9]], "an axis has 16,777,216 elements at most"),
        ("Resize", [[np.nan, 1.0]], "must be positive"),
    ],
)
def test_sizes_that_no_memory_has(op: str, constants: list[Any], message: str, steady: Gpu) -> None:
    named = {f"c{index}": np.asarray(array, np.float32) for index, array in enumerate(constants)}
    inputs = [*named] if op == "Range" else ["x", "", *named]
    nodes = [node(op, inputs, "r"), node("Add", ["x", "z"], "y")]
    nodes.insert(1, node("ReduceSum", ["r"], "z", keepdims=0))
    proto = model(nodes, {"x": [2, 3]}, {"y": [2, 3]}, named)
    with Network(proto) as network, pytest.raises(InputError, match=message):
        network.run({"x": np.zeros((2, 3), np.float32)})

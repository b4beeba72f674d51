"""64-bit integers that do not fit 32 bits, against NumPy and ONNX's reference."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from vertigrad.errors import InputError, UnsupportedOp
from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network
from vertigrad.tensor import i32, u32

from .networks import model, node

INT64, UINT64, INT32, FLOAT, BOOL = (
    TensorProto.INT64,
    TensorProto.UINT64,
    TensorProto.INT32,
    TensorProto.FLOAT,
    TensorProto.BOOL,
)
KINDS: dict[int, np.dtype] = {INT64: np.dtype(np.int64), UINT64: np.dtype(np.uint64)}
EDGES = [0, 1, 2, 5, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63]
LEAST, LARGEST = -(2**63), 2**63 - 1
AXIS = np.array([1])


def integers(elem: int, *shape: int, seed: int = 0) -> np.ndarray:
    """Edge values of both signs, then random ones of every magnitude."""
    random, count = np.random.default_rng(seed), math.prod(shape)
    edges = np.array([*EDGES, *((2**64 - edge) % 2**64 for edge in EDGES)], np.uint64)
    drawn = random.integers(0, 2**64, count, dtype=np.uint64) >> random.integers(0, 64, count, dtype=np.uint64)
    return np.concatenate([random.permutation(edges), drawn])[:count].reshape(shape).view(KINDS[elem])


def pairs(elem: int) -> dict[str, np.ndarray]:
    """Every two edge values, and random ones."""
    edges, drawn = integers(elem, 24), [integers(elem, 100, seed=seed)[24:] for seed in (1, 2)]
    crossed = np.repeat(edges, 24), np.tile(edges, 24)
    first, second = (np.concatenate(both) for both in zip(crossed, drawn, strict=True))
    return {"a": first, "b": second}


def reference(proto: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(proto).run(None, dict(feeds))  # type: ignore[return-value]


def check(proto: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> None:
    """The network's outputs are those of ONNX's reference, in type, shape and number."""
    with Network(proto) as network:
        found = network.run(feeds)
    for name, expected in zip((entry.name for entry in proto.graph.output), reference(proto, feeds), strict=True):
        assert found[name].dtype == expected.dtype
        np.testing.assert_array_equal(found[name], expected)


def elementwise(op: str, elem: int, result: int | None = None, **attributes: Any) -> onnx.ModelProto:
    inputs = dict.fromkeys("ab", (elem, ["n"]))
    return model([node(op, "ab", "y", **attributes)], inputs, {"y": (result or elem, ["n"])}, opset=18)


BINARY: dict[str, Callable[..., Any]] = {
    **{"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Mod": np.remainder},
    **{"Min": np.minimum, "Max": np.maximum},
    **{"BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or, "BitwiseXor": np.bitwise_xor},
}


@pytest.mark.parametrize("elem", [INT64, UINT64])
@pytest.mark.parametrize("op", BINARY)
def test_arithmetic_of_inputs(steady: Gpu, op: str, elem: int) -> None:
    feeds = pairs(elem)
    with Network(elementwise(op, elem)) as network, np.errstate(all="ignore"):
        found = network.run(feeds)["y"]
        assert found.dtype == KINDS[elem]
        np.testing.assert_array_equal(found, BINARY[op](feeds["a"], feeds["b"]))


@pytest.mark.parametrize("elem", [INT64, UINT64])
def test_division_and_its_remainder(steady: Gpu, elem: int) -> None:
    feeds = pairs(elem)
    exact = [(abs(a), abs(b), (a < 0) != (b < 0)) for a, b in zip(*(x.tolist() for x in feeds.values()), strict=True)]
    quotients = [0 if b == 0 else a // b * (1 - 2 * negative) for a, b, negative in exact]
    with Network(elementwise("Div", elem)) as network:
        found = network.run(feeds)["y"]
        np.testing.assert_array_equal(found, np.array([q % 2**64 for q in quotients], np.uint64).view(KINDS[elem]))
    with Network(elementwise("Mod", elem, fmod=1)) as network, np.errstate(all="ignore"):
        np.testing.assert_array_equal(network.run(feeds)["y"], np.fmod(*feeds.values()))


@pytest.mark.parametrize("elem", [INT64, UINT64])
@pytest.mark.parametrize(
    ("op", "compared"),
    [
        ("Equal", operator.eq),
        ("Less", operator.lt),
        ("LessOrEqual", operator.le),
        ("Greater", operator.gt),
        ("GreaterOrEqual", operator.ge),
    ],
)
def test_comparisons(steady: Gpu, op: str, compared: Callable[..., Any], elem: int) -> None:
    feeds = pairs(elem)
    with Network(elementwise(op, elem, BOOL)) as network:
        np.testing.assert_array_equal(network.run(feeds)["y"], compared(*feeds.values()))


@pytest.mark.parametrize("op", ["Neg", "Abs", "Sign", "BitwiseNot", "Relu"])
def test_functions_of_one(steady: Gpu, op: str) -> None:
    proto = model([node(op, "x", "y")], {"x": (INT64, ["n"])}, {"y": (INT64, ["n"])}, opset=18)
    check(proto, {"x": integers(INT64, 100)})


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts(steady: Gpu, direction: str) -> None:
    feeds = {"a": integers(UINT64, 128), "b": np.arange(128, dtype=np.uint64) % np.uint64(64)}
    function = np.left_shift if direction == "LEFT" else np.right_shift
    with Network(elementwise("BitShift", UINT64, direction=direction)) as network:
        np.testing.assert_array_equal(network.run(feeds)["y"], function(feeds["a"], feeds["b"]))


def test_powers_wrap(steady: Gpu) -> None:
    feeds = {"a": np.array([3, -3, 2, 7, -1, 10], np.int64), "b": np.array([40, 39, 62, 30, 10**9 + 1, 18], np.int64)}
    with Network(elementwise("Pow", INT64)) as network:
        np.testing.assert_array_equal(network.run(feeds)["y"], feeds["a"] ** feeds["b"])


def test_small_uint64_wraps_below_0_at_64_bits(steady: Gpu) -> None:
    feeds = {"a": np.array([1, 5], np.uint64), "b": np.array([2, 3], np.uint64)}
    with Network(elementwise("Sub", UINT64)) as network:
        np.testing.assert_array_equal(network.run(feeds)["y"], [2**64 - 1, 2])
    proto = model([node("BitwiseNot", "x", "y")], {"x": (UINT64, [2])}, {"y": (UINT64, [2])}, opset=18)
    with Network(proto) as network:
        np.testing.assert_array_equal(network.run({"x": feeds["a"]})["y"], [2**64 - 2, 2**64 - 6])


# casts and constants ----------------------------------------------------------------------------------------------


TARGETS = ["int64", "uint64", "int32", "uint32", "int8", "uint16", "bool", "float32", "float16"]


@pytest.mark.parametrize("source", [INT64, UINT64])
@pytest.mark.parametrize("target", TARGETS)
def test_casts_from_64_bits(steady: Gpu, source: int, target: str) -> None:
    elem = helper.np_dtype_to_tensor_dtype(np.dtype(target))
    proto = model([node("Cast", "x", "y", to=elem)], {"x": (source, ["n"])}, {"y": (elem, ["n"])})
    x = integers(source, 100)
    with Network(proto) as network, np.errstate(all="ignore"):
        np.testing.assert_array_equal(network.run({"x": x})["y"], x.astype(target))


@pytest.mark.parametrize("op", ["Max", "Min", "Clip"])
@pytest.mark.parametrize("ends", [(LEAST, LARGEST), (0, LARGEST), (LEAST, 100), (2**40, 2**41)])
def test_ends_of_the_range_as_constants(steady: Gpu, op: str, ends: tuple[int, int]) -> None:
    """Of numbers that fit 32 bits, and of others."""
    low, high = (np.array(end, np.int64) for end in ends)
    names, constants = {"Max": (["low"], {"low": low}), "Min": (["high"], {"high": high})}.get(
        op, (["low", "high"], {"low": low, "high": high})
    )
    proto = model([node(op, ["x", *names], "y")], {"x": (INT64, ["n"])}, {"y": (INT64, ["n"])}, constants)
    for x in (np.array([-7, 0, 7, 1 << 24], np.int64), integers(INT64, 40)):
        check(proto, {"x": x})


def test_masks_and_where_with_constants_beyond_32_bits(steady: Gpu) -> None:
    nodes = [
        node("Equal", ["x", "mark"], ["is_mark"]),
        node("Where", ["is_mark", "zero", "x"], ["filled"]),
        node("Where", ["is_mark", "least", "zero"], ["mask"]),
        node("Add", ["filled", "mask"], ["y"]),
        node("Cast", ["mask"], ["real"], to=FLOAT),
    ]
    constants = {"mark": np.array(-100), "zero": np.array(0), "least": np.array(LEAST)}
    proto = model(nodes, {"x": (INT64, [2, 3])}, {"y": (INT64, [2, 3]), "real": (FLOAT, [2, 3])}, constants)
    check(proto, {"x": np.array([[3, -100, 5], [-100, 0, 9]])})


# reductions and moves ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [0, 1])
@pytest.mark.parametrize("axes", [[0], [1, 2], [0, 1, 2]])
@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceSumSquare"])
@pytest.mark.parametrize("elem", [INT64, UINT64])
def test_reductions(steady: Gpu, elem: int, op: str, axes: list[int], keep: int) -> None:
    x = integers(elem, 5, 6, 7)
    proto = model([node(op, ["x", "axes"], "y", keepdims=keep)], {"x": (elem, x.shape)}, "y", {"axes": np.array(axes)})
    check(proto, {"x": x})


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1"])
def test_reductions_of_no_axes(steady: Gpu, op: str) -> None:
    scalar = model([node(op, "x", "y", keepdims=0)], {"x": (INT64, [])}, {"y": (INT64, [])})
    check(scalar, {"x": np.array(1 << 40)})
    unchanged = node(op, "x", "y", keepdims=0, noop_with_empty_axes=1)
    check(model([unchanged], {"x": (INT64, [3])}, {"y": (INT64, [3])}, opset=18), {"x": integers(INT64, 3)})


def test_sums_of_more_than_are_exact_are_an_error(steady: Gpu) -> None:
    proto = model([node("ReduceSum", "x", "y", keepdims=0)], {"x": (INT64, ["n"])}, {"y": (INT64, [])})
    with Network(proto) as network:
        largest = np.full((1 << 16) + 1, LARGEST)
        assert network.run({"x": largest})["y"] == largest.sum()
        with pytest.raises(UnsupportedOp, match="up to 65,537 are added up"):
            network.run({"x": np.full((1 << 16) + 2, 1)})


@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (1, 0), (1, 1)])
def test_running_sums(steady: Gpu, exclusive: int, reverse: int) -> None:
    nodes = [node("CumSum", ["x", "axis"], "y", exclusive=exclusive, reverse=reverse)]
    check(model(nodes, {"x": (INT64, [4, 9])}, "y", {"axis": np.array(1)}), {"x": integers(INT64, 4, 9)})


def test_running_products(steady: Gpu) -> None:
    proto = model([node("CumProd", ["x", "axis"], "y")], {"x": (INT64, [4, 9])}, "y", {"axis": np.array(1)}, opset=26)
    check(proto, {"x": integers(INT64, 4, 9) | 1})


def test_means_are_rounded_towards_0_and_do_not_wrap(steady: Gpu) -> None:
    x = np.array([[LARGEST, LARGEST, 1 << 40], [LEAST, LEAST, -1], [-5, 2, 1], [1 << 40, 1, 1]])
    proto = model([node("ReduceMean", ["x", "axes"], "y", keepdims=0)], {"x": (INT64, x.shape)}, "y", {"axes": AXIS})
    with Network(proto) as network:
        found = network.run({"x": x})["y"]
    np.testing.assert_array_equal(found, [math.trunc(Fraction(sum(row), 3)) for row in x.tolist()])


# order ------------------------------------------------------------------------------------------------------------


def with_ties(*shape: int) -> np.ndarray:
    """Each number several times, and neighbors that differ in their upper or their lower word alone."""
    return np.random.default_rng(1).choice([*(np.arange(-3, 4) << 32), 5, 6, 7, LARGEST, LEAST], shape)


def check_onnxruntime(proto: onnx.ModelProto, x: np.ndarray) -> None:
    """The outputs for x are those of onnxruntime, in type, shape and number."""
    with Network(proto) as network:
        found = network.run({"x": x})
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    for entry, result in zip(proto.graph.output, session.run(None, {"x": x}), strict=True):
        expected = np.asarray(result)
        assert found[entry.name].dtype == expected.dtype
        np.testing.assert_array_equal(found[entry.name], expected)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize(("axis", "k"), [(0, 3), (1, 1), (-1, 40), (0, 0)])
def test_the_largest_and_the_smallest(steady: Gpu, axis: int, k: int, largest: int) -> None:
    top = node("TopK", ["x", "k"], ["y", "at"], axis=axis, largest=largest)
    outputs = {"y": (INT64, ["m", "n"]), "at": (INT64, ["m", "n"])}
    check_onnxruntime(model([top], {"x": (INT64, [5, 40])}, outputs, {"k": np.array([k])}), with_ties(5, 40))


def test_more_than_there_are_is_an_error(steady: Gpu) -> None:
    outputs = {"y": (INT64, ["m"]), "at": (INT64, ["m"])}
    proto = model([node("TopK", ["x", "k"], ["y", "at"])], {"x": (INT64, [2])}, outputs, {"k": np.array([3])})
    for x in ([0, 1], [0, 1 << 40]):
        with Network(proto) as network, pytest.raises(InputError, match="3 of 2 elements along axis 0"):
            network.run({"x": np.array(x)})


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize(("axis", "keep"), [(0, 1), (1, 0)])
@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_where_extremes_are(steady: Gpu, op: str, axis: int, keep: int, last: int) -> None:
    extreme = node(op, "x", "y", axis=axis, keepdims=keep, select_last_index=last)
    check(model([extreme], {"x": (INT64, [5, 40])}, "y"), {"x": with_ties(5, 40)})


@pytest.mark.parametrize("attributes", [{}, {"sorted": 0}, {"axis": 0}, {"axis": 1, "sorted": 0}])
@pytest.mark.parametrize("shape", [(3, 30), (1, 1), (9, 2)])
def test_different_numbers(steady: Gpu, shape: tuple[int, ...], attributes: dict[str, int]) -> None:
    names = ["values", "first", "which", "counts"]
    outputs = dict.fromkeys(names, (INT64, ["n"])) | ({"values": (INT64, ["a", "b"])} if "axis" in attributes else {})
    check_onnxruntime(
        model([node("Unique", "x", names, **attributes)], {"x": (INT64, shape)}, outputs), with_ties(*shape)
    )


def test_no_different_numbers(steady: Gpu) -> None:
    names = ["values", "first", "which", "counts"]
    proto = model([node("Unique", "x", names, sorted=0)], {"x": (INT64, [0])}, dict.fromkeys(names, (INT64, ["n"])))
    check_onnxruntime(proto, np.zeros(0, np.int64))


def test_nonzero_words(steady: Gpu) -> None:
    x = np.array([[0, 1 << 32, 0], [1, LEAST, -1]])
    check_onnxruntime(model([node("NonZero", "x", "y")], {"x": (INT64, [2, 3])}, {"y": (INT64, [2, "n"])}), x)


def test_two_inputs_do_not_fit_where_a_shape_depends_on_the_gpu(steady: Gpu) -> None:
    """The second one is found while the network is recorded for the first."""
    nodes = [node("Add", "ab", ["sum"]), node("NonZero", ["sum"], "y")]
    proto = model(nodes, dict.fromkeys("ab", (INT64, [100])), {"y": (INT64, [1, "n"])})
    a = np.arange(100) << 33
    check(proto, {"a": a, "b": -(a % (9 << 33))})


def test_a_shape_of_pairs_of_words_is_read(steady: Gpu) -> None:
    nodes = [node("ReduceMax", ["x", "axes"], ["most"], keepdims=1), node("Expand", ["one", "most"], ["y"])]
    constants = {"axes": np.array([0]), "one": np.ones(1, np.float32)}
    proto = model(nodes, {"x": (INT64, [100])}, {"y": ["n"]}, constants, opset=18)
    x = np.where(np.arange(100) == 7, 5, -(np.arange(100) << 40))
    with Network(proto) as network:
        assert network.run({"x": x})["y"].shape == (5,)
        x[8] = 6
        assert network.run({"x": x})["y"].shape == (6,)


ROWS = np.array([[1, 0, 1], [0, 1, 0]])
MOVES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {  # inputs, attributes, and constants
    "Reshape": ("xs", {}, {"s": [3, -1]}),
    "Flatten": ("x", {}, {}),
    "Transpose": ("x", {"perm": [2, 0, 1]}, {}),
    "Unsqueeze": ("xs", {}, {"s": [1]}),
    "Expand": ("xs", {}, {"s": [2, 2, 3, 4]}),
    "Tile": ("xs", {}, {"s": [1, 2, 1]}),
    "Slice": ("xseat", {}, {"s": [-1], "e": [LEAST], "a": [2], "t": [-2]}),
    "Gather": ("xs", {"axis": 2}, {"s": [3, 0, -1]}),
    "GatherElements": ("xs", {"axis": 0}, {"s": np.repeat(ROWS[:, :, None], 4, 2)}),
    "GatherND": ("xs", {}, {"s": [[1, 2], [0, 1]]}),
    "Concat": ("xsx", {"axis": 1}, {"s": np.arange(8).reshape(2, 1, 4)}),
    "Where": ("sxz", {}, {"s": ROWS[:, :, None] > 0, "z": -(1 << 40)}),
    "ScatterElements": ("xsz", {"axis": 1}, {"s": ROWS[:, :2, None], "z": [[[1 << 40], [-1]], [[7], [8]]]}),
    "Pad": ("xsz", {}, {"s": [0, 1, 0, 0, 0, 2], "z": -(1 << 50)}),
    "Trilu": ("x", {"upper": 0}, {}),
    "CenterCropPad": ("xs", {"axes": [1, 2]}, {"s": [2, 6]}),
    "Compress": ("xs", {"axis": 1}, {"s": [True, False, True]}),
}


@pytest.mark.parametrize("op", MOVES)
def test_moves(steady: Gpu, op: str) -> None:
    inputs, attributes, constants = MOVES[op]
    move = node(op, inputs, "y", **attributes)
    arrays = {name: np.array(numbers) for name, numbers in constants.items()}
    check(model([move], {"x": (INT64, [2, 3, 4])}, "y", arrays), {"x": integers(INT64, 2, 3, 4)})


def test_parts_of_a_split(steady: Gpu) -> None:
    proto = model([node("Split", "x", ["y", "z"], axis=1, num_outputs=2)], {"x": (INT64, [3, 5])}, ["y", "z"])
    check(proto, {"x": integers(INT64, 3, 5)})


# where they are needed --------------------------------------------------------------------------------------------


def test_a_hash_is_computed_in_64_bits_and_its_remainder_is_stored_in_32(steady: Gpu) -> None:
    constants = {
        **{"prime": np.array(1_000_003 * 7919), "seed": np.array(0x9E3779B97F4A7C15 - 2**64), "buckets": np.array(97)},
        "table": np.arange(97 * 2, dtype=np.float32).reshape(97, 2),
    }
    nodes = [
        node("Mul", ["ids", "prime"], ["m"]),
        node("BitwiseXor", ["m", "seed"], ["h"]),
        node("Mod", ["h", "buckets"], ["bucket"]),
        node("Gather", ["table", "bucket"], ["y"]),
    ]
    outputs = {"bucket": (INT64, ["n"]), "y": (FLOAT, ["n", 2])}
    proto = model(nodes, {"ids": (INT64, ["n"])}, outputs, constants, opset=18)
    ids = np.random.default_rng(0).integers(0, 1 << 24, 1000)
    check(proto, {"ids": ids})
    with Network(proto) as network:
        assert network.program({"ids": ids}).tensor("bucket").dtype is i32


def test_a_loop_carries_them(steady: Gpu) -> None:
    entry = helper.make_tensor_value_info
    body = helper.make_graph(
        [node("Mul", ["v", "three"], ["w"]), node("Identity", ["go"], ["going"])],
        "body",
        [entry("turn", INT64, []), entry("go", BOOL, []), entry("v", INT64, [2])],
        [entry("going", BOOL, []), entry("w", INT64, [2])],
    )
    loop = helper.make_node("Loop", ["turns", "", "x"], ["y"], body=body)
    constants = {"turns": np.array(30), "three": np.array(3)}
    proto = model([loop], {"x": (INT64, [2])}, {"y": (INT64, [2])}, constants)
    with Network(proto) as network:
        np.testing.assert_array_equal(network.run({"x": np.array([2, -1])})["y"], [2 * 3**30, -(3**30)])


def test_numbers_that_fit_stay_in_32_bits(steady: Gpu) -> None:
    """Only inputs that held larger ones are pairs of words, from then on."""
    with Network(elementwise("Add", INT64)) as network:
        small = {"a": np.array([3, 1 << 24]), "b": np.array([4, -5])}
        assert network.program(small).tensor("y").dtype is i32
        large = {"a": np.array([3, 1 << 40]), "b": np.array([4, -5])}
        np.testing.assert_array_equal(network.run(large)["y"], [7, (1 << 40) - 5])
        np.testing.assert_array_equal(network.run(small)["y"], [7, (1 << 24) - 5])
        program = network.program(small)
        assert program.inputs["a"].dtype is u32 and program.inputs["b"].dtype is i32
        with pytest.raises(InputError, match="'y' is no tensor on the GPU: 64-bit integers that may not fit 32 bits"):
            program.tensor("y")


def test_an_operator_without_words_is_an_error(steady: Gpu) -> None:
    """Which names the input, and does not change what numbers that fit give."""
    nodes = [node("Add", ["x", "one"], ["i"]), node("MatMul", ["i", "many"], ["y"])]
    constants = {"one": np.array(1), "many": np.array([[2], [3]])}
    with Network(model(nodes, {"x": (INT64, [2])}, "y", constants)) as network:
        with pytest.raises(InputError, match="'x' holds 1099511627776; the network calculates with it in 32 bits"):
            network.run({"x": np.array([0, 1 << 40])})
        np.testing.assert_array_equal(network.run({"x": np.array([0, 1])})["y"], [8])


@pytest.mark.parametrize("table", [np.arange(9, dtype=np.float32), integers(INT64, 9)])
def test_positions_that_are_summed_up_are_indices(steady: Gpu, table: np.ndarray) -> None:
    nodes = [
        node("CumSum", ["mask", "axis"], ["count"]),
        node("Mul", ["count", "mask"], ["masked"]),
        node("Sub", ["masked", "one"], ["index"]),
        node("Gather", ["table", "index"], ["y"]),
    ]
    constants = {"axis": np.array(1), "one": np.array(1), "table": table}
    proto = model(nodes, {"mask": (INT64, [2, 200])}, "y", constants)
    mask = np.zeros((2, 200), np.int64)
    mask[0, ::30], mask[1, 5:9] = 1, 1
    check(proto, {"mask": mask})


def test_uint32_in_64_bits_is_not_taken_for_less(steady: Gpu) -> None:
    nodes = [node("Cast", "x", "u", to=UINT64), node("Cast", "u", "s", to=INT64), node("Max", ["s", "least"], ["y"])]
    proto = model(nodes, {"x": (TensorProto.UINT32, [2])}, {"y": (INT64, [2])}, {"least": np.array(LEAST)})
    check(proto, {"x": np.array([7, 3_000_000_000], np.uint32)})


def test_a_constant_of_a_shape_that_is_an_input(steady: Gpu) -> None:
    fill = numpy_helper.from_array(np.array([LEAST]))
    proto = model([node("ConstantOfShape", "s", "y", value=fill)], {"s": (INT64, [2])}, {"y": (INT64, ["m", "n"])})
    check(proto, {"s": np.array([50, 3])})


def test_shapes_of_them_are_computed_on_the_host(steady: Gpu) -> None:
    nodes = [node("Mul", ["n", "large"], ["m"]), node("Div", ["m", "large"], ["k"]), node("Expand", ["x", "k"], ["y"])]
    proto = model(nodes, {"x": [1], "n": (INT64, [1])}, {"y": ["m"]}, {"large": np.array([1 << 40])})
    with Network(proto) as network:
        assert network.run({"x": np.ones(1, np.float32), "n": np.array([5])})["y"].shape == (5,)

"""A network is checked, bound to shapes, folded, fused, and recorded as one plan that can be replayed."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from vertigrad import Tensor
from vertigrad.errors import InputError, UnsupportedOp
from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network

from .networks import model, node, reals

INT64 = TensorProto.INT64


def two_layers() -> onnx.ModelProto:
    return model(
        [
            node("MatMul", "xw", "a"),
            node("Add", "ab", "c"),
            node("Relu", "c", "d"),
            node("Mul", "dd", "e"),
            node("Neg", "e", "y"),
        ],
        {"x": ["batch", 3]},
        {"y": ["batch", 4]},
        {"w": reals(3, 4), "b": reals(4, seed=1)},
    )


def test_a_network_gives_what_the_reference_gives_for_any_batch(steady: Gpu) -> None:
    with Network(two_layers()) as network:
        for batch in (1, 5, 2, 5, 7, 9, 11):
            x = reals(batch, 3, seed=batch)
            (expected,) = ReferenceEvaluator(two_layers()).run(None, {"x": x})
            np.testing.assert_allclose(network.run({"x": x})["y"], expected, rtol=1e-5, atol=1e-6)


def test_a_chain_of_elementwise_nodes_is_one_kernel(steady: Gpu) -> None:
    with Network(two_layers()) as network:
        assert len(network.program({"x": reals(2, 3)}).plan) == 2


def test_a_value_that_two_nodes_need_is_worked_out_once(steady: Gpu) -> None:
    nodes = [node("Exp", "x", "a"), node("Neg", "a", "y"), node("Sqrt", "a", "z")]
    with Network(model(nodes, {"x": [100]}, "yz")) as network:
        x = reals(100)
        found = network.run({"x": x})
        np.testing.assert_allclose(found["y"], -np.exp(x), rtol=1e-6)
        np.testing.assert_allclose(found["z"], np.sqrt(np.exp(x)), rtol=1e-6)
        assert len(network.program({"x": x}).plan) == 3


def test_what_is_broadcast_is_not_worked_out_for_every_element(steady: Gpu) -> None:
    nodes = [node("Exp", "x", "a"), node("Add", "ab", "y")]
    with Network(model(nodes, {"x": [1, 4], "b": [50, 4]}, "y")) as network:
        x, b = reals(1, 4), reals(50, 4)
        np.testing.assert_allclose(network.run({"x": x, "b": b})["y"], np.exp(x) + b, rtol=1e-6, atol=1e-6)
        assert len(network.program({"x": x, "b": b}).plan) == 2


def test_constants_are_folded(steady: Gpu) -> None:
    nodes = [node("Exp", "w", "a"), node("Transpose", "a", "c"), node("MatMul", "xc", "y")]
    with Network(model(nodes, {"x": [2, 4]}, "y", {"w": reals(3, 4)})) as network:
        x = reals(2, 4)
        np.testing.assert_allclose(network.run({"x": x})["y"], x @ np.exp(reals(3, 4)).T, rtol=1e-5, atol=1e-6)
        assert len(network.program({"x": x}).plan) == 1


def test_large_constants_are_left_to_the_gpu(steady: Gpu) -> None:
    """What a few numbers blow up to gigabytes is not made on the host, and is refused where no buffer holds it."""
    nodes = [node("ConstantOfShape", ["s"], "a"), node("ReduceSum", "a", "c", keepdims=0), node("Add", "xc", "y")]
    huge = np.array([1 << 20, 1 << 20])
    with Network(model(nodes, {"x": [1]}, "y", {"s": huge})) as network, pytest.raises(InputError, match="buffer"):
        network.program({"x": reals(1)})


def test_memory_is_shared_by_values_that_are_not_needed_at_once(gpu: Gpu) -> None:
    """Forty layers in the memory of a few: a result lies where nobody needs what was there."""
    nodes = [node("MatMul", [f"x{i}", "w"], [f"x{i + 1}"]) for i in range(40)]
    gpu.sync()
    before = gpu.tracker.live_bytes
    with Network(model(nodes, {"x0": [256, 256]}, ["x40"], {"w": reals(256, 256) / 16})) as network:
        network.program({"x0": reals(256, 256)})
        assert gpu.tracker.live_bytes - before < 6 * 256 * 256 * 4
        x = reals(256, 256)
        expected = x.astype(float)
        for _ in range(40):
            expected = expected @ (reals(256, 256).astype(float) / 16)
        np.testing.assert_allclose(network.run({"x0": x})["x40"], expected, atol=1e-4 * np.abs(expected).max())


def test_shapes_may_depend_on_inputs(steady: Gpu) -> None:
    nodes = [node("Reshape", "xs", "y")]
    with Network(model(nodes, {"x": [12], "s": (INT64, [2])}, "y")) as network:
        for shape in ((3, 4), (6, 2), (3, 4)):
            assert network.run({"x": reals(12), "s": np.array(shape)})["y"].shape == shape


def test_a_network_reads_a_tensor_that_somebody_else_fills(steady: Gpu) -> None:
    with Network(two_layers()) as network, Tensor.from_numpy(reals(6, 3)) as x:
        program = network.bind({"x": x}, {})
        for seed in range(3):
            x[...] = reals(6, 3, seed=seed)
            program.replay()
            (expected,) = ReferenceEvaluator(two_layers()).run(None, {"x": reals(6, 3, seed=seed)})
            np.testing.assert_allclose(program.read()["y"], expected, rtol=1e-5, atol=1e-6)
        program.close()


def test_everything_unsupported_is_told_at_once(steady: Gpu) -> None:
    nodes = [
        node("NonZero", "x", "a"),
        node("Cast", "x", "b", to=TensorProto.DOUBLE),
        node("Relu", "x", "y"),
        helper.make_node("Magic", ["x"], ["z"], name="spell", domain="somewhere"),
    ]
    shape: list[str] = ["n"]
    outputs = {"a": (INT64, [1, "n"]), "b": (TensorProto.DOUBLE, shape), "y": shape, "z": shape}
    made = model(nodes, {"x": [3]}, outputs, others={"somewhere": 2})
    with Network(made) as network, pytest.raises(UnsupportedOp) as caught:
        network.run({"x": reals(3)})
    told = "\n".join(caught.value.reasons)
    assert len(caught.value.reasons) == 3
    for part in ("NonZero", "opset 21", "float", "Cast", "double", "somewhere.Magic", "'spell'", "opset 2"):
        assert part in told


def test_inputs_that_do_not_fit_are_refused(steady: Gpu) -> None:
    with Network(two_layers(), {"batch": 4}) as network:
        for given, told in [
            ({}, "missing x"),
            ({"x": reals(4, 3), "q": reals(1)}, "unknown q"),
            ({"x": reals(4, 2)}, r"\(batch = 4, 3\)"),
            ({"x": reals(5, 3)}, r"\(batch = 4, 3\)"),
            ({"x": reals(4, 3).astype(float)}, r"astype\(numpy.float32\)"),
        ]:
            with pytest.raises(InputError, match=told):
                network.run(given)


def test_whole_numbers_beyond_32_bits_never_give_a_wrong_answer(steady: Gpu) -> None:
    large = np.array([1 << 40])
    with Network(model([node("Identity", "x", "y")], {"x": (INT64, [1])}, {"y": (INT64, [1])})) as network:
        with pytest.raises(InputError, match="32 bits"):
            network.run({"x": large})
        assert network.run({"x": np.array([1 << 30])})["y"] == 1 << 30
    with Network(model([node("Add", "xx", "y")], {"x": (INT64, [1])}, {"y": (INT64, [1])})) as network:
        with pytest.raises(InputError, match="16,777,216"):
            network.run({"x": np.array([1 << 30])})
        assert network.run({"x": np.array([1 << 24])})["y"] == 1 << 25
    squared = model([node("Mul", "xx", "y")], {"x": (INT64, [1])}, {"y": (INT64, [1])})
    with Network(squared) as network, pytest.raises(UnsupportedOp, match="could pass the 32 bits"):
        network.run({"x": np.array([3])})


def test_a_loop_is_written_out(steady: Gpu) -> None:
    body = helper.make_graph(
        [node("Add", ["v", "one"], ["w"]), node("Identity", ["go"], ["still"]), node("Identity", ["w"], ["row"])],
        "body",
        [
            helper.make_tensor_value_info("turn", INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", 1, [2]),
        ],
        [
            helper.make_tensor_value_info("still", TensorProto.BOOL, []),
            helper.make_tensor_value_info("w", 1, [2]),
            helper.make_tensor_value_info("row", 1, [2]),
        ],
    )
    nodes = [helper.make_node("Loop", ["n", "", "x"], ["last", "rows"], body=body)]
    outputs = {"last": [2], "rows": ["turns", 2]}
    made = model(nodes, {"x": [2], "n": (INT64, [])}, outputs, {"one": np.ones(2, np.float32)})
    with Network(made) as network:
        found = network.run({"x": reals(2), "n": np.array(5)})
        np.testing.assert_allclose(found["last"], reals(2) + 5, rtol=1e-6)
        np.testing.assert_allclose(found["rows"], reals(2) + np.arange(1, 6)[:, None], rtol=1e-6)


def test_nothing_is_left_behind_by_a_network_that_is_refused(steady: Gpu) -> None:
    nodes = [node("Exp", "x", "a"), node("MatMul", "aw", "b"), node("NonZero", "b", "y")]
    with Network(model(nodes, {"x": [4, 4]}, "y", {"w": reals(4, 4)})) as network:
        for _ in range(3):
            with pytest.raises(UnsupportedOp):
                network.run({"x": reals(4, 4)})


def test_times_of_nodes(gpu: Gpu) -> None:
    if not gpu.timer.available:
        pytest.skip("this adapter has no timestamps")
    with Network(two_layers()) as network:
        times = network.program({"x": reals(300, 3)}).profile()
        assert times is not None
        assert [taken.node.split()[0] for taken in times] == ["MatMul", "Neg"]
        assert all(taken.dispatches == 1 for taken in times)

"""A network is checked, bound to shapes, folded, fused, and recorded as one plan that can be replayed."""

from __future__ import annotations

import os
from contextlib import closing

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from vertigrad import Tensor
from vertigrad.errors import InputError, UnsupportedOp
from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network, backend, reader
from vertigrad.onnx_import.fold import can_fold

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


def test_a_network_gives_the_result_of_the_reference_for_any_batch(steady: Gpu) -> None:
    with Network(two_layers()) as network:
        for batch in (1, 5, 2, 5, 7, 9, 11):
            x = reals(batch, 3, seed=batch)
            (expected,) = ReferenceEvaluator(two_layers()).run(None, {"x": x})
            np.testing.assert_allclose(network.run({"x": x})["y"], expected, rtol=1e-5, atol=1e-6)


def test_a_program_that_a_caller_holds_is_not_evicted(steady: Gpu) -> None:
    with Network(two_layers()) as network:
        x = reals(1, 3)
        program = network.program({"x": x})
        for batch in range(2, 12):
            network.run({"x": reals(batch, 3)})
        assert network.program({"x": x}) is program
        program.set({"x": x})
        program.replay()
        np.testing.assert_array_equal(program.read()["y"], network.run({"x": x})["y"])


def test_unused_programs_do_not_accumulate(gpu: Gpu) -> None:
    with Network(two_layers()) as network:
        for batch in range(1, 12):
            network.run({"x": reals(1000 * batch, 3)})
            if batch == 4:
                gpu.sync()
                held = len(gpu.tracker.live)
        gpu.sync()
        assert len(gpu.tracker.live) <= held


def test_a_program_that_its_caller_closed_is_recorded_again(steady: Gpu) -> None:
    with Network(two_layers()) as network:
        x = reals(2, 3)
        before = network.run({"x": x})["y"]
        network.program({"x": x}).close()
        np.testing.assert_array_equal(network.run({"x": x})["y"], before)


def test_a_chain_of_elementwise_nodes_is_one_kernel(steady: Gpu) -> None:
    with Network(two_layers()) as network:
        assert len(network.program({"x": reals(2, 3)}).plan) == 2


def test_a_value_that_two_nodes_need_is_computed_once(steady: Gpu) -> None:
    nodes = [node("Exp", "x", "a"), node("Neg", "a", "y"), node("Sqrt", "a", "z")]
    with Network(model(nodes, {"x": [100]}, "yz")) as network:
        x = reals(100)
        found = network.run({"x": x})
        np.testing.assert_allclose(found["y"], -np.exp(x), rtol=1e-6)
        np.testing.assert_allclose(found["z"], np.sqrt(np.exp(x)), rtol=1e-6)
        assert len(network.program({"x": x}).plan) == 3


def test_each_node_of_half_precision_rounds(steady: Gpu) -> None:
    """Also within a kernel of several nodes: the bits are those of separate nodes."""
    if "shader-f16" not in steady.features:
        pytest.skip("this adapter has no f16")
    nodes = [node("Mul", "xw", "a"), node("Add", "ab", "c"), node("Sub", "cx", "y")]
    half = (TensorProto.FLOAT16, [500])
    x, w, b = (reals(500, seed=seed).astype(np.float16) for seed in range(3))
    with Network(model(nodes, {"x": half, "w": half, "b": half}, "y")) as network:
        inputs = {"x": x, "w": w, "b": b}
        assert len(network.program(inputs).plan) == 1
        np.testing.assert_array_equal(network.run(inputs)["y"], x * w + b - x)
        assert np.any(x * w + b - x != (x.astype(float) * w + b - x).astype(np.float16))


def test_attention_of_half_precision_is_rounded_once(steady: Gpu) -> None:
    """Within half an ulp of the exact result; ONNX's reference rounds each step, an error of 1.4."""
    if "shader-f16" not in steady.features:
        pytest.skip("this adapter has no f16")
    half = (TensorProto.FLOAT16, [2, 3, 4, 8])
    q, k, v = (np.random.default_rng(seed).random((2, 3, 4, 8)).astype(np.float16) for seed in range(3))
    with Network(
        model([node("Attention", "qkv", "y", is_causal=1)], dict.fromkeys("qkv", half), "y", opset=23)
    ) as network:
        found = network.run({"q": q, "k": k, "v": v})["y"]
    scores = q.astype(float) @ k.astype(float).swapaxes(2, 3) / np.sqrt(8)
    weights = np.exp(np.where(np.tri(4, dtype=bool), scores, -np.inf))
    exact = weights / weights.sum(3, keepdims=True) @ v.astype(float)
    assert np.abs((found - exact) / np.spacing(exact.astype(np.float16))).max() < 0.51


def test_broadcast_values_are_not_computed_for_every_element(steady: Gpu) -> None:
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
    """Constants of gigabytes from a few numbers are not created on the host, and rejected if no buffer holds them."""
    nodes = [node("ConstantOfShape", ["s"], "a"), node("ReduceSum", "a", "c", keepdims=0), node("Add", "xc", "y")]
    huge = np.array([1 << 20, 1 << 20])
    with Network(model(nodes, {"x": [1]}, "y", {"s": huge})) as network, pytest.raises(InputError, match="buffer"):
        network.program({"x": reals(1)})


@pytest.mark.turns(2)
def test_memory_is_shared_by_values_that_are_not_needed_at_once(gpu: Gpu) -> None:
    """Forty layers in the memory of a few: results reuse memory that is no longer needed."""
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


def test_shapes_can_depend_on_inputs(steady: Gpu) -> None:
    nodes = [node("Reshape", "xs", "y")]
    with Network(model(nodes, {"x": [12], "s": (INT64, [2])}, "y")) as network:
        for shape in ((3, 4), (6, 2), (3, 4)):
            assert network.run({"x": reals(12), "s": np.array(shape)})["y"].shape == shape


@pytest.mark.parametrize(("count", "on_gpu"), [(64, False), (65, True)])
def test_only_small_values_that_depend_on_inputs_are_computed_on_the_host(
    steady: Gpu, count: int, on_gpu: bool
) -> None:
    nodes = [node("Compress", "xk", "y"), node("Not", "k", "z")]
    keep = np.arange(count) % 3 == 0
    with Network(
        model(nodes, {"x": [count], "k": (TensorProto.BOOL, [count])}, {"y": ["n"], "z": (9, [count])})
    ) as network:
        inputs = {"x": reals(count), "k": keep}
        found = network.run(inputs)
        np.testing.assert_array_equal(found["y"], reals(count)[keep])
        np.testing.assert_array_equal(found["z"], ~keep)
        assert ("z" in network.program(inputs).outputs) == on_gpu


def test_floats_combined_with_integers_count_as_floats() -> None:
    """The host computes up to 64 integers, and 8 other numbers, that depend on inputs; of constants much more."""

    def folds(count: int, dtype: type, depends: bool = True) -> bool:
        arrays = [np.ones(count, bool), np.ones(count, dtype), np.ones(count, dtype)]
        return can_fold(node("Where", "cab", "y"), arrays, 21, depends)

    assert folds(2, np.float32) and not folds(3, np.float32)
    assert folds(21, np.int64) and not folds(22, np.int64)
    assert folds(1000, np.float32, depends=False)


def test_a_network_reads_a_tensor_that_other_code_writes(steady: Gpu) -> None:
    with Network(two_layers()) as network, Tensor.from_numpy(reals(6, 3)) as x:
        program = network.bind({"x": x}, {})
        for seed in range(3):
            x[...] = reals(6, 3, seed=seed)
            program.replay()
            (expected,) = ReferenceEvaluator(two_layers()).run(None, {"x": reals(6, 3, seed=seed)})
            np.testing.assert_allclose(program.read()["y"], expected, rtol=1e-5, atol=1e-6)
        program.close()


def test_tensors_inside_a_network_are_given_too(steady: Gpu) -> None:
    """Also those that are fused into one kernel otherwise; the outputs stay as they are."""
    nodes = [
        node("MatMul", ["x", "w"], ["product"]),
        node("Add", ["product", "b"], ["sum"]),
        node("Relu", ["sum"], ["y"]),
    ]
    constants = {"w": reals(4, 3, seed=1), "b": reals(3, seed=2)}
    proto, x = model(nodes, {"x": [5, 4]}, {"y": [5, 3]}, constants), reals(5, 4)
    expected = x @ constants["w"] + constants["b"]
    with Network(proto) as plain, Network(proto, inside=["sum", "y"]) as opened:
        assert list(opened.outputs) == ["y", "sum"]
        assert plain.tensors == opened.tensors
        assert opened.tensors["sum"] == ("Add", "float", (5, 3))
        found = opened.run({"x": x})
        np.testing.assert_allclose(found["sum"], expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(found["y"], np.maximum(found["sum"], 0))
        np.testing.assert_allclose(plain.run({"x": x})["y"], found["y"], rtol=1e-5, atol=1e-6)
    with pytest.raises(InputError, match=r"no node computes 'w'; `vertigrad infer --tensors` lists"):
        Network(proto, inside=["w"])


def test_everything_unsupported_is_reported_at_once(steady: Gpu) -> None:
    nodes = [
        node("Det", "x", "a"),
        node("Cast", "x", "b", to=TensorProto.STRING),
        node("Relu", "x", "y"),
        helper.make_node("Magic", ["x"], ["z"], name="spell", domain="somewhere"),
    ]
    shape = ["n", "n"]
    outputs = {"a": [], "b": (TensorProto.STRING, shape), "y": shape, "z": shape}
    proto = model(nodes, {"x": [3, 3]}, outputs, others={"somewhere": 2})
    with Network(proto) as network, pytest.raises(UnsupportedOp) as caught:
        network.run({"x": reals(3, 3)})
    message = "\n".join(caught.value.reasons)
    assert len(caught.value.reasons) == 3
    assert str(caught.value).split("\n") == [
        f"{caught.value.source}: 3 unsupported",
        *(f"  {r}" for r in caught.value.reasons),
    ]
    for part in ("Det", "opset 21", "float", "Cast", "string", "somewhere.Magic", "'spell'", "opset 2"):
        assert part in message


def test_invalid_inputs_are_rejected(steady: Gpu) -> None:
    with Network(two_layers(), {"batch": 4}) as network:
        for inputs, message in [
            ({}, "missing x"),
            ({"x": reals(4, 3), "q": reals(1)}, "unknown q"),
            ({"x": reals(4, 2)}, r"\(batch = 4, 3\)"),
            ({"x": reals(5, 3)}, r"\(batch = 4, 3\)"),
            ({"x": reals(4, 3).astype(float)}, r"astype\(numpy.float32\)"),
        ]:
            with pytest.raises(InputError, match=message):
                network.run(inputs)


def test_integers_beyond_32_bits_never_give_a_wrong_answer(steady: Gpu) -> None:
    large = np.array([1 << 40])
    with Network(model([node("Identity", "x", "y")], {"x": (INT64, [1])}, {"y": (INT64, [1])})) as network:
        program = network.program({"x": large})
        with pytest.raises(InputError, match="32 bits"):
            program.set({"x": large})
        assert network.run({"x": np.array([1 << 30])})["y"] == 1 << 30
        assert network.run({"x": large})["y"] == large
    with Network(model([node("Add", "xx", "y")], {"x": (INT64, [1])}, {"y": (INT64, [1])})) as network:
        program = network.program({"x": large})
        with pytest.raises(InputError, match="16,777,216"):
            program.set({"x": np.array([1 << 30])})
        assert network.run({"x": np.array([1 << 24])})["y"] == 1 << 25
    squared = model([node("Mul", "xx", "y")], {"x": (INT64, [1])}, {"y": (INT64, [1])})
    with Network(squared) as network:
        assert network.run({"x": np.array([1 << 24])})["y"] == 1 << 48


def test_a_loop_is_unrolled(steady: Gpu) -> None:
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
    proto = model(nodes, {"x": [2], "n": (INT64, [])}, outputs, {"one": np.ones(2, np.float32)})
    with Network(proto) as network:
        found = network.run({"x": reals(2), "n": np.array(5)})
        np.testing.assert_allclose(found["last"], reals(2) + 5, rtol=1e-6)
        np.testing.assert_allclose(found["rows"], reals(2) + np.arange(1, 6)[:, None], rtol=1e-6)


def test_a_rejected_network_leaks_nothing(steady: Gpu) -> None:
    nodes = [node("Exp", "x", "a"), node("MatMul", "aw", "b"), node("Det", "b", "y")]
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


def test_means_of_integers_are_exact(steady: Gpu) -> None:
    x = np.array([[2**24 + 1, 2**24 + 3], [-7, 2], [2**24 + 1, 2**24 + 1]], np.int32)
    graph = model(
        [node("ReduceMean", "xa", "y", keepdims=0)],
        {"x": (TensorProto.INT32, x.shape)},
        {"y": (TensorProto.INT32, [3])},
        {"a": np.array([1])},
    )
    with Network(graph) as network:
        assert network.run({"x": x})["y"].tolist() == [2**24 + 2, -2, 2**24 + 1]


def test_an_operator_without_a_lowering_uses_its_definition_in_onnx(steady: Gpu) -> None:
    x, angles = reals(2, 3, 4, 6), reals(2, 4, 3, seed=1)
    nodes = [node("RotaryEmbedding", ["x", "cos", "sin"], "y")]
    proto = model(nodes, {"x": [2, 3, 4, 6]}, "y", {"cos": np.cos(angles), "sin": np.sin(angles)}, opset=23)
    low, high, turn = x[..., :3], x[..., 3:], angles[:, None]
    expected = [low * np.cos(turn) - high * np.sin(turn), low * np.sin(turn) + high * np.cos(turn)]
    with Network(proto) as network:
        np.testing.assert_allclose(network.run({"x": x})["y"], np.concatenate(expected, -1), rtol=1e-5, atol=1e-6)


def test_the_backend_of_onnx_has_the_name_of_its_first_device() -> None:
    assert backend.supports_device("CPU") and backend.supports_device("CPU:1")
    assert not backend.supports_device("CUDA")


def test_equal_small_constants_are_uploaded_once(steady: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    created, from_numpy = [], Tensor.from_numpy
    monkeypatch.setattr(Tensor, "from_numpy", lambda array, *name: created.append(array) or from_numpy(array, *name))
    nodes, x = [], "x"
    for i in range(6):
        nodes += [node("Add", [x, f"a{i}"], [f"s{i}"]), node("CumSum", [f"s{i}", "axis"], [f"c{i}"])]
        x = f"c{i}"
    numbers = {f"a{i}": np.float32([1, 2, 3] if i % 2 else [0, 0, -0.0]) for i in range(6)}
    with Network(model(nodes, {"x": [2, 3]}, [x], {**numbers, "axis": np.array(1)})) as network:
        start, expected = reals(2, 3), reals(2, 3)
        for i in range(6):
            expected = np.cumsum(expected + numbers[f"a{i}"], 1, dtype=np.float32)
        np.testing.assert_allclose(network.run({"x": start})["c5"], expected, rtol=1e-5)
    assert [array.shape for array in created].count((3,)) == 2


def test_a_file_that_was_read_lately_is_not_read_again(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, taken = reader.read, []
    monkeypatch.setattr(reader, "read", lambda path: taken.append(path) or read(path))
    path = tmp_path / "net.onnx"
    onnx.save(two_layers(), path)
    Network(path).show_inside(["c"])
    assert Network(path).outputs == ["y"] and len(taken) == 1, "what one adds is not in the other"
    changed = two_layers()
    changed.graph.output[0].name = changed.graph.node[-1].output[0] = "z"
    onnx.save(changed, path)
    os.utime(path, ns=(1, 1))
    assert Network(path).outputs == ["z"] and len(taken) == 2
    path.unlink()
    with pytest.raises(InputError, match=r"net.onnx: cannot be read"):
        Network(path)


def test_what_is_shown_for_one_recording_is_shown_for_no_other(gpu: Gpu) -> None:
    nodes = [node("Neg", ["x"], ["a"]), node("Neg", ["a"], ["b"]), node("Neg", ["b"], ["y"])]
    proto = model(nodes, {"x": [2]}, ["y"])
    with Network(proto, inside=["a"]) as network:
        with network.showing(["b"], ["b"]), closing(network.bind({"x": reals(2)}, {})) as program:
            assert network.outputs == ["y", "b"] and list(program.masks) == ["b"]
        with pytest.raises(InputError), network.showing(["nothing"]):
            pass
        with closing(network.bind({"x": reals(2)}, {})) as program:
            assert network.outputs == ["y", "a"] and not program.masks

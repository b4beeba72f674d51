"""Float64 in networks: operators and whole networks against float64 of onnxruntime and NumPy, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

from vertigrad.errors import UnsupportedOp
from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network

from .networks import model, node

DOUBLE = TensorProto.DOUBLE
_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def reference(proto: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> Any:
    """The output by onnxruntime, or by ONNX's own reference: onnxruntime has no float64 of some operators."""
    try:
        session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception as error:  # its classes have no names of their own
        if "NOT_IMPLEMENTED" not in str(error):
            raise
        session: Any = ReferenceEvaluator(proto)
    return session.run(None, inputs)[0]


def weights(**shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    return {name: np.random.default_rng(i).normal(size=shape) / 2 for i, (name, shape) in enumerate(shapes.items())}


def mlp() -> tuple[onnx.ModelProto, tuple[int, ...]]:
    nodes = [
        node("MatMul", ["x", "v"], ["a"]),
        node("Add", ["a", "b"], ["c"]),
        node("Tanh", ["c"], ["d"]),
        node("Gemm", ["d", "w", "e"], ["f"], alpha=0.75, beta=0.5, transB=1),
        node("LeakyRelu", ["f"], ["g"]),
        node("Sigmoid", ["g"], ["h"]),
        node("Log", ["h"], ["y"]),
    ]
    constants = weights(v=(12, 40), b=(40,), w=(9, 40), e=(9,))
    return model(nodes, {"x": (DOUBLE, [5, 12])}, {"y": (DOUBLE, [5, 9])}, constants), (5, 12)


def convnet() -> tuple[onnx.ModelProto, tuple[int, ...]]:
    nodes = [
        node("Conv", ["x", "v", "a"], ["c"], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "s", "t", "m", "n"], ["d"]),
        node("Relu", ["d"], ["e"]),
        node("MaxPool", ["e"], ["f"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["f", "w"], ["g"], group=2, strides=[2, 1], dilations=[1, 2]),
        node("Elu", ["g"], ["h"], alpha=0.7),
        node("AveragePool", ["h"], ["i"], kernel_shape=[2, 2], pads=[1, 0, 0, 1]),
        node("ConvTranspose", ["i", "u"], ["j"], strides=[2, 2]),
        node("Concat", ["j", "j"], ["k"], axis=1),
        node("ReduceMean", ["k", "axes"], ["y"], keepdims=0),
    ]
    shapes = {"v": (6, 3, 3, 3), "a": (6,), "s": (6,), "t": (6,), "m": (6,), "w": (8, 3, 2, 2), "u": (8, 2, 3, 3)}
    constants = weights(**shapes) | {"n": np.random.default_rng(9).uniform(1, 2, 6), "axes": np.array([2, 3])}
    proto = model(nodes, {"x": (DOUBLE, [2, 3, 13, 12])}, {"y": (DOUBLE, [2, 4])}, constants)
    return proto, (2, 3, 13, 12)


def attention() -> tuple[onnx.ModelProto, tuple[int, ...]]:
    nodes = [
        node("LayerNormalization", ["x", "s", "t"], ["n"], axis=-1),
        *(node("MatMul", ["n", f"w{i}"], [f"p{i}"]) for i in range(3)),
        *(node("Reshape", [f"p{i}", "heads"], [f"h{i}"]) for i in range(3)),
        *(node("Transpose", [f"h{i}"], [f"t{i}"], perm=[0, 2, 1 + 2 * (i == 1), 3 - 2 * (i == 1)]) for i in range(3)),
        node("MatMul", ["t0", "t1"], ["scores"]),
        node("Mul", ["scores", "scale"], ["scaled"]),
        node("Where", ["mask", "scaled", "never"], ["masked"]),
        node("Softmax", ["masked"], ["shares"]),
        node("MatMul", ["shares", "t2"], ["mixed"]),
        node("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]),
        node("Reshape", ["back", "whole"], ["joined"]),
        node("Add", ["joined", "x"], ["y"]),
    ]
    constants: dict[str, np.ndarray] = weights(s=(16,), t=(16,), w0=(16, 16), w1=(16, 16), w2=(16, 16))
    constants |= {"heads": np.array([2, 7, 4, 4]), "whole": np.array([2, 7, 16]), "scale": np.array(0.5)}
    constants |= {"mask": np.tri(7, dtype=bool), "never": np.array(-np.inf)}
    return model(nodes, {"x": (DOUBLE, [2, 7, 16])}, {"y": (DOUBLE, [2, 7, 16])}, constants), (2, 7, 16)


@pytest.mark.parametrize("create", [mlp, convnet, attention])
def test_whole_networks(f64_gpu: Gpu, create: Callable[[], tuple[onnx.ModelProto, tuple[int, ...]]]) -> None:
    proto, shape = create()
    inputs = {"x": np.random.default_rng(3).normal(size=shape)}
    expected = reference(proto, inputs)
    with Network(proto) as network:
        found = network.run(inputs)["y"]
    assert found.dtype == expected.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * abs(expected).max())


X = np.random.default_rng(4).uniform(0.1, 0.9, (2, 4, 6, 5))
_four = weights(s=(4,), t=(4,), m=(4,)) | {"v": np.array([1.0, 1.5, 0.7, 2.0])}
_rows = {"u": np.random.default_rng(5).uniform(0.2, 1.5, (4, 6, 5))}
_at = np.random.default_rng(6).integers(-6, 6, (2, 3, 40, 4))
OPERATORS: dict[str, tuple[str, dict[str, np.ndarray], dict[str, Any]]] = {
    **{
        op: (op, {"axes": np.array([1, 3])}, {})
        for op in ("ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2")
    },
    **{op: (op, {"axes": np.array([0, 2])}, {}) for op in ("ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")},
    **{op: (op, {}, {"axis": 2}) for op in ("Softmax", "LogSoftmax", "Hardmax", "ArgMax", "ArgMin")},
    **{op: (op, {}, {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1]}) for op in ("MaxPool", "AveragePool", "LpPool")},
    **{op: (op, {}, {}) for op in ("GlobalAveragePool", "GlobalMaxPool", "Flatten", "Trilu", "Transpose")},
    **{f"CumSum {how}": ("CumSum", {"axis": np.array(2)}, {how: 1}) for how in ("exclusive", "reverse")},
    "InstanceNormalization": ("InstanceNormalization", {name: _four[name] for name in "st"}, {}),
    "LayerNormalization": ("LayerNormalization", weights(a=(5,), b=(5,)), {}),
    "BatchNormalization": ("BatchNormalization", _four, {}),
    "LpNormalization": ("LpNormalization", {}, {"axis": 1}),
    "Gather": ("Gather", {"i": np.array([2, -1, 0])}, {"axis": 1}),
    "GatherND": ("GatherND", {"i": np.array([[1, 2], [0, 3]])}, {}),
    "ScatterElements": ("ScatterElements", {"i": np.array([[[[3, 0]]]]), "u": np.array([[[[0.1, 0.2]]]])}, {"axis": 3}),
    **{
        f"ScatterND {how}": (
            "ScatterND",
            {"i": np.array([[1, 2], [0, 3], [1, 2], [-1, -2]]), **_rows},
            {"reduction": how},
        )
        for how in ("add", "mul", "min", "max")
    },
    **{
        f"ScatterElements {how}": ("ScatterElements", {"i": _at, "u": np.sin(1.0 + _at)}, {"axis": 2, "reduction": how})
        for how in ("add", "mul", "min", "max")
    },
    "Pad": ("Pad", {"p": np.array([0, 1, 0, 2, 0, 0, 3, 0]), "c": np.array(0.1)}, {}),
    "Pad by reflection": ("Pad", {"p": np.array([0, 1, 0, 2, 0, 0, 3, 0])}, {"mode": "reflect"}),
    "Slice": ("Slice", {"b": np.array([4]), "e": np.array([-9]), "a": np.array([3]), "t": np.array([-2])}, {}),
    "Tile": ("Tile", {"r": np.array([1, 2, 1, 3])}, {}),
    "Expand": ("Expand", {"r": np.array([3, 1, 1, 1, 1])}, {}),
    "DepthToSpace": ("DepthToSpace", {}, {"blocksize": 2}),
    "Einsum": ("Einsum", weights(w=(5, 3)), {"equation": "abcd,de->bce"}),
    "Add to a constant": ("Add", {"c": np.full((4, 1, 1), 0.1)}, {}),
    "Clip": ("Clip", {"low": np.array(0.3), "high": np.array(0.4)}, {}),
    "PRelu": ("PRelu", {"w": np.array([[[0.3]]])}, {}),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(f64_gpu: Gpu, name: str) -> None:
    op, constants, attributes = OPERATORS[name]
    proto = model([node(op, ["x", *constants], ["y"], **attributes)], {"x": (DOUBLE, X.shape)}, ["y"], constants)
    inputs = {"x": X}
    expected = reference(proto, inputs)
    with Network(proto) as network:
        found = network.run(inputs)["y"]
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("op", ["Erf", "Gelu", "Exp"])
def test_constants_are_folded_in_float64(f64_gpu: Gpu, op: str) -> None:
    """ONNX's own reference, which folds them, calculates some operators in f32."""
    x = np.linspace(-3.0, 3.0, 50)
    nodes = [node(op, ["c"], ["a"]), node("Add", ["a", "x"], ["y"])]
    proto = model(nodes, {"x": (DOUBLE, [50])}, {"y": (DOUBLE, [50])}, {"c": x})
    expected = {"Erf": _erf(x), "Gelu": 0.5 * x * _erfc(-x / math.sqrt(2.0)), "Exp": np.exp(x)}[op]
    with Network(proto) as network:
        np.testing.assert_allclose(network.run({"x": np.zeros(50)})["y"], expected, rtol=1e-14)


def test_casts_between_float64_and_every_other_type(f64_gpu: Gpu) -> None:
    types = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "bool": TensorProto.BOOL}
    types |= {"int32": TensorProto.INT32, "uint8": TensorProto.UINT8, "int64": TensorProto.INT64}
    nodes = [node("Cast", ["x"], [name], to=kind) for name, kind in types.items()]
    nodes += [node("Cast", [name], [f"{name}_back"], to=DOUBLE) for name in types]
    outputs = types | {f"{name}_back": DOUBLE for name in types}
    proto = model(nodes, {"x": (DOUBLE, ["n"])}, {name: (kind, ["n"]) for name, kind in outputs.items()})
    x = np.array([0.0, 0.3, 1.0, 254.99999999999997, 2.0**-24 * (1 + 2.0**-40), 1 + 2.0**-11 + 2.0**-40])
    with Network(proto) as network:
        found = network.run({"x": x})
    for name in types:  # onnxruntime makes float16 by way of float32, and rounds twice
        assert found[name].dtype == np.dtype(name) and found[f"{name}_back"].dtype == np.float64
        np.testing.assert_array_equal(found[name], x.astype(name))
        np.testing.assert_array_equal(found[f"{name}_back"], x.astype(name).astype(np.float64))


def test_integers_beyond_32_bits(f64_gpu: Gpu) -> None:
    """Pairs of words become float64 by one rounding, and float64 becomes pairs of words exactly."""
    long, n = TensorProto.INT64, ["n"]
    nodes = [node("Cast", ["x"], ["y"], to=DOUBLE), node("Cast", ["z"], ["w"], to=long)]
    proto = model(nodes, {"x": (long, n), "z": (DOUBLE, n)}, {"y": (DOUBLE, n), "w": (long, n)})
    whole = np.array([2**62 + 12345678912345, -5, 2**53 + 1, -(2**63), 0])
    real = np.array([1e18, -1e18, -0.5, -(2.0**40) - 0.5, 2.0**62])
    with Network(proto) as network:
        found = network.run({"x": whole, "z": real})
    np.testing.assert_array_equal(found["y"], whole.astype(np.float64))
    np.testing.assert_array_equal(found["w"], real.astype(np.int64))


def test_what_is_calculated_in_f32_is_refused(f64_gpu: Gpu) -> None:
    constants = {"rois": np.ones((1, 4)), "images": np.array([0])}
    proto = model([node("RoiAlign", ["x", *constants], ["y"])], {"x": (DOUBLE, [1, 1, 4, 4])}, ["y"], constants)
    with Network(proto) as network, pytest.raises(UnsupportedOp, match=r"RoiAlign.*float64_as_f32"):
        network.run({"x": np.zeros((1, 1, 4, 4))})


def test_sampling_at_points_of_an_affine_grid(f64_gpu: Gpu) -> None:
    """A plane is interpolated exactly, so the result is the plane at the points."""
    theta = np.array([[[0.31, -0.12, 0.07], [0.05, 0.42, -0.03]]])
    nodes = [
        node("AffineGrid", ["theta", "size"], ["grid"], align_corners=1),
        node("GridSample", ["x", "grid"], ["y"], align_corners=1),
    ]
    proto = model(
        nodes, {"theta": (DOUBLE, [1, 2, 3]), "x": (DOUBLE, [1, 1, 9, 11])}, ["y"], {"size": np.array([1, 1, 5, 7])}
    )
    rows, columns = np.linspace(-1, 1, 9)[:, None], np.linspace(-1, 1, 11)
    at = np.stack([*np.meshgrid(np.linspace(-1, 1, 7), np.linspace(-1, 1, 5)), np.ones((5, 7))])
    x, y = np.einsum("ij,jrc->irc", theta[0], at)
    with Network(proto) as network:
        found = network.run({"theta": theta, "x": (0.3 + 0.7 * rows - 0.2 * columns)[None, None]})["y"]
    np.testing.assert_allclose(found[0, 0], 0.3 + 0.7 * y - 0.2 * x, rtol=1e-14)


def test_an_adapter_without_the_feature_refuses_by_its_name(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "features", gpu.features - {"shader-f64"})
    proto, shape = mlp()
    x = np.random.default_rng(3).normal(size=shape)
    with Network(proto) as network, pytest.raises(UnsupportedOp, match=r"needs the feature shader-f64.*float64_as_f32"):
        network.run({"x": x})
    with Network(proto, float64_as_f32=True) as network:
        found = network.run({"x": x.astype(np.float32)})["y"]
    monkeypatch.undo()
    assert found.dtype == np.float32
    if "shader-f64" in gpu.features:
        with Network(proto) as network:
            np.testing.assert_allclose(found, network.run({"x": x})["y"], rtol=1e-4)


def test_outputs_that_a_scene_would_draw_are_refused(gpu: Gpu) -> None:
    with Network(mlp()[0]) as network, pytest.raises(UnsupportedOp, match="double"):
        network.output_specs()


def test_the_largest_and_the_different_numbers(f64_gpu: Gpu) -> None:
    x = np.random.default_rng(6).integers(0, 9, (3, 40)) + 2.0**-50
    nodes = [node("TopK", ["x", "k"], ["largest", "at"], axis=1), node("Unique", ["x"], ["values", "", "", "counts"])]
    outputs: dict[str, Any] = {
        "largest": (DOUBLE, [3, 5]),
        "at": (TensorProto.INT64, [3, 5]),
        "values": (DOUBLE, ["m"]),
    }
    proto = model(
        nodes, {"x": (DOUBLE, [3, 40])}, outputs | {"counts": (TensorProto.INT64, ["m"])}, {"k": np.array([5])}
    )
    at = np.argsort(-x, axis=1, kind="stable")[:, :5]
    values, counts = np.unique(x, return_counts=True)
    expected = {"largest": np.take_along_axis(x, at, 1), "at": at, "values": values, "counts": counts}
    with Network(proto) as network:
        found = network.run({"x": x})
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


def resampling(n: int, scale: float, mode: str) -> np.ndarray:
    """The matrix that resizes an axis of n elements; ONNX's own reference has cubic weights in f32."""
    rows = np.zeros((int(n * scale), n))
    for row, position in enumerate((np.arange(len(rows)) + 0.5) / scale - 0.5):
        for tap in range(math.floor(position) - 1, math.floor(position) + 3):
            d = abs(position - tap)
            near, far = (1.25 * d - 2.25) * d * d + 1, ((-0.75 * d + 3.75) * d - 6) * d + 3  # Keys' kernel, a = -3/4
            weight = max(1 - d, 0.0) if mode == "linear" else near if d <= 1 else far if d < 2 else 0.0
            rows[row, min(max(tap, 0), n - 1)] += weight
    return rows


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resizing(f64_gpu: Gpu, mode: str) -> None:
    x = np.random.default_rng(8).normal(size=(1, 2, 7, 6))
    scales = np.array([1, 1, 1.7, 0.6], np.float32)
    proto = model([node("Resize", ["x", "", "s"], ["y"], mode=mode)], {"x": (DOUBLE, x.shape)}, ["y"], {"s": scales})
    expected = resampling(7, scales[2].item(), mode) @ x @ resampling(6, scales[3].item(), mode).T
    with Network(proto) as network:
        np.testing.assert_allclose(network.run({"x": x})["y"], expected, rtol=1e-12, atol=1e-12)


def test_attention_as_one_node(f64_gpu: Gpu) -> None:
    q = np.random.default_rng(1).normal(size=(2, 5, 12))
    constants = weights(k=(2, 7, 6), v=(2, 7, 8)) | {"mask": np.random.default_rng(2).normal(size=(5, 7))}
    attributes = {"q_num_heads": 4, "kv_num_heads": 2, "softcap": 2.0, "softmax_precision": DOUBLE}
    nodes = [node("Attention", ["q", *constants], ["y"], is_causal=1, **attributes)]
    proto = model(nodes, {"q": (DOUBLE, q.shape)}, ["y"], constants, opset=23)
    expected = ReferenceEvaluator(proto).run(None, {"q": q})[0]  # type: ignore[index]
    with Network(proto) as network:
        found = network.run({"q": q})["y"]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_tensors_of_one_number(f64_gpu: Gpu) -> None:
    fill = onnx.numpy_helper.from_array(np.array([0.1]))
    nodes = [node("Shape", ["x"], ["s"]), node("ConstantOfShape", ["s"], ["y"], value=fill)]
    proto = model(nodes, {"x": ["n"]}, {"y": (DOUBLE, ["n"])})
    with Network(proto) as network:
        np.testing.assert_array_equal(network.run({"x": np.zeros(300, np.float32)})["y"], np.full(300, 0.1))


def test_a_pool_gives_the_indices(f64_gpu: Gpu) -> None:
    x = X + 2.0**-40 * np.random.default_rng(1).normal(size=X.shape)
    proto = model([node("MaxPool", ["x"], ["y", "at"], kernel_shape=[3, 2])], {"x": (DOUBLE, x.shape)}, ["y", "at"])
    with Network(proto) as network:
        found = network.run({"x": x})
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 2), (2, 3))
    np.testing.assert_array_equal(found["y"], windows.max((4, 5)))
    np.testing.assert_array_equal(x.reshape(-1)[found["at"]], found["y"])


def test_a_normalization_gives_its_statistics(f64_gpu: Gpu) -> None:
    """They are float32, by the attribute `stash_type`."""
    proto = model(
        [node("LayerNormalization", ["x", "a"], ["y", "mean", "inverse"], axis=2)],
        {"x": (DOUBLE, X.shape)},
        ["y", "mean", "inverse"],
        weights(a=(6, 5)),
    )
    expected = ReferenceEvaluator(proto).run(None, {"x": X})
    with Network(proto) as network:
        found = list(network.run({"x": X}).values())
    assert [array.dtype for array in found] == [np.float64, np.float32, np.float32]
    for ours, theirs, close in zip(found, expected, (1e-12, 1e-6, 1e-6), strict=True):  # type: ignore[arg-type]
        np.testing.assert_allclose(ours, theirs, rtol=close, atol=close)

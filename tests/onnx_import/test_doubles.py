"""Float64 in networks: each function and whole networks against float64 of NumPy and onnxruntime; no f32 in between."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

from vertigrad import ops, resources
from vertigrad.errors import DtypeError, UnsupportedOp
from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network
from vertigrad.ops.doubles import DOUBLES
from vertigrad.tensor import Tensor, f32
from vertigrad.tensor.doubles import from_doubles

from .networks import model, node

DOUBLE = TensorProto.DOUBLE
CLOSE = 1e-14
LIBRARY = "exp2?|log2?|a?(sin|cos|tan)h?|atan2|pow|inverseSqrt|fma|frexp"
FILES = ("double", "double_powers", "double_angles", "double_activation")
_rng = np.random.default_rng(7)
EDGES = np.array(
    [
        *(0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310, 2.2e-308, 1e-20, 1e300, -1.7e308),
        *(709.7, 709.8, -745.1, -745.2, -708.0, 0.5, -0.5, 1e22, 1e5, 1e6, 123456789.123, 40.0, -0.29, 0.41),
        *(1 + 1e-15, 1 - 1e-15, 0.84375, 1.25, 2.857142857, 6.0, 28.0, -28.0, 2.0**53, 7 / 16, 11 / 16, 39 / 16),
        6381956970095103 * 2.0**797,  # the double nearest to a multiple of pi/2, but for 5e-19
    ]
)
NUMBERS = np.concatenate(
    [
        *(EDGES, _rng.normal(size=500), _rng.uniform(-1, 1, 500), _rng.uniform(-750, 720, 300)),
        *(np.exp(_rng.uniform(-740, 709, 500)) * _rng.choice([-1, 1], 500), np.arange(1, 400) * np.pi / 2),
        1 + 1e-3 * _rng.normal(size=300),
    ]
)
_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tan")},
    **{name: getattr(np, name) for name in ("sinh", "cosh", "tanh", "floor", "ceil", "round", "trunc", "sqrt", "sign")},
    **{f"arc{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: getattr(np, name) for name in ("absolute", "negative", "square", "reciprocal", "isnan", "isinf")},
    "isfinite": np.isfinite,
    "erf": _erf,
    "relu": lambda x: np.maximum(x, 0.0),
    "softplus": lambda x: np.logaddexp(0.0, x),
    "sigmoid": lambda x: np.where(x < 0, np.exp(-abs(x)), 1.0) / (1.0 + np.exp(-abs(x))),
    "softsign": lambda x: x / (1.0 + abs(x)),
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
}
PAIRS = ("add", "subtract", "multiply", "divide", "power", "fmod", "remainder", "minimum", "maximum", "less", "equal")


def error(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest relative error; infinite for another shape, type or sign, and for NaN and infinity alone in one."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return np.inf
    a, b = found.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        errors = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, abs(a - b) / np.maximum(abs(b), 2.3e-308))
    errors[(np.signbit(a) != np.signbit(b)) & ~np.isnan(b)] = np.inf
    return float(np.nan_to_num(errors, nan=np.inf).max(initial=0.0))


def require_doubles(gpu: Gpu) -> None:
    if "shader-f64" not in gpu.features:
        pytest.skip("no f64 here")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_number(gpu: Gpu, name: str) -> None:
    require_doubles(gpu)
    with from_doubles(NUMBERS) as x, np.errstate(all="ignore"):
        assert error(getattr(ops, name)(x).numpy(), FUNCTIONS[name](NUMBERS)) < CLOSE


@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_two_numbers(gpu: Gpu, name: str) -> None:
    require_doubles(gpu)
    a = np.concatenate([np.repeat(EDGES, len(EDGES)), np.exp(_rng.uniform(-700, 700, 500)), _rng.normal(size=500)])
    b = np.concatenate([np.tile(EDGES, len(EDGES)), _rng.uniform(-1, 1, 500), _rng.integers(-20, 20, 500)])
    with from_doubles(a) as x, from_doubles(b) as y, np.errstate(all="ignore"):
        found, expected = getattr(ops, name)(x, y).numpy(), getattr(np, name)(a, b)
    if name in ("minimum", "maximum"):  # of 0 and -0 either is the smaller one
        found, expected = found + 0.0, expected + 0.0
    assert error(found, expected) < CLOSE


def test_gelu_is_right_far_below_zero(gpu: Gpu) -> None:
    """1 + erf(x) has no digits left there."""
    require_doubles(gpu)
    x = np.linspace(-20.0, 20.0, 401)
    with from_doubles(x) as tensor:
        assert error(ops.gelu(tensor).numpy() + 0.0, 0.5 * x * _erfc(-x / math.sqrt(2.0)) + 0.0) < 1e-12


def test_no_function_of_wgsl_is_used_that_is_wrong_in_f64() -> None:
    """They compile, and give wrong numbers in silence."""
    texts = [resources.shader(f"common/{name}.wgsl") for name in FILES] + list(DOUBLES.values())
    called = re.compile(rf"(?<![\w.])(?:{LIBRARY})\(")
    code = [re.sub(r"//[^\n]*", "", text) for text in texts]
    assert not [match[0] for text in code for match in called.finditer(text)]
    assert called.search("x = exp(y)") and not called.search("double_exp(y)")


def test_f64_is_not_narrowed_but_by_a_cast_of_the_network(gpu: Gpu) -> None:
    require_doubles(gpu)
    with from_doubles(np.array([0.1])) as x, Tensor.from_numpy(np.zeros(1, np.float32)) as narrow:
        into = narrow[0]
        for attempt in (lambda: x.to(f32), lambda: ops.assign(narrow, x), lambda: ops.sum(x, out=into)):
            with pytest.raises(DtypeError, match="f64"):
                attempt()


def test_arrays_of_users_are_refused_as_before(gpu: Gpu) -> None:
    with pytest.raises(DtypeError, match=r"\.astype\(numpy\.float32\)"):
        Tensor.from_numpy(np.zeros(3))
    with pytest.raises(DtypeError, match="f64"):
        Tensor.zeros(3, "f64")


# networks -------------------------------------------------------------------------------------------------------------


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
def test_whole_networks(gpu: Gpu, create: Callable[[], tuple[onnx.ModelProto, tuple[int, ...]]]) -> None:
    require_doubles(gpu)
    proto, shape = create()
    inputs = {"x": np.random.default_rng(3).normal(size=shape)}
    expected = reference(proto, inputs)
    with Network(proto) as network:
        found = network.run(inputs)["y"]
    assert found.dtype == expected.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * abs(expected).max())


@pytest.mark.parametrize("op", ["Erf", "Gelu", "Exp"])
def test_constants_are_folded_in_float64(gpu: Gpu, op: str) -> None:
    """ONNX's own reference, which folds them, calculates some operators in f32."""
    require_doubles(gpu)
    x = np.linspace(-3.0, 3.0, 50)
    nodes = [node(op, ["c"], ["a"]), node("Add", ["a", "x"], ["y"])]
    proto = model(nodes, {"x": (DOUBLE, [50])}, {"y": (DOUBLE, [50])}, {"c": x})
    expected = {"Erf": _erf(x), "Gelu": 0.5 * x * _erfc(-x / math.sqrt(2.0)), "Exp": np.exp(x)}[op]
    with Network(proto) as network:
        np.testing.assert_allclose(network.run({"x": np.zeros(50)})["y"], expected, rtol=1e-14)


def test_casts_between_float64_and_every_other_type(gpu: Gpu) -> None:
    require_doubles(gpu)
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


def test_integers_beyond_32_bits(gpu: Gpu) -> None:
    """Pairs of words become float64 by one rounding, and float64 becomes pairs of words exactly."""
    require_doubles(gpu)
    long, n = TensorProto.INT64, ["n"]
    nodes = [node("Cast", ["x"], ["y"], to=DOUBLE), node("Cast", ["z"], ["w"], to=long)]
    proto = model(nodes, {"x": (long, n), "z": (DOUBLE, n)}, {"y": (DOUBLE, n), "w": (long, n)})
    whole = np.array([2**62 + 12345678912345, -5, 2**53 + 1, -(2**63), 0])
    real = np.array([1e18, -1e18, -0.5, -(2.0**40) - 0.5, 2.0**62])
    with Network(proto) as network:
        found = network.run({"x": whole, "z": real})
    np.testing.assert_array_equal(found["y"], whole.astype(np.float64))
    np.testing.assert_array_equal(found["w"], real.astype(np.int64))


@pytest.mark.parametrize("op", ["RoiAlign", "ScatterND", "LSTM"])
def test_what_is_calculated_in_f32_is_refused(gpu: Gpu, op: str) -> None:
    require_doubles(gpu)
    extra = {
        "RoiAlign": {"r": np.ones((1, 4)), "i": np.array([0])},
        "ScatterND": {"i": np.array([[0]]), "u": np.ones((1, 1, 4, 4))},
        "LSTM": {"w": np.ones((1, 4, 4)), "r": np.ones((1, 4, 1))},
    }[op]
    shape = [1, 1, 4] if op == "LSTM" else [1, 1, 4, 4]
    attributes = {"ScatterND": {"reduction": "add"}, "LSTM": {"hidden_size": 1}}.get(op, {})
    proto = model([node(op, ["x", *extra], ["y"], **attributes)], {"x": (DOUBLE, shape)}, ["y"], extra)
    with Network(proto) as network, pytest.raises(UnsupportedOp, match=f"{op}.*float64_as_f32"):
        network.run({"x": np.arange(math.prod(shape), dtype=np.float64).reshape(shape)})


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


@pytest.mark.parametrize("descending", [False, True])
def test_sorting_is_stable_and_knows_zeros_and_nan(gpu: Gpu, descending: bool) -> None:
    require_doubles(gpu)
    x = np.random.default_rng(5).permutation(np.concatenate([EDGES, EDGES, -EDGES, NUMBERS[50:300]]))
    x = np.stack([x, x[::-1], np.round(x)], 1)
    order = np.argsort(-x if descending else x, axis=0, kind="stable")  # NumPy has NaN last, too
    with from_doubles(x) as tensor:
        np.testing.assert_array_equal(ops.argsort(tensor, 0, descending=descending).numpy(), order)
        expected = np.take_along_axis(x, order, 0)
        np.testing.assert_array_equal(ops.sort(tensor, 0, descending=descending).numpy(), expected)


def test_the_largest_and_the_different_numbers(gpu: Gpu) -> None:
    require_doubles(gpu)
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
def test_resizing(gpu: Gpu, mode: str) -> None:
    require_doubles(gpu)
    x = np.random.default_rng(8).normal(size=(1, 2, 7, 6))
    scales = np.array([1, 1, 1.7, 0.6], np.float32)
    proto = model([node("Resize", ["x", "", "s"], ["y"], mode=mode)], {"x": (DOUBLE, x.shape)}, ["y"], {"s": scales})
    expected = resampling(7, scales[2].item(), mode) @ x @ resampling(6, scales[3].item(), mode).T
    with Network(proto) as network:
        np.testing.assert_allclose(network.run({"x": x})["y"], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sizes", [(1, 300, 5), (9, 64, 9), (70, 33, 45), (33, 129, 64)])
def test_products_of_all_sizes(gpu: Gpu, sizes: tuple[int, int, int]) -> None:
    require_doubles(gpu)
    rows, inner, columns = sizes
    a, b = (
        np.random.default_rng(1).normal(size=(2, rows, inner)),
        np.random.default_rng(2).normal(size=(columns, inner)),
    )
    with from_doubles(a) as left, from_doubles(b) as right:
        for x, y, expected in ((left, right.T, a @ b.T), (right, left.permute(0, 2, 1), b @ a.swapaxes(1, 2))):
            np.testing.assert_allclose(ops.matmul(x, y).numpy(), expected, rtol=1e-12, atol=1e-12)

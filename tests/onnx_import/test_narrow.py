"""bfloat16, floats of 8 and 4 bits, integers of 4 and 2 bits: what the GPU gives is what ONNX's conversions give."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, numpy_helper
from onnx.helper import tensor_dtype_to_np_dtype

from vertigrad.gpu import Gpu
from vertigrad.onnx_import import Network

from .networks import model, node, reals

BFLOAT16, FLOAT = TensorProto.BFLOAT16, TensorProto.FLOAT
CLAMPED = (
    TensorProto.FLOAT8E4M3FN,
    TensorProto.FLOAT8E4M3FNUZ,
    TensorProto.FLOAT8E5M2,
    TensorProto.FLOAT8E5M2FNUZ,
)


def awkward() -> np.ndarray:
    """Random bits of f32, among them ties, numbers next to ties, and all that are no ordinary numbers."""
    bits = np.random.default_rng(3).integers(0, 1 << 32, 20_000, np.uint32)
    bits[::4] &= 0xFFF80000  # ties of a mantissa of 3 bits, and those of fewer
    bits[1::4] = (bits[1::4] & 0xFFF80000) | 1
    small = (reals(4000) * np.float32(2) ** np.random.default_rng(4).integers(-20, 10, 4000)).astype(np.float32)
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 448, 464, 57344, 61440, 240, 248, 6, 7, 1e-30], np.float32)
    return np.concatenate([bits.view(np.float32), small, special])


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("elem", [*CLAMPED, TensorProto.FLOAT4E2M1])
def test_a_float_of_8_or_4_bits_is_the_nearest_one(steady: Gpu, elem: int, saturate: int) -> None:
    x, dtype = awkward(), tensor_dtype_to_np_dtype(elem)
    x = np.nan_to_num(x, nan=0.0) if elem == TensorProto.FLOAT4E2M1 else x  # it has no NaN
    nodes = [node("Cast", "x", "y", to=elem, saturate=saturate), node("Cast", "y", "z", to=FLOAT)]
    with np.errstate(all="ignore"):
        expected = numpy_helper.saturate_cast(x, dtype) if saturate and elem in CLAMPED else x.astype(dtype)
    with Network(model(nodes, {"x": ["n"]}, {"y": (elem, ["n"]), "z": (FLOAT, ["n"])}, opset=23)) as network:
        found = network.run({"x": x})
    assert found["y"].dtype == dtype
    np.testing.assert_array_equal(found["y"].astype(np.float32), expected.astype(np.float32))
    np.testing.assert_array_equal(found["z"], expected.astype(np.float32))


def test_bfloat16_is_rounded_to_even_at_each_node(steady: Gpu) -> None:
    bits = np.random.default_rng(5).integers(0, 1 << 32, 20_000, np.uint32)
    bits[::3] = (bits[::3] & 0xFFFF0000) | 0x8000
    x = np.concatenate([bits.view(np.float32), np.array([np.inf, -np.inf, np.nan, 3.4e38, 0, -0.0], np.float32)])
    x = x[(np.abs(x) > 1e-37) | (x == 0) | np.isnan(x)]  # subnormal ones a GPU may flush to 0
    with Network(model([node("Cast", "x", "y", to=BFLOAT16)], {"x": ["n"]}, {"y": (BFLOAT16, ["n"])})) as network:
        found = network.run({"x": x})["y"]
    assert found.dtype == ml_dtypes.bfloat16
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found.astype(np.float32), x.astype(ml_dtypes.bfloat16).astype(np.float32))

    nodes = [node("Mul", "aa", "b"), node("Add", "ba", "c"), node("Reshape", ["c", "shape"], "y")]
    a = reals(300).astype(ml_dtypes.bfloat16)
    chain = model(nodes, {"a": (BFLOAT16, ["n"])}, {"y": (BFLOAT16, [30, 10])}, {"shape": np.array([30, 10])})
    with Network(chain) as network:
        found = network.run({"a": a})["y"]
    np.testing.assert_array_equal(found.astype(np.float32), (a * a + a).reshape(30, 10).astype(np.float32))


def test_what_follows_a_product_of_bfloat16_reads_it_rounded(steady: Gpu) -> None:
    a, w, b = (reals(*s, seed=i).astype(ml_dtypes.bfloat16) for i, s in enumerate([(8, 16), (16, 8), (8,)]))
    nodes = [node("MatMul", "aw", "c"), node("Add", "cb", "y")]
    with Network(model(nodes, {"a": (BFLOAT16, [8, 16])}, {"y": (BFLOAT16, [8, 8])}, {"w": w, "b": b})) as network:
        found = network.run({"a": a})["y"]
    product = (a.astype(np.float64) @ w.astype(np.float64)).astype(np.float32).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(found.astype(np.float32), (product + b).astype(np.float32))


@pytest.mark.parametrize("elem", [TensorProto.INT4, TensorProto.UINT4, TensorProto.INT2, TensorProto.UINT2])
def test_integers_of_4_and_2_bits_wrap_in_a_cast_and_are_clamped_when_quantized(steady: Gpu, elem: int) -> None:
    dtype = tensor_dtype_to_np_dtype(elem)
    info, x = ml_dtypes.iinfo(dtype), np.arange(-40, 41, dtype=np.float32) / 2
    nodes = [node("Cast", "x", "y", to=elem), node("QuantizeLinear", ["x", "scale"], "z", output_dtype=elem)]
    outputs = {"y": (elem, ["n"]), "z": (elem, ["n"])}
    proto = model(nodes, {"x": ["n"]}, outputs, {"scale": np.array(0.5, np.float32)}, opset=25)
    with Network(proto) as network:
        found = network.run({"x": x})
    assert found["y"].dtype == found["z"].dtype == dtype
    np.testing.assert_array_equal(found["y"].astype(np.int32), x.astype(np.int32).astype(dtype).astype(np.int32))
    np.testing.assert_array_equal(found["z"].astype(np.int32), np.clip(np.round(x * 2), info.min, info.max))

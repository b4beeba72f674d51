"""Casts of element types. NumPy's overflow depends on the processor, so the reference here defines the guarantees."""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.gpu import Kernel, shader

from .layouts import DTYPES, NUMPY

LIMITS = {"i32": (-(2**31), 2**31 - 1), "u32": (0, 2**32 - 1), "u8": (0, 255)}
FLOATS = [0.0, -0.0, 0.4, -0.6, 1.5, -1.5, 2.5, 126.9, 255.0, 255.9, 256.0, -1.0, 65504.0, -65504.0, 3.0e-5]
BEYOND = [65536.0, 2.0**24 + 2, 2147483520.0, 2147483648.0, -2147483648.0, -2147483904.0, 4294967040.0, 4294967296.0]
SPECIAL = [np.nan, np.inf, -np.inf]
SOURCES = {
    "f32": np.array([*FLOATS, *BEYOND, 1e30, -1e30, *SPECIAL], np.float32),
    "f16": np.array([*FLOATS, *SPECIAL], np.float16),
    "i32": np.array([0, 1, -1, 127, 255, 256, -300, 2**24 + 1, 2**31 - 1, -(2**31)], np.int32),
    "u32": np.array([0, 1, 255, 256, 70000, 2**24 + 1, 2**31, 2**32 - 1], np.uint32),
    "bool": np.array([False, True]),
    "u8": np.array([0, 1, 127, 128, 255], np.uint8),
}


def reference(array: np.ndarray, dtype: str) -> np.ndarray:
    """Floats truncate and saturate, NaN is 0; integers wrap; everything but 0 is true."""
    if array.dtype.kind == "f" and dtype in LIMITS:
        low, high = LIMITS[dtype]
        whole = np.trunc(np.nan_to_num(array.astype(np.float64), nan=0.0))
        return np.clip(whole, low, high).astype(np.int64).astype(NUMPY[dtype])
    with np.errstate(over="ignore"):
        return array.astype(NUMPY[dtype])


@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_every_type_casts_to_every_other(source: str, target: str):
    array = SOURCES[source]
    got, want = Tensor.from_numpy(array).to(target).numpy(), reference(array, target)
    assert got.dtype == want.dtype
    if (
        target == "f16"
    ):  # rounded to a neighbor; which of two is the device's choice (WGSL, "Floating Point Conversion")
        finite = np.abs(array.astype(np.float64)) <= 65504
        assert np.array_equal(got[~finite], want[~finite], equal_nan=True)
        error = np.abs(got[finite].astype(np.float64) - want[finite])
        assert np.all(error <= np.maximum(np.abs(want[finite].astype(np.float64)) * 2.0**-10, 2.0**-24))
    else:
        assert np.array_equal(got, want, equal_nan=want.dtype.kind == "f")


@pytest.mark.parametrize("result", ["f16", "u8"])
def test_a_result_is_rounded_to_its_own_type_before_a_cast_to_another(result: str):
    a = np.array([200, 250, 255], NUMPY[result])
    b = np.array([100.25, 5.01, 1.0] if result == "f16" else [100, 5, 1], NUMPY[result])
    out = Tensor.zeros((3,), "f32")
    ops.add(Tensor.from_numpy(a), Tensor.from_numpy(b), out=out)
    assert np.array_equal(out.numpy(), (a + b).astype(np.float32))


@pytest.mark.parametrize("b", DTYPES)
@pytest.mark.parametrize("a", DTYPES)
def test_operands_of_two_types_are_promoted_to_the_wider(a: str, b: str):
    x, y = SOURCES[a][:2], SOURCES[b][:2]
    got = ops.add(Tensor.from_numpy(x), Tensor.from_numpy(y))
    kind = NUMPY[got.dtype.name]
    assert np.array_equal(got.numpy(), x.astype(kind) + y.astype(kind))
    both = {a, b}
    if "f32" in both or both == {"i32", "u32"} or both in ({"f16", "i32"}, {"f16", "u32"}):
        assert got.dtype.name == "f32"
    else:
        assert got.dtype.name == next(d for d in ("f16", "i32", "u32", "u8", "bool") if d in both)


def test_rounding_to_f16_is_numpys():
    """Of every f16, of the midpoints between two of them, and of the adjacent f32."""
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    ends = np.append(halves[1:], np.float32(65536.0))
    middles = (0.5 * (halves.astype(np.float64) + ends)).astype(np.float32)
    exact = np.concatenate([halves, middles, [65519.0, 65520.0, 65521.0, 1e30, 3.4e38, np.inf]]).astype(np.float32)
    near = [exact, np.nextafter(exact, np.float32(0)), np.nextafter(exact, np.float32(np.inf))]
    x = np.concatenate([*near, *(-part for part in near), [np.float32(np.nan)]]).astype(np.float32)
    x = x[(np.abs(x) >= np.finfo(np.float32).tiny) | (x == 0) | np.isnan(x)]  # adapters may take subnormal f32 as 0
    source = f"""{shader.render("common/math.wgsl")}
@group(0) @binding(0) var<storage, read> tensor: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {{
    if id.x < {x.size}u {{ out[id.x] = rounded_to_f16(tensor[id.x]); }}
}}"""
    with Tensor.from_numpy(x) as tensor, Tensor.empty(x.shape) as out, np.errstate(over="ignore"):
        Kernel(source, "main", "rounding")(x.size, tensor=tensor, out=out)
        np.testing.assert_array_equal(out.numpy(), x.astype(np.float16).astype(np.float32))

"""Element types: names, promotion, and ranges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vertigrad.errors import DtypeError
from vertigrad.tensor import dtype_of, promote
from vertigrad.tensor.dtype import ALL, DType, check_value

every = pytest.mark.parametrize("dtype", ALL, ids=repr)


@every
def test_a_dtype_is_found_by_name_by_numpy_dtype_and_by_itself(dtype: DType):
    for expected in (dtype, dtype.name, dtype.numpy, dtype.numpy.type):
        assert dtype_of(expected) is dtype


@every
def test_sizes_are_those_of_the_storage_type(dtype: DType):
    packed = dtype.name in ("f16", "u8")
    assert dtype.itemsize == (dtype.numpy.itemsize if packed else 4)
    assert dtype.scalar in ("f32", "f16", "i32", "u32")


@pytest.mark.parametrize(
    ("expected", "advice"),
    [
        (np.float64, "float32"),
        (np.int64, "int32"),
        (np.uint64, "uint32"),
        (np.int16, "int32"),
        (np.uint16, "uint32"),
        (np.int8, "int32"),
        (np.complex64, None),
        ("U5", None),
        ("no such type", None),
        (None, "float32"),
    ],
)
def test_other_types_are_rejected_with_a_suggestion_if_there_is_one(expected: object, advice: str | None):
    with pytest.raises(DtypeError) as raised:
        dtype_of(expected)
    assert (f".astype(numpy.{advice})" in str(raised.value)) if advice else ("astype" not in str(raised.value))
    assert advice is None or dtype_of(getattr(np, advice)) in ALL


@pytest.mark.parametrize("b", ALL, ids=repr)
@pytest.mark.parametrize("a", ALL, ids=repr)
def test_types_are_promoted_as_in_numpy_but_within_32_bits(a: DType, b: DType):
    wide = np.promote_types(a.numpy, b.numpy)
    narrow = {"float64": "float32", "int64": "float32"}.get(wide.name, wide)
    assert promote(a, b) is dtype_of(narrow)


@settings(deadline=None)
@given(st.sampled_from([d for d in ALL if d.kind in ("int", "uint")]), st.integers(-(2**33), 2**33))
def test_integer_ranges_equal_numpys(dtype: DType, value: int):
    try:
        dtype.numpy.type(value)
    except OverflowError:
        with pytest.raises(DtypeError, match="does not fit"):
            check_value(value, dtype)
    else:
        check_value(value, dtype)
        check_value(float(value), dtype)
        with pytest.raises(DtypeError):
            check_value(value + 0.5, dtype)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_infinity_and_nan_are_floats(value: float):
    for dtype in ALL:
        if dtype.kind in ("int", "uint"):
            with pytest.raises(DtypeError):
                check_value(value, dtype)
        else:
            check_value(value, dtype)


@pytest.mark.parametrize(("name", "largest"), [("f16", 65504.0), ("f32", 3.4028234663852886e38)])
def test_finite_numbers_stay_finite(name: str, largest: float):
    for sign in (1, -1):
        check_value(sign * largest, dtype_of(name))
        with pytest.raises(DtypeError, match=f"does not fit {name}"):
            check_value(sign * largest * 1.001, dtype_of(name))

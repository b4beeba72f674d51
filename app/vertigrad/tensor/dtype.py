"""Element types: what they are called, how large they are, and what holds them in WGSL."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DtypeError


@dataclass(frozen=True)
class DType:
    """An element type. `scalar` is the WGSL scalar of the storage array: bool is a u32 of 0 or 1, u8 packs four."""

    name: str
    itemsize: int
    numpy: np.dtype
    scalar: str
    kind: str  # "float", "double", "int", "uint" or "bool"

    def __repr__(self) -> str:
        return self.name

    @property
    def is_real(self) -> bool:
        """Whether its numbers may have a fraction."""
        return self.kind in ("float", "double")


f32 = DType("f32", 4, np.dtype(np.float32), "f32", "float")
f16 = DType("f16", 2, np.dtype(np.float16), "f16", "float")
i32 = DType("i32", 4, np.dtype(np.int32), "i32", "int")
u32 = DType("u32", 4, np.dtype(np.uint32), "u32", "uint")
bool_ = DType("bool", 4, np.dtype(np.bool_), "u32", "bool")
u8 = DType("u8", 1, np.dtype(np.uint8), "u32", "uint")
f64 = DType("f64", 8, np.dtype(np.float64), "f64", "double")  # within networks only: `dtype_of` does not give it

ALL = (f32, f16, i32, u32, bool_, u8)
_BY_NAME = {dtype.name: dtype for dtype in ALL}
_BY_NUMPY = {dtype.numpy: dtype for dtype in ALL}
_NARROWER = {
    "float64": "float32",
    **dict.fromkeys(("int64", "int16", "int8"), "int32"),
    **dict.fromkeys(("uint64", "uint16"), "uint32"),
}


def dtype_of(requested: Any) -> DType:
    """The `DType` for a `DType`, one of our names ("f32") or anything NumPy takes as a dtype. Raises `DtypeError`."""
    if isinstance(requested, DType):
        return requested
    if isinstance(requested, str) and requested in _BY_NAME:
        return _BY_NAME[requested]
    try:
        numpy_dtype = np.dtype(requested)
    except TypeError as error:
        raise DtypeError(f"{requested!r} is no element type; there are {', '.join(_BY_NAME)}") from error
    if numpy_dtype in _BY_NUMPY:
        return _BY_NUMPY[numpy_dtype]
    narrower = _NARROWER.get(numpy_dtype.name)
    advice = f"; convert it first with .astype(numpy.{narrower})" if narrower else ""
    raise DtypeError(f"element type {numpy_dtype} is not supported on the GPU ({', '.join(_BY_NAME)} are){advice}")


def promote(a: DType, b: DType) -> DType:
    """The element type of an operation on both, as NumPy has it within 32 bits (i32 with u32 gives f32).

    Raises `DtypeError` for none; the order is bool, u8, i32 or u32, f16, f32, f64.
    """
    if a is b:
        return a
    if f64 in (a, b):
        return f64
    pair = {a.name, b.name}
    if "f32" in pair or pair == {"i32", "u32"} or ("f16" in pair and pair & {"i32", "u32"}):
        return f32
    for dtype in (f16, i32, u32, u8):
        if dtype.name in pair:
            return dtype
    raise DtypeError(f"no common element type of {a} and {b}")


def check_value(value: Any, dtype: DType) -> None:
    """Raise `DtypeError` if the Python number `value` cannot be held by `dtype`; floats may be infinite or NaN."""
    if dtype.kind in ("int", "uint"):
        limits = np.iinfo(dtype.numpy)
        if not (limits.min <= value <= limits.max and value == int(value)):
            raise DtypeError(f"{value!r} does not fit {dtype} ({limits.min} to {limits.max})")
    elif dtype.kind == "float" and float(np.finfo(dtype.numpy).max) < abs(float(value)) < math.inf:
        raise DtypeError(f"{value!r} does not fit {dtype} (at most {np.finfo(dtype.numpy).max})")

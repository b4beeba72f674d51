"""Tensors from whatever a script passes."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ..errors import DtypeError, InputError, VertigradError
from ..tensor import Tensor
from .checks import described

INDEX = "index"
COLOR, PIXELS = "color", "pixels"
_OF_PIXELS = ("float16", "float32", "uint8")  # dtypes of images, which are drawn as they are


def as_array(value: Any, attribute: str) -> np.ndarray:
    """`value` as a C-contiguous array of a dtype that layers draw: f32, or u32 for `index`.

    Images keep f16 and u8. Colors of bytes with three components are scaled to 0 to 1. Raises `DtypeError` for values
    that are no numbers, and for indices that are no integers.
    """
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype(float), np.nan)  # rows that are not finite are not drawn
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise DtypeError(f"{attribute}: cannot be converted to an array ({error})") from None
    if array.dtype.kind not in "fiub":
        is_array = array.ndim > 0 or isinstance(value, np.ndarray | np.generic)
        got = f"an array of dtype {array.dtype}" if is_array else described(value)
        raise DtypeError(f"{attribute}: expected an array of numbers, got {got}")
    if attribute == INDEX:
        return _indices(array)
    components = array.shape[-1] if array.ndim > 1 else 1
    if array.dtype == np.uint8 and attribute == COLOR and components == 3:
        return np.ascontiguousarray(array / np.float32(255), np.float32)
    if array.dtype == np.uint8 and attribute == COLOR and components == 4:
        return np.ascontiguousarray(array)
    stays = attribute == PIXELS and components in (3, 4) and array.dtype.name in _OF_PIXELS
    return np.ascontiguousarray(array, array.dtype if stays else np.float32)


def as_tensor(value: Any, attribute: str, name: str) -> tuple[Tensor, bool]:
    """A tensor of `value`, and whether it was created for this: a `Tensor` is taken as it is, without a copy.

    Anything else goes through `numpy.asarray` and is uploaded. Raises `DtypeError`, `InputError`.
    """
    if isinstance(value, Tensor):
        return value, False
    array = as_array(value, attribute)
    if array.size == 0:
        raise InputError(f"{attribute}: the array of shape {array.shape} is empty")
    try:
        return Tensor.from_numpy(array, name), True
    except VertigradError as error:
        raise type(error)(f"{attribute}: {error}") from error


def require_rows(index: np.ndarray, tensors: Mapping[str, Tensor], attributes: Collection[str]) -> None:
    """Raise `InputError` if an index is larger than the rows that there are; those of a mesh, if the layer has one."""
    rows = "mesh" if "mesh" in attributes else "position"
    if rows in tensors and index.size and index.max() >= (count := math.prod(tensors[rows].shape[:-1])):
        raise InputError(f"index: the largest index is {index.max()}; {rows} has {count} rows, 0 to {count - 1}")


def _indices(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "iu":
        raise DtypeError(f"{INDEX}: expected integers, got an array of dtype {array.dtype}")
    if array.size and (array.min() < 0 or array.max() > np.iinfo(np.uint32).max):
        raise InputError(f"{INDEX}: values from {array.min()} to {array.max()}; they must be from 0 to 2**32 - 1")
    return np.ascontiguousarray(array, np.uint32)

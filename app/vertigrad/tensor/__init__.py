"""Shapes over bytes: `Tensor` and its element types. Arithmetic is provided by `ops`."""

from .dlpack import from_dlpack
from .dtype import DType, bool_, dtype_of, f16, f32, f64, i32, promote, u8, u32
from .handle import Resource
from .publication import Publication
from .shape import Layout, broadcast_shapes
from .tensor import Tensor
from .transfer import Readback

__all__ = [
    "DType",
    "Layout",
    "Publication",
    "Readback",
    "Resource",
    "Tensor",
    "bool_",
    "broadcast_shapes",
    "dtype_of",
    "f16",
    "f32",
    "f64",
    "from_dlpack",
    "i32",
    "promote",
    "u8",
    "u32",
]

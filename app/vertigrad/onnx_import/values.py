"""`Value`: what flows along an edge of the graph while it is lowered, and the storage of ONNX's element types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto
from onnx.helper import np_dtype_to_tensor_dtype, tensor_dtype_to_np_dtype

from ..errors import Beyond32Bits
from ..gpu import gpu
from ..ops import Expression
from ..ops.words import Words, of_words
from ..tensor import DType, Tensor, bool_, f16, f32, f64, i32, u32
from ..tensor.transfer import FEATURES

# 64-bit integers are stored in 32 bits where `Value.bound` proves that they fit, else in two words (`Value.words`).
# 2 to 16 bits are stored in 32 and wrapped.
EXACT: dict[DType, int] = {  # ONNX's types that are the same on the GPU
    f32: TensorProto.FLOAT,
    f64: TensorProto.DOUBLE,
    f16: TensorProto.FLOAT16,
    bool_: TensorProto.BOOL,
    i32: TensorProto.INT32,
    u32: TensorProto.UINT32,
}
WIDE = (TensorProto.INT64, TensorProto.UINT64)
SIGNED: dict[int, int] = {TensorProto.INT2: 2, TensorProto.INT4: 4, TensorProto.INT8: 8, TensorProto.INT16: 16}
UNSIGNED: dict[int, int] = {TensorProto.UINT2: 2, TensorProto.UINT4: 4, TensorProto.UINT8: 8, TensorProto.UINT16: 16}
BFLOAT16 = (TensorProto.BFLOAT16,)  # stored in f32, rounded at each node
CODES: dict[int, int] = {  # bits of floats that are stored as what they are in a file, in a u32
    TensorProto.FLOAT4E2M1: 4,
    TensorProto.FLOAT8E4M3FN: 8,
    TensorProto.FLOAT8E4M3FNUZ: 8,
    TensorProto.FLOAT8E5M2: 8,
    TensorProto.FLOAT8E5M2FNUZ: 8,
    TensorProto.FLOAT8E8M0: 8,
}
STORAGE: dict[int, DType] = {
    **{elem: dtype for dtype, elem in EXACT.items()},
    **dict.fromkeys((*SIGNED, TensorProto.INT64), i32),
    **dict.fromkeys((*UNSIGNED, TensorProto.UINT64, *CODES), u32),
    **dict.fromkeys(BFLOAT16, f32),
}
_TYPE_NAMES = {elem: name.lower() for name, elem in TensorProto.DataType.items()}
INTEGERS = (*WIDE, *SIGNED, *UNSIGNED, TensorProto.INT32, TensorProto.UINT32)
WORD = (1 << 31) - 1  # largest number that any of them holds on the GPU
INPUT_BOUND = 1 << 24  # what a 64-bit input is held to if it is calculated with in 32 bits
LIMIT: dict[int, int] = {TensorProto.INT64: 1 << 63, TensorProto.UINT64: (1 << 64) - 1}  # largest magnitudes


def is_stored(elem: int) -> bool:
    """Whether the GPU can hold an element type: double only where the adapter has shader-f64."""
    return elem in STORAGE and (elem != TensorProto.DOUBLE or FEATURES[f64] in gpu().features)


@dataclass(eq=False)
class Value:
    """One value: known now (`host`), on the GPU once the plan runs (`tensor`), or a sequence of values (`items`).

    An `expression` is what the one node that needs the value puts into its own kernel.
    64-bit integers that may not fit 32 bits are `words`. `elem` is its element type as ONNX has it. `sources` names the
    inputs of the graph that its numbers depend on, `bound` is what an integer's magnitude cannot pass.
    """

    elem: int
    host: np.ndarray | None = None
    tensor: Tensor | None = None
    expression: Expression | None = None
    words: Words | None = None
    items: list[Value] | None = None
    sources: frozenset[str] = frozenset()
    bound: int = WORD
    absent: bool = False  # an optional that holds nothing
    sizes: tuple[int, ...] | None = None  # of a value whose type does not exist on the GPU

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes, which are always known."""
        for known in (self.host, self.tensor, self.expression, self.words):
            if known is not None:
                return known.shape
        assert self.sizes is not None, "a sequence has no shape"
        return self.sizes


def constant(array: np.ndarray, elem: int | None = None) -> Value:
    """A value that is known now."""
    array = np.asarray(array)
    elem = elem if elem is not None else elem_of(array.dtype)
    whole = elem in INTEGERS and array.size
    narrow = array.astype(np.int32) if elem in (*SIGNED, *UNSIGNED) else array  # NumPy has none of 4 or 2 bits
    bound = max(abs(int(narrow.max())), abs(int(narrow.min()))) if whole else WORD
    return Value(elem, host=array, bound=bound)


def elem_of(dtype: Any) -> int:
    """ONNX's element type of a NumPy dtype."""
    return np_dtype_to_tensor_dtype(np.dtype(dtype))


def type_name(elem: int) -> str:
    """An element type in ONNX's own words, such as "int64"."""
    return _TYPE_NAMES.get(elem) or f"type {elem}"


def is_beyond_32_bits(array: np.ndarray, elem: int) -> bool:
    """Whether 64-bit integers among these do not fit 32 bits."""
    if elem not in WIDE or not array.size:
        return False
    limits = np.iinfo(STORAGE[elem].numpy)
    return int(array.min()) < limits.min or int(array.max()) > limits.max


def to_storage(array: np.ndarray, elem: int, what: str, inputs: frozenset[str] = frozenset()) -> np.ndarray:
    """`array`, of these inputs of the graph, as it is stored on the GPU. Raises `Beyond32Bits`."""
    if is_beyond_32_bits(array, elem):
        raise Beyond32Bits(f"{what} holds integers beyond 32 bits, which is all that it has on the GPU", inputs)
    dtype = STORAGE[elem].numpy
    if elem in CODES:
        array = np.ascontiguousarray(array).view(np.uint8).reshape(array.shape)
    return np.ascontiguousarray(array).astype(dtype, copy=False).reshape(array.shape)


def from_storage(array: np.ndarray, elem: int) -> np.ndarray:
    """What was read from the GPU, in the element type that ONNX declares."""
    dtype = tensor_dtype_to_np_dtype(elem)
    return array.astype(np.uint8).view(dtype) if elem in CODES else array.astype(dtype, copy=False)


def from_words(array: np.ndarray, elem: int) -> np.ndarray:
    """As `from_storage`, of the lower and the upper words of 64-bit integers."""
    return of_words(array[0], array[1], tensor_dtype_to_np_dtype(elem))

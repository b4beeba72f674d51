"""Rearranged elements: shapes, axes, gathering, scattering, padding, sequences."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from ..networks import reals
from .case import FLOAT, HALF, INT32, INT64, Case, case

X = reals(2, 3, 4)
ROWS = reals(4, 5)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


_INDEX = np.array([[2, 0, 1], [1, -1, 0]])
_SCATTER = (reals(3, 4), np.array([[2, 0, 1, 0], [1, 2, 2, 0]]), reals(2, 4, seed=1))
_PUT = (reals(3, 4), np.array([[2, 0, 1], [0, 1, 2]]), reals(2, 3, seed=1))
_ADD = (reals(3, 4), np.array([[0, 0, 0, 2], [0, 1, 0, 2]]), reals(2, 4, seed=1))
_ROWS = (reals(4, 3), np.array([[2], [0]]), reals(2, 3, seed=1))
_TWICE = (reals(4, 3), np.array([[2], [2]]), reals(2, 3, seed=1))
_SEQUENCE = [reals(2, 3), reals(2, 3, seed=1), reals(2, 3, seed=2)]
_MAX = (18, 28)
_FLOATS = TensorProto.FLOAT


def _value(array: np.ndarray) -> TensorProto:
    return numpy_helper.from_array(array, "value")


CASES: list[Case] = [
    case("Shape", X),
    case("Shape", X, start=1),
    case("Shape", X, end=-1),
    case("Size", X),
    case("Reshape", X, ints(4, -1)),
    case("Reshape", X, ints(0, -1)),
    case("Reshape", np.zeros((0, 3), np.float32), ints(3, 0), allowzero=1),
    case("Flatten", X),
    case("Flatten", np.zeros((0, 2, 3), np.float32), constants=(0,)),
    *(case("Flatten", X, axis=axis, versions=(7 if axis >= 0 else 11, 28)) for axis in (0, 2, -1)),
    case("Squeeze", reals(1, 3, 1, 4)),
    case("Squeeze", reals(1, 3, 1, 4), axes=[2]),
    case("Squeeze", reals(1, 3, 1, 4), ints(2)),
    case("Unsqueeze", X, axes=[0, 2]),
    case("Unsqueeze", X, ints(0, -1)),
    case("Transpose", X),
    case("Transpose", X, perm=[1, 2, 0]),
    case("Expand", reals(3, 1), ints(2, 1, 4)),
    case("Slice", X, axes=[2, 1], starts=[1, 0], ends=[3, -1]),
    case("Slice", X, starts=[0, 1], ends=[1, 3]),
    case("Slice", X, ints(1, 0), ints(3, -1), ints(2, 1)),
    case("Slice", X, ints(0, 1), ints(1, 3)),
    case("Slice", X, ints(3, 0), ints(0, 3), ints(2, 1), ints(-1, 2)),
    case("Split", X, outputs=(0, 1), axis=2),
    case("Split", X, outputs=(0, 1)),
    case("Split", X, outputs=(0, 1), axis=1, split=[1, 2]),
    case("Split", X, ints(1, 2), outputs=(0, 1), axis=1),
    case("Split", X, outputs=(0, 1), axis=1, num_outputs=2),
    case("Split", X, outputs=(0, 1), num_outputs=2),
    case("Concat", X, reals(2, 5, 4), axis=1),
    case("Concat", X, reals(2, 3, 2), axis=2),
    case("DepthToSpace", reals(1, 8, 2, 3), blocksize=2),
    case("DepthToSpace", reals(1, 8, 2, 3), blocksize=2, mode="CRD"),
    case("SpaceToDepth", reals(1, 2, 4, 6), blocksize=2),
    case("SpaceToDepth", reals(1, 2, 4, 6), blocksize=2, mode="CRD"),
    case("ReverseSequence", ROWS, ints(1, 2, 3, 4, 2)),
    case("ReverseSequence", ROWS, ints(1, 2, 5, 4), batch_axis=0, time_axis=1),
    case("ReverseSequence", X, ints(2, 3, 1, 2), batch_axis=2, time_axis=1, refused="batch axis 2"),
    case("CenterCropPad", X, ints(4, 2, 4)),
    case("CenterCropPad", X, ints(7, 2), axes=[2, 0]),
    case("Constant", value=_value(np.arange(100, dtype=np.int32))),
    case("Constant", value_float=0.5),
    case("Constant", value_floats=[0.5, 1.5]),
    case("Constant", value_int=5),
    case("Constant", value_ints=[5, 6]),
    case("Constant", value_string="text", refused="text"),
    case("Constant", value_strings=["text"], refused="text"),
    case(
        "Constant",
        sparse_value=helper.make_sparse_tensor(
            helper.make_tensor("values", _FLOATS, [2], [1.0, 2.0]),
            helper.make_tensor("at", TensorProto.INT64, [2], [1, 3]),
            [5],
        ),
        expected=[np.array([0, 1, 0, 2, 0], np.float32)],
    ),
    case("ConstantOfShape", ints(9, 11)),
    case("ConstantOfShape", ints(9, 11), value=_value(np.array([7], np.int32))),
    case("Range", np.float32(0.5), np.float32(90.0), np.float32(1.25)),
    case("Range", np.int32(3), np.int32(-90), np.int32(-1)),
    case("Range", *(np.float16(v) for v in (0.5, 90.0, 0.7)), stash_type=HALF, refused="stash_type"),
    case("EyeLike", X[0]),
    case("EyeLike", X[0], k=1),
    case("EyeLike", X[0], dtype=INT32),
    case("Trilu", X),
    case("Trilu", X, upper=0),
    case("Trilu", X, np.array(1)),
    case("Tile", X, ints(1, 2, 3)),
    case("Pad", X, pads=[0, 1, 2, 1, 0, 1]),
    case("Pad", X, pads=[0, 1, 2, 1, 0, 1], value=2.5),
    case("Pad", X, pads=[0, 1, 2, 1, 0, 1], mode="edge"),
    case("Pad", X, ints(0, 1, 2, 1, 0, 1)),
    case("Pad", X, ints(0, 1, 2, 1, 0, 1), np.float32(2.5)),
    case("Pad", X, ints(0, 1, 2, 1, 0, -1)),
    *(case("Pad", X, ints(0, 1, 2, 1, 0, 1), mode=mode) for mode in ("edge", "reflect")),
    case("Pad", X, ints(1, 2, 3, 4, 5, 6), mode="wrap"),
    case("Pad", X, ints(1, 2), None, ints(2)),
    case("Gather", X, _INDEX, axis=1),
    case("Gather", X, np.array([[1, 0], [0, -1]]), versions=(11, 28)),
    case("GatherElements", *_PUT[:2], axis=1),
    case("GatherElements", *_SCATTER[:2]),
    case("GatherND", X, np.array([[[1, 2]], [[0, 0]]])),
    case("GatherND", X, np.array([[2], [0]]), batch_dims=1),
    case("Scatter", *_PUT, axis=1),
    case("Scatter", *_SCATTER),
    case("ScatterElements", *_PUT, axis=1),
    case("ScatterElements", *_SCATTER),
    *(case("ScatterElements", *_ADD, reduction=how) for how in ("add", "mul")),
    *(case("ScatterElements", *_ADD, reduction=how, versions=_MAX) for how in ("min", "max")),
    case("ScatterND", *_ROWS),
    *(case("ScatterND", *_TWICE, reduction=how) for how in ("add", "mul")),
    *(case("ScatterND", *_TWICE, reduction=how, versions=_MAX) for how in ("min", "max")),
    case("TensorScatter", reals(2, 6, 3), reals(2, 2, 3, seed=1)),
    case("TensorScatter", reals(2, 6, 3), reals(2, 2, 3, seed=1), ints(3, 1)),
    case("TensorScatter", reals(2, 6, 3), reals(2, 2, 3, seed=1), ints(5, 1), mode="circular"),
    case("TensorScatter", reals(2, 3, 6), reals(2, 3, 2, seed=1), ints(3, 1), axis=-1),
    case("OneHot", ints(1, 0, -1), ints(4), np.array([0.5, 2.0], np.float32)),
    case("OneHot", ints(1, 0, -1), ints(4), np.array([0.5, 2.0], np.float32), axis=0),
    case("TopK", ROWS, k=2, outputs=(0, 1)),
    case("TopK", ROWS, k=2, axis=0, outputs=(0, 1)),
    case("TopK", ROWS, ints(2), outputs=(0, 1)),
    case("TopK", ROWS, ints(2), outputs=(0, 1), axis=0),
    case("TopK", ROWS, ints(2), outputs=(0, 1), largest=0),
    case("TopK", ROWS, ints(2), outputs=(0, 1), sorted=0, reference="onnx"),
    case("Compress", X, np.array([True, False, True, False, False, True])),
    case("Compress", X, np.array([True, False, True]), axis=1),
    case("Optional", type=helper.make_tensor_type_proto(FLOAT, [3])),
    case("Optional", X),
    case("SequenceEmpty", dtype=INT64),
    case("SequenceEmpty"),
    case("SequenceConstruct", *_SEQUENCE),
    case("SequenceLength", _SEQUENCE),
    case("SequenceAt", _SEQUENCE, np.array(1)),
    case("SequenceInsert", _SEQUENCE, reals(2, 3, seed=9)),
    case("SequenceInsert", _SEQUENCE, reals(2, 3, seed=9), np.array(1)),
    case("SequenceErase", _SEQUENCE),
    case("SequenceErase", _SEQUENCE, np.array(0)),
    case("ConcatFromSequence", _SEQUENCE, axis=1),
    case("ConcatFromSequence", _SEQUENCE, axis=1, new_axis=1),
    case("SplitToSequence", X),
    case("SplitToSequence", X, axis=1),
    case("SplitToSequence", X, axis=1, keepdims=0),
    case("SplitToSequence", X, np.array(2), axis=2),
    case("SplitToSequence", X, ints(1, 3), axis=2),
]

WITHOUT_EFFECT = {
    ("TopK", "sorted"): "0 allows any order",
    ("SequenceEmpty", "dtype"): "an empty sequence has no elements of a type",
}

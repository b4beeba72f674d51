"""Constant folding: what is known before a network runs is computed once, on the host, by ONNX's own reference."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from ..errors import InputError
from .values import elem_of

MOST_FOLDED = 1 << 24  # elements of a result that are computed on the host; larger ones are left to the GPU
UNKNOWN_SIZE = 1 << 12  # elements of the inputs, where the size of the result cannot be foretold
SMALL_INTEGER, SMALL_REAL = 64, 8  # elements that depend on the inputs: shapes and scales, cheaper here than a dispatch
DOMAINS = ("", "ai.onnx.ml")  # whose operators the reference has
_RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}
_IN_F32 = {"Erf", "Gelu", "HardSwish", "LRN", "GroupNormalization"}  # of which the reference has 8 digits in float64


def can_fold(proto: onnx.NodeProto, arrays: Sequence[np.ndarray | None], version: int, depends: bool) -> bool:
    """Whether a node whose inputs are all known should be computed now.

    `depends`: on inputs of the graph that were given. Then only little is: what a network does with its inputs is done
    on the GPU.
    """
    if "Sequence" in proto.op_type or "Optional" in proto.op_type or proto.op_type in ("Constant", "Identity"):
        return False  # lists that are no arrays; and what is known as it is
    if proto.op_type in _RANDOM or (proto.op_type == "Dropout" and len(proto.input) > 2):
        return False
    known = [array for array in arrays if array is not None]
    if proto.op_type in _IN_F32 and any(array.dtype == np.float64 for array in known):
        return False
    if proto.op_type == "Flatten" and not known[0].size:
        return False  # its reference cannot
    if any(array.dtype == object for array in known):
        return True  # text, which the GPU does not have
    sizes = _foretold(proto, arrays, version)
    total = sum(array.size for array in known)
    if sizes is None:
        return not depends and total <= UNKNOWN_SIZE
    if depends:
        are_integers = all(array.dtype.kind in "iub" for array in known)
        return max([*sizes, total]) <= (SMALL_INTEGER if are_integers else SMALL_REAL)
    return max(sizes, default=0) <= MOST_FOLDED


def evaluate(
    proto: onnx.NodeProto, arrays: Sequence[np.ndarray | None], version: int, what: str
) -> list[np.ndarray | None] | None:
    """The outputs of a node; None if the reference does not have it. Raises `InputError` for inputs it cannot take."""
    model = _alone(proto, arrays, version, initialized=False)
    feeds = {name: array for name, array in zip(proto.input, arrays, strict=True) if name and array is not None}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            results = ReferenceEvaluator(model).run(None, feeds)
    except Exception as error:  # the reference raises whatever NumPy does
        if str(error).startswith("No implementation"):
            return None
        raise InputError(f"{what}: {error or type(error).__name__}") from error
    found = iter(results)
    return [np.asarray(next(found)) if name else None for name in proto.output]


def _foretold(proto: onnx.NodeProto, arrays: Sequence[np.ndarray | None], version: int) -> list[int] | None:
    """Elements of each output, by ONNX's shape inference; None if it is unknown."""
    try:
        model = _alone(proto, arrays, version, initialized=True)
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    except Exception:  # what is wrong is reported by `evaluate`, or by the lowering
        return None
    sizes = []
    for output in inferred.graph.output:
        tensor = output.type.tensor_type
        if not tensor.HasField("shape") or not all(axis.HasField("dim_value") for axis in tensor.shape.dim):
            return None
        sizes.append(math.prod(axis.dim_value for axis in tensor.shape.dim))
    return sizes


def _alone(
    proto: onnx.NodeProto, arrays: Sequence[np.ndarray | None], version: int, initialized: bool
) -> onnx.ModelProto:
    """A model of this one node; small inputs are constants of it if `initialized`."""
    inputs, constants = [], []
    for name, array in {n: a for n, a in zip(proto.input, arrays, strict=True) if n and a is not None}.items():
        if initialized and array.size <= UNKNOWN_SIZE:
            constants.append(numpy_helper.from_array(array, name))
        else:
            inputs.append(helper.make_tensor_value_info(name, elem_of(array.dtype), array.shape))
    outputs = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in proto.output if name]
    graph = helper.make_graph([proto], "node", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(proto.domain, version)])

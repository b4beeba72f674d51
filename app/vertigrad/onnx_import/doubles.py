"""Float64 as f32, for those who ask for it: where the adapter lacks shader-f64, or to be faster."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from ..errors import InputError
from .graph import all_graphs

_TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype", "output_datatype", "stash_type", "softmax_precision", "precision")


def as_floats(model: onnx.ModelProto, source: str) -> onnx.ModelProto:
    """The model with float32 wherever it has float64: constants, values, inputs, outputs, and what nodes convert to.

    Raises `InputError` for float64 in an external file.
    """
    narrowed = onnx.ModelProto()
    narrowed.CopyFrom(model)
    for graph in all_graphs(narrowed.graph):
        for entry in (*graph.input, *graph.output, *graph.value_info):
            _narrow_type(entry.type)
        for tensor in (*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)):
            _narrow(tensor, source)
        _narrow_nodes(graph.node, source)
    for function in narrowed.functions:
        _narrow_nodes(function.node, source)
    return narrowed


def _narrow_nodes(nodes: Iterable[onnx.NodeProto], source: str) -> None:
    for attribute in (attribute for node in nodes for attribute in node.attribute):
        if attribute.name in _TYPE_ATTRIBUTES and attribute.i == TensorProto.DOUBLE:
            attribute.i = TensorProto.FLOAT
        for tensor in [attribute.t] if attribute.HasField("t") else attribute.tensors:
            _narrow(tensor, source)


def _narrow_type(kind: onnx.TypeProto) -> None:
    if kind.HasField("sequence_type"):
        _narrow_type(kind.sequence_type.elem_type)
    elif kind.HasField("optional_type"):
        _narrow_type(kind.optional_type.elem_type)
    elif kind.tensor_type.elem_type == TensorProto.DOUBLE:
        kind.tensor_type.elem_type = TensorProto.FLOAT


def _narrow(tensor: onnx.TensorProto, source: str) -> None:
    if tensor.data_type != TensorProto.DOUBLE:
        return
    if tensor.data_location == TensorProto.EXTERNAL:
        raise InputError(f"{source}: the tensor {tensor.name!r} is float64 in an external file; convert it to float32")
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name))

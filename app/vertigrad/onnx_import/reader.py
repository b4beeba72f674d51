"""Reads an ONNX file and checks it: nothing in it is trusted until it was checked here."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import numpy_helper

from ..errors import InputError, UnsupportedOp
from .graph import all_graphs, opset_versions

OLDEST_OPSET = 7
ONNXRUNTIME = "com.microsoft"
_OF_ONNXRUNTIME = ("SimplifiedLayerNormalization",)  # which it also registers, and exports, in ONNX's own domain
MOST_NODES = 1_000_000
_KINDS = onnx.TensorProto
_BELOW_A_BYTE: dict[int, int] = {  # bits of an element
    **dict.fromkeys((_KINDS.INT4, _KINDS.UINT4, _KINDS.FLOAT4E2M1), 4),
    **dict.fromkeys((_KINDS.INT2, _KINDS.UINT2), 2),
}


def read(path: Path) -> onnx.ModelProto:
    """The checked model in the file `path`, its weights in external files not read yet.

    Raises `InputError` if it is no ONNX file, breaks ONNX's rules, or names external data outside of its folder.
    """
    try:
        model = onnx.load(path, load_external_data=False)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except (DecodeError, ValueError) as error:
        raise InputError(f"{path}: not an ONNX file, or only a part of one ({error})") from error
    check(model, str(path), path.parent)
    return model


def check(model: onnx.ModelProto, source: str, folder: Path | None = None) -> None:
    """Raise `InputError` unless `model` follows ONNX's rules, and `UnsupportedOp` for an opset that is not known here.

    Operators of onnxruntime that stand in ONNX's own domain are put into onnxruntime's. `source` is what messages call
    the model, `folder` is where its data may be.
    """
    if not model.graph.node and not model.graph.output:
        raise InputError(f"{source}: holds no graph; is it an ONNX file, and all of it?")
    if len(model.graph.node) > MOST_NODES:
        raise InputError(f"{source}: {len(model.graph.node):,} nodes; {MOST_NODES:,} at most")
    opset_version(model, source)
    _put_into_own_domain(model)
    for tensor in all_tensors(model.graph):
        _check_size(tensor, source)
        if _is_external(tensor):
            _location(tensor, folder, source)
    try:
        # weights outside of the file were checked above; the checker would look for them in the current folder
        onnx.checker.check_model(_for_checker(model))
    except (onnx.checker.ValidationError, ValueError) as error:
        raise InputError(f"{source}: {str(error).strip()}") from error


def _put_into_own_domain(model: onnx.ModelProto) -> None:
    nodes = (node for graph in all_graphs(model.graph) for node in graph.node)
    found = [node for node in nodes if node.op_type in _OF_ONNXRUNTIME and node.domain in ("", "ai.onnx")]
    for node in found:
        node.domain = ONNXRUNTIME
    if found and ONNXRUNTIME not in opset_versions(model):
        model.opset_import.append(onnx.helper.make_opsetid(ONNXRUNTIME, 1))


def opset_version(model: onnx.ModelProto, source: str) -> int:
    """The version of ONNX's own operators that the model uses. Raises `InputError` if it is not known here."""
    newest = onnx.defs.onnx_opset_version()
    version = opset_versions(model).get("", newest)
    if not OLDEST_OPSET <= version <= newest:
        advice = "convert it with onnx.version_converter, or export it anew"
        raise UnsupportedOp(source, [f"opset {version}; {OLDEST_OPSET} to {newest} are understood: {advice}"])
    return version


def array_of(tensor: onnx.TensorProto, folder: Path | None, source: str) -> np.ndarray:
    """The numbers of a constant; those in an external file are mapped, or unpacked. Raises `InputError`."""
    if _is_external(tensor):
        return _mapped(tensor, folder, source)
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{source}: the tensor {tensor.name!r} cannot be read ({error})") from error


def all_tensors(graph: onnx.GraphProto) -> list[onnx.TensorProto]:
    """Every constant in a graph, and in the graphs within its nodes."""
    found: list[onnx.TensorProto] = []
    for one in all_graphs(graph):
        found += one.initializer
        for sparse in one.sparse_initializer:
            found += [sparse.values, sparse.indices]
        for attribute in (attribute for node in one.node for attribute in node.attribute):
            found += [attribute.t] if attribute.HasField("t") else attribute.tensors
    return found


def _check_size(tensor: onnx.TensorProto, source: str) -> None:
    """Before anything is allocated: the sizes are what the bytes are."""
    count = math.prod(tensor.dims)
    if min(tensor.dims, default=0) < 0:
        raise InputError(f"{source}: the tensor {tensor.name!r} has a size below 0: {list(tensor.dims)}")
    if _is_external(tensor):
        return
    held = len(tensor.raw_data) * 8 // _bits(tensor, source) if tensor.HasField("raw_data") else _listed(tensor)
    if count != held and not (tensor.HasField("raw_data") and held - count in (1, 2, 3) and _bits(tensor, source) < 8):
        raise InputError(f"{source}: the tensor {tensor.name!r} is {list(tensor.dims)}, but holds {held:,} numbers")


def _listed(tensor: onnx.TensorProto) -> int:
    """How many numbers stand in the fields that list them one by one."""
    if tensor.data_type in (_KINDS.COMPLEX64, _KINDS.COMPLEX128):
        return (len(tensor.float_data) + len(tensor.double_data)) // 2
    if tensor.data_type in _BELOW_A_BYTE:
        each, count = 8 // _BELOW_A_BYTE[tensor.data_type], math.prod(tensor.dims)
        return count if len(tensor.int32_data) == -(-count // each) else len(tensor.int32_data) * each
    fields = (tensor.float_data, tensor.int32_data, tensor.int64_data, tensor.double_data, tensor.uint64_data)
    return sum(len(field) for field in fields) + len(tensor.string_data)


def _bits(tensor: onnx.TensorProto, source: str) -> int:
    if tensor.data_type in _BELOW_A_BYTE:
        return _BELOW_A_BYTE[tensor.data_type]
    try:
        return onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize * 8
    except (KeyError, TypeError) as error:
        raise InputError(f"{source}: the tensor {tensor.name!r} has no known element type") from error


def _for_checker(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model as the checker accepts it: the weights of other files left out, inputs and outputs with a shape.

    It requires these, though no other part of ONNX does.
    """
    external = any(map(_is_external, all_tensors(model.graph)))
    if not external and all(map(_has_shape, (*model.graph.input, *model.graph.output))):
        return model
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    for tensor in filter(_is_external, all_tensors(bare.graph)):
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")
        tensor.ClearField("dims")
        tensor.dims.append(0)
        tensor.raw_data = b""
    for entry in bare.graph.output:
        if not entry.HasField("type"):  # it is inferred later
            entry.type.tensor_type.elem_type = _KINDS.FLOAT
    for entry in (*bare.graph.input, *bare.graph.output):
        if not _has_shape(entry):
            entry.type.tensor_type.shape.SetInParent()
    return bare


def _has_shape(entry: onnx.ValueInfoProto) -> bool:
    """Whether an input or output has the fields that the checker requires."""
    kind = entry.type.WhichOneof("value")
    return kind is not None and (kind != "tensor_type" or entry.type.tensor_type.HasField("shape"))


# external files ---------------------------------------------------------------------------------------------------


def _is_external(tensor: onnx.TensorProto) -> bool:
    return tensor.data_location == onnx.TensorProto.EXTERNAL


def _location(tensor: onnx.TensorProto, folder: Path | None, source: str) -> tuple[Path, int, int]:
    """(file, first byte, bytes) of a tensor that is in another file: one inside of the model's folder."""
    where = f"{source}: the tensor {tensor.name!r}"
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise InputError(f"{where} is in the file {location!r}, but the model has no folder: load it from its file")
    root = folder.resolve()
    if "\0" in location:
        raise InputError(f"{where} names no file: {location!r}")
    path = (root / location).resolve()
    if not location or not path.is_relative_to(root):
        raise InputError(f"{where} names data outside of the model's folder: {location!r}")
    nbytes = -(-math.prod(tensor.dims) * _bits(tensor, source) // 8)
    try:
        offset = int(entries.get("offset", 0))
        length = int(entries.get("length", nbytes))
        room = path.stat().st_size
    except ValueError as error:
        raise InputError(f"{where} has an offset or length that is no number") from error
    except OSError as error:
        raise InputError(f"{where} is in {location}, which cannot be read ({error.strerror})") from error
    if not path.is_file() or offset < 0 or length != nbytes or offset + nbytes > room:
        raise InputError(
            f"{where} needs {nbytes:,} bytes from byte {offset:,} of {location} on, which holds {room:,} bytes"
        )
    return path, offset, nbytes


def _mapped(tensor: onnx.TensorProto, folder: Path | None, source: str) -> np.ndarray:
    path, offset, nbytes = _location(tensor, folder, source)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    if not nbytes:
        return np.empty(tuple(tensor.dims), dtype)
    if _bits(tensor, source) < 8:
        raw = np.fromfile(path, np.uint8, nbytes, offset=offset).tobytes()
        return numpy_helper.to_array(onnx.TensorProto(dims=tensor.dims, data_type=tensor.data_type, raw_data=raw))
    return np.memmap(path, dtype, "r", offset, tuple(tensor.dims))

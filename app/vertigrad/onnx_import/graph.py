"""A model made ready to be lowered: functions written out, element types inferred."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import onnx
from onnx.inliner import inline_local_functions, inline_selected_functions

from ..errors import InputError

DEEPEST = 8  # functions that are made of functions


def domain_of(entry: onnx.NodeProto | onnx.OperatorSetIdProto) -> str:
    """The domain of an operator or an opset; empty for ONNX's own, which has two names."""
    return "" if entry.domain == "ai.onnx" else entry.domain


def opset_versions(model: onnx.ModelProto) -> dict[str, int]:
    """The version of each opset that a model imports, by domain."""
    return {domain_of(entry): entry.version for entry in model.opset_import}


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs within a node: branches, and bodies of loops."""
    for attribute in node.attribute:
        yield from [attribute.g] if attribute.HasField("g") else attribute.graphs


def all_graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """A graph, and those within its nodes at any depth."""
    yield graph
    for node in graph.node:
        for inner in subgraphs(node):
            yield from all_graphs(inner)


def prepared(model: onnx.ModelProto, source: str, is_lowered: Callable[[onnx.NodeProto], bool]) -> onnx.ModelProto:
    """`model` without functions of its own, operators that are not lowered replaced by what ONNX defines them to be.

    Every value's element type is noted in it, as far as it can be inferred. Raises `InputError` if types clash.
    """
    model = _without_nameless(model)
    try:
        if model.functions:
            model = inline_local_functions(model, convert_version=False)
        model = onnx.shape_inference.infer_shapes(model, check_type=True)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError) as error:
        raise InputError(f"{source}: {str(error).strip()}") from error
    for graph in all_graphs(model.graph):
        _declare_constants(graph)
    tried: set[tuple[str, str]] = set()
    for _ in range(DEEPEST):
        nodes = (node for graph in all_graphs(model.graph) for node in graph.node if not is_lowered(node))
        unknown = {key for node in nodes if _is_function(key := (domain_of(node), node.op_type), model)} - tried
        if not unknown:
            break
        tried |= unknown
        for key in sorted(unknown):
            model = _without(model, key)
    return model


_NO_NAMES = ("?", "*", "None")  # what exporters write for a size that is not known; two of them need not be equal


def _without_nameless(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with sizes that are below 0, or whose name is none, left open."""
    if not any(_is_nameless(axis) for axis in _axes(model.graph)):
        return model
    opened = onnx.ModelProto()
    opened.CopyFrom(model)
    for axis in _axes(opened.graph):
        if _is_nameless(axis):
            axis.Clear()
    return opened


def _axes(graph: onnx.GraphProto) -> Iterator[onnx.TensorShapeProto.Dimension]:
    for entry in (*graph.input, *graph.output, *graph.value_info):
        yield from entry.type.tensor_type.shape.dim


def _is_nameless(axis: onnx.TensorShapeProto.Dimension) -> bool:
    if axis.HasField("dim_value"):
        return axis.dim_value < 0
    name = axis.dim_param.strip()
    return bool(name) and (name in _NO_NAMES or name.removeprefix("-").isdigit())


def _declare_constants(graph: onnx.GraphProto) -> None:
    """State the types of initializers, which ONNX's inliner does not look up."""
    known = {entry.name for entry in (*graph.input, *graph.output, *graph.value_info)}
    for array in graph.initializer:
        if array.name not in known:
            graph.value_info.append(onnx.helper.make_tensor_value_info(array.name, array.data_type, array.dims))


def _without(model: onnx.ModelProto, key: tuple[str, str]) -> onnx.ModelProto:
    """The model with one operator written out, or as it is where ONNX's own inliner gives up: it is refused later."""
    try:
        return onnx.shape_inference.infer_shapes(inline_selected_functions(model, [key], inline_schema_functions=True))
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        return model


def _is_function(key: tuple[str, str], model: onnx.ModelProto) -> bool:
    domain, op = key
    try:
        schema = onnx.defs.get_schema(op, opset_versions(model).get(domain, 1), domain)
    except onnx.defs.SchemaError:
        return False
    return bool(getattr(schema, "has_function", False) or getattr(schema, "has_context_dependent_function", False))

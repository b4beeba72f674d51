"""A model made ready to be lowered: functions written out, element types inferred."""

from __future__ import annotations

from collections.abc import Callable

import onnx
from onnx.inliner import inline_local_functions, inline_selected_functions

from ..errors import InputError

DEEPEST = 8  # functions that are made of functions


def prepared(model: onnx.ModelProto, source: str, is_lowered: Callable[[onnx.NodeProto], bool]) -> onnx.ModelProto:
    """`model` without functions of its own, operators that are not lowered replaced by what ONNX defines them to be.

    Every value's element type is noted in it, as far as it can be inferred. Raises `InputError` if types clash.
    """
    try:
        if model.functions:
            model = inline_local_functions(model, convert_version=False)
        model = onnx.shape_inference.infer_shapes(model, check_type=True)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError) as error:
        raise InputError(f"{source}: {str(error).strip()}") from error
    tried: set[tuple[str, str]] = set()
    for _ in range(DEEPEST):
        unknown = {key for key in _operators(model.graph, is_lowered) if _is_function(key, model)} - tried
        if not unknown:
            break
        tried |= unknown
        for key in sorted(unknown):
            model = _without(model, key)
    return model


def _without(model: onnx.ModelProto, key: tuple[str, str]) -> onnx.ModelProto:
    """The model with one operator written out, or as it is where ONNX's own inliner gives up: it is refused later."""
    try:
        return onnx.shape_inference.infer_shapes(inline_selected_functions(model, [key], inline_schema_functions=True))
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        return model


def _operators(graph: onnx.GraphProto, is_lowered: Callable[[onnx.NodeProto], bool]) -> set[tuple[str, str]]:
    """Operators with nodes that are not lowered."""
    found = set()
    for node in graph.node:
        if not is_lowered(node):
            found.add(("" if node.domain == "ai.onnx" else node.domain, node.op_type))
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                found |= _operators(inner, is_lowered)
    return found


def _is_function(key: tuple[str, str], model: onnx.ModelProto) -> bool:
    """Whether ONNX defines the operator by other operators."""
    domain, op = key
    versions = {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in model.opset_import}
    try:
        schema = onnx.defs.get_schema(op, versions.get(domain, 1), domain)
    except onnx.defs.SchemaError:
        return False
    return bool(getattr(schema, "has_function", False) or getattr(schema, "has_context_dependent_function", False))

"""`Case`: one node with its inputs and attributes, its opsets, and its expected outputs by a reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from vertigrad.onnx_import.reader import OLDEST_OPSET

NEWEST_OPSET = onnx.defs.onnx_opset_version()
onnxruntime_opset = 26  # the newest that onnxruntime supports; ONNX's own reference is used beyond


class Maybe(NamedTuple):
    """An optional input: an array, or empty."""

    value: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Case:
    """A node. An input is an array, a list of arrays (a sequence), or None for an omitted optional one.

    `constants` are the indices of inputs that are weights of the model, `versions` the first and the last opset that
    the case applies to, `refused` a part of the message if the node is not supported, `rtol` is against the reference.
    """

    op: str
    inputs: tuple[Any, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: Sequence[int] = (0,)
    constants: Sequence[int] = ()
    versions: tuple[int, int] = (OLDEST_OPSET, NEWEST_OPSET)
    refused: str = ""
    rtol: float = 2e-5
    reference: str = "onnxruntime"
    expected: Sequence[Any] | None = None  # the outputs, if no reference can run the node
    declared: Mapping[int, tuple[int, Sequence[Any]]] = field(default_factory=dict)  # type, shape ONNX cannot infer

    def __str__(self) -> str:
        shown = [f"{name}={_brief(value)}" for name, value in self.attributes.items()]
        shapes = ",".join("-" if v is None else _shape(v) for v in self.inputs)
        return f"{self.op}({shapes}{'; ' if shown else ''}{' '.join(shown)})"

    def without(self, what: str | int) -> Case:
        """The case without an attribute, or without the input of that index."""
        if isinstance(what, str):
            return replace(self, attributes={k: v for k, v in self.attributes.items() if k != what})
        inputs = [None if index == what else value for index, value in enumerate(self.inputs)]
        while inputs and inputs[-1] is None:
            inputs.pop()
        return replace(self, inputs=tuple(inputs))

    def feeds(self) -> dict[str, np.ndarray]:
        """The arrays of the graph's inputs, by name."""
        return {name: array for name, array, constant in self._arrays() if not constant}

    def node(self) -> onnx.NodeProto:
        names = ["" if value is None else f"x{i}" for i, value in enumerate(self.inputs)]
        return helper.make_node(self.op, names, self._outputs(), name="node", **self.attributes)

    def model(self, version: int) -> onnx.ModelProto:
        """The node alone in a graph; sequences are constructed in it."""
        entries = [
            (n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a, constant in self._arrays() if not constant
        ]
        nodes = [
            helper.make_node("SequenceConstruct", [f"x{i}_{j}" for j in range(len(value))], [f"x{i}"])
            for i, value in enumerate(self.inputs)
            if isinstance(value, list)
        ]
        nodes += [_optional(f"x{i}", value) for i, value in enumerate(self.inputs) if isinstance(value, Maybe)]
        graph = helper.make_graph(
            [*nodes, self.node()],
            "case",
            [helper.make_tensor_value_info(name, elem, shape) for name, elem, shape in entries],
            [self._declaration(index, name) for index, name in enumerate(self._outputs()) if name],
            [numpy_helper.from_array(a, name) for name, a, constant in self._arrays() if constant],
        )
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10)
        return onnx.shape_inference.infer_shapes(proto, data_prop=True)

    def declared_model(self, version: int, results: Sequence[Any]) -> onnx.ModelProto:
        """Like `model`, with a type and a rank for outputs whose type ONNX cannot infer: a model must have both."""
        proto = self.model(version)
        for output, result in zip(proto.graph.output, results, strict=False):
            tensor = output.type.tensor_type
            if not isinstance(result, list) and not tensor.HasField("shape"):
                elem = tensor.elem_type or helper.np_dtype_to_tensor_dtype(np.asarray(result).dtype)
                sizes = [f"n{axis}" for axis in range(np.ndim(result))]
                output.CopyFrom(helper.make_tensor_value_info(output.name, elem, sizes))
        return proto

    def _outputs(self) -> list[str]:
        return [f"y{i}" if i in self.outputs else "" for i in range(max(self.outputs) + 1)]

    def _declaration(self, index: int, name: str) -> onnx.ValueInfoProto:
        if index in self.declared:
            return helper.make_tensor_value_info(name, *self.declared[index])
        return helper.make_empty_tensor_value_info(name)

    def _arrays(self) -> list[tuple[str, np.ndarray, bool]]:
        found = []
        for i, value in enumerate(self.inputs):
            if isinstance(value, list):
                found += [(f"x{i}_{j}", item, i in self.constants) for j, item in enumerate(value)]
            elif isinstance(value, Maybe):
                found += [(f"x{i}_0", value.value, False)] if value.value is not None else []
            elif value is not None:
                found.append((f"x{i}", np.asarray(value), i in self.constants))
        return found


def case(op: str, *inputs: Any, **attrs: Any) -> Case:
    """A case; keywords that are not its fields are attributes of the node."""
    fields = {name: attrs.pop(name) for name in list(attrs) if name in Case.__dataclass_fields__}
    return Case(op, inputs, attrs, **fields)


def _optional(name: str, attrs: Maybe) -> onnx.NodeProto:
    if attrs.value is not None:
        return helper.make_node("Optional", [f"{name}_0"], [name])
    return helper.make_node("Optional", [], [name], type=helper.make_tensor_type_proto(TensorProto.FLOAT, [2]))


def _shape(value: Any) -> str:
    if isinstance(value, Maybe):
        return "nothing" if value.value is None else f"optional {_shape(value.value)}"
    return f"seq{len(value)}" if isinstance(value, list) else "x".join(map(str, np.shape(value))) or "scalar"


def _brief(value: Any) -> str:
    if isinstance(value, onnx.GraphProto | onnx.TensorProto | onnx.TypeProto | onnx.SparseTensorProto):
        return type(value).__name__
    return str(value).replace(" ", "")


# schemas ------------------------------------------------------------------------------------------------------------


@cache
def schema(op: str, version: int) -> onnx.defs.OpSchema | None:
    """The schema of an operator in an opset; None if it has none, or no longer."""
    try:
        found = onnx.defs.get_schema(op, version, "")
    except onnx.defs.SchemaError:
        return None
    return None if found.deprecated else found


@cache
def groups(op: str) -> tuple[tuple[int, ...], ...]:
    """Opsets that changed an operator; together those with the same attributes, defaults, inputs and outputs."""
    found: list[list[int]] = []
    last = None
    since = 0
    for version in range(OLDEST_OPSET, NEWEST_OPSET + 1):
        definition = schema(op, version)
        if definition is not None and (last is None or _signature(definition) != _signature(last)):
            found.append([version])
        elif definition is not None and definition.since_version != since:
            found[-1].append(version)
        last, since = definition, definition.since_version if definition is not None else 0
    return tuple(map(tuple, found))


def opset_in(attrs: Case, group: Sequence[int]) -> int | None:
    """The oldest opset of a group in which ONNX accepts the case."""
    return next((version for version in group if is_valid(attrs, version)), None)


def _signature(definition: onnx.defs.OpSchema) -> tuple[Any, ...]:
    attributes = [
        (n, a.required, a.default_value.SerializeToString()) for n, a in sorted(definition.attributes.items())
    ]
    return (
        attributes,
        [(i.name, i.option) for i in definition.inputs],
        [(o.name, o.option) for o in definition.outputs],
    )


def optional(parameters: Sequence[Any]) -> list[int]:
    """The indices of optional inputs or outputs."""
    return [i for i, p in enumerate(parameters) if p.option == onnx.defs.OpSchema.FormalParameterOption.Optional]


def is_valid(attrs: Case, version: int) -> bool:
    """Whether ONNX accepts the node in an opset of the case."""
    definition = schema(attrs.op, version)
    if definition is None or not attrs.versions[0] <= version <= attrs.versions[1]:
        return False
    if not set(attrs.attributes) <= set(definition.attributes) or len(attrs.inputs) > definition.max_input:
        return False
    context = onnx.checker.C.CheckerContext()
    context.ir_version, context.opset_imports = 10, {"": version}
    try:
        onnx.checker.check_node(attrs.node(), context)  # inference aborts the process if a graph is missing
        onnx.shape_inference.infer_shapes(attrs.model(version), check_type=True, strict_mode=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return False
    return True


# references ---------------------------------------------------------------------------------------------------------


def reference(attrs: Case, version: int) -> list[Any]:
    """The outputs, by onnxruntime where it can run the node, else by ONNX's own reference. Raises what that raises."""
    import onnxruntime

    if attrs.expected is not None:
        return list(attrs.expected)
    model = attrs.model(version)
    if attrs.reference == "onnxruntime" and version <= onnxruntime_opset:
        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
            return session.run(None, attrs.feeds())
        except Exception:  # onnxruntime's own classes: a type that it has no kernel for
            pass
    return ReferenceEvaluator(model).run(None, attrs.feeds())


def is_equal(a: Any, b: Any, rtol: float = 0.0) -> bool:
    """Whether outputs are equal: in type, shape and numbers, floats up to `rtol`."""
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(is_equal(x, y, rtol) for x, y in zip(a, b, strict=True))
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    return bool(np.allclose(a, b, rtol=rtol, atol=rtol / 10, equal_nan=True))


def affects(attrs: Case, what: str | int, version: int) -> bool:
    """Whether the reference gives another result, or an error, without an attribute or an input."""
    bare = attrs.without(what)
    if not is_valid(bare, version):
        return True
    try:
        return not is_equal(reference(attrs, version), reference(bare, version), attrs.rtol)
    except Exception:  # a reference may raise any error
        return True


FLOAT, HALF, INT64, INT32, UINT8, INT8, BOOL = (
    TensorProto.FLOAT,
    TensorProto.FLOAT16,
    TensorProto.INT64,
    TensorProto.INT32,
    TensorProto.UINT8,
    TensorProto.INT8,
    TensorProto.BOOL,
)

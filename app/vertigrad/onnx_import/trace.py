"""`Trace`: walks a graph once, with every shape known, and records what it does into a plan."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Collection, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import onnx
from onnx import TensorProto

from .. import ops
from ..errors import DtypeError, GpuError, InputError, TensorError
from ..indexed import indexed
from ..progress import is_followed, report
from ..tensor import Tensor, f16, f32, f64
from ..tensor.doubles import on_gpu
from . import fold
from .graph import domain_of, subgraphs
from .guards import AnyGuard, guard_indices
from .inspected import Element, Inspected
from .narrow import rounded
from .node import DataDependent, Node, Refused, Wide, lowered, storage_of
from .reader import array_of
from .registry import ELEMENTWISE, LOWERINGS, Result, is_lowered
from .scales import require_finite_scales
from .stages import Stages
from .tail import HEADS, Tail, tail_of
from .unit_axes import Part
from .valid import require_valid
from .values import (
    BFLOAT16,
    EXACT,
    STORAGE,
    Value,
    constant,
    from_storage,
    from_words,
    is_beyond_32_bits,
    is_stored,
    to_storage,
    type_name,
)

Scope: TypeAlias = MutableMapping[str, "Value | None"]  # None: made by a node that was refused
SMALL = 16  # elements of a constant up to which it is looked up by its bytes
MOST_STEPS = 100_000  # nodes walked in all, those of unrolled loops counted each time


class Trace:
    """One walk over the graphs of a model.

    Nodes that cannot be run are gathered in `refused`, `range_checked` names the inputs whose 64-bit integers are
    calculated with, and `constants` holds what was uploaded meanwhile: the caller closes them. Kernels go into
    `stages`. Numbers of the inputs in `small` are made constants, not read, where shapes depend on them. `inspected` is
    what is needed of the inside. `leaf`, a tensor that nodes of the outermost graph compute or a weight, requires a
    gradient: backward passes end there. It is then `leaf_tensor`. Casts named in `wide` give pairs of words.
    With `checks_indices` the program knows whether indices of the GPU were out of range.
    """

    def __init__(
        self,
        source: str,
        versions: Mapping[str, int],
        stages: Stages,
        folder: Path | None = None,
        small: frozenset[str] = frozenset(),
        inspected: Inspected | None = None,
        defers: bool = True,
        leaf: str = "",
        wide: frozenset[str] = frozenset(),
        checks_indices: bool = False,
    ):
        self.source = source
        self.name = Path(source).name
        self.stages = stages
        self.small = small
        self.inspected = inspected or Inspected()
        self.leaf = leaf
        self.wide = wide
        self.checks_indices = checks_indices
        self.leaf_tensor: Tensor | None = None
        self.defers = defers  # whether elementwise nodes are put into the kernels of those after them
        self.nodes: list[str] = []  # for each dispatch of the plans, the node that it was recorded for
        self.folder = folder
        self.versions = versions
        self.elems: MutableMapping[str, int] = {}
        self.refused: list[str] = []
        self.range_checked: frozenset[str] = frozenset()
        self.constants: list[Tensor] = []
        self.guards: list[AnyGuard] = []
        self.nested: dict[str, Value] = {}  # what is inspected in sequences, branches and loops: of those the last turn
        self.sequences: dict[str, Sequence[Element]] = {}
        self._steps = 0
        self._small: dict[tuple[str, tuple[int, ...], bytes], Tensor] = {}  # constants of few elements

    def graph(self, graph: onnx.GraphProto, inputs: Sequence[Value | None], outer: Scope) -> list[Value | None]:
        """The outputs of `graph` for these inputs, which follow the order of its own; names may be those of `outer`."""
        local: dict[str, Value | None] = {}
        scope = ChainMap(local, *(outer.maps if isinstance(outer, ChainMap) else [outer]))
        before, self.elems = self.elems, ChainMap(declared(graph), self.elems)
        for tensor in graph.initializer:
            local[tensor.name] = constant(array_of(tensor, self.folder, self.source), tensor.data_type)
        for sparse in graph.sparse_initializer:
            local[sparse.values.name] = constant(self.dense(sparse), sparse.values.data_type)
        if self.leaf in local and len(scope.maps) == 2:  # no constant any more: it is not folded
            local[self.leaf] = self._as_leaf(self._uploaded(local[self.leaf]))
        local.update(zip([entry.name for entry in graph.input], inputs, strict=False))
        nodes = list(graph.node)
        used = [names_used(node) for node in nodes]
        left = Counter(name for names in used for name in names)
        left.update(entry.name for entry in graph.output)
        consumers = _consumers(graph, nodes, used, self.inspected.nested)
        done: set[int] = set()  # ids of nodes that the kernel of one before them does
        reports = is_followed() and len(scope.maps) == 2  # of the outermost graph
        for number, (proto, names) in enumerate(zip(nodes, used, strict=True)):
            if reports:
                report(f"recording {self.name}: {number} of {len(nodes)} nodes", number, len(nodes))
            if id(proto) not in done:
                done.update(id(other) for other in self._step(proto, scope, local, consumers))
            for name in names:
                left[name] -= 1
                if not left[name]:
                    local.pop(name, None)  # nobody needs it any more: its memory is for those after it
        self.elems = before
        return [scope.get(entry.name) for entry in graph.output]

    def on_gpu(self, value: Value) -> Tensor:
        """The tensor of a value. Raises `Refused` if there is none of its type, `Wide` if 32 bits may be too few."""
        if value.items is not None or value.absent:
            raise Refused("a sequence or an optional instead of a tensor")
        if value.words is not None or (value.host is not None and is_beyond_32_bits(value.host, value.elem)):
            raise Wide("64-bit integers that may not fit 32 bits")
        if value.tensor is None:
            storage_of(value.elem)
            if value.expression is not None:
                value.tensor, value.expression = ops.evaluate(value.expression), None
            else:
                assert value.host is not None
                value.tensor = self.upload(to_storage(value.host, value.elem, "a constant"))
        return value.tensor

    def upload(self, array: np.ndarray) -> Tensor:
        """A constant of the plan. Small ones that are equal are one tensor: exporters repeat numbers of formulas."""
        key = (array.dtype.str, array.shape, array.tobytes()) if array.size <= SMALL else None
        tensor = self._small.get(key) if key is not None else None
        if tensor is None:
            tensor = on_gpu(array)
            self.constants.append(tensor)
            if key is not None:
                self._small[key] = tensor
        return tensor

    def known(self, node: Node, value: Value, what: str) -> np.ndarray:
        """The numbers of a value, now: those of the GPU are read, and the rest of the network is recorded for them.

        Raises `DataDependent` if they follow from small inputs, or cannot be read.
        """
        if value.host is None:
            follows = bool(value.sources) and value.sources & self.small == value.sources
            if follows or not self.stages.can_read:
                raise DataDependent(value.sources, f"{node}: {what} is needed now, and only known on the GPU")
            tensor = self.on_gpu(value) if value.words is None else ops.stack(value.words)
            self._note(node)
            numbers = self.stages.read(str(node), tensor)
            value.host = from_storage(numbers, value.elem) if value.words is None else from_words(numbers, value.elem)
            value.bound = constant(value.host, value.elem).bound
        return value.host

    def dense(self, sparse: onnx.SparseTensorProto) -> np.ndarray:
        """A sparse tensor with its zeros. Raises `InputError` for indices outside of it."""
        values = array_of(sparse.values, self.folder, self.source)
        indices = array_of(sparse.indices, self.folder, self.source)
        dense = np.zeros(tuple(sparse.dims), values.dtype)
        try:
            if indices.ndim == 1:
                dense.reshape(-1)[indices] = values
            else:
                dense[tuple(indices.T)] = values
        except IndexError as error:
            raise InputError(f"{self.source}: the sparse tensor {sparse.values.name!r}: {error}") from error
        return dense

    # inside -----------------------------------------------------------------------------------------------------

    def _step(
        self,
        proto: onnx.NodeProto,
        scope: Scope,
        local: dict[str, Value | None],
        consumers: Mapping[str, Sequence[onnx.NodeProto]],
    ) -> Sequence[onnx.NodeProto]:
        """Lower one node; returns those after it that its kernel did as well."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise InputError(f"{self.source}: more than {MOST_STEPS:,} nodes, loops unrolled")
        after = consumers.get(proto.output[0], ()) if len(proto.output) == 1 else ()
        inputs = [scope.get(name) if name else None for name in proto.input]
        is_rounded = any(value is not None and value.elem in BFLOAT16 for value in inputs)
        node = Node(
            proto,
            inputs,
            self.versions.get(domain_of(proto), 1),
            self,
            scope,
            deferred=self.defers
            and bool(after)
            and after[0].op_type in ELEMENTWISE
            and all(other is after[0] for other in after),
            tail=tail_of(proto, consumers, scope) if proto.op_type in HEADS and not is_rounded else Tail(),
        )
        known = all(scope.get(name) is not None for name in proto.input if name)
        results: Sequence[Value | None] = [None] * len(proto.output)
        try:
            if known:
                results = self._results(node)
            elif (node.domain, node.op) not in LOWERINGS:
                raise Refused("no such operator here")
        except Refused as reason:
            self.refused.append(f"{node}: {reason}")
        except DtypeError as error:
            if not _has_doubles(inputs):
                raise InputError(f"{self.source}: {node}: {error}") from error
            self.refused.append(f"{node}: {error}; float64_as_f32 (--float64-as-f32) makes double float")
        except (TensorError, GpuError) as error:
            raise InputError(f"{self.source}: {node}: {error}") from error
        names = node.fused[-1].output if node.fused else proto.output
        local.update((name, value) for name, value in zip(names, results, strict=False) if name)
        if isinstance(scope, ChainMap) and len(scope.maps) == 2:  # the outermost graph
            self._observe(node, names, local)
        else:
            found = ((name, local.get(name)) for name in names if name in self.inspected.nested)
            self.nested.update((name, value) for name, value in found if value is not None)
            self._note_elements(self.inspected.sequences.intersection(names), local)
        self._note(node)
        return node.fused

    def _observe(self, node: Node, names: Sequence[str], local: dict[str, Value | None]) -> None:
        inspected = self.inspected
        if inspected.unit_axes is not None:
            read = [Part.of(*one) for one in zip(node.proto.input, node.inputs, strict=True)]
            computed = [Part.of(name, local.get(name)) for name in names]
            inspected.unit_axes.note(node.op, read, computed, node.attribute("perm"))
        for name in filter(None, names):
            value = local.get(name)
            if name in inspected.masked:
                value = local[name] = self._with_mask(name, value, node)
            if name == self.leaf:
                value = local[name] = self._as_leaf(self._uploaded(value))
            if value is not None and value.tensor is not None:
                inspected.held.add(name, value)
                if inspected.probe is not None:
                    inspected.probe.add(name, node.op, value.tensor)
            elif inspected.probe is not None and value is not None and value.host is not None:
                inspected.probe.add_constant(name, node.op, value.host)
        for name, item in self._note_elements(names, local).items():
            if item.tensor is not None:
                inspected.held.add(name, item)

    def _note_elements(self, names: Iterable[str], local: Mapping[str, Value | None]) -> dict[str, Value]:
        """Note what is inspected of sequences; returns all of their elements by name."""
        elements: dict[str, Value] = {}
        for name in names:
            value = local.get(name)
            if value is not None and value.items is not None:
                self.sequences[name] = [_described(item) for item in value.items]
                elements |= {indexed(name, index): item for index, item in enumerate(value.items)}
        self.nested |= {name: elements[name] for name in elements.keys() & self.inspected.nested}
        return elements

    def _as_leaf(self, value: Value | None) -> Value | None:
        """The value requiring a gradient, which does not go on to what it was computed from."""
        if value is None or value.tensor is None or value.tensor.dtype not in (f16, f32):
            raise InputError(f"{self.source}: there is no gradient by {self.leaf!r}, which is no tensor of floats")
        leaf = self.leaf_tensor = value.tensor.detach()
        leaf.requires_grad = True
        return replace(value, tensor=leaf, host=None)

    def _uploaded(self, value: Value | None) -> Value | None:
        """The value with a tensor, as far as there is one for its type."""
        if value is not None and is_stored(value.elem):
            self.on_gpu(value)
        return value

    def _with_mask(self, name: str, value: Value | None, node: Node) -> Value | None:
        """The value with units that can be set to zero; itself, if it is no tensor of floats on the GPU."""
        if value is None or value.tensor is None or value.tensor.dtype not in (f16, f32):
            return value
        assert self.inspected.unit_axes is not None, "there is a mask"
        axis, units = self.inspected.unit_axes.of(name, value.tensor.shape), self.inspected.units.get(name, ())
        if not self.defers:
            return replace(value, tensor=self.stages.with_mask(name, value.tensor, axis, units), sizes=None)
        read = {other.tensor.owner for other in node.inputs if other is not None and other.tensor is not None}
        read |= {tensor.owner for tensor in self.constants}
        if value.tensor.owner in read:  # a view of what the node reads, or a constant, which stays as it is
            value = replace(value, tensor=ops.copy(value.tensor), sizes=None)
        assert value.tensor is not None
        self.stages.add_mask(name, value.tensor, axis, units)
        return value

    def _note(self, node: Node) -> None:
        """What was recorded lately belongs to this node."""
        if recorded := len(self.stages) - len(self.nodes):
            self.nodes += [str(node)] * recorded

    def _results(self, node: Node) -> Sequence[Value | None]:
        require_finite_scales(node)
        require_valid(node)
        folded = self._folded(node)
        if folded is not None:
            return folded
        if self.checks_indices:
            guard_indices(node)
        lowering = LOWERINGS.get((node.domain, node.op))
        if lowering is None or not is_lowered(node.proto):
            raise Refused("no such operator here" if lowering is None else "a form of it that is not supported")
        refused = len(self.refused)
        results = lowered(node, lowering)
        results = results if isinstance(results, Sequence) else [results]
        if len(self.refused) == refused:  # else a graph within the node reports what is missing
            node.require_all_used(results)
        return [self._typed(node, index, result) for index, result in enumerate(results)]

    def _folded(self, node: Node) -> list[Value | None] | None:
        """The outputs, if all inputs are known and it is the host's to work them out."""
        values = [value for value in node.inputs if value is not None]
        if any(value.host is None for value in values) or any(a.HasField("g") for a in node.proto.attribute):
            return None
        if node.domain not in fold.DOMAINS:
            return None
        arrays = [None if value is None else value.host for value in node.inputs]
        if not fold.can_fold(node.proto, arrays, node.version, bool(node.sources)):
            return None
        computed = fold.evaluate(node.proto, arrays, node.version, f"{self.source}: {node}")
        if computed is None:
            return None
        results: list[Value | None] = []
        for index, array in enumerate(computed):
            value = None if array is None else constant(array, node.output_elem(index))
            if value is not None:
                value.sources = node.sources
            results.append(value)
        return results

    def _typed(self, node: Node, index: int, result: Result) -> Value | None:
        """What a lowering gave, as a value of the type that the graph declares."""
        if isinstance(result, Value):
            result = rounded(node, result)
            found = result.tensor if result.expression is None else result.expression
            if result.elem == TensorProto.DOUBLE and found is not None and found.dtype is not f64:
                raise Refused(f"output {index} is to be double, and would be {found.dtype}")
            if result.expression is not None and not node.deferred:
                self.on_gpu(result)
            elif result.expression is not None and result.expression.dtype is f16:
                result.expression = result.expression.to(f32).to(f16)  # each node's result is rounded, as by itself
            return result
        if result is None:
            return None
        declared = node.output_elem(index)
        first = next((v.elem for v in node.inputs if v is not None and STORAGE.get(v.elem) is result.dtype), None)
        elem = declared if declared else first or EXACT[result.dtype]
        if STORAGE.get(elem) is not result.dtype:
            raise Refused(f"output {index} is to be {type_name(elem)}, and would be {result.dtype}")
        bounds = [v.bound for v in node.inputs if v is not None and v.elem == elem]
        return self._typed(node, index, node.result(result, elem, max(bounds) if bounds else None))


def _consumers(
    graph: onnx.GraphProto, nodes: Sequence[onnx.NodeProto], used: Sequence[set[str]], needed: Collection[str]
) -> dict[str, list[onnx.NodeProto]]:
    """The nodes that need each value, a node twice if it needs it twice; none for what is needed elsewhere as well.

    `used` are the values that each node reads, those in the graphs within it included. Those `needed` are, too.
    """
    found: dict[str, list[onnx.NodeProto]] = {}
    elsewhere = {*needed, *(entry.name for entry in graph.output)}
    for node, names in zip(nodes, used, strict=True):
        direct = [name for name in node.input if name]
        for name in direct:
            found.setdefault(name, []).append(node)
        elsewhere |= names.difference(direct)
    return {name: nodes for name, nodes in found.items() if name not in elsewhere}


def names_used(proto: onnx.NodeProto) -> set[str]:
    """The values that a node reads, and those of its surroundings that the graphs within it read."""
    names = {name for name in proto.input if name}
    for graph in subgraphs(proto):
        inner = {name for node in graph.node for name in names_used(node)}
        inner |= {entry.name for entry in graph.output}
        names |= inner - {name for node in graph.node for name in node.output}
    return names


def _has_doubles(values: Iterable[Value | None]) -> bool:
    return any(value is not None and STORAGE.get(value.elem) is f64 for value in values)


def _described(item: Value) -> Element:
    return Element(type_name(item.elem), None if item.items is not None or item.absent else item.shape)


def declared(graph: onnx.GraphProto) -> dict[str, int]:
    """The element types of the tensors of a graph, as far as they are known."""
    entries = [*graph.input, *graph.output, *graph.value_info]
    found = {e.name: e.type.tensor_type.elem_type for e in entries if e.type.HasField("tensor_type")}
    return {name: elem for name, elem in found.items() if elem}

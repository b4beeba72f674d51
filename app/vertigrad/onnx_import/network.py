"""`Network`: an ONNX model, checked, and recorded for the shapes of its inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx.helper import tensor_dtype_to_np_dtype

from ..closing import Closing
from ..errors import Beyond32Bits, InputError, Redecided, UnsupportedOp
from ..gpu.compiling import compile_kernels
from ..ops.words import Words
from ..progress import portion
from ..tensor import Tensor, f16, f32, u32
from . import lowerings, reader
from .files import prepare, read_prepared
from .fold import SMALL_INTEGER
from .inputs import TEXT, Feed, all_parts, checked, elem_of, parts_of, sizes_of
from .inside import (
    InnerTensor,
    computed_by,
    constants_of,
    elements_among,
    expose,
    inner_tensors,
    nested_tensors,
    require_computed,
    why_absent,
)
from .inspected import HeldTensors, Inspected
from .node import DataDependent
from .probe import Probe, is_finite
from .program import Program, upload
from .stages import Stages
from .trace import Trace
from .unit_axes import UnitAxes, declared_sizes
from .values import INPUT_BOUND, LIMIT, STORAGE, WIDE, Value, constant, to_storage, type_name

assert lowerings.LOWERINGS  # imported for what they register
RECORDING = 0.3  # part of a network's progress; the rest is compiling
CACHED_PROGRAMS = 4  # programs for different shapes that a network caches


class OutputShape(NamedTuple):
    """What is known of an output before the network is bound to inputs."""

    shape: tuple[int | None, ...]
    dtype: str


class Network(Closing):
    """An ONNX model that can be run; programs for shapes that were used lately are cached.

    `model` is a file or a model already in memory; `dims` gives a size to each of its named dimensions ("batch"), where
    inputs do not determine. `inside` names tensors inside the network that it gives as outputs, too: what nodes compute
    on the way, such as activations. With `float64_as_f32` all of its float64 is float32, inputs and outputs included;
    otherwise nodes with float64 are refused. Raises `InputError` for a file that breaks ONNX's rules, and for unknown
    names.
    """

    def __init__(
        self,
        model: Path | str | onnx.ModelProto,
        dims: Mapping[str, int] | None = None,
        inside: Sequence[str] = (),
        float64_as_f32: bool = False,
    ):
        if isinstance(model, onnx.ModelProto):
            self.source, self._folder = model.graph.name or "network", None
            reader.check(model, self.source)
            self._model, self._versions = prepare(model, self.source, float64_as_f32)
        else:
            path = Path(model)
            self.source, self._folder = str(path), path.parent
            self._model, self._versions = read_prepared(path, float64_as_f32)
        self.dims = dict(dims or {})
        self._own_outputs = len(self._model.graph.output)
        self._masked: tuple[str, ...] = ()
        self._nested: frozenset[str] = frozenset()  # what is shown of branches, bodies of loops and sequences
        self.show_inside(inside)
        initialized = {tensor.name for tensor in self._model.graph.initializer}
        self._entries = [entry for entry in self._model.graph.input if entry.name not in initialized]
        for entry in self._entries:
            if elem_of(entry) not in onnx.TensorProto.DataType.values()[1:]:
                raise InputError(f"{self.source}: input {entry.name!r} has no known element type")
        self._known: frozenset[str] = frozenset()  # inputs that shapes depend on: a program holds for their numbers
        self._wide: frozenset[str] = frozenset()  # inputs and casts whose integers did not fit 32 bits
        self._programs: dict[Any, Program] = {}  # the one used last at the end
        self._in_use: set[Program] = set()  # programs that callers hold

    @property
    def inputs(self) -> dict[str, tuple[np.dtype, tuple[int | str | None, ...] | None]]:
        """What it takes: element type and sizes by name, a size not fixed being a name or None; None for any rank."""
        return {entry.name: (tensor_dtype_to_np_dtype(elem_of(entry)), sizes_of(entry)) for entry in self._entries}

    @property
    def outputs(self) -> list[str]:
        """The names of what it gives."""
        return [entry.name for entry in self._model.graph.output]

    @property
    def tensors(self) -> dict[str, InnerTensor]:
        """What its nodes compute, outputs included, in the order of the nodes; constants are not among them."""
        return inner_tensors(self._model.graph)

    @property
    def nested_tensors(self) -> dict[str, InnerTensor]:
        """What nodes of branches and bodies of loops compute. Of a loop it is that of the last turn."""
        return nested_tensors(self._model.graph)

    @property
    def sources(self) -> dict[str, tuple[str, ...]]:
        """What the node reads that computes a tensor, for all tensors that nodes compute, in the order of the nodes."""
        return {name: tuple(node.input) for node in self._model.graph.node for name in node.output if name}

    @property
    def weights(self) -> dict[str, InnerTensor]:
        """Its constants of floats with more than one element, by name."""
        found = (
            (name, one) for name, one in constants_of(self._model.graph) if STORAGE.get(one.data_type) in (f16, f32)
        )
        large = ((name, one) for name, one in found if math.prod(one.dims) > 1)
        return {name: InnerTensor("weights", type_name(one.data_type), tuple(one.dims)) for name, one in large}

    def weight(self, name: str) -> np.ndarray:
        """The elements of one of `weights`."""
        found = dict(constants_of(self._model.graph))[name]
        return to_storage(reader.array_of(found, self._folder, self.source), found.data_type, name)

    def holds_not_finite(self, name: str) -> bool:
        """Whether this is a constant that the graph holds, of floats of which one is NaN or infinite."""
        found = dict(constants_of(self._model.graph)).get(name)
        return found is not None and not is_finite(reader.array_of(found, self._folder, self.source))

    def own_dimensions(self, output: str) -> tuple[str | None, ...]:
        """For each axis of an output the name of its size if no input has it; None for all others."""
        sizes = next(sizes_of(entry) for entry in self._model.graph.output if entry.name == output)
        known = {size for entry in self._entries for size in sizes_of(entry) or ()}
        return tuple(size if isinstance(size, str) and size not in known else None for size in sizes or ())

    def show_inside(self, names: Sequence[str], masked: Sequence[str] = ()) -> None:
        """Give these tensors inside as outputs, too, and no others; of those that are `masked`, too, units can be set
        to zero by `Program.masks`. "/split[2]" is an element of a sequence. Programs that are recorded do not change.
        Raises `InputError` for unknown names.
        """
        graph, own = self._model.graph, set(self.outputs[: self._own_outputs])
        inner = [name for name in dict.fromkeys(names) if name not in own]
        computed = computed_by(graph)
        others = {*inner, *masked} - computed
        within = self.nested_tensors.keys() if others else set[str]()
        nested = (others & within) | elements_among(others, computed | within)
        require_computed(graph, [name for name in (*inner, *masked) if name not in nested], self.source)
        del graph.output[self._own_outputs :]
        expose(graph, [name for name in inner if name not in nested])
        self._masked, self._nested = tuple(masked), frozenset(nested)

    def output_specs(self) -> dict[str, OutputShape]:
        """The element type on the GPU and the sizes of each output; None for a size that is known only when bound.

        Raises `InputError` for an output whose rank is not known, `UnsupportedOp` for one that cannot be on the GPU.
        """
        return {entry.name: self._output_spec(entry) for entry in self._model.graph.output}

    def _output_spec(self, entry: onnx.ValueInfoProto) -> OutputShape:
        sizes = sizes_of(entry) if entry.type.HasField("tensor_type") else None
        if sizes is None:
            raise InputError(f"{self.source}: the rank of output {entry.name!r} is not known; infer shapes first")
        if elem_of(entry) not in STORAGE:
            raise UnsupportedOp(self.source, [f"output {entry.name!r}: {type_name(elem_of(entry))}"])
        bound = [self.dims.get(size) if isinstance(size, str) else size for size in sizes]
        return OutputShape(tuple(bound), STORAGE[elem_of(entry)].name)

    def bind(
        self,
        inputs: Mapping[str, Tensor | np.ndarray],
        constants: Mapping[str, np.ndarray],
        probe: Probe | None = None,
        bounds: Mapping[str, int] = MappingProxyType({}),
        leaf: str = "",
        most_held: int = 0,
        can_read: bool = False,
        ablated: Mapping[str, Sequence[int]] = MappingProxyType({}),
    ) -> Program:
        """The network recorded over tensors that somebody else fills, for the caller to close.

        Arrays among the inputs are uploaded once, to be set again by `Program.set`; `constants` never change, and are
        folded. `probe` takes statistics of what nodes compute. `bounds` are the largest magnitudes of tensors of
        integers, 2²⁴ for those of 64 bits by default. Gradients go back to the inputs that require them, or end at
        `leaf`, a tensor that is shown inside or a weight, which is `Program.leaf`. Tensors inside that are computed
        anyway have memory of their own, `most_held` bytes in all: `Program.held`. With `can_read` shapes may depend on
        what the tensors hold now: numbers are read back while the network is recorded, and at each replay, which raises
        `Redecided` once they are others. `ablated` are units of masked tensors that are zero to begin with. Raises as
        `program`.
        """
        arrays = {name: self._like(name, value) for name, value in inputs.items()} | dict(constants)
        self._checked(arrays)
        tensors = {name: value for name, value in inputs.items() if isinstance(value, Tensor)}
        try:
            program = self._record(
                arrays, tensors, frozenset(constants), can_read, probe, bounds, leaf, most_held, ablated=ablated
            )
        except DataDependent as needed:
            raise UnsupportedOp(self.source, [needed.reason]) from None
        program.set({name: value for name, value in inputs.items() if not isinstance(value, Tensor)})
        return program

    def program(self, inputs: Mapping[str, Any]) -> Program:
        """The network recorded for inputs of these shapes, and these numbers where shapes depend on them.

        It can be used until the caller or the network closes it. Raises `InputError` for inputs that do not fit, and
        `UnsupportedOp` with every node that cannot be run, before anything is.
        """
        program = self._recorded(self._checked(inputs))
        self._in_use.add(program)
        return program

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs for these inputs; waits for the GPU. Sequences are lists, an optional without a value is None.

        Raises as `program`, and `InputError` for numbers that pass 32 bits within the network.
        """
        arrays = self._checked(inputs)
        while True:
            try:
                return self._run(arrays)
            except Redecided:  # recorded again, its shapes are decided by these very inputs
                continue
            except Beyond32Bits as error:
                self._widen(arrays, error)

    def close(self) -> None:
        """Give back every program. Idempotent."""
        for program in self._programs.values():
            program.close()
        self._programs.clear()
        self._in_use.clear()

    # inside -----------------------------------------------------------------------------------------------------

    def _run(self, arrays: Mapping[str, Feed]) -> dict[str, Any]:
        program = self._recorded(arrays)
        program.set(all_parts(arrays))
        try:
            program.replay()
        except Redecided:
            self._programs.pop(self._key(arrays)).close()
            raise
        return program.read()

    def _widen(self, arrays: Mapping[str, Feed], error: Beyond32Bits) -> None:
        """Record the network with pairs of words for what did not fit 32 bits. Raises `error` if that is impossible."""
        before, self._wide = self._wide, self._wide | error.names
        try:
            if self._wide == before:
                raise error
            self._recorded(arrays)
        except UnsupportedOp:
            self._wide = before
            raise error from None

    def _key(self, feeds: Mapping[str, Feed]) -> Any:
        """What a program is recorded for."""
        return self._wide, *(
            (name, array.shape, _numbers(array) if name in self._known or array.dtype == object else None)
            for name, array in all_parts(feeds).items()
        )

    def _recorded(self, arrays: Mapping[str, Feed]) -> Program:
        """The program for such inputs: one that was recorded lately, or a new one."""
        while True:
            key = self._key(arrays)
            program = self._programs.pop(key, None)
            if program is not None and not program.closed:
                self._programs[key] = program
                return program
            try:
                program = self._record(arrays, {}, self._known, can_read=True, most_small=SMALL_INTEGER)
            except DataDependent as needed:
                if needed.sources <= self._known:
                    raise UnsupportedOp(self.source, [needed.reason]) from None
                self._known |= needed.sources
                continue
            self._programs[key] = program
            self._evict()
            return program

    def _evict(self) -> None:
        """Close the programs that were used longest ago, but none that a caller holds."""
        self._in_use = {program for program in self._in_use if not program.closed}
        own = [key for key, program in self._programs.items() if program not in self._in_use]
        for key in own[:-CACHED_PROGRAMS]:
            self._programs.pop(key).close()

    def _checked(self, inputs: Mapping[str, Any]) -> dict[str, Feed]:
        return checked(self.source, self._entries, inputs, self.dims)

    def _record(
        self,
        feeds: Mapping[str, Feed],
        tensors: Mapping[str, Tensor],
        known: frozenset[str],
        can_read: bool = False,
        probe: Probe | None = None,
        bounds: Mapping[str, int] = MappingProxyType({}),
        leaf: str = "",
        most_held: int = 0,
        most_small: int = 0,
        ablated: Mapping[str, Sequence[int]] = MappingProxyType({}),
    ) -> Program:
        """`tensors` are read by the program; of the inputs named in `known` the values are constants.

        With `can_read`, shapes may depend on what `feeds` makes on the GPU. Where they depend on inputs of up to
        `most_small` elements alone, `DataDependent` is raised instead of reading: these are to be constants.
        """
        arrays = all_parts(feeds)
        elems = {part: elem_of(e) for e in self._entries for part, _ in parts_of(e.name, feeds[e.name])}
        created: dict[str, Tensor] = {}
        wide = self._wide - tensors.keys()
        fill = partial(upload, self.source, created, arrays, elems, wide) if can_read else None
        stages = Stages(f"network {Path(self.source).name}", fill)
        small = frozenset(name for name, a in arrays.items() if a.size <= most_small and name not in known)
        has_gradient = bool(leaf) or any(tensor.requires_grad for tensor in tensors.values())
        axes = self._unit_axes(feeds) if self._masked or most_held else None
        inspected = Inspected(frozenset(self._masked), self._nested, probe, HeldTensors(most_held), axes, ablated)
        trace = Trace(self.source, self._versions, stages, self._folder, small, inspected, not has_gradient, leaf, wide)
        try:
            values = {
                entry.name: self._input(entry, feeds[entry.name], tensors, known, created) for entry in self._entries
            }
            for name, bound in bounds.items():
                values[name].bound = bound
            with stages.recording(), portion(0.0, RECORDING):
                outputs = trace.graph(self._model.graph, [values.get(e.name) for e in self._model.graph.input], {})
                if probe is not None:
                    probe.finish()
            refused = [*trace.refused, *_unreadable(self.outputs, outputs)]
            if refused:
                raise UnsupportedOp(self.source, refused)
            if absent := sorted(self._nested - trace.nested.keys()):
                why = why_absent(absent[0], trace.sequences, computed_by(self._model.graph))
                raise InputError(f"{self.source}: {absent[0]!r} is not computed: {why}")
            with portion(RECORDING, 1.0):
                compile_kernels(stages.plans)
            outputs_by_name = {
                name: value for name, value in zip(self.outputs, outputs, strict=True) if value is not None
            } | trace.nested
        except BaseException:
            stages.close()
            inspected.held.close()
            for tensor in [*created.values(), *trace.constants]:
                tensor.close()
            raise
        for tensor in trace.constants:
            tensor.close()  # the plan holds what it uses
        return Program(trace, self._model.graph, created, outputs_by_name, elems)

    def _unit_axes(self, feeds: Mapping[str, Feed]) -> UnitAxes:
        inputs = ((sizes_of(entry), parts_of(entry.name, feeds[entry.name])) for entry in self._entries)
        shapes = ((sizes, array.shape) for sizes, parts in inputs for _, array in parts)
        return UnitAxes(shapes, declared_sizes(self._model.graph))

    def _input(
        self,
        entry: onnx.ValueInfoProto,
        value: Feed,
        tensors: Mapping[str, Tensor],
        known: frozenset[str],
        created: dict[str, Tensor],
    ) -> Value:
        elem = elem_of(entry)
        if value is None:
            return Value(elem, absent=True)
        parts = [self._part(elem, *part, tensors, known, created) for part in parts_of(entry.name, value)]
        return Value(elem, items=parts) if isinstance(value, list) else parts[0]

    def _part(
        self,
        elem: int,
        name: str,
        array: np.ndarray,
        tensors: Mapping[str, Tensor],
        known: frozenset[str],
        created: dict[str, Tensor],
    ) -> Value:
        sources = frozenset((name,))
        if name in known or elem == TEXT:
            value = constant(array, elem)
            value.sources = sources if name in self._known or elem == TEXT else frozenset()
            return value
        if elem not in STORAGE:
            return Value(elem, sources=sources, sizes=array.shape)  # refused by the first node that needs it on the GPU
        if name in self._wide and name not in tensors:
            created[name] = Tensor.empty((2, *array.shape), u32, name)
            return Value(elem, words=Words(*created[name]), sources=sources, bound=LIMIT[elem])
        if name not in tensors:
            created[name] = Tensor.empty(array.shape, STORAGE[elem], name)
        bound = INPUT_BOUND if elem in WIDE else Value.bound
        return Value(elem, tensor=tensors.get(name, created.get(name)), sources=sources, bound=bound)

    def _like(self, name: str, value: Tensor | np.ndarray) -> np.ndarray:
        """An array of a tensor's shape without its bytes, in the type that the graph has for what it holds."""
        if not isinstance(value, Tensor):
            return value
        elem = self._elems.get(name, 0)
        dtype = tensor_dtype_to_np_dtype(elem) if STORAGE.get(elem) is value.dtype else value.dtype.numpy
        return np.broadcast_to(np.zeros((), dtype), value.shape)

    @property
    def _elems(self) -> dict[str, int]:
        return {entry.name: elem_of(entry) for entry in self._entries}


def _unreadable(names: Sequence[str], outputs: Sequence[Value | None]) -> list[str]:
    """Outputs that cannot be read, though nothing that makes them was refused."""
    return [
        f"output {name!r}: {type_name(value.elem)} does not exist on the GPU"
        for name, value in zip(names, outputs, strict=True)
        if value is not None
        and value.host is None
        and value.tensor is None
        and value.words is None
        and value.items is None
        and not value.absent
    ]


def _numbers(array: np.ndarray) -> Any:
    return tuple(array.reshape(-1).tolist()) if array.dtype == object else array.tobytes()

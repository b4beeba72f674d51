"""`Recording`: walks the graph of a network for inputs of certain shapes, and gives the `Program`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import onnx

from ..errors import InputError, UnsupportedOp
from ..gpu.compiling import compile_kernels
from ..ops.words import Words
from ..progress import portion
from ..tensor import Tensor, u32
from .inputs import TEXT, Feed, all_parts, elem_of, parts_of, sizes_of
from .inside import computed_by, why_absent
from .inspected import HeldTensors, Inspected
from .probe import Probe
from .program import Program, upload
from .stages import Stages
from .trace import Trace
from .unit_axes import UnitAxes, declared_sizes
from .values import INPUT_BOUND, LIMIT, STORAGE, WIDE, Value, constant, is_stored, type_name

RECORDING = 0.3  # part of a network's progress; the rest is compiling


@dataclass
class Loaded:
    """A network that was read. `entries` are the inputs of the graph that it takes.

    Of tensors in `masked` units can be set to zero; `nested` are shown of branches, bodies of loops and sequences.
    """

    source: str
    model: onnx.ModelProto
    versions: Mapping[str, int]
    folder: Path | None
    entries: Sequence[onnx.ValueInfoProto]
    masked: frozenset[str] = frozenset()
    nested: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Recording:
    """What a network is recorded for.

    `tensors` are read by the program, where `feeds` gives their shapes. Inputs in `constants` never change, those in
    `known` do, but the program holds for their numbers alone. With `can_read`, shapes may depend on what `feeds` makes
    on the GPU. Where they depend on inputs of up to `most_small` elements alone, `DataDependent` is raised instead of
    reading: these are to be known. `wide` are inputs and casts that are pairs of words. With `checks_indices`,
    outputs are read only if indices that the GPU has were in range. The others are as in `Network.bind`.
    """

    loaded: Loaded
    feeds: Mapping[str, Feed]
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    constants: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    wide: frozenset[str] = frozenset()
    can_read: bool = False
    most_small: int = 0
    probe: Probe | None = None
    bounds: Mapping[str, int] = field(default_factory=dict)
    leaf: str = ""
    most_held: int = 0
    ablated: Mapping[str, Sequence[int]] = field(default_factory=dict)
    checks_indices: bool = False
    created: dict[str, Tensor] = field(default_factory=dict, init=False)  # inputs that are uploaded

    def program(self) -> Program:
        """A new program. Raises `DataDependent`, `InputError`, and `UnsupportedOp` with every node that is refused."""
        loaded, arrays = self.loaded, all_parts(self.feeds)
        elems = {part: elem_of(e) for e in loaded.entries for part, _ in parts_of(e.name, self.feeds[e.name])}
        wide = self.wide - self.tensors.keys()
        fill = partial(upload, loaded.source, self.created, arrays, elems, wide) if self.can_read else None
        stages = Stages(f"network {Path(loaded.source).name}", fill)
        fixed = self.constants | self.known
        small = frozenset(name for name, a in arrays.items() if a.size <= self.most_small and name not in fixed)
        has_gradient = bool(self.leaf) or any(tensor.requires_grad for tensor in self.tensors.values())
        axes = self._unit_axes() if loaded.masked or self.most_held else None
        held = HeldTensors(self.most_held)
        inspected = Inspected(loaded.masked, loaded.nested, self.probe, held, axes, self.ablated)
        graph = loaded.source, loaded.versions, stages, loaded.folder
        trace = Trace(*graph, small, inspected, not has_gradient, self.leaf, wide, self.checks_indices)
        try:
            outputs = self._traced(trace)
        except BaseException:
            stages.close()
            held.close()
            for tensor in [*self.created.values(), *trace.constants]:
                tensor.close()
            raise
        for tensor in trace.constants:
            tensor.close()  # the plan holds what it uses
        return Program(trace, loaded.model.graph, self.created, outputs, elems)

    def _traced(self, trace: Trace) -> dict[str, Value]:
        """The outputs of the graph, whose kernels are compiled."""
        graph, stages = self.loaded.model.graph, trace.stages
        values = {entry.name: self._input(entry) for entry in self.loaded.entries}
        for name, bound in self.bounds.items():
            values[name].bound = bound
        with stages.recording(), portion(0.0, RECORDING):
            outputs = trace.graph(graph, [values.get(e.name) for e in graph.input], {})
            if self.probe is not None:
                self.probe.finish()
        names = [entry.name for entry in graph.output]
        refused = [*trace.refused, *_unreadable(names, outputs)]
        if refused:
            raise UnsupportedOp(self.loaded.source, refused)
        if absent := sorted(self.loaded.nested - trace.nested.keys()):
            why = why_absent(absent[0], trace.sequences, computed_by(graph))
            raise InputError(f"{self.loaded.source}: {absent[0]!r} is not computed: {why}")
        with portion(RECORDING, 1.0):
            compile_kernels(stages.plans)
        return {name: value for name, value in zip(names, outputs, strict=True) if value is not None} | trace.nested

    def _unit_axes(self) -> UnitAxes:
        inputs = ((sizes_of(entry), parts_of(entry.name, self.feeds[entry.name])) for entry in self.loaded.entries)
        shapes = ((sizes, array.shape) for sizes, parts in inputs for _, array in parts)
        return UnitAxes(shapes, declared_sizes(self.loaded.model.graph))

    def _input(self, entry: onnx.ValueInfoProto) -> Value:
        elem, value = elem_of(entry), self.feeds[entry.name]
        if value is None:
            return Value(elem, absent=True)
        parts = [self._part(elem, *part) for part in parts_of(entry.name, value)]
        return Value(elem, items=parts) if isinstance(value, list) else parts[0]

    def _part(self, elem: int, name: str, array: np.ndarray) -> Value:
        sources = frozenset((name,))
        if name in self.constants or name in self.known or elem == TEXT:
            value = constant(array, elem)
            value.sources = sources if name in self.known or elem == TEXT else frozenset()
            return value
        if not is_stored(elem):
            return Value(elem, sources=sources, sizes=array.shape)  # refused by the first node that needs it on the GPU
        if name in self.wide and name not in self.tensors:
            self.created[name] = Tensor.empty((2, *array.shape), u32, name)
            return Value(elem, words=Words(*self.created[name]), sources=sources, bound=LIMIT[elem])
        if name not in self.tensors:
            self.created[name] = Tensor.empty(array.shape, STORAGE[elem], name)
        bound = INPUT_BOUND if elem in WIDE else Value.bound
        return Value(elem, tensor=self.tensors.get(name, self.created.get(name)), sources=sources, bound=bound)


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

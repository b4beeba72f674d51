"""`Network`: an ONNX model, checked, and recorded for the shapes of its inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx.helper import tensor_dtype_to_np_dtype

from ..closing import Closing
from ..errors import InputError, UnsupportedOp
from ..tensor import Tensor, f16, f32, f64
from . import lowerings, reader
from .files import prepare, read_prepared
from .inputs import Feed, checked, elem_of, sizes_of
from .inside import (
    InnerTensor,
    computed_by,
    constants_of,
    elements_among,
    expose,
    inner_tensors,
    nested_tensors,
    require_computed,
)
from .node import DataDependent
from .probe import Probe, is_finite
from .program import Program
from .recorded import Recorded
from .recording import Loaded, Recording
from .values import STORAGE, to_storage, type_name

assert lowerings.LOWERINGS  # imported for what they register


class OutputShape(NamedTuple):
    """What is known of an output before the network is bound to inputs."""

    shape: tuple[int | None, ...]
    dtype: str


class Network(Closing):
    """An ONNX model that can be run; programs for shapes that were used lately are cached.

    `model` is a file or a model already in memory; `dims` gives a size to each of its named dimensions ("batch"), where
    inputs do not determine. `inside` names tensors inside the network that it gives as outputs, too: what nodes compute
    on the way, such as activations. With `float64_as_f32` all of its float64 is float32, inputs and outputs included;
    otherwise nodes with float64 are calculated in it where the adapter has shader-f64, and refused where not. Raises
    `InputError` for a file that breaks ONNX's rules, and for unknown names.
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
            prepared = prepare(model, self.source, float64_as_f32)
        else:
            path = Path(model)
            self.source, self._folder = str(path), path.parent
            prepared = read_prepared(path, float64_as_f32)
        self._model = prepared.model
        self.dims = dict(dims or {})
        self._own_outputs = len(self._model.graph.output)
        initialized = {tensor.name for tensor in self._model.graph.initializer}
        self._entries = [entry for entry in self._model.graph.input if entry.name not in initialized]
        for entry in self._entries:
            if elem_of(entry) not in onnx.TensorProto.DataType.values()[1:]:
                raise InputError(f"{self.source}: input {entry.name!r} has no known element type")
        self._loaded = Loaded(self.source, *prepared, self._folder, self._entries)
        self._recorded = Recorded(self._loaded)
        self._shown: tuple[tuple[str, ...], tuple[str, ...]] = (), ()
        self.show_inside(inside)

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
        self._shown = tuple(names), tuple(masked)
        self._loaded.masked, self._loaded.nested = frozenset(masked), frozenset(nested)

    @contextmanager
    def showing(self, names: Sequence[str], masked: Sequence[str] = ()) -> Iterator[None]:
        """As `show_inside`, for what is recorded within the block."""
        before = self._shown
        try:
            self.show_inside(names, masked)
            yield
        finally:
            self.show_inside(*before)

    def output_specs(self) -> dict[str, OutputShape]:
        """The element type on the GPU and the sizes of each output; None for a size that is known only when bound.

        Raises `InputError` for an output whose rank is not known, `UnsupportedOp` for one that cannot be on the GPU.
        """
        return {entry.name: self._output_spec(entry) for entry in self._model.graph.output}

    def _output_spec(self, entry: onnx.ValueInfoProto) -> OutputShape:
        sizes = sizes_of(entry) if entry.type.HasField("tensor_type") else None
        if sizes is None:
            raise InputError(f"{self.source}: the rank of output {entry.name!r} is not known; infer shapes first")
        if STORAGE.get(elem_of(entry), f64) is f64:  # a model's outputs are drawn
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
            program = Recording(
                self._loaded,
                arrays,
                tensors=tensors,
                constants=frozenset(constants),
                wide=self._recorded.wide,
                can_read=can_read,
                probe=probe,
                bounds=bounds,
                leaf=leaf,
                most_held=most_held,
                ablated=ablated,
            ).program()
        except DataDependent as needed:
            raise UnsupportedOp(self.source, [needed.reason]) from None
        program.set({name: value for name, value in inputs.items() if not isinstance(value, Tensor)})
        return program

    def program(self, inputs: Mapping[str, Any]) -> Program:
        """The network recorded for inputs of these shapes, and these numbers where shapes depend on them.

        It can be used until the caller or the network closes it. Raises `InputError` for inputs that do not fit, and
        `UnsupportedOp` with every node that cannot be run, before anything is.
        """
        return self._recorded.program(self._checked(inputs))

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs for these inputs; waits for the GPU. Sequences are lists, an optional without a value is None.

        Raises as `program`, and `InputError` for numbers that pass 32 bits within the network, and for indices that are
        out of range.
        """
        return self._recorded.run(self._checked(inputs))

    def close(self) -> None:
        """Give back every program. Idempotent."""
        self._recorded.close()

    # inside -----------------------------------------------------------------------------------------------------

    def _checked(self, inputs: Mapping[str, Any]) -> dict[str, Feed]:
        return checked(self.source, self._entries, inputs, self.dims)

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

"""`Node`: one operator of the graph as a lowering sees it: its inputs, attributes, and what its outputs are to be."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto

from ..errors import InputError
from ..gpu import gpu
from ..ops import Expression
from ..tensor import DType, Tensor, broadcast_shapes
from ..tensor.transfer import FEATURES
from .graph import domain_of
from .registry import WIDE_LOWERINGS, Lowering, Result
from .tail import Tail
from .values import INTEGERS, STORAGE, WIDE, WORD, Value, is_beyond_32_bits, is_stored, type_name

if TYPE_CHECKING:
    from .trace import Trace


class Refused(Exception):
    """Why a node cannot be run. Collected over the whole graph, and then raised as `UnsupportedOp`."""


class Wide(Refused):
    """64-bit integers may not fit 32 bits: the operator is lowered to pairs of words, or refused where it cannot be."""


class DataDependent(Exception):
    """A shape depends on the numbers of some inputs of the graph; they must be known before it is lowered."""

    def __init__(self, sources: frozenset[str], reason: str):
        self.sources, self.reason = sources, reason
        super().__init__(reason)


def storage_of(elem: int) -> DType:
    """How an element type is stored on the GPU. Raises `Refused` if it cannot."""
    if elem == TensorProto.DOUBLE and not is_stored(elem):
        lacking = f"the feature {FEATURES[STORAGE[elem]]}, which {gpu().adapter} lacks"
        raise Refused(f"double needs {lacking}; float64_as_f32 (--float64-as-f32) makes it float")
    if elem not in STORAGE:
        raise Refused(f"{type_name(elem)} does not exist on the GPU")
    return STORAGE[elem]


class Node:
    """An operator with its inputs; `None` stands for an optional input that was left out."""

    def __init__(
        self,
        proto: onnx.NodeProto,
        inputs: Sequence[Value | None],
        version: int,
        trace: Trace,
        scope: MutableMapping[str, Value | None],
        deferred: bool = False,
        tail: Tail = Tail(),  # noqa: B008  it is never changed
    ):
        """`scope` is what graphs within the node see of its surroundings.

        `deferred`: the one node that needs the output is elementwise, and can compute it within its own kernel. `tail`
        is what this node's kernel may do besides; a lowering that does so calls `take_tail`.
        """
        self.scope, self.tail = scope, tail
        self.fused: tuple[onnx.NodeProto, ...] = ()
        self.deferred = deferred
        self.proto = proto
        self.inputs = tuple(inputs)  # for lowerings to count and to bound; those that use them all call `values`
        self.version = version
        self.trace = trace
        self.op = proto.op_type
        self.domain = domain_of(proto)
        self._attributes = {entry.name: entry for entry in proto.attribute}
        self._used: set[str | int] = set()  # names of attributes and indices of inputs that the lowering asked for

    def __str__(self) -> str:
        name = self.proto.name or next((f"→ {output}" for output in self.proto.output if output), "without outputs")
        types = ", ".join(type_name(value.elem) for value in self.inputs if value is not None)
        domain = f"{self.domain}." if self.domain else ""
        return f"{domain}{self.op} ({name!r}, opset {self.version}, {types or 'no inputs'})"

    def __len__(self) -> int:
        return len(self.inputs)

    # inputs -----------------------------------------------------------------------------------------------------

    def has(self, index: int) -> bool:
        """Whether an optional input is there."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def value(self, index: int) -> Value:
        """An input. Raises `InputError` if it is missing."""
        if not self.has(index):
            raise InputError(f"{self}: input {index} is missing")
        value = self.inputs[index]
        assert value is not None
        self._used.add(index)
        return value

    def values(self) -> list[Value | None]:
        """All inputs, None for those that were left out."""
        self._used.update(range(len(self.inputs)))
        return list(self.inputs)

    def tensor(self, index: int) -> Tensor:
        """An input as a tensor on the GPU. Raises `Refused` if its type cannot be stored there."""
        return self.trace.on_gpu(self.value(index))

    def optional(self, index: int) -> Tensor | None:
        """As `tensor`; None if it was left out."""
        return self.tensor(index) if self.has(index) else None

    def tensors(self) -> list[Tensor]:
        """All inputs on the GPU."""
        return [self.tensor(index) for index in range(len(self.inputs))]

    def operand(self, index: int) -> Tensor:
        """An input of an elementwise node: as `tensor`, or as an expression, which functions of `ops` take alike.

        What would be recomputed for several elements of the result is computed before.
        """
        value = self.value(index)
        if value.expression is not None and value.shape == broadcast_shapes(*(v.shape for v in self.inputs if v)):
            return value.expression  # type: ignore[return-value]
        tensor = self.tensor(index)
        return Expression.of(tensor) if self.deferred else tensor  # type: ignore[return-value]

    def operands(self) -> list[Tensor]:
        """All inputs of an elementwise node."""
        return [self.operand(index) for index in range(len(self.inputs))]

    def host(self, index: int) -> np.ndarray:
        """An input's numbers, now; read back if only the GPU has them. Raises `DataDependent` if they cannot be."""
        return self.trace.known(self, self.value(index), f"its input {index}")

    def read(self, tensor: Tensor, elem: int, what: str) -> np.ndarray:
        """The numbers of a tensor that this node made and that decide a shape. Raises as `host`."""
        return self.trace.known(self, Value(elem, tensor=tensor, sources=self.sources), what)

    def ints(self, index: int) -> list[int]:
        """As `host`, of integers."""
        return [int(number) for number in self.host(index).reshape(-1)]

    def scalar(self, index: int, default: float) -> float:
        """As `host`, of one number; `default` if the input was left out."""
        return self.host(index).reshape(-1)[0].item() if self.has(index) else default

    def elem(self, index: int = 0) -> int:
        """The element type of an input, as ONNX has it."""
        return self.value(index).elem

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """The sizes of an input."""
        return self.value(index).shape

    def shape_of(self, index: int) -> tuple[int, ...]:
        """As `shape`, for a check: the lowering still has to use it. Empty for an input that is missing or a list."""
        value = self.inputs[index] if self.has(index) else None
        return () if value is None or value.items is not None or value.absent else value.shape

    def with_inputs(self, inputs: Mapping[int, Value]) -> Node:
        """Give this node other inputs, by their indices; its results are not put into another node's kernel."""
        other = copy(self)
        other.inputs = tuple(inputs.get(index, value) for index, value in enumerate(self.inputs))
        other.deferred = False
        return other

    def upload(self, array: np.ndarray) -> Tensor:
        """A constant of the plan."""
        return self.trace.upload(array)

    def take_tail(self, tail: Tail) -> None:
        """The result is that of the last node of `tail`, which need not be lowered any more."""
        self.fused = tail.nodes

    # attributes -------------------------------------------------------------------------------------------------

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute as a Python value: text decoded, lists as lists, tensors and graphs as they are in the file."""
        self._used.add(name)
        return self.peek(name, default)

    def peek(self, name: str, default: Any = None) -> Any:
        """As `attribute`, for a check: the lowering still has to use it."""
        entry = self._attributes.get(name)
        return default if entry is None else _python_value(entry)

    def attribute_or_default(self, name: str) -> Any:
        """As `attribute`; the value that ONNX gives it if it is left out, None if there is none."""
        default = None if name in self._attributes else self._default(name)
        return self.attribute(name, None if default is None else _python_value(default))

    def axes(self, index: int = 1, name: str = "axes") -> list[int] | None:
        """Axes given as an attribute, as older opsets have it, or as an input; None if they are not given."""
        axes = self.attribute(name)
        if axes is not None:
            return [axes] if isinstance(axes, int) else axes
        return self.ints(index) if self.has(index) else None

    def axis(self, default: int, rank: int | None = None) -> int:
        """The attribute `axis`, counted from 0. Raises `InputError` if the tensor has no such axis."""
        rank = len(self.shape()) if rank is None else rank
        axis = self.attribute("axis", default)
        if not -rank <= axis < max(rank, 1):
            raise InputError(f"{self}: axis {axis} of a tensor with {rank} axes")
        return axis % max(rank, 1)

    def ignore(self, *names: str | int) -> None:
        """Declare attributes, and inputs by index, that cannot change the outputs of this node."""
        self._used.update(names)

    def require_size(self, name: str, actual: Any) -> None:
        """Raise `InputError` if an attribute that repeats a size of the weights contradicts them."""
        declared = self.attribute(name, actual)
        if declared != actual:
            raise InputError(f"{self}: {name} is {declared}, but the weights are made for {actual}")

    def require_all_used(self, results: Sequence[Result]) -> None:
        """Raise `Refused` if the lowering did not use everything the node specifies, or lacks an output that it has.

        An attribute that has its default value may be passed over.
        """
        unread = [name for name in self._attributes if name not in self._used and not self._is_default(name)]
        if unread:
            written = ", ".join(str(onnx.helper.printable_attribute(self._attributes[name])) for name in unread)
            raise Refused(f"unsupported attribute {written}")
        unread_inputs = [index for index in range(len(self.inputs)) if self.has(index) and index not in self._used]
        if unread_inputs:
            raise Refused(f"unsupported input {', '.join(map(str, unread_inputs))}")
        has_result = [result is not None for result in results] + [False] * len(self.proto.output)
        missing = [index for index in range(len(self.proto.output)) if self.is_used(index) and not has_result[index]]
        if missing:
            raise Refused(f"unsupported output {', '.join(map(str, missing))}")

    def _is_default(self, name: str) -> bool:
        default = self._default(name)
        return default is not None and _python_value(default) == _python_value(self._attributes[name])

    def _default(self, name: str) -> onnx.AttributeProto | None:
        try:
            declared = onnx.defs.get_schema(self.op, self.version, self.domain).attributes.get(name)
        except onnx.defs.SchemaError:
            return None
        return declared.default_value if declared is not None and declared.default_value.name else None

    # outputs ----------------------------------------------------------------------------------------------------

    def output_elem(self, index: int) -> int | None:
        """The element type that an output is declared to have, if that is known."""
        name = self.proto.output[index] if index < len(self.proto.output) else ""
        return self.trace.elems.get(name)

    def is_used(self, index: int) -> bool:
        """Whether anybody asked for an output."""
        return index < len(self.proto.output) and bool(self.proto.output[index])

    def result(self, tensor: Tensor, elem: int | None = None, bound: int | None = None) -> Value:
        """A value that this node made; by default of the type that its first input has."""
        elem = self.elem() if elem is None else elem
        field = {"expression": tensor} if isinstance(tensor, Expression) else {"tensor": tensor}
        return Value(elem, **field, sources=self.sources, bound=WORD if bound is None else bound)  # type: ignore[arg-type]

    @property
    def sources(self) -> frozenset[str]:
        """Inputs of the graph that this node's outputs depend on."""
        return frozenset().union(*(value.sources for value in self.inputs if value is not None))

    def bounds(self, *indices: int) -> list[int]:
        """What inputs cannot pass; inputs of the graph that 64-bit integers come from are then held to it."""
        values = [self.value(index) for index in indices]
        if any(value.elem in WIDE for value in values):
            self.trace.range_checked |= frozenset().union(*(value.sources for value in values))
        return [value.bound for value in values]

    def require_32_bits(self, array: np.ndarray, elem: int) -> None:
        """Raise `Wide` if constants do not fit the 32 bits in which they are stored."""
        if is_beyond_32_bits(array, elem):
            raise Wide("64-bit integers that do not fit 32 bits")

    def require_word(self, bound: int) -> int:
        """`bound`, if 64-bit integers up to it fit 32 bits. Raises `Wide` beyond."""
        if self.elem() in WIDE and bound > WORD:
            raise Wide("64-bit integers whose result could pass the 32 bits that the GPU has")
        return min(bound, WORD) if self.elem() in INTEGERS else WORD


def lowered(node: Node, lowering: Lowering) -> Result | Sequence[Result]:
    """What `lowering` gives, or that for 64-bit integers where they may not fit 32 bits."""
    try:
        return lowering(node)
    except Wide:
        wide = None if node.domain else WIDE_LOWERINGS.get(node.op)
        if wide is None:
            raise
        return wide(node)


def _python_value(attribute: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value

"""`Part`: a few nodes of a recorded network once more, for a tensor that the kernel of another node computes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import onnx

from ..closing import Closing
from ..errors import UnsupportedOp
from ..gpu.compiling import compile_kernels
from .graph import domain_of
from .inspected import Inspected
from .node import DataDependent
from .registry import ELEMENTWISE
from .stages import Stages
from .tail import ACTIVATIONS, HEADS
from .trace import Trace, declared
from .values import Value

MOST_NODES = 32
OPERATORS = frozenset((*HEADS, *ACTIVATIONS, "BatchNormalization", "Constant"))  # besides elementwise ones


def nodes_between(graph: onnx.GraphProto, held: Collection[str], name: str) -> list[onnx.NodeProto]:
    """The nodes that compute a tensor from those that are `held` and constants.

    Empty if they are more than `MOST_NODES`, begin at inputs of the network, or are others than what one kernel joins.
    """
    makers = {output: number for number, node in enumerate(graph.node) for output in node.output}
    known = {*held, *(tensor.name for tensor in graph.initializer)}
    found, needed = set[int](), [name]
    while needed:
        number = makers.get(needed.pop())
        if number is None or not _can_be_part(graph.node[number]) or len(found) == MOST_NODES:
            return []
        if number not in found:
            found.add(number)
            needed += [other for other in graph.node[number].input if other and other not in known]
    return [graph.node[number] for number in sorted(found)]


class Part(Closing):
    """`nodes` over tensors that the network of `trace` holds: `value` is what they compute under a name.

    Raises what recording the network does.
    """

    def __init__(
        self,
        trace: Trace,
        graph: onnx.GraphProto,
        nodes: Sequence[onnx.NodeProto],
        held: Mapping[str, Value],
        name: str,
    ):
        used = {other for node in nodes for other in node.input}
        part, inputs = onnx.GraphProto(), sorted(used & held.keys())
        part.node.extend(nodes)
        part.initializer.extend(tensor for tensor in graph.initializer if tensor.name in used)
        part.output.add(name=name)
        for other in inputs:
            part.input.add(name=other)
        self._stages = Stages(trace.stages.name, None)
        inspected = Inspected(unit_axes=trace.inspected.unit_axes)
        own = Trace(trace.source, trace.versions, self._stages, trace.folder, inspected=inspected)
        own.elems = declared(graph)
        try:
            with self._stages.recording():
                (value,) = own.graph(part, [held[other] for other in inputs], {})
            if own.refused or value is None or value.tensor is None:
                raise UnsupportedOp(trace.source, own.refused or [f"{name!r} is no tensor on the GPU"])
            compile_kernels(self._stages.plans)
        except BaseException as error:
            self._stages.close()
            if isinstance(error, DataDependent):
                raise UnsupportedOp(trace.source, [error.reason]) from None
            raise
        finally:
            for tensor in [*own.constants, *(end for guard in own.guards for end in guard.ends)]:
                tensor.close()  # the plan holds what it uses
        self._tensor = value.tensor.detach()
        self.value = replace(value, tensor=self._tensor)

    def update(self) -> None:
        """Run the nodes, as far as that could change anything."""
        self._stages.update()

    def close(self) -> None:
        """Give the plan and the tensor back. Idempotent."""
        self._stages.close()
        self._tensor.close()


def _can_be_part(node: onnx.NodeProto) -> bool:
    return not domain_of(node) and (node.op_type in OPERATORS or node.op_type in ELEMENTWISE)

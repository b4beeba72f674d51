"""`Program`: a network recorded as one plan, for inputs of certain shapes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx.helper import tensor_dtype_to_np_dtype

from ..errors import Beyond32Bits, InputError, Redecided, VertigradError
from ..gpu import Plan, gpu
from ..indexed import indexed
from ..ops.mask import Mask
from ..ops.words import split
from ..tensor import Tensor, f16, f32
from ..tensor.doubles import on_gpu
from .inspected import Element
from .part import Part, nodes_between
from .stages import Decision
from .trace import Trace
from .values import INPUT_BOUND, WIDE, Value, from_storage, is_stored, to_storage


class NodeTime(NamedTuple):
    """How long the kernels of one node took on the GPU."""

    node: str
    dispatches: int
    ms: float


class Program:
    """A network recorded for certain shapes. `inputs` and `outputs` are its tensors, by the names in the graph.

    Integers of 8, 16 and 64 bits are stored in 32 bits there. Inputs of 64 bits that do not fit are their lower words,
    and the upper ones: u32 of shape (2, ...); such outputs, and those that no input changes, are not tensors: `read`
    gives them too. Close it.
    """

    def __init__(
        self,
        trace: Trace,
        graph: onnx.GraphProto,
        inputs: Mapping[str, Tensor],
        values: Mapping[str, Value],
        elems: Mapping[str, int],
    ):
        self.source, self._stages = trace.source, trace.stages
        self._trace, self._graph = trace, graph
        self._parts: list[Part] = []
        self.inputs = dict(inputs)
        self._values, self._elems = dict(values), elems
        self._wide = trace.wide
        self._range_checked, self._nodes, self._guards = trace.range_checked, trace.nodes, trace.guards
        self._inspected, self._sequences = trace.inspected, trace.sequences
        self.leaf = trace.leaf_tensor  # the tensor at which gradients end
        self.closed = False

    @property
    def plan(self) -> Plan:
        """The plan, the first one if shapes are decided on the GPU."""
        return self._stages.plans[0]

    @property
    def decisions(self) -> Sequence[Decision]:
        """What is read back at each replay since shapes depend on it; empty for most networks."""
        return self._stages.decisions

    @property
    def masks(self) -> Mapping[str, Mask]:
        """The tensors of which units can be set to zero, by name; see `Network.show_inside`."""
        return self._stages.masks

    @property
    def held(self) -> Mapping[str, Tensor]:
        """Tensors inside, by name, that have memory of their own since there was room; see `Network.bind`."""
        return self._inspected.held.tensors

    @property
    def part_count(self) -> int:
        """How many tensors `hold` has added."""
        return len(self._parts)

    def hold(self, name: str) -> bool:
        """Compute one more tensor inside, from those in `held`, if a few nodes do; returns whether it is in `held` now.

        It is for what the kernel of another node computes.
        """
        held = self._inspected.held
        nodes = nodes_between(self._graph, held.values, name)
        with suppress(VertigradError):  # which recording the network with that tensor raises, too
            part = Part(self._trace, self._graph, nodes, held.values, name) if nodes else None
            if part is not None and held.add(name, part.value):
                self._parts.append(part)
                part.update()
            elif part is not None:
                part.close()
        return name in held.values

    @property
    def sequences(self) -> Mapping[str, Sequence[Element]]:
        """The elements of the sequences inside, in loops of the last turn."""
        return self._sequences

    def unit_axis(self, name: str) -> int | None:
        """The axis of the units of a tensor of `held` or `masks`; None for others, and for those not of floats."""
        if name in self.masks:
            return self.masks[name].axis
        tensor, axes = self.held.get(name), self._inspected.unit_axes
        if tensor is None or tensor.dtype not in (f16, f32) or axes is None or name not in axes:
            return None
        return axes.of(name, tensor.shape)

    def tensor(self, name: str) -> Tensor:
        """An output, or one of `held`, as a tensor; an output that nothing changes is uploaded now.

        Raises `InputError` for a sequence.
        """
        if name in self.held and name not in self._values:
            return self.held[name]
        value = self._values[name]
        if value.items is not None:
            choice = f"name one of its {len(value.items):,} tensors, such as {indexed(name, 0)!r}"
            raise InputError(f"{self.source}: {name!r} is a sequence; {choice if value.items else 'it is empty'}")
        if value.tensor is None:
            if value.host is None or not is_stored(value.elem):
                why = ": 64-bit integers that may not fit 32 bits; cast them" if value.words is not None else ""
                raise InputError(f"{self.source}: output {name!r} is no tensor on the GPU{why}")
            value.tensor = on_gpu(to_storage(value.host, value.elem, f"output {name!r}"), name)
        return value.tensor

    @property
    def outputs(self) -> dict[str, Tensor]:
        """The outputs that are on the GPU."""
        return {name: value.tensor for name, value in self._values.items() if value.tensor is not None}

    def set(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Upload inputs. Raises `Beyond32Bits` for numbers that do not fit 32 bits, where the program has no more."""
        upload(self.source, self.inputs, arrays, self._elems, self._wide, self._range_checked)

    def replay(self) -> None:
        """Record the whole network into the open submission.

        Where shapes are decided by numbers of the GPU it waits for them, and raises `Redecided` if they are others than
        those that the program was recorded for.
        """
        self._require_same(self._stages.replay())
        self._update_parts()

    def update(self) -> None:
        """As `replay`, but record only what could change: nothing while inputs, weights and masks are the same."""
        self._require_same(self._stages.update())
        self._update_parts()

    def read(self) -> dict[str, Any]:
        """The outputs as arrays, in the types that the graph declares; waits for the GPU.

        Raises `Beyond32Bits` if a number exceeded 32 bits, so that the outputs differ from those of ONNX. A program of
        `Network.program` raises `InputError` if an index is out of range.
        """
        for guard in self._guards:
            guard.require_within(self.source)
        return {name: _read(value) for name, value in self._values.items()}

    def profile(self) -> list[NodeTime] | None:
        """Run once more with every kernel timed by itself; None where the adapter has no timestamps. Waits."""
        device = gpu()
        timer = device.timer
        if not timer.available:
            return None
        device.sync()
        before, timer.enabled, timer.each_kernel = (timer.enabled, timer.each_kernel), True, True
        try:
            self._stages.replay_as_recorded()
            device.sync()
        finally:
            timer.enabled, timer.each_kernel = before
        spans = [span for span in timer.submissions[-1].spans if span.group == self.plan.name]
        taken: dict[str, NodeTime] = {}
        for node, span in zip(self._nodes, spans, strict=False):
            known = taken.get(node, NodeTime(node, 0, 0.0))
            taken[node] = NodeTime(node, known.dispatches + 1, known.ms + span.ms)
        return list(taken.values())

    def wait(self) -> None:
        """Until the GPU has finished what was recorded."""
        gpu().sync()

    def close(self) -> None:
        """Give back every tensor. Idempotent."""
        self.closed = True
        for part in self._parts:
            part.close()
        self._stages.close()
        self._inspected.held.close()
        wide = (word for value in self._values.values() if value.words is not None for word in value.words)
        ends = (end for guard in self._guards for end in guard.ends)
        for tensor in [*self.inputs.values(), *self.outputs.values(), *wide, *ends]:
            tensor.close()

    def _update_parts(self) -> None:
        for part in self._parts:
            part.update()

    def _require_same(self, changed: Decision | None) -> None:
        if changed is not None:
            raise Redecided(
                f"{self.source}: {changed.node}: its shape depends on numbers that these inputs change; record the "
                "network again, as Network.run does"
            )


def upload(
    source: str,
    tensors: Mapping[str, Tensor],
    arrays: Mapping[str, np.ndarray],
    elems: Mapping[str, int],
    wide: Collection[str] = (),
    range_checked: Collection[str] = (),
) -> None:
    """Fill inputs with arrays, as far as there are any; those that are `wide` with the words of 64-bit integers.

    Raises `Beyond32Bits` for numbers of others that do not fit 32 bits, or pass what they are checked for.
    """
    for name, tensor in tensors.items():
        if name not in arrays:
            continue
        what, array, inputs = f"{source}: input {name!r}", arrays[name], frozenset((name,))
        if name in wide:
            tensor[...] = split(array)
            continue
        if name in range_checked and elems[name] in WIDE and array.size and np.abs(array).max() > INPUT_BOUND:
            found = f"holds {np.abs(array).max()}; the network calculates with it in 32 bits"
            raise Beyond32Bits(f"{what} {found}, for which it may be ±{INPUT_BOUND:,}", inputs)
        with on_gpu(to_storage(array, elems[name], what, inputs)) as uploaded:
            tensor[...] = uploaded


def _read(value: Value) -> Any:
    if value.items is not None:
        return [_read(item) for item in value.items]
    if value.absent:
        return None
    if value.host is not None:
        return value.host
    if value.words is not None:
        return value.words.numpy(tensor_dtype_to_np_dtype(value.elem))
    assert value.tensor is not None
    return from_storage(value.tensor.numpy(), value.elem)

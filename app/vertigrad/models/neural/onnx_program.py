"""`RunningNetwork`: a network's program over a model's tensors, recorded again to observe others inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ... import ops
from ...errors import InputError
from ...gpu import Plan, Traffic
from ...tensor import Tensor
from ..element_gradient import ElementGradients
from ..inside import Differentiable, GradientName, Graph, InnerTensor, Inside, Observed, Source, resolved
from .onnx_gradient import InputGradient
from .onnx_graph import KNOWN, NODES, WIRES, NetworkGraph

if TYPE_CHECKING:
    from ...onnx_import import Network, Program
    from ...onnx_import.probe import Probe

FLOATS = ("float", "float16", None)  # types of tensors that there are gradients by; None: not known beforehand


class NotFinite(Source):
    """One run of a network, with the inputs of now, in which statistics of all tensors are taken."""

    def __init__(self, network: Network, inputs: Mapping[str, Tensor], constants: Mapping[str, np.ndarray]):
        from ...onnx_import.probe import Probe

        self._network = network
        with ExitStack() as parts:
            self._probe = parts.enter_context(Probe(len(network.tensors) + len(inputs)))
            for name, tensor in inputs.items():
                self._probe.add(name, "an input of the network", tensor)
            program = network.bind(inputs, constants, self._probe)
            parts.callback(program.close)
            program.replay()
            self._reading = self._probe.records.read_async(Traffic.DIAGNOSTICS)
            self._parts = parts.pop_all()

    @property
    def done(self) -> bool:
        return self._reading.done

    def result(self) -> tuple[str, str] | None:
        from ...onnx_import.probe import first_not_finite, not_finite_constant

        probe, network = self._probe, self._network
        found = first_not_finite(probe.tensors, probe.summaries(self._reading.result()))
        if found is None:
            return None
        constant = not_finite_constant(found.name, probe, network.sources, network.holds_not_finite)
        return constant or (found.name, found.operator)

    def close(self) -> None:
        self._parts.close()


class RunningNetwork(Inside):
    """The recorded network. `outputs` are its declared outputs, which stay the same tensors; close it.

    `fed` are feedbacks: inputs with the outputs that `carry` copies to them. Raises as `Network.bind`.
    """

    def __init__(
        self,
        network: Network,
        declared: Mapping[str, str],
        inputs: Mapping[str, Tensor],
        constants: Mapping[str, np.ndarray],
        fed: Mapping[str, str],
        observed: Observed,
    ):
        self._network, self._declared, self._inputs, self._constants, self._fed = (
            network,
            dict(declared),
            dict(inputs),
            dict(constants),
            dict(fed),
        )
        self._known: Mapping[str, InnerTensor] | None = None
        self._parts = ExitStack()  # of the program
        self._held = ExitStack()  # the outputs
        self.outputs: dict[str, Tensor] = {}
        self._tensors: dict[str, Tensor] = {}
        self._observed = Observed()
        self._gradients, self._gradients_ablated = self._element_gradients({}), {}
        self._record(observed)

    def known(self) -> Mapping[str, InnerTensor]:
        if self._known is None:
            self._known = inner_tensors(self._network)
        return self._known

    def observe(self, observed: Observed) -> None:
        observed = self._resolved(observed)
        if observed == self._observed:
            return
        same = _without_gradients(observed.tensors) == _without_gradients(self._observed.tensors)
        if same and observed.ablated.keys() <= self._program.masks.keys():
            before = self._observed.ablated
            try:
                self._set_masks(observed.ablated)
                self._take_gradients(observed)
            except InputError:
                self._set_masks(before)
                raise
            self._gradients.update()
        else:
            self._record(observed)
            self.update()
        self._observed = observed

    def tensors(self) -> Mapping[str, Tensor]:
        return self._tensors | self._gradients.results()

    def unit_axis(self, name: str) -> int | None:
        mask = self._program.masks.get(name)
        return mask.axis if mask is not None else None

    def differentiable(self) -> Differentiable:
        inputs = [name for name, tensor in self._inputs.items() if tensor.dtype.kind == "float"]
        found = [name for name, one in self._network.tensors.items() if one.dtype in FLOATS]
        return Differentiable(found, (*inputs, *found, *self._network.weights), inputs)

    @property
    def graph(self) -> Graph | None:
        return self._graph

    def find_not_finite(self) -> Source:
        return NotFinite(self._network, self._inputs, self._constants)

    def carry(self) -> None:
        """Copy outputs to the inputs that they are fed back to."""
        if len(self._carry):
            self._carry.update()

    def update(self) -> None:
        """Run the network once, as far as that could change anything."""
        self._program.update()
        if len(self._keep):
            self._keep.update()
        self._gradients.update()
        if self._graph is not None:
            self._graph.update()

    def close(self) -> None:
        """Give everything back. Idempotent."""
        self._gradients.close()
        self._parts.close()
        self._held.close()

    # inside -----------------------------------------------------------------------------------------------------

    def _resolved(self, observed: Observed) -> Observed:
        known = self.known() if observed else {}
        tensors = tuple(dict.fromkeys(resolved(name, known) for name in observed.tensors))
        return Observed(tensors, {resolved(name, known): units for name, units in observed.ablated.items() if units})

    def _record(self, observed: Observed) -> None:
        """Record the network with these tensors as outputs, too; the program before is closed only then."""
        observed, before = self._resolved(observed), self._observed
        parts = ExitStack()
        try:
            probe = self._probe(observed, parts)
            program = self._bound(observed, probe)
            parts.callback(program.close)
            graph = None if probe is None else parts.enter_context(NetworkGraph(probe, self._network.sources))
            carry, keep = parts.enter_context(Plan("carry")), parts.enter_context(Plan("outputs"))
            self._record_carry(carry, program)
            outputs = self._record_outputs(keep, program)
            tensors = {name: program.tensor(name) for name in self._computed(observed.tensors)}
            if graph is not None:
                tensors |= {NODES: graph.rows, WIRES: graph.wires}
            for name in self._network.weights.keys() & {*observed.tensors}:
                tensors[name] = parts.enter_context(Tensor.from_numpy(self._network.weight(name), name))
            self._set_masks(observed.ablated, program)
            self._take_gradients(observed)
        except BaseException:
            parts.close()
            self._show(before)
            raise
        self._parts.close()
        self._parts, self._program, self._carry, self._keep, self._graph = parts, program, carry, keep, graph
        self.outputs, self._tensors, self._observed = outputs, tensors, observed

    def _probe(self, observed: Observed, parts: ExitStack) -> Probe | None:
        """Statistics of all tensors, if the graph is observed."""
        if not KNOWN.keys() & {*observed.tensors}:
            return None
        from ...onnx_import.probe import Probe

        return parts.enter_context(Probe(len(self._network.tensors)))

    def _bound(self, observed: Observed, probe: Probe | None) -> Program:
        self._show(observed)
        return self._network.bind(self._inputs, self._constants, probe)

    def _show(self, observed: Observed) -> None:
        """What is drawn can be ablated, so that a click records nothing."""
        masked = (*self._computed(observed.tensors), *observed.ablated)
        self._network.show_inside((*self._declared.values(), *masked), masked)

    def _take_gradients(self, observed: Observed) -> None:
        names = [found for name in observed.tensors if (found := GradientName.of(name)) is not None]
        try:
            if observed.ablated == self._gradients_ablated:
                self._gradients.take(names)
            else:
                with ExitStack() as dropped:
                    gradients = dropped.enter_context(self._element_gradients(observed.ablated))
                    gradients.take(names)
                    dropped.pop_all()
                self._gradients.close()
                self._gradients, self._gradients_ablated = gradients, observed.ablated
        finally:
            self._show(observed)

    def _element_gradients(self, ablated: Mapping[str, Sequence[int]]) -> ElementGradients:
        return ElementGradients(partial(InputGradient, self._network, self._inputs, self._constants, ablated))

    def _computed(self, names: Sequence[str]) -> list[str]:
        """Those that nodes compute: neither gradients nor weights."""
        others = {*self._network.weights, *KNOWN} if names else {}
        return [name for name in _without_gradients(names) if name not in others]

    def _set_masks(self, ablated: Mapping[str, Sequence[int]], program: Program | None = None) -> None:
        masks = (program or self._program).masks
        for name in ablated.keys() - masks.keys():
            raise InputError(f"{name}: its units cannot be set to zero; only tensors of floats outside of loops can")
        for name, mask in masks.items():
            mask.set(ablated.get(name, ()))

    def _record_carry(self, plan: Plan, program: Program) -> None:
        with plan.recording():
            for name, output in self._fed.items():
                source, target = program.tensor(output), self._inputs[name]
                if source.shape != target.shape:
                    raise InputError(
                        f"output {output} {source.shape} cannot be fed back to input {name} {target.shape}"
                    )
                ops.assign(target, source)

    def _record_outputs(self, plan: Plan, program: Program) -> dict[str, Tensor]:
        """The declared outputs: those of the first program, into which later ones are copied."""
        if not self.outputs:
            found = {ours: _without_batch(program.tensor(theirs)) for ours, theirs in self._declared.items()}
            for tensor in found.values():
                self._held.enter_context(tensor)
            return found
        with plan.recording():
            for ours, tensor in self.outputs.items():
                ops.assign(tensor, program.tensor(self._declared[ours]).reshape(*tensor.shape))
        return self.outputs


def inner_tensors(network: Network) -> dict[str, InnerTensor]:
    """The layout of a network's graph, what its nodes compute, those of branches and loops, too, and its weights."""
    found = network.tensors | network.nested_tensors | network.weights
    return KNOWN | {name: InnerTensor(*one) for name, one in found.items()}


def _without_gradients(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if GradientName.of(name) is None)


def without_batch(shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Leading axes of 1 taken away, as long as one is left."""
    while len(shape) > 1 and shape[0] == 1:
        shape = shape[1:]
    return shape


def _without_batch(tensor: Tensor) -> Tensor:
    return tensor.reshape(*without_batch(tensor.shape))  # type: ignore[arg-type]

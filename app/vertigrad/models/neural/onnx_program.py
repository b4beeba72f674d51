"""`RunningNetwork`: a network's program over a model's tensors, recorded again to observe others inside."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ... import ops
from ...errors import InputError, OutOfMemory, Redecided, VertigradError
from ...gpu import Plan
from ...tensor import Tensor, f64
from ..element_gradient import ElementGradients
from ..inside import Differentiable, GradientName, Graph, InnerTensor, Inside, Observed, Source, resolved
from .onnx_gradient import InputGradient
from .onnx_graph import KNOWN, NODES, WIRES, NetworkGraph, inner_tensors, with_elements
from .onnx_not_finite import NotFinite
from .onnx_outputs import DeclaredOutputs

if TYPE_CHECKING:
    from ...onnx_import import Network, Program
    from ...onnx_import.probe import Probe

HELD = 128 << 20  # bytes of tensors that are computed anyway: to observe them, nothing is recorded
SPARE = 8  # tensors that the program may compute, besides as many as are observed, until it is recorded without them
FLOATS = ("float", "float16", None)  # types of tensors that there are gradients by; None: not known beforehand


class RunningNetwork(Inside):
    """The recorded network. `outputs` are its declared outputs, which stay the same tensors; close it.

    `fed` are feedbacks: inputs with the outputs that `carry` copies to them. Raises as `Network.bind`. It is recorded
    again for tensors that have no memory of their own, and without those that are not observed any more once they are
    many, or all; and if shapes depend on numbers that have changed. `readbacks` are these numbers, by what needs them.
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
        self._in_file = inner_tensors(network)
        self._known: Mapping[str, InnerTensor] | None = None
        self._parts = ExitStack()  # of the program
        self._outputs = DeclaredOutputs(network, declared)
        self._tensors: dict[str, Tensor] = {}
        self._weights: dict[str, Tensor] = {}  # those that are observed
        self._observed = Observed()
        self._shown: tuple[str, ...] = ()  # what the program gives of the inside besides `Program.held`
        self._expected: Collection[str] = ()
        self._gradients, self._gradients_ablated = self._element_gradients({}), {}
        self._record(observed)

    def known(self) -> Mapping[str, InnerTensor]:
        if self._known is None:
            self._known = with_elements(self._in_file, self._program.sequences)
        return self._known

    def observe(self, observed: Observed) -> None:
        observed = self._resolved(observed)
        if observed == self._observed:
            return
        if self._fits(observed):
            before = self._observed.ablated
            try:
                tensors = self._taken(observed, self._program, self._graph)
                self._set_masks(observed.ablated)
                self._take_gradients(observed)
            except VertigradError:
                self._set_masks(before)
                raise
            self._show_tensors(tensors)
            self._gradients.update()
        else:
            self._record_expecting(observed)
            self.update()
        self._observed = observed
        self._forget_weights(observed.tensors)

    def is_recorded(self, observed: Observed) -> bool:
        try:
            observed = self._resolved(observed)
        except InputError:
            return False
        gradients_stay = observed.ablated == self._gradients_ablated or not self._gradients.results()
        return gradients_stay and self._fits(observed)

    def expect(self, tensors: Collection[str]) -> None:
        self._expected = tensors

    def tensors(self) -> Mapping[str, Tensor]:
        return self._tensors | self._gradients.results()

    def unit_axis(self, name: str) -> int | None:
        return self._program.unit_axis(name)

    def differentiable(self) -> Differentiable:
        inputs = [name for name, tensor in self._inputs.items() if tensor.dtype.kind == "float"]
        found = [name for name, one in self._network.tensors.items() if one.dtype in FLOATS]
        return Differentiable(found, (*inputs, *found, *self._network.weights), inputs)

    @property
    def graph(self) -> Graph | None:
        return self._graph

    def find_not_finite(self) -> Source:
        return NotFinite(self._network, self._inputs, self._constants)

    @property
    def outputs(self) -> dict[str, Tensor]:
        """The declared outputs."""
        return self._outputs.tensors

    @property
    def readbacks(self) -> tuple[str, ...]:
        """What is read back in each run since it decides a shape; empty for most networks."""
        counted = ((decision.numbers.size, decision.node) for decision in self._program.decisions)
        return tuple(f"{count:,} number{'s' * (count != 1)} for {node}" for count, node in counted)

    def carry(self) -> None:
        """Copy outputs to the inputs that they are fed back to."""
        if len(self._carry):
            self._carry.update()

    def update(self) -> None:
        """Run the network once, as far as that could change anything."""
        try:
            self._program.update()
        except Redecided:
            self._record(self._observed, redecided=True)
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
        self._show_tensors({})
        self._outputs.close()
        self._forget_weights(())

    # inside -----------------------------------------------------------------------------------------------------

    def _resolved(self, observed: Observed) -> Observed:
        known = self._in_file
        tensors = tuple(dict.fromkeys(resolved(name, known) for name in observed.tensors))
        return Observed(tensors, {resolved(name, known): units for name, units in observed.ablated.items() if units})

    def _fits(self, observed: Observed) -> bool:
        """Whether the program computes these tensors, or can from now on, and not many others."""
        needed, program = {*self._computed(observed.tensors), *observed.ablated}, self._program
        most = 2 * len(needed) + SPARE if needed else 0
        missing = needed - {*self._shown, *program.held}
        return (
            len(self._shown) + program.part_count + len(missing) <= most
            and observed.ablated.keys() <= program.masks.keys()
            and (self._graph is not None) == (not KNOWN.keys().isdisjoint(observed.tensors))
            and (not missing or (self._graph is None and all([program.hold(name) for name in missing])))
        )

    def _record_expecting(self, observed: Observed) -> None:
        """Record the network with what is expected, too, if that can be recorded."""
        expected, self._expected = self._network.tensors.keys() & {*self._expected}, ()
        if expected:
            with suppress(VertigradError):
                self._record(observed, sorted(expected))
                return
        self._record(observed)

    def _record(self, observed: Observed, expected: Iterable[str] = (), redecided: bool = False) -> None:
        """Record the network with these tensors as outputs, too; the program before is closed only then.

        What is observed can be ablated, so that a click records nothing. If shapes were `redecided`, it stays in the
        tensors in which it was; raises `InputError` for one whose own shape changes.
        """
        observed, before = self._resolved(observed), self._shown
        shown = tuple(dict.fromkeys((*self._computed(observed.tensors), *observed.ablated, *expected)))
        parts = ExitStack()
        try:
            probe = self._probe(observed, parts)
            program = self._bound(shown, probe, observed.ablated)
            parts.callback(program.close)
            graph = None if probe is None else parts.enter_context(NetworkGraph(probe, self._network.sources))
            carry, keep = parts.enter_context(Plan("carry")), parts.enter_context(Plan("outputs"))
            self._record_carry(carry, program)
            self._outputs.record(keep, program)
            self._set_masks(observed.ablated, program)
            tensors = self._taken(observed, program, graph)
            if redecided:
                self._record_observed(keep, tensors)
            self._shown = shown
            self._take_gradients(observed)
        except BaseException:
            parts.close()
            self._shown = before
            self._show(before)
            raise
        self._parts.close()
        self._parts, self._program, self._carry, self._keep, self._graph = parts, program, carry, keep, graph
        self._known = None
        self._observed = observed
        if not redecided:
            self._show_tensors(tensors)

    def _taken(self, observed: Observed, program: Program, graph: NetworkGraph | None) -> dict[str, Tensor]:
        """What is observed, without gradients; weights are uploaded."""
        for name in self._network.weights.keys() & {*observed.tensors} - self._weights.keys():
            self._weights[name] = Tensor.from_numpy(self._network.weight(name), name)
        found = {name: program.tensor(name) for name in self._computed(observed.tensors)}
        if doubles := [name for name, tensor in found.items() if tensor.dtype is f64]:
            raise InputError(f"{self._network.source}: {doubles[0]!r} is double; a scene shows f32: cast it to float")
        found |= {NODES: graph.rows, WIRES: graph.wires} if graph is not None else {}
        return found | {name: self._weights[name] for name in observed.tensors if name in self._weights}

    def _show_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Give views of these tensors from now on: they outlive a program that is recorded again in a step."""
        before = self._tensors
        stay = {name for name, tensor in tensors.items() if name in before and before[name].owner is tensor.owner}
        self._tensors = {name: before[name] if name in stay else tensor[...] for name, tensor in tensors.items()}
        for name in before.keys() - stay:
            before[name].close()

    def _forget_weights(self, names: Collection[str]) -> None:
        """Give the memory of all weights but these back."""
        for name in self._weights.keys() - {*names}:
            self._weights.pop(name).close()

    def _probe(self, observed: Observed, parts: ExitStack) -> Probe | None:
        """Statistics of all tensors, if the graph is observed."""
        if KNOWN.keys().isdisjoint(observed.tensors):
            return None
        from ...onnx_import.probe import Probe

        return parts.enter_context(Probe(len(self._network.tensors)))

    def _bound(self, shown: Sequence[str], probe: Probe | None, ablated: Mapping[str, Sequence[int]]) -> Program:
        self._show(shown)
        bind = partial(self._network.bind, self._inputs, self._constants, probe, can_read=True, ablated=ablated)
        if shown:
            with suppress(OutOfMemory):
                return bind(most_held=HELD)
        return bind()

    def _show(self, shown: Sequence[str]) -> None:
        self._network.show_inside((*self._declared.values(), *shown), shown)

    def _take_gradients(self, observed: Observed) -> None:
        names = [found for name in observed.tensors if (found := GradientName.of(name)) is not None]
        if observed.ablated == self._gradients_ablated:
            self._gradients.take(names)
        else:
            with ExitStack() as dropped:
                gradients = dropped.enter_context(self._element_gradients(observed.ablated))
                gradients.take(names)
                dropped.pop_all()
            self._gradients.close()
            self._gradients, self._gradients_ablated = gradients, observed.ablated

    def _element_gradients(self, ablated: Mapping[str, Sequence[int]]) -> ElementGradients:
        return ElementGradients(partial(InputGradient, self._network, self._inputs, self._constants, ablated))

    def _computed(self, names: Sequence[str]) -> list[str]:
        """Those that nodes compute: neither gradients nor weights."""
        others = {*self._network.weights, *KNOWN} if names else {}
        return [name for name in names if name not in others and GradientName.of(name) is None]

    def _set_masks(self, ablated: Mapping[str, Sequence[int]], program: Program | None = None) -> None:
        masks = (program or self._program).masks
        for name in ablated.keys() - masks.keys():
            raise InputError(f"{name}: its units cannot be set to zero; only tensors of floats outside of loops can")
        for name, mask in masks.items():
            mask.set(ablated.get(name, ()))

    def _record_observed(self, plan: Plan, tensors: Mapping[str, Tensor]) -> None:
        """What is observed is copied from these tensors to those that show it."""
        for name, shown in self._tensors.items():
            found = tensors[name]
            if found.shape != shown.shape:
                raise InputError(
                    f"{name} has the shape {found.shape} now, and {shown.shape} is drawn; hide it, or make it an "
                    "output of the scene, with a size for its dimension in dims"
                )
            if found.owner is not shown.owner:
                with plan.recording():
                    ops.assign(shown, found)

    def _record_carry(self, plan: Plan, program: Program) -> None:
        with plan.recording():
            for name, output in self._fed.items():
                source, target = program.tensor(output), self._inputs[name]
                if source.shape != target.shape:
                    raise InputError(
                        f"output {output} {source.shape} cannot be fed back to input {name} {target.shape}"
                    )
                ops.assign(target, source)

"""`TrainedInside`: what a trained network keeps, what its stages compute of the last batch, and gradients by that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from ...closing import Closing
from ...errors import InputError
from ...gpu import Plan
from ...tensor import Tensor, f32
from ...tensor.graph import no_grad
from ..element_gradient import ElementGradients
from ..inside import GRADIENTS, Differentiable, GradientName, HeldInside, InnerTensor, Observed, resolved
from .chain import Chain, StageGradient

if TYPE_CHECKING:
    from ..base import Model


class TrainedInside(HeldInside, Closing):
    """What a model keeps, what the stages of its network compute, and the gradients of the loss by that.

    Both are of the batch of the last training step, with the weights after it. While some of them, or gradients of
    elements, are observed, `replay` computes them in plans of their own: training gives the same bits. `prepare` is
    called before something is observed, so that there is a last step. Close it.
    """

    def __init__(self, model: Model, chain: Chain, prepare: Callable[[], object] = lambda: None):
        super().__init__(model)
        self._chain, self._prepare, self._observes = chain, prepare, False
        self._computed: dict[str, Tensor] = {}
        self._parts = ExitStack()
        self._elements = ElementGradients(partial(StageGradient, chain))

    def known(self) -> Mapping[str, InnerTensor]:
        chain, found = self._chain, dict[str, InnerTensor]()
        for number, name in enumerate(chain.names):
            found[name] = InnerTensor(chain.operator(number), f32.name, chain.shape(number))
            found[GRADIENTS + name] = found[name]._replace(operator=f"gradient by {chain.operator(number)}")
        return {**found, **super().known()}

    def differentiable(self) -> Differentiable:
        chain = self._chain
        return Differentiable(chain.names, (chain.source, *chain.names, *chain.weights), (chain.source,))

    def observe(self, observed: Observed) -> None:
        chain, known = self._chain, self.known() if observed else {}
        names = [_full(name, known) for name in observed.tensors]
        gradients = {name: found for name in names if (found := GradientName.of(name)) is not None}
        units = {resolved(name, chain.names): each for name, each in observed.ablated.items() if each}
        chain.require_units(units)
        self._elements.take(list(gradients.values()))
        computed = [name for name in names if name.removeprefix(GRADIENTS) in chain.names]
        is_other = chain.ablate(units)
        if is_other:
            self._elements.record_again()
        if is_other or set(computed) != set(self._computed):
            self._record(computed)
        self._observes = bool(observed)
        self.replay()
        super().observe(Observed(tuple(name for name in names if name not in gradients)))

    def unit_axis(self, name: str) -> int | None:
        return self._chain.unit_axis(name) if name in self._chain.names else None

    def tensors(self) -> Mapping[str, Tensor]:
        return {**super().tensors(), **self._computed, **self._elements.results()}

    def replay(self) -> None:
        """Compute what is observed."""
        if self._observes:
            self._prepare()
        if self._computed:
            self._plan.replay()
        self._elements.update()

    def close(self) -> None:
        """Give the memory back. Idempotent."""
        self._elements.close()
        self._parts.close()
        self._computed = {}

    # inside -----------------------------------------------------------------------------------------------------

    def _record(self, names: Sequence[str]) -> None:
        with ExitStack() as parts:
            plan = parts.enter_context(Plan("inside of a network that is trained"))
            with plan.recording():
                computed = self._compute(names)
            for tensor in computed.values():
                parts.enter_context(tensor)
            self._parts.close()
            self._plan, self._computed, self._parts = plan, computed, parts.pop_all()

    def _compute(self, names: Sequence[str]) -> dict[str, Tensor]:
        """Record these tensors. Each stage has a graph of its own, so that the gradients between them stay."""
        chain = self._chain
        count = len(chain.names)
        numbers = {name: chain.names.index(name.removeprefix(GRADIENTS)) for name in names}
        first = min((number for name, number in numbers.items() if name.startswith(GRADIENTS)), default=count)
        last = count if first < count else max(numbers.values(), default=-1) + 1
        x, targets = chain.batch()
        results: list[Tensor] = []
        leaves: dict[int, Tensor] = {}
        for number in range(last):
            results.append(chain.apply(x, chain.weights, number, number + 1))
            x = results[-1]
            if number >= first:
                x = leaves[number] = x.detach()
                x.requires_grad = True
        if leaves:
            chain.loss(x, targets).backward()
        for number in reversed(range(first + 1, count)):
            gradient = leaves[number].grad
            assert gradient is not None
            results[number].backward(gradient)
        found: dict[str, Tensor] = {}
        with no_grad():
            for name, number in numbers.items():
                tensor = leaves[number].grad if name.startswith(GRADIENTS) else results[number].detach()
                assert tensor is not None
                found[name] = chain.as_shown(tensor)
        return found


def _full(name: str, known: Mapping[str, InnerTensor]) -> str:
    """The name of a tensor that is computed; `name` itself if there is none, which who reads it reports."""
    try:
        return resolved(name, known)
    except InputError:
        return name

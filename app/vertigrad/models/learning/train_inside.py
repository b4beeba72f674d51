"""`TrainedInside`: what a trained network keeps, what its stages compute of the last batch, and gradients by that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from ...closing import Closing
from ...errors import InputError
from ...gpu import Plan
from ...tensor import Tensor, f32
from ...tensor.graph import no_grad
from ..element_gradient import ElementGradients
from ..inside import Differentiable, GradientName, HeldInside, InnerTensor, Observed, resolved
from .chain import Chain, StageGradient

if TYPE_CHECKING:
    from ..base import Model

GRADIENTS = "gradients."  # of the loss


class TrainedInside(HeldInside, Closing):
    """What a model keeps, what the stages of its network compute, and the gradients of the loss by that.

    Both are of the batch of the last training step, with the weights after it. While some of them, or gradients of
    elements, are observed, `replay` computes them in plans of their own: training gives the same bits. Close it.
    """

    def __init__(self, model: Model, chain: Chain):
        super().__init__(model)
        self._chain = chain
        self._computed: dict[str, Tensor] = {}
        self._parts = ExitStack()
        self._elements = ElementGradients(partial(StageGradient, chain))

    def known(self) -> Mapping[str, InnerTensor]:
        chain, found = self._chain, dict[str, InnerTensor]()
        for number, name in enumerate(chain.names):
            found[name] = InnerTensor(chain.operator(number), f32.name, chain.shape(number))
            found[GRADIENTS + name] = found[name]._replace(operator=f"gradient by {chain.operator(number)}")
        return found | super().known()

    def differentiable(self) -> Differentiable:
        chain = self._chain
        return Differentiable(chain.names, (chain.source, *chain.names, *chain.weights))

    def observe(self, observed: Observed) -> None:
        if observed.ablated:
            raise InputError("units of a network that is trained cannot be set to zero")
        known = self.known() if observed.tensors else {}
        full = [_full(name, known) for name in observed.tensors]
        gradients = [found for name in full if (found := GradientName.of(name)) is not None]
        computed = [name for name in full if self._is_computed(name)]
        before = [found for name in self._elements.results() if (found := GradientName.of(name)) is not None]
        self._elements.take(gradients)
        if set(computed) != set(self._computed):
            try:
                self._record(computed)
            except BaseException:
                self._elements.take(before)
                raise
        self.replay()
        super().observe(Observed(tuple(name for name in full if GradientName.of(name) is None)))

    def tensors(self) -> Mapping[str, Tensor]:
        return {**super().tensors(), **self._computed, **self._elements.results()}

    def replay(self) -> None:
        """Compute what is observed."""
        if self._computed:
            self._plan.replay()
        self._elements.replay()

    def close(self) -> None:
        """Give the memory back. Idempotent."""
        self._elements.close()
        self._parts.close()
        self._computed = {}

    # inside -----------------------------------------------------------------------------------------------------

    def _is_computed(self, name: str) -> bool:
        return name.removeprefix(GRADIENTS) in self._chain.names

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

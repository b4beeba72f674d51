"""`Chain`: a network that is trained, as stages one after the other; `StageGradient`: gradients between its stages."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from ... import ops
from ...errors import InputError
from ...gpu import Plan
from ...tensor import Tensor, f32, i32
from ...tensor.graph import no_grad
from ..element_gradient import ElementGradient, one_hot
from ..inside import GradientName

WEIGHTS = "weights."  # models have their weights with this prefix, too


class Chain(ABC):
    """The stages of a network: `names` of what they compute, `source` of what the first one takes, and the `weights`.

    The weights do not require gradients. `examples` is the length of the first axis of what stages compute, if nothing
    depends on other examples than its own.
    """

    names: Sequence[str]
    source: str
    weights: Mapping[str, Tensor]
    examples: int | None = None

    @abstractmethod
    def shape(self, number: int) -> tuple[int, ...]:
        """The shape of what stage `number` computes; with an axis for examples, if they are independent."""

    @abstractmethod
    def operator(self, number: int) -> str:
        """What stage `number` does, as ONNX calls it."""

    @abstractmethod
    def batch(self, row: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Record what the first stage takes, and the targets; with `row` (1,), i32, of that example only."""

    @abstractmethod
    def apply(self, x: Tensor, weights: Mapping[str, Tensor], first: int, last: int) -> Tensor:
        """Record stages `first` to `last` − 1."""

    @abstractmethod
    def loss(self, result: Tensor, targets: Tensor) -> Tensor:
        """Record the loss of what the last stage computes."""

    def unit_axis(self, name: str) -> int | None:
        """The axis of what a stage computes along which it has units that can be set to zero; None without such."""
        return None

    def require_units(self, units: Mapping[str, Sequence[int]]) -> None:
        """Raise `InputError` if there are no such units of what stages compute, which can be set to zero."""
        if units:
            raise InputError("units of this network cannot be set to zero")

    def ablate(self, units: Mapping[str, Sequence[int]]) -> bool:
        """Set exactly these units, which there are, to zero; returns whether stages must be recorded again."""
        return False

    def as_shown(self, x: Tensor) -> Tensor:
        """A stage's tensor with the axes of `shape`."""
        return x

    def as_computed(self, x: Tensor) -> Tensor:
        """The inverse of `as_shown`."""
        return x


class StageGradient(ElementGradient):
    """The gradient of an element of what a stage computes: by the network's input, an earlier stage, or a weight.

    Where examples are independent, the network runs for that of the element only, and `result` has the shape of one
    example. Raises `InputError` for names that there are not, and for what the element does not depend on.
    """

    def __init__(self, chain: Chain, name: GradientName):
        source = (name.source or chain.source).removeprefix(WEIGHTS)
        target = _number(name, name.tensor, chain.names)
        self._examples, self._name = chain.examples, name
        with ExitStack() as parts:
            self._row = parts.enter_context(Tensor.zeros((1,), i32, f"example of {name}")) if chain.examples else None
            shape = chain.shape(target) if self._row is None else (1, *chain.shape(target)[1:])
            self._seed = parts.enter_context(Tensor.zeros(shape, f32, f"seed of {name}"))
            self._plan = parts.enter_context(Plan(str(name)))
            with self._plan.recording():
                result, leaf = self._forward(chain, source, target)
                if not result.requires_grad:
                    raise InputError(f"{name}: it does not depend on that")
                result.backward(chain.as_computed(self._seed))
                assert leaf.grad is not None
                found = leaf.grad if source in chain.weights else chain.as_shown(leaf.grad)
                per_example = chain.examples is not None and source not in chain.weights
                shape = found.shape[1:] if per_example else found.shape
                self.result = parts.enter_context(Tensor.zeros(shape, f32, str(name)))
                with no_grad():
                    ops.assign(self.result, found.reshape(*shape))
            self.select(name.element)
            self._parts = parts.pop_all()

    def select(self, element: int) -> None:
        shape = self._seed.shape
        if self._examples is not None and self._row is not None:
            row, element = divmod(element, math.prod(shape))
            if row >= self._examples:
                whole = (self._examples, *shape[1:])
                raise InputError(f"a tensor of shape {whole} has no element {element + row * math.prod(shape):,}")
            self._row.fill_(row)
        self._seed[...] = one_hot(shape, element, self._seed.dtype.numpy)

    def update(self) -> None:
        self._plan.update()

    def close(self) -> None:
        """Give everything back. Idempotent."""
        self._parts.close()

    # inside -----------------------------------------------------------------------------------------------------

    def _forward(self, chain: Chain, source: str, target: int) -> tuple[Tensor, Tensor]:
        """Record the stages up to the target; returns what that computes, and the leaf at `source`."""
        weights, first = dict(chain.weights), 0
        with no_grad():
            x, _ = chain.batch(self._row)
        if source in weights:
            leaf = weights[source] = weights[source].detach()
        else:
            if source != chain.source:
                first = _number(self._name, source, (*chain.names, chain.source, *weights)) + 1
                if first > target:
                    raise InputError(f"{self._name}: it does not depend on that")
                with no_grad():
                    x = chain.apply(x, weights, 0, first)
            x = leaf = x.detach()
        leaf.requires_grad = True
        return chain.apply(x, weights, first, target + 1), leaf


def _number(name: GradientName, tensor: str, known: Sequence[str]) -> int:
    if tensor not in known:
        raise InputError(f"{name}: there is no gradient with {tensor!r}, only with {', '.join(known[:4])} …")
    return known.index(tensor)

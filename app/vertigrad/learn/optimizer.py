"""Optimizers: one kernel for each tensor of weights, which reads its gradient and writes the weights in place.

A step can be recorded into a plan: what changes from step to step (the learning rate, Adam's corrections) stays open
then, and `fields` gives it for each replay.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from .. import ops
from ..closing import Closing
from ..deprecation import renamed_arguments, renamed_attribute
from ..errors import DtypeError, GradientError, ParameterError
from ..gpu import Kernel, gpu
from ..tensor import Tensor, f32
from ..tensor.graph import no_grad
from .scaling import LossScale
from .schedules import Schedule, constant

SHADER = "learn/optimize.wgsl"
STATES = ("first", "second")  # the shader's names for an optimizer's states, in their order
_with_old_names = renamed_arguments(rate="lr", decay="weight_decay")  # up to version 0.1


class Optimizer(ABC, Closing):
    """What all optimizers have: weights, a learning rate `lr` with a schedule, clipping, and the number of steps.

    `weights` are contiguous tensors of f32; their `requires_grad` is set. `clip` is the largest norm that
    all gradients together may have; they are scaled down to it (Pascanu, Mikolov & Bengio 2013, algorithm 1). `state`
    is what a checkpoint has to store with the weights. Close it. Raises `DtypeError`, `ParameterError`.
    """

    rate = renamed_attribute("rate", "lr")
    decay = renamed_attribute("decay", "weight_decay")
    taken = renamed_attribute("taken", "step_count")

    def __init__(
        self, weights: Iterable[Tensor], lr: float, weight_decay: float, clip: float | None, schedule: Schedule
    ):
        self.weights = tuple(weights)
        _require(bool(self.weights), "there are no weights; pass the tensors to be trained")
        for tensor in self.weights:
            if tensor.dtype is not f32 or not tensor.is_contiguous:
                raise DtypeError(
                    f"weights {tensor.name!r} are {tensor.dtype} {tensor.shape}; they must be f32, in order"
                )
        _require(lr >= 0.0, f"lr is {lr}; it must be 0 or more")
        _require(weight_decay >= 0.0, f"weight_decay is {weight_decay}; it must be 0 or more")
        _require(clip is None or clip > 0.0, f"clip is {clip}; it must be above 0")
        self.lr, self.weight_decay, self.clip, self.schedule = lr, weight_decay, clip, schedule
        self.step_count = 0
        self.gradients: list[Tensor] = []  # those of the step that was recorded or taken last, one for each weight
        self._held = ExitStack()
        self._states: dict[str, list[Tensor]] = {}  # a tensor for each of the weights
        self._one = self._held.enter_context(Tensor.full(1, 1.0, name="optimizer.one"))
        for tensor in self.weights:
            tensor.requires_grad = True

    @property
    def state(self) -> dict[str, Tensor]:
        """Its state tensors, by name."""
        states = self._states.items()
        return {f"{what}.{number}": tensor for what, tensors in states for number, tensor in enumerate(tensors)}

    @abstractmethod
    def _kernel(self) -> tuple[Kernel, Mapping[str, Any]]:
        """The kernel, and the fields that hold for every step."""

    def fields(self) -> dict[str, float]:
        """What changes from step to step, for `Plan.replay` of a plan in which a step is recorded; counts the step."""
        lr = self.lr * self.schedule(self.step_count)
        self.step_count += 1
        return {"lr": lr, "weight_decay": self.weight_decay}

    def step(self, scaling: LossScale | None = None, norm: Tensor | None = None, factor: Tensor | None = None) -> None:
        """Update all weights by their gradients, and set these to None. Raises `GradientError` if one is missing.

        While a plan records, the step is added to it; `replay` then takes `fields()`. With `scaling`, gradients are
        those of the loss that it scaled; if one of them is not finite, weights and state stay as they are. `norm` is
        the result of `norm()`, if that was called before. `factor` has one element that gradients are multiplied by,
        instead of clipping; if it is below 0, weights and state stay as they are.
        """
        gradients = self.gradients = self._gradients()
        kernel, constants = self._kernel()
        with no_grad():
            scale = self._factor(gradients, scaling, norm) if factor is None else factor
            fields: dict[str, Any] = {} if gpu().recording is not None else self.fields()
            for number, (tensor, gradient) in enumerate(zip(self.weights, gradients, strict=True)):
                kernel(
                    tensor.size,
                    weights=tensor,
                    gradients=gradient,
                    scale=scale,
                    count=tensor.size,
                    **{name: tensors[number] for name, tensors in zip(STATES, self._states.values(), strict=False)},
                    **constants,
                    **fields,
                )
        for tensor in self.weights:
            tensor.grad = None

    def reset(self) -> None:
        """Set the state to zeros and the number of steps to 0."""
        with no_grad():
            for tensor in self.state.values():
                tensor.fill_(0.0)
        self.step_count = 0

    def norm(self) -> Tensor:
        """The norm of all gradients together, one element. Raises `GradientError` as `step`."""
        gradients = self._gradients()
        with no_grad():
            return _norm(gradients)

    def _gradients(self) -> list[Tensor]:
        """The gradients of all weights, contiguous. Raises `GradientError` if one is missing or has another shape."""
        missing = [tensor.name or "unnamed" for tensor in self.weights if tensor.grad is None]
        if missing:
            raise GradientError(f"no gradient for {', '.join(missing)}; call backward() before the step")
        found = [tensor.grad for tensor in self.weights if tensor.grad is not None]
        for tensor, gradient in zip(self.weights, found, strict=True):
            if gradient.shape != tensor.shape or gradient.dtype is not f32:
                raise GradientError(
                    f"expected a gradient of {tensor.name or 'unnamed'} of {tensor.dtype} {tensor.shape}, "
                    f"got {gradient.dtype} {gradient.shape}"
                )
        with no_grad():
            return [gradient.contiguous() for gradient in found]

    def close(self) -> None:
        """Free the state tensors. Idempotent."""
        for gradient in self.gradients:
            gradient.close()
        self.gradients.clear()
        self._held.close()

    def _factor(self, gradients: Sequence[Tensor], scaling: LossScale | None, norm: Tensor | None) -> Tensor:
        """What gradients are multiplied by; below 0 if there is to be no step."""
        if scaling is not None:
            return scaling.update(_squares(gradients), self.clip)
        return self._one if self.clip is None else self._clipping(_norm(gradients) if norm is None else norm)

    def _clipping(self, norm: Tensor) -> Tensor:
        limit = float(self.clip or 0.0)
        return ops.fused(lambda norm: ops.minimum(limit / (norm + 1e-12), 1.0), norm).reshape(1)

    def _create_state(self, what: str) -> None:
        self._states[what] = [
            self._held.enter_context(Tensor.zeros(tensor.shape, name=f"{tensor.name or number}.{what}"))
            for number, tensor in enumerate(self.weights)
        ]


class Sgd(Optimizer):
    """Gradient descent: v = momentum · v + g, w −= lr · v; with `nesterov`, w −= lr · (g + momentum · v)."""

    @_with_old_names
    def __init__(
        self,
        weights: Iterable[Tensor],
        lr: float = 0.01,
        momentum: float = 0.0,
        *,
        nesterov: bool = False,
        weight_decay: float = 0.0,
        clip: float | None = None,
        schedule: Schedule | None = None,
    ):
        _require(0.0 <= momentum < 1.0, f"momentum is {momentum}; it must be at least 0, and below 1")
        super().__init__(weights, lr, weight_decay, clip, schedule or constant())
        self.momentum, self._nesterov = momentum, nesterov
        if momentum:
            self._create_state("velocity")

    def _kernel(self) -> tuple[Kernel, Mapping[str, Any]]:
        defines = {"RULE": "sgd", "MOMENTUM": bool(self._states), "NESTEROV": self._nesterov, "DECOUPLED": False}
        return Kernel.load(SHADER, defines=defines), {"momentum": self.momentum}


class Adam(Optimizer):
    """Steps scaled by running means of gradients and of their squares. With `decoupled`, weight decay as in AdamW."""

    @_with_old_names
    def __init__(
        self,
        weights: Iterable[Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
        *,
        weight_decay: float = 0.0,
        decoupled: bool = False,
        clip: float | None = None,
        schedule: Schedule | None = None,
    ):
        _require(all(0.0 <= beta < 1.0 for beta in betas), f"betas are {betas}; each must be at least 0, and below 1")
        _require(epsilon > 0.0, f"epsilon is {epsilon}; it must be above 0")
        super().__init__(weights, lr, weight_decay, clip, schedule or constant())
        self.betas, self.epsilon, self._decoupled = betas, epsilon, decoupled
        self._create_state("mean")
        self._create_state("square")

    def fields(self) -> dict[str, float]:
        fields: dict[str, Any] = super().fields()
        for number, beta in enumerate(self.betas, 1):
            fields[f"correction{number}"] = 1.0 / (1.0 - beta**self.step_count)
        return fields

    def _kernel(self) -> tuple[Kernel, Mapping[str, Any]]:
        defines = {"RULE": "adam", "MOMENTUM": False, "NESTEROV": False, "DECOUPLED": self._decoupled}
        one, two = self.betas
        constants = {"beta1": one, "beta2": two, "rest1": 1.0 - one, "rest2": 1.0 - two, "epsilon": self.epsilon}
        return Kernel.load(SHADER, defines=defines), constants


@_with_old_names
def adam_w(weights: Iterable[Tensor], lr: float = 1e-3, weight_decay: float = 0.01, **options: Any) -> Adam:
    """`Adam` with decoupled weight decay."""
    return Adam(weights, lr, weight_decay=weight_decay, decoupled=True, **options)


def _norm(gradients: Sequence[Tensor]) -> Tensor:
    return ops.sqrt(_squares(gradients))


def _squares(gradients: Sequence[Tensor]) -> Tensor:
    total = ops.sum_square(gradients[0])
    for gradient in gradients[1:]:
        total = total + ops.sum_square(gradient)
    return total


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ParameterError(message)

"""`TrainingModel` trains a number of steps per second; `PlayingModel` also plays a simulation with the weights.

And the parameters that models which are trained have in common.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ... import learn, ops
from ...gpu import Plan
from ...params import number, switch
from ...tensor import Tensor
from ...tensor.graph import no_grad
from ..model_bases import NamedTensorsModel
from ..parts import Parts
from ..stepping import FixedStep


def learning_rate(default: float, of: str, slider_max: float | None = None, max: float = 1.0) -> Any:
    """The learning rate `of` something."""
    limits: dict[str, Any] = {"min": 0.0, "max": max, "slider_min": 1e-5, "slider_max": slider_max, "scale": "log"}
    return number(default, **limits, doc=f"learning rate of {of}")


def steps_per_second(default: float) -> Any:
    """Training steps per second of the simulation."""
    return number(default, min=0.1, max=240.0, scale="log", unit="1/s", doc="training steps per second")


def train_switch() -> Any:
    """Whether training goes on."""
    return switch(True, doc="train while the simulation runs; off: weights stay as they are")


class TrainingModel(NamedTensorsModel):
    """A model whose `Params` have `train`, and `steps_per_second` of training [1/s].

    Its `_optimizers` take steps together. If there is one, `_step` is the plan of a step: forward, backward and the
    optimizer, whose fields are left open.
    """

    _optimizers: Sequence[learn.Optimizer]
    _step: Plan

    def __init__(self, name: str, params: Any, inputs: Mapping[str, Tensor], seed: int):
        self._learning = FixedStep(max_steps=4, name="learning")
        self.clocks: tuple[FixedStep, ...] = (self._learning,)
        super().__init__(name, params, inputs, seed)

    def diagnostics(self) -> dict[str, Tensor]:
        return {name: ops.copy(tensor) for name, tensor in self._statistics.items()}

    def state(self) -> dict[str, Tensor]:
        states = [optimizer.state.items() for optimizer in self._optimizers]
        memory = {f"optimizer{number}.{name}": tensor for number, state in enumerate(states) for name, tensor in state}
        return super().state() | self._statistics | memory

    def scalar_state(self) -> dict[str, float]:
        return super().scalar_state() | {"taken": self._steps_taken}

    def load_scalar_state(self, scalars: Mapping[str, float]) -> None:
        super().load_scalar_state(scalars)
        for optimizer in self._optimizers:
            optimizer.step_count = int(scalars["taken"])

    @property
    def _steps_taken(self) -> int:
        return self._optimizers[0].step_count

    def _create_statistics(self, parts: Parts, *names: str) -> None:
        """Tensors of one element, which are the model's diagnostics."""
        self._statistics = {name: parts.zeros(name, 1) for name in names}

    def _record_step(self, loss: Tensor, factor: Tensor | None = None) -> None:
        """Record into the open plan: backward, the statistics `loss` and `gradient_norm`, and the optimizer.

        `factor` is that of `Optimizer.step`.
        """
        (optimizer,) = self._optimizers
        loss.backward()
        with no_grad():
            ops.assign(self._statistics["loss"], loss.detach())
            ops.assign(self._statistics["gradient_norm"], optimizer.norm())
        optimizer.step(factor=factor)
        self._gradients = optimizer.gradients

    def _steps_due(self, dt: float) -> int:
        """How many training steps are to be taken in `dt` seconds: none if training is off."""
        return self._learning.due(dt, 1.0 / self._params.steps_per_second) if self._params.train else 0

    def _train(self, dt: float, lr: float) -> None:
        (optimizer,) = self._optimizers
        optimizer.lr = lr
        for _ in range(self._steps_due(dt)):
            self._step.replay(**optimizer.fields())

    def _reset_training(self) -> None:
        """Reset the optimizers, the statistics, and what is left over of times. The weights are the subclass's."""
        for optimizer in self._optimizers:
            optimizer.reset()
        with no_grad():
            for tensor in self._statistics.values():
                tensor.fill_(0.0)
        for clock in self.clocks:
            clock.remainder = 0.0


class PlayingModel(TrainingModel):
    """A model that also shows a simulation: it goes on in time by `_playing`, and shows the step number `_shown`."""

    scalars = ("shown",)

    def __init__(self, name: str, params: Any, inputs: Mapping[str, Tensor], seed: int):
        self._playing, self._shown = FixedStep(max_steps=64, name="playing"), 0
        super().__init__(name, params, inputs, seed)
        self.clocks = self._playing, self._learning

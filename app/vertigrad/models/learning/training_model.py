"""`TrainingModel`: trains a number of steps per second, and plays a simulation with the current weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import learn, ops
from ...gpu import Plan
from ...tensor import Tensor
from ...tensor.graph import no_grad
from ..model_bases import NoReloadModel
from ..stepping import FixedStep


class TrainingModel(NoReloadModel):
    """A model whose `Params` have `train`, and `steps_per_second` of training [1/s].

    Its `_step` is a plan: forward, backward and the optimizer, whose fields are left open. What is shown may go on in
    time by `_playing`; its step has the number `_shown`.
    """

    _params: Any
    _optimizer: learn.Optimizer
    _step: Plan
    _loss: Tensor
    _norm: Tensor

    def __init__(self, name: str, params: Any, inputs: Mapping[str, Tensor], seed: int):
        self.name, self._params = name, params
        self._learning, self._playing, self._shown = FixedStep(max_steps=4), FixedStep(max_steps=64), 0
        self.clocks = self._learning, self._playing

    def numbers(self) -> dict[str, float]:
        rests = {"learning": self._learning.remainder, "playing": self._playing.remainder}
        return {"taken": self._optimizer.step_count, "shown": self._shown, **rests}

    def resume(self, numbers: Mapping[str, float]) -> None:
        self._optimizer.step_count, self._shown = int(numbers["taken"]), int(numbers["shown"])
        self._learning.remainder, self._playing.remainder = numbers["learning"], numbers["playing"]

    # for subclasses ---------------------------------------------------------------------------------------------

    def _train(self, dt: float, rate: float) -> None:
        """Take the training steps that are due in `dt` seconds, if training is on."""
        if self._params.train:
            self._optimizer.lr = rate
            for _ in range(self._learning.due(dt, 1.0 / self._params.steps_per_second)):
                self._step.replay(**self._optimizer.fields())

    def _reset_optimizer(self) -> None:
        """What the optimizer remembers, and what is left over of times. The weights are the subclass's."""
        with no_grad():
            for tensor in (*self._optimizer.state.values(), self._norm):
                tensor.fill_(0.0)
        self._optimizer.step_count = 0
        self._learning.remainder = self._playing.remainder = 0.0

    def _training_statistics(self) -> dict[str, Tensor]:
        """`loss` before the last step, and `gradient_norm`."""
        return {"loss": ops.copy(self._loss), "gradient_norm": ops.copy(self._norm)}

    def _memory(self) -> dict[str, Tensor]:
        """What a step of learning changes beside the weights."""
        return {"loss": self._loss, "norm": self._norm} | self._optimizer.state

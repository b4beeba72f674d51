"""`WaveSource`: the source of water waves, reconstructed from signals at a few receivers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from ... import learn, ops, params
from ...params import integer, number
from ...tensor import Tensor
from ...tensor.graph import no_grad
from ..base import Comparison, DiagnosticSpec, Limit, OutputSpec, compare
from ..kernels import Kernels
from ..parts import Parts
from ..reference import wave_source as reference
from .training_model import PlayingModel, steps_per_second, train_switch
from .wave_source_scene import GAP, LIFT, LOUD, bay, beginning, claims, drawn, plane, smoothing_kernel
from .wave_source_waves import SHADER, Waves

MOMENTUM = 0.9
POWER_STEPS = 6  # of the search for the steepest direction
HOLD = 36  # steps for which a start is shown before it is let go


class Params(params.Params):
    """Waves, receivers, training and display."""

    resolution: int = integer(72, min=32, max=512, scale="log", rebuild=True, doc="cells along each side")
    steps: int = integer(160, min=16, max=2000, scale="log", rebuild=True, doc="recorded wave steps")
    receivers: int = integer(12, min=1, max=32, rebuild=True, doc="number of receivers, on a ring")
    drops: int = integer(3, min=1, max=6, rebuild=True, doc="number of hills and hollows to reconstruct")
    shoals: float = number(
        0.4, min=0.0, max=0.8, rebuild=True, doc="relative reduction of the wave speed over the shallowest bank"
    )
    noise: float = number(
        0.0, min=0.0, max=1.0, rebuild=True, doc="measurement noise, relative to the signal's root mean square"
    )
    learning_rate: float = number(
        0.25, min=0.0, max=2.0, doc="learning rate, relative to the largest stable one; diverges above about 1.3"
    )
    steps_per_second: float = steps_per_second(8.0)
    playback_rate: float = number(60.0, min=1.0, max=1000.0, scale="log", unit="1/s", doc="wave steps shown per second")
    height: float = number(0.42, min=0.0, max=5.0, doc="drawn height of a wave of amplitude 1")
    train: bool = train_switch()


class WaveSource(PlayingModel):
    """The initial state of water waves, reconstructed by gradient descent from signals at a few receivers.

    The unknown initial state is a smoothed grid of weights; its gradient is backpropagated through every wave step,
    which is time reversal of the residual (Tarantola 1984, Inversion of seismic reflection data, section 5). The
    optimizer is Nesterov's; the learning rate is relative to the largest that the steepest direction allows, computed
    in the first step. The left pond shows the true waves, the right one the current reconstruction. The same seed gives
    the same bits on one GPU.
    """

    Params = Params
    saved = (
        *("weights", "now", "true", "found", "position", "normal", "wave"),
        *("true_position", "true_normal", "true_wave", "receiver", "mismatch", "found_pin", "trace", "trace_wave"),
        "factor",
    )
    scalars = ("shown", "has_factor")
    limits: ClassVar[Mapping[str, Limit]] = {
        "loss": Limit(100.0, "the optimization diverges: lower learning_rate, and reset"),
    }
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "loss": DiagnosticSpec(
            "mean squared residual at the receivers, relative to the signal, before the last training step"
        ),
        "gradient_norm": DiagnosticSpec("norm of the gradient"),
        "error": DiagnosticSpec("relative error of the reconstructed initial state"),
        "distance": DiagnosticSpec("mean distance of reconstructed drops from the true ones", "half sides"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        side, receivers, drops = params.resolution, params.receivers, params.drops
        return {
            "position": OutputSpec((side, side, 3), "f32", "reconstructed water surface, y up"),
            "normal": OutputSpec((side, side, 3), "f32", "unit normals of the surface"),
            "wave": OutputSpec((side, side), "f32", "wave height"),
            "true_position": OutputSpec((side, side, 3), "f32", "true water surface, y up"),
            "true_normal": OutputSpec((side, side, 3), "f32", "unit normals of the surface"),
            "true_wave": OutputSpec((side, side), "f32", "wave height"),
            "receiver": OutputSpec((2 * receivers, 3), "f32", "receiver positions, in both ponds"),
            "mismatch": OutputSpec((2 * receivers,), "f32", "relative residual at each receiver, root mean square"),
            "drop": OutputSpec((2 * drops, 3), "f32", "positions of the true drops, in both ponds: heads of pins"),
            "drop_pin": OutputSpec((2 * drops, 2, 3), "f32", "pins as lines"),
            "found_drop": OutputSpec((drops, 3), "f32", "positions of the reconstructed drops: heads of pins"),
            "found_pin": OutputSpec((drops, 2, 3), "f32", "pins as lines"),
            "trace": OutputSpec((2 * receivers, params.steps, 3), "f32", "recorded and reconstructed signals as lines"),
            "trace_wave": OutputSpec((2 * receivers, params.steps), "f32", "values of the signals"),
            "found": OutputSpec((side, side), "f32", "reconstructed initial state"),
            "truth": OutputSpec((side, side), "f32", "true initial state"),
        }

    def step(self, dt: float) -> None:
        params = self._params
        if params.train and not self._has_factor:
            self._measure_curvature()
        self._train(dt, params.learning_rate)
        for _ in range(self._playing.due(dt, 1.0 / params.playback_rate)):
            self._shown = self._shown + 1 if self._shown < params.steps else -HOLD
            if self._shown > 0:
                self._wave.replay()
        self._draw()

    def diagnostics(self) -> dict[str, Tensor]:
        return {
            **super().diagnostics(),
            "error": ops.sqrt(ops.sum_square(self._found - self._truth) / ops.sum_square(self._truth)).reshape(1),
            "distance": self._distance(),
        }

    def compare_with_reference(self) -> list[Comparison]:
        """What is heard of what was found, the gradient of the loss, and a step of the waves that are shown."""
        scene, steps = self._beginning, self._params.steps
        weights, recorded = self._weights.numpy().astype(float), self._recorded.numpy().astype(float)
        medium = scene.medium.astype(np.float32).astype(float)
        start = reference.blurred(weights * bay(len(weights)), smoothing_kernel(len(weights)))
        heard = reference.heard(start, medium, scene.receiver_cells, steps)
        scale = 2.0 / (heard.size * self._power)
        gradients, first = (
            reference.blurred(
                reference.gradients(scale * wrong, medium, scene.receiver_cells), smoothing_kernel(len(weights))
            )
            * bay(len(weights))
            for wrong in (heard - recorded, recorded)
        )
        ours = self._heard(self._weights)
        self._error(ours).backward()
        gradient, self._weights.grad = self._weights.grad, None
        assert gradient is not None
        side, before = len(weights), self._true.numpy()[: 2 * weights.size].astype(float).reshape(2, *weights.shape)
        self._wave.replay()
        after = self._true.numpy()[: 2 * weights.size].reshape(2, side, side)
        return [
            compare("heard", _relative(ours.numpy(), recorded), _relative(heard, recorded), 1e-4),
            compare("gradient", _relative(gradient.numpy(), first), _relative(gradients, first), 1e-4),
            compare("wave", after, np.stack(reference.stepped(before[0], before[1], medium)), 1e-5),
        ]

    def reset(self) -> None:
        with no_grad():
            self._weights.fill_(0.0)
        self._reset_training()
        self._shown = -HOLD
        self._evaluate.replay()
        self._draw()

    def _create(self, parts: Parts) -> None:
        params, random = self._params, np.random.default_rng(self._seed)
        side, receivers = params.resolution, params.receivers
        self._beginning = scene = beginning(random, side, receivers, params.drops, params.shoals)
        self._waves = Waves(scene.medium, scene.receiver_cells, parts)
        self._create_tensors(parts)
        self._listen(random)
        self._direction = parts.copied("direction", random.normal(size=(side, side)))
        self._has_factor = 0
        self._optimizers = [parts.enter_context(learn.Sgd([self._weights], momentum=MOMENTUM, nesterov=True))]
        self._record(parts)

    def _create_tensors(self, parts: Parts) -> None:
        scene, side, receivers = self._beginning, self._params.resolution, self._params.receivers
        copied, weights = parts.copied, smoothing_kernel(side)
        self._along = copied("along", weights.reshape(1, 1, 1, -1))
        self._down = copied("down", weights.reshape(1, 1, -1, 1))
        self._bay, self._truth = copied("bay", bay(side)), copied("truth", scene.start)
        self._weights, self._found = (parts.zeros(what, side, side) for what in ("weights", "found"))
        self._recorded = parts.zeros("recorded", self._params.steps, receivers)
        self._create_statistics(parts, "loss", "gradient_norm")
        self._factor = parts.zeros("factor", 1)  # of gradients: 1 / how steep the loss can become
        self._now, self._true = (parts.zeros(what, 2 * side**2 + receivers) for what in ("now", "true"))
        self._claims = copied("claims", claims(scene))
        x, z = plane(side)
        self._cell_positions = copied("cell_positions", np.stack([x, z], axis=-1).reshape(-1, 2))
        for name, array in drawn(scene, self._params.steps).items():
            copied(name, array)
        heads = {head: self._tensors[pin][:, 1] for head, pin in (("drop", "drop_pin"), ("found_drop", "found_pin"))}
        self._tensors.update(parts.views(heads))

    def _listen(self, random: np.random.Generator) -> None:
        """What the receivers hear of the true start, with noise."""
        with no_grad():
            heard = self._waves.heard(self._truth, self._params.steps).numpy()
        self._power = float(np.mean(heard.astype(float) ** 2))
        noise = random.normal(size=heard.shape) * self._params.noise * self._power**0.5
        recorded = (heard + noise).astype(np.float32)
        self._recorded[...] = recorded
        self._draw_traces(0, self._recorded)

    def _start(self, weights: Tensor) -> Tensor:
        """The heights (side, side) that the weights stand for: smooth, and 0 near the receivers."""
        side = self._params.resolution
        across = self._along.size // 2
        plane = (weights * self._bay).reshape(1, 1, side, side)
        plane = ops.conv(plane, self._along, padding=(0, across))
        return ops.conv(plane, self._down, padding=(across, 0)).reshape(side, side)

    def _heard(self, weights: Tensor) -> Tensor:
        return self._waves.heard(self._start(weights), self._params.steps)

    def _measure_curvature(self) -> None:
        """How steep the loss can become: the greatest eigenvalue of its second derivatives, by the power method.

        Without a signal the gradient of the loss at a direction is its product with the second derivatives: training
        steps compute it, which leave the weights as they are while the factor is below 0.
        """
        norm, changed = self._statistics["gradient_norm"], (self._weights, self._recorded)
        before = [ops.copy(tensor) for tensor in (*changed, norm)]
        (gradient,) = self._gradients
        with no_grad():
            ops.assign(self._weights, self._direction)
            self._recorded.fill_(0.0)
            self._factor.fill_(-1.0)
            for _ in range(POWER_STEPS):
                self._step.replay(lr=0.0, weight_decay=0.0)
                ops.divide(gradient, norm, out=self._weights)
            ops.divide(1.0, norm, out=self._factor)
            for tensor, value in zip((*changed, norm), before, strict=True):
                ops.assign(tensor, value)
                value.close()
        self._has_factor = 1
        self._evaluate.replay()

    def _record(self, parts: Parts) -> None:
        plans = parts.plans("step", "evaluate", "wave", "begin", "show")
        self._step, self._evaluate, self._wave, self._begin, self._show = plans
        with self._step.recording():
            heard = self._heard(self._weights)
            self._record_step(self._error(heard), self._factor)
            with no_grad():
                self._note(heard.detach())
                self._believe()
        with self._evaluate.recording(), no_grad():
            heard = self._heard(self._weights)
            ops.assign(self._statistics["loss"], self._error(heard))
            self._note(heard)
            self._believe()
        with self._wave.recording(), no_grad():
            for state in (self._now, self._true):
                ops.assign(state, self._waves.stepped(0, state))
        with self._begin.recording(), no_grad():
            for state, start in ((self._now, self._found), (self._true, self._truth)):
                ops.assign(state, self._waves.started(start, 1))
        self._record_show()

    def _record_show(self) -> None:
        shown, receivers = self._tensors, self._params.receivers
        constants = {"side": self._params.resolution, "receivers": receivers, "slots": 1, "slot": 0, "lift": LIFT}
        for state, pond, first in ((self._now, "", receivers), (self._true, "true_", 0)):
            position, wave = shown[f"{pond}position"], shown[f"{pond}wave"]
            bound = {"before": state, "position": position, "wave": wave, "listener": shown["receiver"][first:]}
            Kernels(SHADER, shown | bound, constants).add(self._show, "show", self._waves.cells)
            with self._show.recording():
                ops.grid_normals(position, out=shown[f"{pond}normal"])

    def _error(self, heard: Tensor) -> Tensor:
        """The mean squared residual, relative to the signal."""
        return learn.l2_loss(heard, self._recorded) * (1.0 / self._power)

    def _note(self, heard: Tensor) -> None:
        """Keep how wrong each receiver is, in both ponds."""
        wrong = ops.sqrt(ops.square(heard - self._recorded).mean(0) * (1.0 / self._power))
        ops.assign(self._tensors["mismatch"].reshape(2, -1), wrong)
        self._draw_traces(1, heard)

    def _believe(self) -> None:
        """Keep the start that the weights stand for, and the middle of what is there around each drop."""
        ops.assign(self._found, self._start(self._weights))
        parts = ops.maximum(self._claims * self._found.reshape(1, -1), 0.0)
        middles = (parts @ self._cell_positions) / (parts.sum(1, keepdims=True) + 1e-6)
        pins = self._tensors["found_pin"]
        ops.assign(pins[..., 0], middles[:, :1] + GAP)
        ops.assign(pins[..., 2], middles[:, 1:])

    def _draw_traces(self, pond: int, heard: Tensor) -> None:
        """What is heard (steps, receivers), as lines before the pond, 0 or 1."""
        rows = slice(pond * self._params.receivers, (pond + 1) * self._params.receivers)
        ops.assign(self._tensors["trace_wave"][rows], heard.T)
        ops.multiply(heard.T, LOUD, out=self._tensors["trace"][rows, :, 1])

    def _distance(self) -> Tensor:
        drops = self._params.drops
        away = ops.square(self._tensors["found_drop"] - self._tensors["drop"][drops:])
        return ops.sqrt(away[:, 0] + away[:, 2]).mean().reshape(1)

    def _draw(self) -> None:
        if self._shown <= 0:
            self._begin.replay()
        self._show.replay(height=self._params.height)


def _relative(judged: np.ndarray, first: np.ndarray) -> np.ndarray:
    """`judged` next to an array of its first magnitude, so that small values are compared relative to that."""
    return np.stack([judged, first])

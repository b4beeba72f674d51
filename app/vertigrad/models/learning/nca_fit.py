"""`NcaFit`: a neural cellular automaton trained to grow an image from a single cell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from ... import learn, ops, params
from ...gpu import Kernel
from ...params import choice, integer
from ...tensor import Tensor, f32
from ...tensor.graph import no_grad
from ..base import Comparison, DiagnosticSpec, OutputSpec, compare
from ..inside import Inside
from ..parts import Parts
from ..quantities import array_size, log_number
from ..reference import nca_fit as reference
from .nca_fit_chain import GrowthChain
from .nca_fit_images import IMAGES, image
from .train_inside import TrainedInside
from .training_model import PlayingModel, learning_rate, steps_per_second, train_switch

SHADER = "models/nca_fit.wgsl"
COLORS = 4  # red, green, blue, alpha: the first numbers of a cell
CLIP = 1.0  # the largest norm of all gradients together
HOLD = 20  # steps for which a grown image is shown before it is grown anew
PAPER = 0.93  # the background behind clear cells
LARGEST = 1.06  # radius of a cell that is there in full, over half the distance to the next


class Params(params.Params):
    """Target image, cells and training."""

    image: str = choice("butterfly", IMAGES, rebuild=True, doc="image to grow")
    resolution: int = integer(28, min=12, max=128, rebuild=True, doc="cells along each side")
    channels: int = integer(12, min=5, max=64, rebuild=True, doc="channels of a cell: the first four are RGBA")
    hidden: int = array_size(48, "hidden units of the update rule", min=8, max=512)
    steps: int = integer(
        24, min=4, max=200, rebuild=True, doc="growth steps to the image; at least half the resolution"
    )
    learning_rate: float = learning_rate(5e-3, "Adam", slider_max=0.05)
    steps_per_second: float = steps_per_second(20.0)
    playback_rate: float = log_number(24.0, "growth steps shown per second", min=1.0, max=240.0, unit="1/s")
    train: bool = train_switch()


class NcaFit(PlayingModel):
    """A neural cellular automaton trained to grow an image (Mordvintsev et al. 2020, Growing neural cellular automata).

    In a step each cell takes its channels and their gradients as input of one small network, shared by all cells, which
    returns the update: two layers without bias, silu between, so empty cells stay empty until a neighbor is alive. All
    cells update in every step. A training step grows the image from one cell and backpropagates the mean squared error
    through all growth steps; the view shows growth by the current rule. The same seed gives the same bits on one GPU.
    """

    Params = Params
    saved = ("one", "two", "now", "image", "height", "radius")
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "loss": DiagnosticSpec("mean squared error of RGBA, before the last training step"),
        "gradient_norm": DiagnosticSpec("norm of the gradient"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        side = params.resolution
        return {
            "image": OutputSpec((side, side, 3), "f32", "colors of the cells over the background"),
            "height": OutputSpec((side, side), "f32", "alpha of the cells, 0 to 1"),
            "target": OutputSpec((side, side, 3), "f32", "image to grow"),
            "position": OutputSpec((side * side, 3), "f32", "cell positions, y up, on a square of edge 2"),
            "color": OutputSpec((side * side, 3), "f32", "colors of the cells", "image", slice(3)),
            "radius": OutputSpec((side * side,), "f32", "radius of the cells; 0 where alpha is 0"),
        }

    def step(self, dt: float) -> None:
        params, taken = self._params, self._steps_taken
        self._train(dt, params.learning_rate)
        for _ in range(self._playing.due(dt, 1.0 / params.playback_rate)):
            self._shown += 1
            if self._shown > params.steps + HOLD:
                self._begin()
            elif self._shown <= params.steps:
                self._grow.replay()
        self._show.replay()
        if self._steps_taken != taken:
            self._inside.replay()

    @property
    def inside(self) -> Inside:
        return self._inside

    def compare_with_reference(self) -> list[Comparison]:
        """What is grown by the rule as it is, and the gradients of the loss by both layers."""
        side, channels = self._params.resolution, self._params.channels
        first, second = self._one.numpy().astype(float), self._two.numpy().astype(float)
        seed, target = (tensor.numpy().astype(float) for tensor in (self._cell, self._target_cells))
        states = reference.grown(seed.reshape(side, side, channels), first, second, self._params.steps)
        gradient = np.zeros_like(states[-1])
        gradient[..., :COLORS] = 2.0 * (states[-1][..., :COLORS] - target.reshape(side, side, COLORS)) / target.size
        grown = self._grown(self._one, self._two)
        learn.l2_loss(grown[:, :COLORS], self._target_cells).backward()
        ours = [self._one.grad, self._two.grad]
        self._one.grad = self._two.grad = None
        theirs = reference.gradients(states, gradient, first, second)
        found = [compare("grown", grown.numpy().reshape(states[-1].shape), states[-1], 1e-4)]
        for layer, (mine, other) in enumerate(zip(ours, theirs, strict=True), 1):
            assert mine is not None
            found.append(compare(f"gradient of layer {layer}", mine.numpy(), other, 1e-3))
        return found

    def reset(self) -> None:
        with no_grad():
            self._one[...] = self._first
            self._two.fill_(0.0)
        self._reset_training()
        self._evaluate.replay()
        self._begin()
        self._show.replay()
        self._inside.replay()

    def _create(self, parts: Parts) -> None:
        params, random = self._params, np.random.default_rng(self._seed)
        side, channels, copied = params.resolution, params.channels, parts.copied
        spread = 1.0 / math.sqrt(channels)
        self._first = (spread * random.normal(size=(params.hidden, 3 * channels))).astype(np.float32)
        seed = np.zeros((side, side, channels))
        seed[side // 2, side // 2, COLORS - 1 :] = 1.0
        target = image(params.image, side)
        self._cell, self._now = (copied(what, seed.reshape(-1, channels)) for what in ("seed", "now"))
        self._target_cells = copied("target_cells", target.reshape(-1, COLORS))
        copied("target", target[..., :3] + PAPER * (1.0 - target[..., 3:]))
        copied("position", _positions(side))
        self._image, self._height = parts.zeros("image", side, side, 3), parts.zeros("height", side, side)
        self._radius = parts.zeros("radius", side * side)
        self._one = copied("one", self._first)
        self._two = parts.zeros("two", channels, params.hidden)
        self._create_statistics(parts, "loss", "gradient_norm")
        self._optimizers = [parts.enter_context(learn.Adam([self._one, self._two], clip=CLIP))]
        self._step, self._evaluate, self._grow, self._show = parts.plans("step", "evaluate", "grow", "show")
        with self._step.recording():
            self._record_step(self._error())
        with self._evaluate.recording(), no_grad():
            ops.assign(self._statistics["loss"], self._error())
        with self._grow.recording(), no_grad():
            ops.assign(self._now, self._stepped(0, self._now, self._one, self._two))
        with self._show.recording(), no_grad():
            shape = self._height.shape
            cells = self._now.reshape(*shape, self._params.channels)
            clear = 1.0 - ops.clip(cells[..., 3:4], 0.0, 1.0)
            ops.clip(cells[..., :3] + clear * PAPER, 0.0, 1.0, out=self._image)
            ops.clip(cells[..., 3], 0.0, 1.0, out=self._height)
            ops.multiply(self._height.reshape(-1), LARGEST / shape[0], out=self._radius)
        layers = parts.views({"one": self._one.detach(), "two": self._two.detach()})  # which catch no gradients
        chain = GrowthChain(self._stepped, params.steps, layers, self._cell, self._target_cells)
        self._inside = parts.enter_context(TrainedInside(self, chain))

    def _error(self) -> Tensor:
        return learn.l2_loss(self._grown(self._one, self._two)[:, :COLORS], self._target_cells)

    def _begin(self) -> None:
        self._shown = 0
        ops.assign(self._now, self._cell)

    def _grown(self, one: Tensor, two: Tensor) -> Tensor:
        return learn.checkpointed_steps(self._stepped, self._params.steps, self._cell, one, two)

    def _stepped(self, number: int, state: Tensor, one: Tensor, two: Tensor) -> Tensor:
        perception = learn.custom(
            "perceive", self._perceived, lambda gradient, _, __: [self._perceive_backward(gradient)]
        )(state)
        return state + ops.linear(ops.linear(perception, one, activation="silu"), two)

    def _perceived(self, state: Tensor) -> Tensor:
        return self._launched("perceive", state, 3 * self._params.channels)

    def _perceive_backward(self, gradient: Tensor) -> Tensor:
        return self._launched("perceive_backward", gradient, self._params.channels)

    def _launched(self, entry: str, source: Tensor, width: int) -> Tensor:
        side, channels = self._params.resolution, self._params.channels
        perceived = Tensor.empty((side * side, width), f32, temporary=True)
        Kernel.load(SHADER, entry)(
            side * side * channels,
            overwrites=("perceived",),
            source=source.contiguous(),
            perceived=perceived,
            side=side,
            channels=channels,
        )
        return perceived


def _positions(side: int) -> np.ndarray:
    line = (np.arange(side) - (side - 1) / 2.0) * (2.0 / side)
    z, x = np.meshgrid(line, line, indexing="ij")
    return np.stack([x, 0.0 * x, z], axis=-1).reshape(-1, 3)

"""`Flow`: points advected from noise to a shape, and back, by a velocity network."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from ... import ops, params
from ...gpu import gpu
from ...ops.mlp import Mlp
from ...params import file, integer, number, vector
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, OutputSpec, compare
from ..data.stored_array import stored_array
from ..kernels import Kernels
from ..model_bases import NamedTensorsModel
from ..parts import Parts
from .mlp_file import Layers, evaluate, read_layers, same_shapes

SHADER = "models/flow.wgsl"
COMPARED = 2048  # points that the reference works out
LONGEST = 1.0 / 16.0  # step of the flow's time that is taken at once
MOST_PARTS = 64  # into which one step is divided at most
VERSION = 1  # of where points are at `initial_time`: what is stored is computed again when it changes


class Params(params.Params):
    """Number of points, target shape, and speed."""

    weights: Path = file("assets/weights/flow.safetensors", suffixes=[".safetensors"], doc="the trained network")
    count: int = integer(100_000, min=1, max=1 << 24, scale="log", rebuild=True, doc="number of points")
    shape: tuple[float, ...] | Literal["in turn"] = vector(
        "in turn", slider_min=0.0, slider_max=1.0, words=("in turn",), doc="weight of each shape: knot, rings, rose"
    )
    morph_speed: float = number(
        0.3, min=0.0, max=20.0, slider_max=2.0, unit="/s", doc="speed from noise to shape: flow time per second"
    )
    initial_time: float = number(
        0.0, min=0.0, max=1.0, rebuild=True, doc="flow time at the start: 0 is noise, 1 the first shape"
    )
    hold_time: float = number(1.5, min=0.0, max=1e3, slider_max=5.0, unit="s", doc="time for which a shape is held")


class Flow(NamedTensorsModel):
    """A neural ordinary differential equation, dx/dt = v(x, t, shape), solved with the midpoint rule.

    Points start as normally distributed noise, from the seed, or at `initial_time` on their paths from it. At t = 1
    they form the shape; then time runs back to 0, the noise is restored exactly, and the next shape begins. Trained by
    assets/training/train_flow.py (flow matching: Lipman et al. 2023). The same seed gives the same bits on one GPU.
    """

    Params = Params
    saved = ("points",)
    scalars = ("phase", "turn", "now")
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "speed": DiagnosticSpec("mean speed"),
        "distance": DiagnosticSpec("root mean square distance from the center"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        n = params.count
        return {
            "position": OutputSpec((n, 3), "f32", "point positions", "points", slice(3)),
            "speed": OutputSpec((n,), "f32", "magnitude of the velocity in flow time", "points", 7),
            "origin": OutputSpec((n,), "f32", "initial distance from the center"),
        }

    def step(self, dt: float) -> None:
        self._phase += dt
        lap = self._lap()
        if self._phase >= lap:
            self._phase, self._turn = math.fmod(self._phase, lap), self._turn + int(self._phase // lap)
            self._begin()
        self._carry(self._time_at(self._phase))

    def diagnostics(self) -> dict[str, Tensor]:
        distance = ops.sqrt(ops.sum_square(self._points[:, 0:3]) * (1.0 / self._params.count))
        return {"speed": ops.mean(self._points[:, 7]), "distance": distance}

    def compare_with_reference(self) -> list[Comparison]:
        """One step of some of the points, in float64."""
        step, shape = 1.0 / 64.0, np.array(self._shape())
        pick = slice(0, min(self._params.count, COMPARED))
        before = self._points.numpy()[pick, :3].astype(float)
        first = velocity(self._layers, before, self._now, shape)
        second = velocity(self._layers, before + 0.5 * step * first, self._now + 0.5 * step, shape)
        self._replay(step)
        after = self._points.numpy()[pick]
        return [
            compare("position", after[:, :3], before + step * second, 1e-5),
            compare("speed", after[:, 7], np.linalg.norm(second, axis=1), 1e-4),
        ]

    def reset(self) -> None:
        params = self._params
        self._phase, self._turn = params.initial_time / params.morph_speed if params.morph_speed else 0.0, 0
        self._begin()
        if params.initial_time and gpu().adapter.kind == "software":
            self._carry_or_load(params.initial_time)
        else:
            self._carry(params.initial_time)

    def reload_file(self, name: str) -> bool:
        layers = _read(self._params.weights)
        if not same_shapes(layers, self._layers):
            return False
        self._net.load(*zip(*layers, strict=True))
        self._layers = layers
        return True

    def _create(self, parts: Parts) -> None:
        count = self._params.count
        noise = np.random.default_rng(self._seed).standard_normal((count, 3)).astype(np.float32)
        self._layers = _read(self._params.weights)
        self._net = parts.enter_context(Mlp(*zip(*self._layers, strict=True), "silu", name=f"{self.name}.network"))
        self._noise = parts.copied("noise", noise)
        parts.copied("origin", np.linalg.norm(noise, axis=1))
        self._points, middles = parts.zeros("points", count, 8), parts.zeros("middles", count, 8)
        velocities = parts.empty("velocities", count, 3)
        self._plan = parts.plan("step")
        self._at_rest = parts.plan("at rest")
        add = Kernels(SHADER, self._tensors, {"count": count}).add
        halves = ("aim", self._points), ("halve", middles)
        for plan, evaluations in ((self._plan, halves), (self._at_rest, halves[:1])):
            for entry, source in evaluations:
                add(plan, entry, count)
                with plan.recording():
                    self._net(source[:, 0:7], out=velocities)
            add(plan, "move_on", count)

    def _begin(self) -> None:
        """Noise: by the same path forward and back, rounding would add up."""
        ops.assign(self._points[:, 0:3], self._noise)
        self._now = 0.0

    def _carry(self, time: float) -> None:
        """From the flow's time now to another one, in steps that are short enough."""
        for step in self._steps_to(time):
            self._replay(step)

    def _steps_to(self, time: float) -> list[float]:
        remaining = time - self._now
        parts = min(max(math.ceil(abs(remaining) / LONGEST), 1), MOST_PARTS)
        return [remaining / parts] * parts

    def _carry_or_load(self, time: float) -> None:
        """`_carry` the noise, or load where that led before: it takes a software adapter seconds."""
        steps, carried = self._steps_to(time), list[bool]()

        def compute() -> np.ndarray:
            carried.append(True)
            self._carry(time)
            return self._points.numpy().reshape(-1)

        adapter = np.frombuffer(str(gpu().adapter).encode(), np.uint8)
        settings = np.array([self._seed, self._params.count, time, *self._shape()])
        weights = [array for layer in self._layers for array in layer]
        points = stored_array("flows", VERSION, (adapter, settings, *weights), compute)
        if not carried:
            ops.assign(self._points, points.reshape(self._points.shape))
            for step in steps:
                self._now += step

    def _replay(self, step: float) -> None:
        """One step; in one of no length the velocity of its middle is that of its start."""
        plan = self._plan if step else self._at_rest
        plan.replay(time=self._now, step=step, shape=self._shape())
        self._now += step

    def _lap(self) -> float:
        duration = 1.0 / self._params.morph_speed if self._params.morph_speed else math.inf
        return 2.0 * duration + self._params.hold_time

    def _time_at(self, phase: float) -> float:
        """The flow's time, from 0 to 1, stay, and back."""
        rate, rest = self._params.morph_speed, self._params.hold_time
        if not rate:
            return self._now
        up = phase * rate
        return min(up, 1.0) if phase <= 1.0 / rate + rest else max(1.0 - (phase - 1.0 / rate - rest) * rate, 0.0)

    def _shape(self) -> tuple[float, ...]:
        shape = self._params.shape
        if isinstance(shape, str):
            return tuple(float(index == self._turn % 3) for index in range(3))
        return shape


def velocity(layers: Layers, x: np.ndarray, time: float, shape: np.ndarray) -> np.ndarray:
    """The network's reference in float64: velocities (n, 3) of points (n, 3)."""
    return evaluate(layers, x, np.array([time, *shape]))


def _read(path: Path) -> Layers:
    return read_layers(path, "a flow", 7, 3, "a velocity of 3")[0]

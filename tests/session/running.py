"""Small models that run, and scenes of them, for the tests of stage, session, rendering and command line."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu, Kernel
from vertigrad.models import OutputSpec, registry
from vertigrad.models.base import Comparison, compare
from vertigrad.models.model_bases import PartsModel
from vertigrad.params import Params, integer, number
from vertigrad.session import Session

RISE = """
struct Params { count: u32, dt: f32, height: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> phase: array<f32>;
@group(0) @binding(2) var<storage, read_write> position: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= params.count { return; }
    phase[id.x] += params.dt;
    position[3u * id.x] = f32(id.x) / f32(params.count);
    position[3u * id.x + 1u] = params.height + phase[id.x];
    position[3u * id.x + 2u] = 0.0;
}
"""

SCALE = """
struct Params { count: u32, gain: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> source: array<f32>;
@group(0) @binding(2) var<storage, read_write> position: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x < params.count { position[id.x] = params.gain * source[id.x]; }
}
"""

SCENE = """
version = 1
title = "A row that rises"

[models.row]
type = "rising"

[layers.dots]
type = "points"
position = "row.position"
color = "row.phase"
range = [0, 1]
size = 0.1
"""

LINKED = """
version = 1

[models.row]
type = "rising"

[models.echo]
type = "scaled"
inputs = { source = "row.position" }

[models.late]
type = "scaled"
inputs = { source = "echo.position" }
gain = -1.0

[layers.dots]
type = "points"
position = "row.position"

[layers.echoes]
type = "points"
position = "late.position"
"""


@cache
def kernel(name: str) -> Kernel:
    return Kernel({"rise": RISE, "scale": SCALE}[name], "main", name)


class Fault(Exception):
    """An unexpected error of a model."""


class TensorStateModel(PartsModel):
    """A model without scalar state outside of its tensors."""

    def scalar_state(self):
        return {}

    def load_scalar_state(self, scalars):
        pass


class Rising(TensorStateModel):
    """A row of points; `phase` is the accumulated time, and raises them above `height`."""

    class Params(Params):
        count: int = integer(8, min=1, max=1 << 30, rebuild=True)
        height: float = number(0.0, min=-10.0, max=10.0)
        wrong_by: float = number(0.0)
        forbidden: int = integer(-1, rebuild=True)  # a count that the constructor refuses

    fails: ClassVar[Exception | None] = None  # raised by the next steps, after recording
    built: ClassVar[int] = 0

    @classmethod
    def output_specs(cls, params) -> Mapping[str, OutputSpec]:
        return {"position": OutputSpec((params.count, 3), "f32"), "phase": OutputSpec((params.count,), "f32")}

    def __init__(self, name, params, inputs, seed):
        Rising.built += 1
        if params.count == params.forbidden:
            raise InputError(f"{name}: not with {params.count} points")
        self.name, self.params, self.seed = name, params, seed
        count = params.count
        with self._building() as parts:
            self._phase = parts.zeros("phase", count)
            self._position = parts.empty("position", count, 3)
            self._plan = parts.plan("step")
            self._plan.dispatch(kernel("rise"), count, phase=self._phase, position=self._position, count=count)
        self.step(0.0)

    def step(self, dt):
        self._plan.replay(dt=dt, height=self.params.height)
        if Rising.fails is not None and dt:
            raise Rising.fails

    def outputs(self):
        return {"position": self._position, "phase": self._phase}

    def diagnostics(self):
        return {"top": (self._position[0, 1] + 0.0), "bottom": (self._position[0, 1] - self._phase[0])}

    def compare_with_reference(self) -> list[Comparison]:
        reference = self._phase.numpy().astype(float) + 0.5 + self.params.wrong_by
        self._plan.replay(dt=0.5, height=self.params.height)
        return [compare("phase", self._phase.numpy(), reference, 1e-6), compare("x", np.ones(1), np.ones(1), 1e-6)]

    def reset(self):
        self._phase.fill_(0.0)
        self.step(0.0)

    def state(self):
        return {"phase": self._phase, "position": self._position}


class Scaled(TensorStateModel):
    """`source` times `gain`."""

    class Params(Params):
        gain: float = number(2.0)

    inputs: ClassVar[Mapping[str, str]] = {"source": "points"}
    required_inputs = frozenset({"source"})

    @classmethod
    def output_specs(cls, params) -> Mapping[str, OutputSpec]:
        return {"position": OutputSpec((None, 3), "f32")}

    def __init__(self, name, params, inputs, seed):
        self.name, self.params, self.source = name, params, inputs["source"]
        with self._building() as parts:
            self._position = parts.empty("position", *self.source.shape)
            self._plan = parts.plan("step")
            size = self.source.size
            self._plan.dispatch(kernel("scale"), size, source=self.source, position=self._position, count=size)
        self.step(0.0)

    def step(self, dt):
        self._plan.replay(gain=self.params.gain)

    def outputs(self):
        return {"position": self._position}

    def diagnostics(self):
        return {}

    def compare_with_reference(self):
        return []

    def reset(self):
        self.step(0.0)

    def state(self):
        return {"position": self._position}


MODELS = {"rising": Rising, "scaled": Scaled}


def use_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the models above, in addition to the packaged ones."""
    known = {**registry.types(), **MODELS}
    monkeypatch.setattr(registry, "types", lambda: known)
    monkeypatch.setattr(Rising, "fails", None)
    monkeypatch.setattr(Rising, "built", 0)


def written(folder: Path, text: str, name: str = "scene.toml") -> Path:
    """A scene file."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def run_frame(session: Session) -> None:
    """One frame without an image."""
    with session.gpu.frames.frame():
        session.apply()
        session.advance()


def values(session: Session, output: str) -> np.ndarray:
    """`"row.phase"`, read back."""
    model, _, name = output.partition(".")
    return session.stage.instances[model].outputs[name].numpy()


def copied(gpu: Gpu) -> int:
    """Bytes of geometry copied so far, without readback."""
    moved = gpu.meter.read()["geometry"]
    return moved["host_to_device"] + moved["device_to_device"]

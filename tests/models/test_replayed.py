"""A `CustomModel` whose step is recorded once: the same bits, and errors for code that a replay cannot repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

from vertigrad import ops
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models import CustomModel
from vertigrad.params import Params, integer, number
from vertigrad.tensor import Tensor

SHADER = """
struct Fields { dt: f32, gain: f32, more: f32 }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read_write> position: array<f32>;
@group(0) @binding(2) var<storage, read> wind: array<f32>;

@compute @workgroup_size(64)
fn push(@builtin(global_invocation_id) id: vec3u) {
    if id.x < arrayLength(&position) { position[id.x] += fields.gain * fields.dt * wind[id.x % 5u] + fields.more; }
}
"""
CALLS: list[float] = []  # the arguments of `advance`


class Plain(CustomModel):
    """Temporaries, writes in place, a branch on a parameter, a kernel, another model's tensor."""

    class Params(Params):
        count: int = integer(33, min=1, rebuild=True)
        gain: float = number(2.0)
        turns: int = integer(2, min=0)

    inputs: ClassVar = {"wind": "what pushes"}
    tensors: ClassVar = {"position": ("count", 3), "speed": ("count",), "clock": (1,)}
    shader = SHADER

    def start(self, random: np.random.Generator) -> dict[str, Any]:
        return {"position": random.normal(size=(self.params.count, 3)), "speed": random.random(self.params.count)}

    def advance(self, dt: float) -> None:
        CALLS.append(dt)
        self.clock += dt
        for turn in range(self.params.turns):
            x, y = self.position[:, 0], self.position[:, 1]
            push = ops.sin(3.0 * x + self.clock) * self.speed - self.params.gain * y
            self.position[:, turn % 3] = x + dt * push
        self.run("push", 3 * self.params.count, more=0.25)
        self.speed = ops.sqrt(ops.sum(self.position * self.position, axis=1))


class Replayed(Plain):
    replayed = True


Make = Callable[..., Any]


@pytest.fixture
def make(steady: Gpu) -> Iterator[Make]:
    wind = Tensor.from_numpy(np.arange(5, dtype=np.float32), "wind")
    models: list[CustomModel] = []

    def make_(kind: type[CustomModel], seed: int = 7, **values: Any) -> Any:
        models.append(kind("own", kind.Params(**values), {"wind": wind} if kind.inputs else {}, seed))
        CALLS.clear()
        return models[-1]

    yield make_
    for model in models:
        model.close()
    wind.close()


def bits(model: CustomModel) -> dict[str, bytes]:
    return {name: tensor.numpy().tobytes() for name, tensor in model.outputs().items()}


def set_to(model: CustomModel, **values: Any) -> None:
    model.params.take(model.params.with_values(values))


@pytest.mark.turns(3)
def test_a_replay_gives_the_same_bits(make: Make) -> None:
    """Through steps of other lengths, other parameters, a reset, and a restored state."""
    found = []
    for kind in (Plain, Replayed):
        model, observed = make(kind), []
        for dt in (0.1, 0.1, 0.1, 0.0, 0.1, 0.2, 0.2, 0.2):
            model.step(dt)
            observed.append(bits(model))
        for values in ({"gain": -1.0}, {"turns": 3}, {"turns": 0}):
            set_to(model, **values)
            for _ in range(4):
                model.step(0.1)
                observed.append(bits(model))
        saved, numbers = {name: tensor.numpy() for name, tensor in model.state().items()}, model.scalar_state()
        model.step(0.1)
        for name, tensor in model.state().items():
            tensor[...] = saved[name]
        model.load_scalar_state(numbers)
        model.step(0.1)
        observed.append(bits(model))
        model.reset()
        for _ in range(3):
            model.step(0.1)
            observed.append(bits(model))
        found.append((observed, model.time))
    assert found[0] == found[1]
    assert len({one["position"] for one in found[0][0]}) == len(found[0][0])


def test_a_step_is_recorded_at_its_second_call(make: Make) -> None:
    model = make(Replayed)
    for _ in range(9):
        model.step(0.1)
    assert CALLS == [0.1, 0.1], "once run, once recorded"
    model.step(0.0)  # a parameter was changed in a pause
    model.step(0.1)
    assert CALLS == [0.1, 0.1, 0.0], "what was recorded is still there"
    for gain in range(4):  # dragged
        set_to(model, gain=float(gain) + 3.0)
        model.step(0.1)
    assert CALLS[3:] == [0.1] * 4
    for _ in range(5):
        model.step(0.1)
    assert CALLS[7:] == [0.1], "it is paused again"


def test_recordings_are_released(make: Make, steady: Gpu) -> None:
    steady.sync()
    steady.tracker.collect()
    before = {(block.id, block.generation) for block in steady.tracker.live}
    model = make(Replayed)
    for gain in (1.0, 1.0, 2.0, 2.0, 3.0, 3.0):
        set_to(model, gain=gain)
        model.step(0.1)
        steady.sync()
    live = len(steady.tracker.live)
    for gain in (4.0, 4.0, 5.0, 5.0):
        set_to(model, gain=gain)
        model.step(0.1)
    steady.sync()
    steady.tracker.collect()
    assert len(steady.tracker.live) <= live
    model.close()
    steady.sync()
    steady.tracker.collect()
    assert {(block.id, block.generation) for block in steady.tracker.live} <= before


class Wrong(CustomModel):
    replayed = True
    Params = Plain.Params
    tensors: ClassVar = {"position": ("count",)}
    shader = """
    @group(0) @binding(0) var<uniform> fields: f32;
    """

    def start(self, random: np.random.Generator) -> dict[str, Any]:
        self.step_number = 0
        return {}


class UsesTime(Wrong):
    def advance(self, dt: float) -> None:
        self.position += self.time


class Counts(Wrong):
    def advance(self, dt: float) -> None:
        self.step_number += 1


class Reads(Wrong):
    def advance(self, dt: float) -> None:
        if self.position[0].item() < 1.0:
            self.position += dt


class TimeInShader(Wrong):
    shader = """
    struct Fields { time: f32 }
    @group(0) @binding(0) var<uniform> fields: Fields;
    @group(0) @binding(1) var<storage, read_write> position: array<f32>;
    @compute @workgroup_size(1) fn main() { position[0] += fields.time; }
    """

    def advance(self, dt: float) -> None:
        self.run("main", 1)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (UsesTime, r"own: a replayed step cannot use self\.time: count it in a tensor"),
        (TimeInShader, r"own: a replayed step cannot use self\.time"),
        (Counts, r"own: self\.step_number = \.\.\.: a replayed step sets it only when recorded"),
        (Reads, r"own\.advance: a replayed step cannot read values of tensors"),
    ],
)
def test_code_that_cannot_be_replayed_is_rejected_in_the_first_step(
    make: Make, kind: type[CustomModel], message
) -> None:
    model = make(kind)
    with pytest.raises(InputError, match=message):
        model.step(0.0)
    assert model.time == 0.0, "outside of a step it can be read"

    class Free(kind):  # type: ignore[misc, valid-type]
        replayed = False

    make(Free).step(0.0)


def test_an_error_in_a_step_does_not_affect_the_next_one(make: Make) -> None:
    broken = [False]

    class Breaks(Replayed):
        def advance(self, dt: float) -> None:
            super().advance(dt)
            if broken[0]:
                raise InputError("on purpose")

    model, plain = make(Breaks), make(Plain)
    model.step(0.1)
    broken[0] = True
    before = bits(model)
    with pytest.raises(InputError, match="on purpose"):
        model.step(0.1)  # while it is recorded: it had no effect
    assert bits(model) == before
    broken[0] = False
    for _ in range(3):
        model.step(0.1)
    for _ in range(4):
        plain.step(0.1)
    assert bits(model) == bits(plain)

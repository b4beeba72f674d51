"""Searches by gradients: derivatives of outcomes, where they lead, and models that have none."""

import math
from pathlib import Path

import numpy as np
import pytest

import vertigrad as vg
from vertigrad.errors import InputError
from vertigrad.scene import trust
from vertigrad.sweeps.workers import ThisProcess

SCENE = """
version = 1
[models.ball]
type = "ball.py:Ball"
[models.far]
type = "ball.py:Far"
inputs = { source = "ball.position" }
[layers.points]
type = "points"
position = "ball.position"
"""
MODEL = '''
import numpy as np
from vertigrad.models import CustomModel
from vertigrad.params import Params, integer, number

KERNEL = """
@group(0) @binding(0) var<storage, read_write> position: array<f32>;
@compute @workgroup_size(1) fn main() { position[0] = 1.0; }
"""

class Ball(CustomModel):
    """Thrown against a drag; `way` chooses how a step is calculated."""

    class Params(Params):
        speed: float = number(1.0)
        drag: float = number(0.5)
        size: float = number(1.0, rebuild=True)
        way: int = integer(0)

    tensors = {"position": (2, 3), "velocity": (2, 3)}
    replayed = True
    shader = KERNEL

    def start(self, random):
        return {"velocity": np.array([1, 2, 0], np.float32) * self.params.speed}

    def advance(self, dt):
        drag = self.params.drag
        if self.params.way == 1:
            drag = float(drag)
        self.velocity += self.velocity * (-dt * drag)
        self.position = self.position + dt * self.velocity
        if self.params.way == 2:
            self.run("main", 1)

    def diagnostics(self):
        return {"reach": (self.position[0] * self.position[0]).sum().reshape(1)}

class Far(CustomModel):
    """Twice as far."""

    class Params(Params):
        pass

    tensors = {"position": (2, 3)}
    inputs = {"source": "positions"}

    def start(self, random):
        return None

    def advance(self, dt):
        self.position = 2.0 * self.source
'''
FRAMES = 6


def miss(run):
    """How far from 3 the ball is that goes twice as far."""
    return (run.outputs["far.position"][0, 0] - 3.0) ** 2


def number(run):
    return float(run.outputs["ball.position"].numpy().sum())


def distance(speed: float, drag: float) -> float:
    """Of the first ball along x, in float64."""
    position, velocity = 0.0, speed
    for _ in range(FRAMES):
        velocity -= velocity * drag / 60
        position += velocity / 60
    return position


@pytest.fixture
def searched(steady, tmp_path):
    scene = tmp_path / "scene.toml"
    scene.write_text(SCENE)
    (tmp_path / "ball.py").write_text(MODEL)
    trust.allow([tmp_path / "ball.py"])

    def run(values, metric, samples=1, outcomes=("diagnostics",), path: str | Path = scene, **options):
        options = {"minimize": metric, "sampler": "gradient", "jobs": 0, "frames": FRAMES, "seed": 1} | options
        return vg.sweep(path, values, output=tmp_path / "out", outcomes=outcomes, samples=samples, **options)

    yield run
    trust.forget()


def slopes(found) -> list[float]:
    return [value for name, value in found[0].outcomes.items() if name.startswith("d(")]


@pytest.mark.turns(2)
@pytest.mark.parametrize("metric", ["ball.reach", "far.position:max", "miss"])
def test_derivatives_are_those_of_the_formula(searched, metric):
    found = searched(
        {"ball.speed": "1:3", "ball.drag": "0.1:10:log"}, metric, outcomes=["diagnostics", metric_of(metric)]
    )
    formula = {
        "ball.reach": lambda speed, drag: 5 * distance(speed, drag) ** 2,
        "far.position:max": lambda speed, drag: 4 * distance(speed, drag),
        "miss": lambda speed, drag: (2 * distance(speed, drag) - 3) ** 2,
    }[metric]
    speed, drag, step = 2.0, 1.0, 1e-4
    expected = [
        (formula(speed + step, drag) - formula(speed - step, drag)) / (2 * step),
        (formula(speed, drag + step) - formula(speed, drag - step)) / (2 * step),
    ]
    assert not found.failed
    assert found[0].values == pytest.approx({"ball.speed": speed, "ball.drag": drag})
    np.testing.assert_allclose(slopes(found), expected, rtol=1e-4)
    assert found[0].outcomes[metric] == pytest.approx(formula(speed, drag), rel=1e-5)


def metric_of(metric):
    return miss if metric == "miss" else metric


def test_a_search_ends_at_the_optimum_and_goes_on_where_it_was(searched):
    class Counted(ThisProcess):
        jobs = 0

        def submit(self, job):
            self.jobs += 1
            super().submit(job)

    workers = Counted()
    values, options = {"ball.speed": "-5:45"}, {"outcomes": [miss], "workers": workers, "jobs": None}
    searched(values, "miss", 3, **options)
    found = searched(values, "miss", 6, **options)
    again = searched(values, "miss", 6, **options)
    assert len(found) == len(again) == workers.jobs == 6
    assert found[0].values["ball.speed"] == 20.0
    assert math.sqrt(min(run.outcomes["miss"] for run in found[1:4])) < 1e-3  # of a parabola, in few runs


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("values", "metric", "options", "message"),
    [
        ({"ball.speed": [1.0, 2.0]}, "ball.reach", {}, "gradients take a range of numbers"),
        ({"ball.speed": "1:2:5"}, "ball.reach", {}, "gradients take a range of numbers"),
        ({"ball.way": "0:2"}, "ball.reach", {}, "gradients take a range of numbers"),
        ({"ball.size": "1:2"}, "ball.reach", {}, "ball.size: has no gradient: the model is built from it"),
        ({"points.size": "1:2"}, "ball.reach", {}, "points"),
        ({"layers.points.size": "0.1:1"}, "ball.reach", {}, "is no parameter of a model"),
        ({"ball.speed": "1:2"}, "ball.reach", {"prune": True}, "needs each run to its end"),
        ({"ball.speed": "1:2"}, "number", {"outcomes": [number]}, "expected a tensor of one element"),
        ({"ball.speed": "1:2"}, "ball.position:nan", {"outcomes": ["ball.position:nan"]}, "it is a count"),
        ({"ball.drag": "1:2", "ball.way": 1}, "ball.reach", {}, "values that are read back have no gradient"),
        ({"ball.drag": "1:2", "ball.way": 2}, "ball.reach", {}, "do not flow through a kernel"),
        (
            {"galaxy.softening": "0.1:1", "galaxy.count": 64},
            "galaxy.energy",
            {"path": "nbody"},
            "their steps are kernels",
        ),
    ],
)
def test_what_has_no_gradient_is_refused_before_the_first_run(searched, tmp_path, values, metric, options, message):
    with pytest.raises(InputError, match=message):
        searched(values, metric, **options)
    assert not (tmp_path / "out" / "runs.jsonl").exists()

"""`CustomModel`: models in a few lines, and the messages for invalid ones."""

from typing import ClassVar

import numpy as np
import pytest

import vertigrad
from vertigrad import ops
from vertigrad.errors import InputError, ShapeError
from vertigrad.gpu.deferred import grant_all
from vertigrad.models import CustomModel, Sketch
from vertigrad.models.custom_model import name_objection
from vertigrad.params import Params, color, integer, number, switch
from vertigrad.tensor import Tensor

SHADER = """
struct Fields { count: u32, dt: f32, time: f32, seed: u32, up: u32, tint: vec3f, more: f32 }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read_write> height: array<f32>;
@group(0) @binding(2) var<storage, read> wind: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= fields.count { return; }
    height[id.x] += wind[id.x] * fields.dt + fields.time + fields.tint.y + fields.more + f32(fields.up + fields.seed);
}
"""
BINDING_2 = "@group(0) @binding(2)"


class Created(CustomModel):
    class Params(Params):
        count: int = integer(5, min=1, rebuild=True)
        gain: float = number(2.0)
        up: bool = switch(True)
        tint: tuple[float, float, float] = color((0.0, 0.25, 1.0))

    inputs: ClassVar = {"wind": "what pushes"}
    tensors: ClassVar = {"height": ("count",), "position": ("count", 3), "number": ("count", "u32")}
    shader = SHADER

    def start(self, random):
        return {"position": random.random((self.params.count, 3)), "number": np.arange(self.params.count)}

    def advance(self, dt):
        self.height = self.height + self.params.gain * dt
        self.height += 1.0
        self.position[:, 0] = self.height


@pytest.fixture
def created(steady):
    wind = Tensor.from_numpy(np.arange(5, dtype=np.float32), "wind")
    models = []

    def make(kind=Created, seed=7, wind=wind, **values):
        models.append(kind("own", kind.Params(**values), {"wind": wind}, seed))
        return models[-1]

    yield make
    for model in models:
        model.close()
        model.close()
    wind.close()


def test_tensors_are_attributes_that_are_written_in_place(created):
    model = created()
    held, block = model.height, model.height.block.id
    model.step(0.5)
    model.step(0.25)
    assert model.height is held and model.height.block.id == block
    assert model.height.numpy().tolist() == [2 * 0.75 + 2] * 5 and model.time == 0.75
    outputs = model.outputs()
    assert outputs["position"].numpy()[:, 0].tolist() == [3.5] * 5
    assert outputs["number"].numpy().tolist() == [0, 1, 2, 3, 4] and outputs["number"].dtype.name == "u32"
    with pytest.raises(ShapeError):
        model.height = ops.sum(model.position, axis=0)


def test_a_seed_gives_the_same_start_and_a_reset_restores_it(created):
    first, again, other = created(), created(), created(seed=8)
    start = first.position.numpy()
    assert (start == again.position.numpy()).all() and (start != other.position.numpy()).any()
    first.step(0.1)
    first.reset()
    assert (
        (first.position.numpy() == start).all()
        and first.scalar_state() == {"time": 0.0}
        and not first.height.numpy().any()
    )


def test_a_kernel_gets_tensors_inputs_and_fields_by_name(created):
    class Run(Created):
        def advance(self, dt):
            self.run("main", self.params.count, more=100.0)

    model = created(Run)
    model.step(0.5)
    model.step(0.5)
    assert model.height.numpy() == pytest.approx(np.arange(5) + 0.5 + 2 * (0.25 + 100.0 + 1 + 7))


def test_a_kernel_reads_an_input_with_gaps_as_it_is_at_each_step(created):
    class Run(Created):
        def advance(self, dt):
            self.run("main", self.params.count, more=0.0)

    with Tensor.from_numpy(np.arange(10, dtype=np.float32).reshape(5, 2), "rows") as rows, rows[:, 1] as wind:
        model = created(Run, wind=wind, tint=(0.0, 0.0, 0.0), up=False, seed=0)
        model.step(1.0)
        ops.assign(rows, 2.0 * rows)
        model.step(0.5)
        assert model.height.numpy() == pytest.approx(2.0 * np.arange(1, 10, 2) + 1.0)


@pytest.mark.parametrize(
    ("shader", "entry", "expected"),
    [
        (SHADER, "mian", "no compute entry point 'mian'"),
        (SHADER, "main", 'main: unknown field "more"; known: count, dt'),
        (SHADER.replace("wind", "wnid"), "main", 'unknown tensor "wnid"; did you mean "wind"?'),
        (SHADER.replace("fields.dt +", "fields.dd +"), "main", "main: line 10 of the shader: "),
        (SHADER.replace("height", "position").replace(f"<f32>;\n{BINDING_2}", f"<vec3f>;\n{BINDING_2}"),
         "main", "rows of position have 12 bytes, those of array<vec3f> 16"),
        ("", "main", "the model has no shader"),
    ],
)  # fmt: skip
def test_an_invalid_shader(created, shader, entry, expected):
    class Run(Created):
        def advance(self, dt):
            self.run(entry, 5)

    Run.shader = shader.replace("position[id.x] +=", "position[id.x].x +=") if "vec3f>" in shader else shader
    model = created(Run)
    with pytest.raises(InputError) as raised:
        model.step(0.1)
    assert expected in str(raised.value)


def test_an_invalid_start(created):
    class Strange(Created):
        def start(self, random):
            return {"hieght": 1.0}

    class Wide(Created):
        def start(self, random):
            return {"height": np.ones(4)}

    class Words(Created):
        def start(self, random):
            return {"height": "high"}

    with pytest.raises(InputError, match='unknown tensor "hieght"; did you mean "height"'):
        created(Strange)
    with pytest.raises(InputError, match="start: expected height of f32, got <U4"):
        created(Words)
    with pytest.raises(InputError, match=r"start: expected height of shape \(5,\), got \(4,\)"):
        created(Wide)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("state", "self.state is an attribute of every CustomModel"), ("two words", "not a Python identifier")],
)
def test_a_name_that_a_tensor_cannot_have_is_explained(name: str, reason: str) -> None:
    assert reason in name_objection(name)
    assert not name_objection("position")


def test_its_old_name_is_the_same_class() -> None:
    assert Sketch is CustomModel


def test_values_that_a_step_reads_first_are_those_of_the_step_before(steady):
    class Chain(CustomModel):
        Params = Params
        tensors: ClassVar = {"first": (2,), "second": (2,)}

        def start(self, random):
            return {"first": [1.0, 1.0]}

        def advance(self, dt):
            values = self.first.numpy()  # nothing was recorded before it
            self.first = self.first * 2.0
            self.second[...] = values + 1.0

    viewer = vertigrad.Viewer("chain", offscreen=True, size=(64, 64))
    viewer.add_model(Chain)
    steady.submit()
    viewer.session.stage.begin_step(0.1)
    assert viewer.session.stage.proceed(grant_all)
    outputs = viewer.session.stage.instances["chain"].outputs
    np.testing.assert_array_equal(outputs["second"].numpy(), outputs["first"].numpy() / 2.0 + 1.0)
    viewer.close()

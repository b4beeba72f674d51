"""`CustomModel`: what a few lines give, and what is said when they do not fit."""

from typing import ClassVar

import numpy as np
import pytest

from vertigrad import ops
from vertigrad.errors import InputError, ShapeError
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


class Made(CustomModel):
    class Params(Params):
        count: int = integer(5, min=1, rebuild=True)
        gain: float = number(2.0)
        up: bool = switch(True)
        tint: tuple[float, float, float] = color((0.0, 0.25, 1.0))

    inputs: ClassVar = {"wind": "what pushes"}
    tensors: ClassVar = {"height": ("count",), "place": ("count", 3), "number": ("count", "u32")}
    shader = SHADER

    def start(self, random):
        return {"place": random.random((self.params.count, 3)), "number": np.arange(self.params.count)}

    def advance(self, dt):
        self.height = self.height + self.params.gain * dt
        self.height += 1.0
        self.place[:, 0] = self.height


@pytest.fixture
def made(steady):
    wind = Tensor.from_numpy(np.arange(5, dtype=np.float32), "wind")
    models = []

    def make(kind=Made, seed=7, **values):
        models.append(kind("own", kind.Params(**values), {"wind": wind}, seed))
        return models[-1]

    yield make
    for model in models:
        model.close()
        model.close()
    wind.close()


def test_tensors_are_attributes_that_are_written_in_place(made):
    model = made()
    held, block = model.height, model.height.block.id
    model.step(0.5)
    model.step(0.25)
    assert model.height is held and model.height.block.id == block
    assert model.height.numpy().tolist() == [2 * 0.75 + 2] * 5 and model.time == 0.75
    outputs = model.outputs()
    assert outputs["place"].numpy()[:, 0].tolist() == [3.5] * 5
    assert outputs["number"].numpy().tolist() == [0, 1, 2, 3, 4] and outputs["number"].dtype.name == "u32"
    with pytest.raises(ShapeError):
        model.height = ops.sum(model.place, axis=0)


def test_a_seed_starts_alike_and_a_reset_goes_back(made):
    first, again, other = made(), made(), made(seed=8)
    start = first.place.numpy()
    assert (start == again.place.numpy()).all() and (start != other.place.numpy()).any()
    first.step(0.1)
    first.reset()
    assert (
        (first.place.numpy() == start).all()
        and first.scalar_state() == {"time": 0.0}
        and not first.height.numpy().any()
    )


def test_a_kernel_gets_tensors_inputs_and_fields_by_name(made):
    class Run(Made):
        def advance(self, dt):
            self.run("main", self.params.count, more=100.0)

    model = made(Run)
    model.step(0.5)
    model.step(0.5)
    assert model.height.numpy() == pytest.approx(np.arange(5) + 0.5 + 2 * (0.25 + 100.0 + 1 + 7))


@pytest.mark.parametrize(
    ("shader", "entry", "expected"),
    [
        (SHADER, "mian", "no compute entry point 'mian'"),
        (SHADER, "main", 'main: unknown field "more"; known: count, dt'),
        (SHADER.replace("wind", "wnid"), "main", 'unknown tensor "wnid"; did you mean "wind"?'),
        (SHADER.replace("fields.dt +", "fields.dd +"), "main", "main: line 10 of the shader: "),
        (SHADER.replace("height", "place").replace("<f32>;\n@group(0) @binding(2)", "<vec3f>;\n@group(0) @binding(2)"),
         "main", "rows of place have 12 bytes, those of array<vec3f> 16"),
        ("", "main", "the model has no shader"),
    ],
)  # fmt: skip
def test_a_shader_that_does_not_fit(made, shader, entry, expected):
    class Run(Made):
        def advance(self, dt):
            self.run(entry, 5)

    Run.shader = shader.replace("place[id.x] +=", "place[id.x].x +=") if "vec3f>" in shader else shader
    model = made(Run)
    with pytest.raises(InputError) as raised:
        model.step(0.1)
    assert expected in str(raised.value)


def test_a_start_that_does_not_fit(made):
    class Strange(Made):
        def start(self, random):
            return {"hieght": 1.0}

    class Wide(Made):
        def start(self, random):
            return {"height": np.ones(4)}

    class Words(Made):
        def start(self, random):
            return {"height": "high"}

    with pytest.raises(InputError, match='unknown tensor "hieght"; did you mean "height"'):
        made(Strange)
    with pytest.raises(InputError, match="start: expected height of f32, got <U4"):
        made(Words)
    with pytest.raises(InputError, match=r"start: expected height of shape \(5,\), got \(4,\)"):
        made(Wide)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("state", "self.state is an attribute of every CustomModel"), ("two words", "not a Python identifier")],
)
def test_a_name_that_a_tensor_cannot_have_is_explained(name: str, reason: str) -> None:
    assert reason in name_objection(name)
    assert not name_objection("position")


def test_its_old_name_is_the_same_class() -> None:
    assert Sketch is CustomModel

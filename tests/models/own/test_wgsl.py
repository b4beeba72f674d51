"""`Wgsl`: models described by a scene, errors in such a table, and an edited shader."""

import numpy as np
import pytest

from vertigrad import scene
from vertigrad.errors import InputError, SceneError
from vertigrad.session import Session
from vertigrad.session.commands import SetParameter
from vertigrad.session.hot_reload import ReloadFile

TEXT = """version = 1
[models.life]
type = "wgsl"
shader = "life.wgsl"
seed = 3
gain = 3.0
passes = [{ entry = "main", threads = ["side", "side"] }]
start = [{ entry = "fill", threads = ["side", "side"] }]
[models.life.params]
side = { default = 4, max = 64 }
gain = { default = 2.0, min = 0.0, slider_max = 9.0, doc = "how much" }
on = true
tint = "#ff8000"
along = [0.0, 1.0, 0.0]
[models.life.tensors]
cell = { shape = ["side", "side"], init = [-1, 1] }
kept = { shape = ["side", "side", 1], dtype = "u32", init = 5 }
"""
SHADER = """
struct Fields { side: u32, on: u32, gain: f32, dt: f32, tint: vec3f, along: vec3f }
@group(0) @binding(0) var<uniform> fields: Fields;
@group(0) @binding(1) var<storage, read_write> cell: array<f32>;
@group(0) @binding(2) var<storage, read_write> kept: array<u32>;

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if any(id.xy >= vec2u(fields.side)) { return; }
    cell[id.y * fields.side + id.x] += fields.gain * fields.along.y * fields.tint.x * f32(fields.on);
}

@compute @workgroup_size(8, 8)
fn fill(@builtin(global_invocation_id) id: vec3u) {
    if any(id.xy >= vec2u(fields.side)) { return; }
    kept[id.y * fields.side + id.x] += id.x;
}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "life.wgsl").write_text(SHADER)
    return tmp_path


def written(folder, text=TEXT):
    (folder / "scene.toml").write_text(text)
    return folder / "scene.toml"


def test_the_model_follows_its_table(steady, folder):
    with Session(steady, written(folder)) as session:
        instance = session.stage.instances["life"]
        first = instance.outputs["cell"].numpy()
        assert first.shape == (4, 4) and np.abs(first).max() <= 1.0 and len(set(first.ravel())) == 16
        assert (instance.outputs["kept"].numpy()[..., 0] == 5 + np.arange(4)).all()
        instance.step(0.1)
        assert instance.outputs["cell"].numpy() == pytest.approx(first + 3.0, abs=1e-6)
        session.carry_out(SetParameter("models.life", "gain", 0.5))
        instance.step(0.1)
        assert instance.outputs["cell"].numpy() == pytest.approx(first + 3.5, abs=1e-6)
        session.carry_out(SetParameter("models.life", "side", 3))
        assert session.stage.instances["life"].outputs["cell"].shape == (3, 3)
        specs = {spec.name: spec for spec in instance.params.specs()}
        assert specs["side"].rebuild and specs["gain"].doc == "how much" and specs["tint"].kind == "color"


def test_an_edited_shader_is_hot_swapped_and_a_broken_one_is_not(steady, folder):
    with Session(steady, written(folder)) as session:
        instance = session.stage.instances["life"]
        instance.step(0.1)
        before = instance.outputs["cell"].numpy()
        (folder / "life.wgsl").write_text(SHADER.replace("+= fields.gain", "-= fields.gain"))
        session.carry_out(ReloadFile(folder / "life.wgsl"))
        assert session.stage.instances["life"] is instance and (instance.outputs["cell"].numpy() == before).all()
        instance.step(0.1)
        assert instance.outputs["cell"].numpy() == pytest.approx(before - 3.0, abs=1e-6)
        (folder / "life.wgsl").write_text(SHADER.replace("fields.gain", "fields.gian"))
        with pytest.raises(InputError, match=r"life\.wgsl:10: "):
            session.carry_out(ReloadFile(folder / "life.wgsl"))
        instance.step(0.1)
        assert instance.outputs["cell"].numpy() == pytest.approx(before - 6.0, abs=1e-6)


def test_reloading_the_scene_does_not_change_the_model(steady, folder):
    with Session(steady, written(folder)) as session:
        instance = session.stage.instances["life"]
        written(folder, TEXT.replace("gain = 3.0", "gain = 4.0"))
        session.reload()
        assert session.stage.instances["life"] is instance and instance.params.gain == 4.0


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('entry = "main"', 'entry = "mian"', "7:10  models.life.passes: the shader: no compute entry point 'mian'"),
        ('["side", "side"] }]\nstart', '["sied", 4] }]\nstart', '7:10  models.life.passes: unknown whole-number param'),
        ('passes = [{ entry = "main", threads = ["side", "side"] }]\n', "", "2:9  models.life: needs passes"),
        ('threads = ["side", "side"] }]\nstart', "threads = 0 }]\nstart", "7:10  models.life.passes: a size is a"),
        (', threads = ["side", "side"] }]\nstart', " }]\nstart", "7:10  models.life.passes: a size is a"),
        ("[-1, 1]", '"many"', "16:43  models.life.tensors.cell.init: expected a number, or [low, high]"),
        ('"u32"', '"u31"', "17:47  models.life.tensors.kept.dtype: \"u31\" is no dtype"),
        ("kept = {", "keep = {", '8:9  models.life.start: fill: unknown tensor "kept"; did you mean "keep"?'),
        ("kept = {", "state = {", "17:1  models.life.tensors.state: a tensor cannot be called state"),
        ("on = true", "no = true", '7:10  models.life.passes: main: unknown parameter "on"'),
        ("max = 64", "mux = 64", '10:8  models.life.params.side: unknown key "mux"; did you mean "max"?'),
        ("max = 64", 'max = "64"', '10:8  models.life.params.side: max: "64" (string) cannot be used'),
        ("default = 4", "default = 99", "10:8  models.life.params.side: 99 is above the maximum 64"),
        ('tint = "#ff8000"', 'tint = "red"', "models.life.params.tint: expected a color"),
        ("on = true", "time = true", "12:1  models.life.params.time: time cannot be the name of a parameter"),
        ("gain = 3.0", "gian = 3.0", '6:1  models.life.gian: unknown parameter; did you mean "gain"?'),
        ("gain = 3.0", "gain = -3.0", "6:8  models.life.gain: -3.0 is below the minimum 0"),
        ("life.wgsl", "live.wgsl", '4:10  models.life.shader: there is no file "live.wgsl"; did you mean "life.wgsl"?'),
    ],
)  # fmt: skip
def test_an_error_in_the_table(folder, old, new, expected):
    assert old in TEXT
    with pytest.raises(SceneError) as raised:
        scene.load(written(folder, TEXT.replace(old, new, 1)))
    lines = [line.split("scene.toml:")[1] for line in str(raised.value).splitlines()]
    assert any(expected in line for line in lines), lines


def test_consequences_of_an_error_are_not_reported(folder):
    for old, new in (("max = 64", "mux = 64"), ('"u32"', '"u31"')):
        with pytest.raises(SceneError) as raised:
            scene.load(written(folder, TEXT.replace(old, new, 1)))
        assert len(raised.value.problems) == 1


@pytest.mark.parametrize("value", ["1", '"x"', "[]", "[1]", "[[[]]]", "{}", "{ a = { b = 1 } }", "true"])
@pytest.mark.parametrize("key", ["passes", "start", "params", "tensors", "shader", "inputs"])
def test_any_value_gives_scene_problems_and_no_other_error(folder, key, value):
    text = f'version = 1\n[models.life]\ntype = "wgsl"\n{key} = {value}\n'
    with pytest.raises(SceneError):
        scene.load(written(folder, text))

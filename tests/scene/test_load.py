"""Loading valid scene files; all others raise `SceneError`."""

import dataclasses
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vertigrad import resources, scene
from vertigrad.errors import SceneError
from vertigrad.models.registry import types as model_types
from vertigrad.params import Params, number
from vertigrad.renderer.layers.registry import types as layer_types
from vertigrad.scene import OutputRef
from vertigrad.scene.schema import MODEL_KEYS

FULL = """version = 1
title = "Everything that can be written"

[camera]
position = [0, 2, 8]
target = [0, 0, 0]
fov = 45
up = "z"

[models.sheet]
type = "sail"
inputs = { wind = "galaxy.velocity" }

[models.galaxy]
type = "nbody"
seed = 7
substeps = 2
count = 65536
softening = 0.01
start = "ball"

[models.galaxy.ui.softening]
min = 0.001
max = 0.5
scale = "log"
label = "smoothing"

[models.hills]
type = "neural_field"

[layers.stars]
type = "points"
position = "galaxy.position"
color = "galaxy.speed"
colormap = "viridis"
range = [0, 2]
size = 0.01

[layers.sheet]
type = "points"
position = "sheet.position"
color = "#ff8000"
size = [2]
range = "auto"

[layers.hills]
type = "surface"
position = "hills.position"
color = "hills.height"

[view]
background = "#05060a"
exposure = 1.5
"""
LEAST = 'version = 1\nmodels.galaxy.type = "nbody"\n'


def test_every_key_of_the_format(load):
    found = load(FULL)
    assert (found.version, found.title) == (1, "Everything that can be written")
    assert (found.camera.position, found.camera.fov, found.camera.up) == ((0, 2, 8), 45, "z")
    assert found.view.exposure == 1.5
    assert found.view.background == pytest.approx((5 / 255, 6 / 255, 10 / 255))

    galaxy = found.models["galaxy"]
    assert (galaxy.name, galaxy.type, galaxy.seed, galaxy.substeps) == ("galaxy", "nbody", 7, 2)
    assert (galaxy.params.count, galaxy.params.softening, galaxy.params.start) == (65536, 0.01, "ball")
    hint = galaxy.ui["softening"]
    assert (hint.min, hint.max, hint.scale, hint.label) == (0.001, 0.5, "log", "smoothing")
    assert galaxy.outputs["position"].shape == (65536, 3)
    assert found.models["sheet"].inputs == {"wind": OutputRef("galaxy", "velocity")}

    stars, sheet = found.layers["stars"], found.layers["sheet"]
    assert stars.attributes == {
        "position": OutputRef("galaxy", "position"),
        "color": OutputRef("galaxy", "speed"),
        "size": 0.01,
    }
    assert (stars.style.colormap, stars.style.range) == ("viridis", (0, 2))
    assert sheet.attributes["color"] == pytest.approx((1.0, 128 / 255, 0.0))
    assert sheet.attributes["size"] == 2.0
    assert sheet.style.range == "auto"


def test_models_are_sorted_after_their_inputs(load):
    found = load(FULL)
    assert list(found.models) == ["sheet", "galaxy", "hills"]
    assert sorted(found.order) == sorted(found.models)
    assert found.order.index("galaxy") < found.order.index("sheet")


def test_omitted_keys_have_their_defaults(load, tmp_path):
    found = load(LEAST)
    assert found.title == "scene"
    assert found.path == tmp_path / "scene.toml"
    galaxy = found.models["galaxy"]
    assert (galaxy.seed, galaxy.substeps, dict(galaxy.inputs), dict(galaxy.ui)) == (0, 1, {}, {})
    assert galaxy.params.count == 8192
    assert dict(found.layers) == {}


def test_a_scene_and_its_parts_are_not_changed_by_accident(load):
    found = load(FULL)
    for part in (found, found.models["galaxy"], found.layers["stars"]):
        with pytest.raises(dataclasses.FrozenInstanceError):
            part.name = "other"


def test_files_are_in_the_scenes_folder_or_the_assets(load, tmp_path, monkeypatch):
    own = tmp_path / "weights" / "own.safetensors"
    packaged = tmp_path / "root" / "assets" / "shipped.safetensors"
    shadowed = tmp_path / "assets" / "shipped.safetensors"
    default = tmp_path / "root" / "assets" / "data" / "studio.hdr"  # of `view.environment_file`
    for file in (own, packaged, shadowed, default):
        file.parent.mkdir(parents=True)
        file.write_bytes(b"x")
    monkeypatch.setattr(resources, "root", lambda: tmp_path / "root")
    for written, expected in (
        ("weights/own.safetensors", own),
        ("./weights/../weights/own.safetensors", own),
        ("assets/shipped.safetensors", packaged),
        ("./assets/shipped.safetensors", shadowed),
    ):
        text = f'version = 1\nmodels.hills = {{ type = "neural_field", weights = "{written}" }}\n'
        assert load(text).models["hills"].params.weights == expected


def test_a_file_in_the_scenes_folder_with_the_path_of_an_asset(load, tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "root", lambda: tmp_path / "root")
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "own.safetensors").touch()
    text = 'version = 1\nmodels.hills = { type = "neural_field", weights = "assets/own.safetensors" }\n'
    with pytest.raises(SceneError, match=r'a file next to the scene is written "\./assets/own\.safetensors"$'):
        load(text)


def test_paths_are_relative_to_the_scene_and_not_to_the_working_directory(load, tmp_path, monkeypatch):
    (tmp_path / "own.safetensors").write_bytes(b"x")
    (tmp_path / "scene.toml").write_text(
        'version = 1\nmodels.hills = { type = "neural_field", weights = "own.safetensors" }\n'
    )
    monkeypatch.chdir(tmp_path.parent)
    relative = Path(os.path.relpath(tmp_path / "scene.toml"))
    assert load(relative).models["hills"].params.weights == tmp_path / "own.safetensors"


def test_line_ends_of_another_system(load):
    assert load(FULL.replace("\n", "\r\n").encode()).models["galaxy"].params.count == 65536


def test_problems_found_later_have_a_location(load, tmp_path):
    error = load(FULL).error(("layers", "stars", "color"), "too bright")
    line = FULL.splitlines().index('color = "galaxy.speed"') + 1
    assert str(error) == f"{tmp_path / 'scene.toml'}:{line}:9  layers.stars.color: too bright"


class Reserved(Params):
    seed: float = number(0.0)


class TwoMeanings(Params):
    size: float = number(0.0)


def test_a_name_with_two_meanings_is_an_internal_error(load, monkeypatch):
    monkeypatch.setattr(load.models["nbody"], "Params", Reserved)
    with pytest.raises(TypeError, match="seed"):
        load(LEAST)
    monkeypatch.undo()
    monkeypatch.setattr(load.layers["points"], "Style", TwoMeanings)
    with pytest.raises(TypeError, match="size"):
        load(FULL)


def test_every_packaged_scene_is_valid():
    shipped = resources.scenes()
    assert shipped
    for path in shipped:
        found = scene.load(path)
        assert found.order and found.layers, path


def test_every_built_in_type_can_be_written_in_a_file():
    """No parameter, style or attribute of theirs has a name that a scene file uses for something else."""
    for model in model_types().values():
        assert not model.Params.model_fields.keys() & set(MODEL_KEYS)
    for layer in layer_types().values():
        assert not layer.Style.model_fields.keys() & {"type", *layer.ATTRIBUTES}


LINES = FULL.splitlines()
VALUES = st.sampled_from(
    [
        *("1", "-1e40", "nan", "true", "9" * 400, "1979-05-27", "07:32:00"),
        *('"a.b"', '"galaxy.position"', '""', '"assets/"', '"\\u0000"', '"' + "x" * 300 + '"'),
        *("[]", "[1, 'x']", "[[1], [2]]", "{}", "{ a.b = [{}] }"),
    ]
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_entries_with_any_value_give_no_other_error(load, data):
    """Some lines of a valid scene get other values, are removed, or repeated."""
    lines = list(LINES)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        key = lines[at].partition("=")[0]
        changed = data.draw(st.sampled_from(["value", "value", "gone", "twice"]))
        lines[at : at + 1] = {
            "value": [f"{key} = {data.draw(VALUES)}"],
            "gone": [],
            "twice": [lines[at]] * 2,
        }[changed]
    only_a_scene_error("\n".join(lines), load)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_text_gives_no_other_error(load, data):
    text = FULL
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.text(max_size=3)) + text[at + data.draw(st.integers(0, 3)) :]
    only_a_scene_error(text, load)


def only_a_scene_error(text, load):
    try:
        load(text.encode("utf-8", "surrogatepass"))
    except SceneError as error:
        lines = text.count("\n") + 1
        assert error.problems
        for problem in error.problems:
            assert 1 <= problem.line <= lines and problem.column >= 1 and problem.message

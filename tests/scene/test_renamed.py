"""Old names in scene files: read as the new ones, and written as them by the next save."""

from __future__ import annotations

from pathlib import Path

import pytest

from vertigrad.errors import SceneError, SceneProblem
from vertigrad.models import registry as models
from vertigrad.params import Params
from vertigrad.renderer.layers import registry as layers
from vertigrad.scene import Animation, View, load
from vertigrad.scene.renamed import ANIMATION, CHOICES, MODELS, OUTPUTS, PARAMETERS, renewed
from vertigrad.scene.save import save
from vertigrad.scene.settings import path_in
from vertigrad.scene.source import text_of

from ..old_names import warned

OLD = """version = 1
title = "pericentre"  # pericentre
[models.pericentre]
type = "nbody"
pericentre = 2.5
ui.pericentre.label = "how near"
[models.birds]
type = "flock"
[models.air]
type = "lattice_boltzmann"
collision = 'regularised'
[models.own]
type = "wgsl"
params.soft_max = { default = 1.0, soft_max = 2.0 }
[layers.points]
type = "points"
position = "birds.position"
color = "birds.neighbours"
[layers."a \\"b\\""]
type = "image"
centre = [0.0, 1.0, 2.0]
[presets.near]
"pericentre.pericentre" = 0.5
"air.collision" = "regularised"
"layers.points.title" = "regularised"
[animations."models.pericentre.pericentre"]
"""
NEW = """version = 1
title = "pericentre"  # pericentre
[models.pericentre]
type = "nbody"
pericenter = 2.5
ui.pericenter.label = "how near"
[models.birds]
type = "flock"
[models.air]
type = "lattice_boltzmann"
collision = 'regularized'
[models.own]
type = "wgsl"
params.soft_max = { default = 1.0, slider_max = 2.0 }
[layers.points]
type = "points"
position = "birds.position"
color = "birds.neighbors"
[layers."a \\"b\\""]
type = "image"
center = [0.0, 1.0, 2.0]
[presets.near]
"pericentre.pericenter" = 0.5
"air.collision" = "regularized"
"layers.points.title" = "regularised"
[animations."models.pericentre.pericenter"]
"""


def test_keys_and_outputs_of_their_types_alone_are_renamed() -> None:
    assert renewed(OLD) == NEW
    assert renewed(NEW) == NEW
    others = OLD
    for kind in ("nbody", "flock", "lattice_boltzmann", "image", "wgsl"):
        others = others.replace(f'type = "{kind}"', 'type = "own.py"')
    assert renewed(others) == others


def test_a_switch_that_became_a_choice_is_read_as_its_choice(tmp_path: Path) -> None:
    old = """version = 1
[models.stars]
type = "nbody"
[layers.dots]
type = "marks"
position = "stars.position"
tone_mapped = true  # light
[layers.paths]
type = "trails"
position = "stars.position"
tone_mapped = false
[presets.plain]
"layers.dots.tone_mapped" = false
"""
    new = old.replace("tone_mapped = true", 'tone_map = "view"').replace("tone_mapped = false", 'tone_map = "none"')
    new = new.replace('tone_mapped" = false', 'tone_map" = "none"')
    assert renewed(old) == new and renewed(new) == new
    path = tmp_path / "old.toml"
    path.write_text(old)
    assert load(path, sets=["layers.paths.tone_mapped=true"]).layers["paths"].style.tone_map == "view"
    assert [one.style.tone_map for one in load(path).layers.values()] == ["view", "none"]


def test_a_renamed_type_is_read_with_its_parameters() -> None:
    text = (
        'version = 1\n[models.nbody_far]\ntype = "nbody_far"  # a tree\nrate = 2.0\n[layers.rate]\ntype = "nbody_far"\n'
    )
    expected = text.replace('type = "nbody_far"  # a tree\nrate', 'type = "nbody_barnes_hut"  # a tree\ntime_scale')
    assert renewed(text) == expected
    assert not MODELS.keys() & models.types().keys() and models.types().keys() >= set(MODELS.values())


@pytest.mark.parametrize(
    "text", ["pericentre = ", 'models = "pericentre"', "[models]\npericentre = 3\n", 41 * "[" + "pericentre"]
)
def test_what_is_no_scene_stays(text: str) -> None:
    assert renewed(text) == text


OLD_VIEW = """version = 1
[models.view]
type = "nbody"
look = 1
[layers.arrows]
type = "arrows"
longest = 2.0
even = true
[layers.lines]
type = "streamlines"
rows = 8
pulse = 0.5
pulse_length = 0.25
[view]
look = "own"
sun_width = 3.0
clip_place_2 = [0, 1, 2]
[presets.one]
"view.look" = "own"
"view.occlusion_reach" = 0.2
"layers.lines.ways" = "forward"
[animations."view.sun_width"]
rate = 0.5
[animations."layers.lines.pulse_speed"]
rate = 0.25
"""
NEW_VIEW = """version = 1
[models.view]
type = "nbody"
look = 1
[layers.arrows]
type = "arrows"
max_length = 2.0
normalize = true
[layers.lines]
type = "streamlines"
vertices = 8
dashes = 0.5
dash_spacing = 0.25
[view]
theme = "custom"
sun_angle = 3.0
clip_origin_2 = [0, 1, 2]
[presets.one]
"view.theme" = "custom"
"view.occlusion_radius" = 0.2
"layers.lines.direction" = "forward"
[animations."view.sun_angle"]
frequency = 0.5
[animations."layers.lines.dash_speed"]
frequency = 0.25
"""


def test_keys_of_layers_of_the_view_and_of_animations_are_renamed() -> None:
    assert renewed(OLD_VIEW) == NEW_VIEW
    assert renewed(NEW_VIEW) == NEW_VIEW


def test_set_takes_old_names_and_choices(tmp_path: Path) -> None:
    path = tmp_path / "one.toml"
    text = 'version = 1\n[view]\ntheme = "night"\n[models.a]\ntype = "nbody"\ncount = 20\n[layers.b]\ntype = "trails"\n'
    path.write_text(text + 'position = "a.position"\n')
    found = load(path, sets=["view.look=own", "view.sun_width=4", "layers.b.every=0.5"])
    assert (found.view.theme, found.view.sun_angle, found.layers["b"].style.sample_interval) == ("custom", 4.0, 0.5)
    assert path_in(found, "layers.b.every=0.5") == ("layers", "b", "sample_interval")


def test_new_names_exist_and_old_ones_do_not() -> None:
    for (section, kind), names in PARAMETERS.items():
        known = keys_of(section, kind)
        assert known >= set(names.values()) and not known & names.keys(), kind
    for (section, kind, parameter), names in CHOICES.items():
        (spec,) = (spec for spec in declared(section, kind).specs() if spec.name == parameter)
        assert {*spec.choices} >= set(names.values()) and not {*spec.choices} & names.keys(), kind
    assert (
        set(ANIMATION.values()) <= set(Animation.model_fields) and not ANIMATION.keys() & Animation.model_fields.keys()
    )
    for kind, names in OUTPUTS.items():
        known = set(models.types()[kind].output_specs(models.types()[kind].Params()))
        assert known >= set(names.values()) and not known & names.keys(), kind


def declared(section: str, kind: str) -> type[Params]:
    if section == "view":
        return View
    return models.types()[kind].Params if section == "models" else layers.types()[kind].Style


def keys_of(section: str, kind: str) -> set[str]:
    fields = set(declared(section, kind).model_fields)
    if section == "view":
        return fields
    return fields | (models.types()[kind].tables if section == "models" else layers.types()[kind].ATTRIBUTES.keys())


def test_a_file_with_an_old_name_loads_and_is_saved_with_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "old.toml"
    text = 'version = 1\n[models.a]\ntype = "nbody"\ncount = 20\npericentre = 2.5  # near\n'
    path.write_text(text)
    found = load(path, sets=["a.pericentre=3.5"])
    assert found.models["a"].params.pericenter == 3.5
    assert found.models["a"].params.pericenter == load(path, sets=["a.pericenter=3.5"]).models["a"].params.pericenter
    found = load(path)
    assert found.models["a"].params.pericenter == 2.5
    save(found, {("models", "a", "pericenter"): 4.0})
    assert path.read_text() == text.replace("pericentre = 2.5", "pericenter = 4.0")


def test_mistakes_of_a_scene_error_are_its_problems():
    error = SceneError("x.toml", [SceneProblem(1, 2, "models", "must be given")])
    with warned("SceneError.mistakes is now called problems"):
        assert error.mistakes == error.problems


def test_set_takes_old_keys_types_and_choices(tmp_path: Path) -> None:
    path = tmp_path / "old.toml"
    path.write_text('version = 1\n[models.flow]\ntype = "lattice_boltzmann"\nsides = "repeat"\n')
    found = load(path, sets=["flow.ends=repeat", "flow.rate=30", "flow.obstacle=aerofoil"]).models["flow"].params
    assert (found.ends, found.sides, found.obstacle, found.steps_per_second) == (
        "periodic",
        "periodic",
        "airfoil",
        30.0,
    )


def test_a_file_with_old_names_is_noticed_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "old.toml"
    file.write_text(OLD.replace("[layers.points]", "[layers.points2]"), encoding="utf-8")
    for _ in range(2):
        text_of(file)
    (line,) = caplog.messages
    assert line.startswith("old.toml: old names are read as new ones, which saving writes: ")
    for name in ("pericentre is now pericenter", "regularised is now regularized", "soft_max is now slider_max"):
        assert name in line
    file.write_text(renewed(OLD), encoding="utf-8")
    text_of(file)
    assert len(caplog.messages) == 1

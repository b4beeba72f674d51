"""Presets and animations in a scene's file."""

import pytest

from vertigrad.scene import Animation
from vertigrad.scene.settings import entry, shortest

SCENE = """\
version = 1

[models.galaxy]
type = "nbody"

[models.view]
type = "nbody"

[layers.stars]
type = "points"
position = "galaxy.position"

"""


def test_keys_name_parameters_as_set_does(load):
    found = load(
        SCENE
        + """\
[presets]
low = { "galaxy.softening" = 0.1, "layers.stars.range" = "auto" }

[presets."Very high"]
"models.galaxy.softening" = 1
"models.view.count" = 5
"view.exposure" = 2
"view.background" = "#ff8000"
"""
    )
    assert list(found.presets) == ["low", "Very high"]
    assert found.presets["low"] == {
        ("models", "galaxy", "softening"): 0.1,
        ("layers", "stars", "range"): "auto",
    }
    assert found.presets["Very high"] == {
        ("models", "galaxy", "softening"): 1.0,
        ("models", "view", "count"): 5,
        ("view", "exposure"): 2.0,
        ("view", "background"): (1.0, 128 / 255, 0.0),
    }


def test_files_in_presets_are_looked_up_as_in_models(load, tmp_path):
    (tmp_path / "a.safetensors").write_bytes(b"x")
    scene = 'version = 1\n[models.a]\ntype = "neural_field"\n[presets.b]\n"a.weights" = "a.safetensors"\n'
    assert load(scene).presets["b"] == {("models", "a", "weights"): (tmp_path / "a.safetensors").resolve()}


def test_animations(load):
    found = load(
        SCENE
        + """\
[animations."galaxy.softening"]
range = [0.1, 0.5]
frequency = 2

[animations]
"view.sun" = { range = [0, 1], shape = "noise", seed = 4 }
"""
    )
    assert found.animations == {
        ("models", "galaxy", "softening"): Animation(range=(0.1, 0.5), frequency=2.0),
        ("view", "sun"): Animation(shape="noise", range=(0.0, 1.0), seed=4),
    }


def test_an_animation_from_the_command_line(load):
    sets = ['animations."galaxy.softening".range=[0.1, 0.5]', 'animations."galaxy.softening".shape=ramp']
    moves = load(SCENE, sets=sets).animations
    assert moves == {("models", "galaxy", "softening"): Animation(shape="ramp", range=(0.1, 0.5))}


@pytest.mark.parametrize("path", [("models", "a", "b"), ("models", "view", "b"), ("layers", "a", "b"), ("view", "b")])
def test_the_shortest_name_is_unambiguous(path):
    assert entry(shortest(path)) == path

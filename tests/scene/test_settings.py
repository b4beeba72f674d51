"""`--set`: changed values, and messages for invalid ones."""

import pytest

from vertigrad.errors import InputError, SceneError
from vertigrad.scene.settings import parse

SCENE = """version = 1

[models.galaxy]
type = "nbody"
seed = 7

[layers.stars]
type = "points"
position = "galaxy.position"
"""


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("galaxy.softening=0.1", ("models", "galaxy", "softening"), 0.1),
        ("models.galaxy.softening = 0.1", ("models", "galaxy", "softening"), 0.1),
        ("layers.stars.size=2", ("layers", "stars", "size"), 2),
        ("camera.position=[0, 1, 2]", ("camera", "position"), [0, 1, 2]),
        ("title=Colliding galaxies", ("title",), "Colliding galaxies"),
        ("galaxy.start=disc", ("models", "galaxy", "start"), "disc"),
        ('galaxy.start="disc"', ("models", "galaxy", "start"), "disc"),
        ("galaxy.frozen=true", ("models", "galaxy", "frozen"), True),
        ("layers.stars.position=a.b", ("layers", "stars", "position"), "a.b"),
        ("view.background=#ffffff", ("view", "background"), "#ffffff"),
        ('"a b".c=x=y', ("models", "a b", "c"), "x=y"),
        ("a.b=1\nc = 2", ("models", "a", "b"), "1\nc = 2"),
        ("a.b=", ("models", "a", "b"), ""),
        ("a.b", (), None),
        ("=3", (), None),
        ("a..b=3", (), None),
        (".".join("a" * 50) + "=3", (), None),
    ],
)
def test_parse(text, path, value):
    setting = parse(text)
    assert (setting.path, setting.value) == (path, value)


def test_settings_replace_values_of_the_file(load):
    sets = [
        "galaxy.softening=0.1",
        "layers.stars.size=0.5",
        "camera.fov=30",
        "view.exposure=2",
        "title=Other",
    ]
    found = load(SCENE, sets=sets)
    assert found.models["galaxy"].params.softening == 0.1
    assert found.layers["stars"].attributes["size"] == 0.5
    assert (found.camera.fov, found.view.exposure, found.title) == (30, 2, "Other")


def test_the_last_setting_of_an_entry_wins(load):
    assert load(SCENE, sets=["galaxy.count=100", "galaxy.count=200"]).models["galaxy"].params.count == 200


def test_a_setting_replaces_an_invalid_value_of_the_file(load):
    assert load(SCENE.replace("seed = 7", "count = -1"), sets=["galaxy.count=100"])


def test_a_seed_applies_to_every_model_without_a_set_one(load):
    two = SCENE + '[models.other]\ntype = "nbody"\n'
    assert [model.seed for model in load(two).models.values()] == [7, 0]
    assert [model.seed for model in load(two, seed=3).models.values()] == [3, 3]
    assert [model.seed for model in load(two, seed=3, sets=["galaxy.seed=5"]).models.values()] == [5, 3]


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_an_invalid_seed(load, seed):
    with pytest.raises(InputError, match=r"^--seed: "):
        load(SCENE, seed=seed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("galaxy.softning=0.1", 'unknown parameter; did you mean "softening"?'),
        ("galaxy.softening=soft", 'expected a number, got "soft" (string)'),
        ("galaxy.softening=7", "7.0 is above the maximum 1.0 kpc"),
        ("galaxy.softening.x=7", "expected a number, got a table"),
        ("galxy.softening=1", 'unknown model "galxy"; did you mean "galaxy"?'),
        ("stars.size=1", 'unknown model "stars"; a layer has this name: write layers.stars'),
        ("layers.star.size=1", 'unknown layer "star"; did you mean "stars"?'),
        ("layers.stars.sise=1", 'unknown key; did you mean "size"?'),
        ("layers.stars.position=galaxy.speeed", 'galaxy: unknown output "speeed"; did you mean "speed"?'),
        ("camera.fov=0", "0.0 is below the minimum 1.0 degrees"),
        ("camera.fvo=50", 'unknown key; did you mean "fov"?'),
        ("galaxy=1", "sets all of models.galaxy; add the name of an entry"),
        ("camera=1", "sets all of camera; add the name of an entry"),
        ("version=1", "sets all of version; add the name of an entry"),
        ("softening", "expected NAME.PARAMETER=VALUE, such as galaxy.softening=0.1"),
    ],
)
def test_a_wrong_setting_is_quoted(load, text, message):
    with pytest.raises(InputError) as raised:
        load(SCENE, sets=[text])
    assert str(raised.value) == f"--set {text}: {message}"
    assert raised.value.exit_code == 2


def test_problems_of_settings_and_of_the_file_are_reported_together(load):
    with pytest.raises(SceneError) as raised:
        load(SCENE.replace("seed", "sed"), sets=["galaxy.count=1", "nobody.x=1"])
    assert [line.split("scene.toml:")[1] for line in str(raised.value).splitlines()] == [
        '1:1  --set nobody.x=1: unknown model "nobody"; known: galaxy',
        "1:1  --set galaxy.count=1: 1 is below the minimum 2",
        '5:1  models.galaxy.sed: unknown parameter; did you mean "seed"?',
    ]


def test_a_missing_key_of_the_file_is_not_a_problem_of_a_setting(load):
    with pytest.raises(SceneError) as raised:
        load("version = 1\n", sets=["galaxy.count=100"])
    assert [line.split("scene.toml:")[1] for line in str(raised.value).splitlines()] == [
        '1:1  --set galaxy.count=100: unknown model "galaxy"',
        "1:1  models: a scene needs a model: a table such as [models.galaxy]",
    ]


def test_a_setting_inside_a_value_that_is_not_a_table(load):
    with pytest.raises(InputError, match=r"^--set galaxy.seed.x=1: models.galaxy.seed is not a table$"):
        load(SCENE, sets=["galaxy.seed.x=1"])

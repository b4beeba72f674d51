"""The legend of a layer, in the scene file."""

import pytest

from vertigrad.errors import SceneError
from vertigrad.renderer.annotations.overlay import ColorBar

SCENE = """
version = 1
[models.galaxy]
type = "nbody"
[layers.stars]
type = "points"
position = "galaxy.position"
{}
"""


def stars(load, text):
    return load(SCENE.format(text)).layers["stars"]


def test_it_is_read_with_its_title_and_unit(load):
    entry = 'color = "galaxy.speed"\ncolorbar = { title = "speed", unit = "km/s" }'
    bar = stars(load, entry).colorbar
    assert bar == ColorBar(title="speed", unit="km/s")
    assert bar.heading("stars") == "speed [km/s]"


def test_it_may_be_empty(load):
    bar = stars(load, 'color = "galaxy.speed"\ncolorbar = {}').colorbar
    assert bar is not None
    assert bar.heading("young_stars") == "young stars"


def test_without_the_key_there_is_none(load):
    assert stars(load, 'color = "galaxy.speed"').colorbar is None


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("colorbar = {}", 8, "color is one for all rows"),
        ('color = "#ffffff"\ncolorbar = {}', 9, "color is one for all rows"),
        ('color = "galaxy.speed"\ncolorbar = true', 9, "expected a table"),
        ('color = "galaxy.speed"\ncolorbar = { titel = "x" }', 9, 'did you mean "title"?'),
        ('color = "galaxy.speed"\ncolorbar = { unit = 3 }', 9, "expected text"),
    ],
)
def test_problems_are_reported_with_their_location(load, text, line, message):
    with pytest.raises(SceneError) as error:
        stars(load, text)
    (problem,) = error.value.problems
    assert message in problem.message
    assert problem.line == line
    assert problem.key.startswith("layers.stars.colorbar")

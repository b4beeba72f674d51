"""Themes: in a scene's file, chosen while it runs, undone and saved."""

import tomllib

import pytest

from vertigrad import gpu as the_gpu
from vertigrad.renderer.themes import CUSTOM, NAMES, THEMED, THEMES
from vertigrad.renderer.view import View, themed_view
from vertigrad.scene import load
from vertigrad.session import Session
from vertigrad.session.commands import Redo, ResetParameters, Save, SetParameter, Undo
from vertigrad.session.parameters import THEME, Key

SCENE = """version = 1

[models.galaxy]
type = "nbody"
count = 64

[layers.stars]
type = "points"
position = "galaxy.position"

[view]
{view}
"""


def written(tmp_path, view):
    path = tmp_path / "scene.toml"
    path.write_text(SCENE.format(view=view))
    return path


@pytest.fixture
def opened(tmp_path):
    sessions = []

    def make(view="", sets=()):
        session = Session(the_gpu(), written(tmp_path, view), sets)
        sessions.append(session)
        return session

    yield make
    for session in sessions:
        session.close()


def post(session, *commands):
    for command in commands:
        session.post(command)
    session.apply()
    assert not session.messages, session.messages


@pytest.mark.parametrize("theme", sorted(THEMES))
def test_a_theme_is_a_complete_set_of_valid_values(theme):
    assert set(THEMES[theme]) == set(THEMED)
    assert set(THEMED) < set(View.model_fields)
    assert themed_view(theme).theme == theme
    assert any(getattr(themed_view(theme), name) != getattr(View(), name) for name in THEMED)


def test_a_scene_applies_its_theme_and_overrides_values(tmp_path):
    view = load(written(tmp_path, 'theme = "night"\nexposure = 2.5')).view
    assert view.theme == "night"
    assert view.exposure == 2.5
    expected = themed_view("night")
    assert all(getattr(view, name) == getattr(expected, name) for name in THEMED if name != "exposure")


def test_the_command_line_sets_a_theme(tmp_path):
    path = written(tmp_path, "exposure = 2.5")
    view = load(path, sets=["view.theme=paper"]).view
    assert view.tint == themed_view("paper").tint
    assert view.exposure == 2.5


def test_an_unknown_theme_is_reported_with_its_location(tmp_path):
    with pytest.raises(Exception, match=r"scene.toml:12:9.*view.theme.*paper"):
        load(written(tmp_path, 'theme = "papers"'))


def test_choosing_a_theme_is_one_step_that_can_be_undone(opened):
    session = opened('background = "#102030"\nsun_azimuth = 70')
    before = session.view.model_copy()
    post(session, SetParameter(*THEME, "studio"))
    expected = themed_view("studio")
    assert all(getattr(session.view, name) == getattr(expected, name) for name in THEMED)
    assert session.view.sun_azimuth == 70
    post(session, Undo())
    assert session.view == before
    post(session, Redo())
    assert session.view.theme == "studio"
    assert session.view.background == expected.background


def test_returning_to_the_scenes_theme_restores_its_own_values(opened):
    session = opened('theme = "night"\nexposure = 2.5')
    before = session.view.model_copy()
    post(session, SetParameter(*THEME, "paper"))
    assert session.view.exposure == themed_view("paper").exposure
    post(session, ResetParameters((THEME,)))
    assert session.view == before
    post(session, SetParameter(*THEME, CUSTOM))
    assert session.view.exposure == View().exposure
    assert session.view.background == View().background


@pytest.mark.parametrize("start", ["", 'theme = "night"', 'theme = "night"\nbloom = 0.01', "bloom = 0.01"])
@pytest.mark.parametrize("theme", [CUSTOM, "paper"])
def test_a_saved_theme_has_the_displayed_values(opened, start, theme):
    session = opened(start)
    post(session, SetParameter(*THEME, "blueprint"), SetParameter(*THEME, theme))
    post(session, SetParameter("view", "tint", 0.0), SetParameter("view", "vignette", View().vignette))
    shown_view = session.view.model_copy()
    post(session, Save())
    assert load(session.scene.path).view == shown_view
    assert session.view == shown_view
    assert not session.unsaved


def test_a_saved_theme_is_one_line_of_the_file(opened):
    session = opened()
    post(session, SetParameter(*THEME, "studio"), Save())
    assert tomllib.loads(session.scene.path.read_text())["view"] == {"theme": "studio"}


def test_the_theme_is_one_of_the_parameters():
    spec = next(spec for spec in View.specs() if spec.name == "theme")
    assert spec.choices == NAMES
    assert Key("view", "theme") == THEME

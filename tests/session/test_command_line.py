"""The copied command line, parsed by the program, gives the same values and the same image."""

import shlex
import sys

import numpy as np
import pytest
from PIL import Image

from vertigrad import resources
from vertigrad.gpu import Gpu
from vertigrad.headless import render
from vertigrad.scene import Animation, load
from vertigrad.session import Session
from vertigrad.session.command_line import command_line, setting, setting_of
from vertigrad.session.commands import Animate, ResetParameters, SetParameter
from vertigrad.session.parameters import Key, each

from .running import SCENE, run_frame

HEIGHT = Key("models.row", "height")


def options(line: str, name: str) -> list[str]:
    words = shlex.split(line, comments=True)
    return [words[at + 1] for at, word in enumerate(words) if word == name]


def do(session: Session, *commands) -> None:
    for command in commands:
        session.post(command)
    run_frame(session)


def test_every_value_is_reproduced_exactly(opened):
    session = opened(sets=["camera.fov=20", "row.count=5", "title=it's mine"], seed=9)
    do(
        session,
        SetParameter(*HEIGHT, 0.1 + 0.2),
        SetParameter("view", "background", (0.1, 0.2, 0.3)),
        SetParameter("view", "sun_color", "#ff8000"),
        SetParameter("layers.dots", "range", "auto"),
        SetParameter("layers.dots", "colormap", "viridis"),
        SetParameter("layers.dots", "colormap_flip", True),
        Animate("layers.dots", "emissive", Animation(shape="noise", range=(0.0, 0.5))),
    )
    line = command_line(session, (640, 400), "a b.png")
    words = shlex.split(line)
    assert words[:3] == ["vertigrad", "render", str(session.scene.path)] and "#" not in line.replace("#ff8000", "")
    assert options(line, "--seed") == ["9"] and options(line, "--size") == ["640x400"]
    assert options(line, "--frames") == ["1"] and options(line, "-o") == ["a b.png"]
    again = load(session.scene.path, sets=options(line, "--set"), seed=9)
    assert (again.camera.fov, again.title) == (20.0, "it's mine")
    with Session(session.gpu, session.scene.path, options(line, "--set"), 9) as other:
        assert {key: value for key, _, value in each(other.originals())} == session.scene_edits.values()
        assert other.scene_edits.extras.animations == session.scene_edits.extras.animations


def test_without_changes_there_are_no_options(opened):
    session = opened()
    run_frame(session)
    assert options(command_line(session), "--set") == []


def test_a_packaged_scene_is_referred_to_by_name(steady: Gpu):
    with Session(steady, resources.path("scenes", "nbody.toml"), ["galaxy.count=64"]) as session:
        assert command_line(session).startswith("vertigrad render nbody --set galaxy.count=64 --frames ")


def test_edits_without_an_option_are_listed_as_comments(opened):
    session = opened(SCENE + '[animations."row.height"]\nrange = [0, 1]\n')
    do(session, ResetParameters(), Animate(*HEIGHT, None))
    assert command_line(session).endswith('  # without animations."row.height"')


def test_one_parameter(opened):
    session = opened()
    do(session, SetParameter(*HEIGHT, 0.25), SetParameter("view", "background", "#102030"))
    assert setting_of(session, HEIGHT) == "--set row.height=0.25"
    assert setting_of(session, Key("view", "background")) == """--set 'view.background="#102030"'"""


@pytest.mark.parametrize("value", ["true", "inf", "a b", "", "x=y", "'", "#", "12", "é", "a-b"])
def test_text_stays_text(value):
    from vertigrad.scene.settings import parse

    read = parse(setting(("models", "a", "b"), value))
    assert (read.path, read.value) == (("models", "a", "b"), value)


def test_models_with_the_name_of_a_section():
    assert setting(("models", "view", "x"), 1) == "models.view.x=1" and setting(("models", "a", "x"), 1) == "a.x=1"


@pytest.mark.skipif(sys.platform == "win32", reason="as a POSIX shell reads it")
def test_the_same_image_without_a_window(steady: Gpu, tmp_path):
    """An edited session after some frames, compared with the program run with the command line."""
    from vertigrad.cli import main

    path = resources.path("scenes", "nbody.toml")
    with Session(steady, path, ["galaxy.count=200"]) as session:
        session.post(SetParameter("layers.stars", "emissive", 0.3))
        session.post(SetParameter("view", "background", (0.3, 0.1, 0.2)))
        session.post(Animate("view", "sun_azimuth", Animation(range=(-90.0, 90.0), frequency=2.0)))
        render(session, 7, (96, 64), [tmp_path / "here.png"])
        line = command_line(session, (96, 64), str(tmp_path / "there.png"))
    assert main(shlex.split(line)[1:]) == 0
    here, there = (np.asarray(Image.open(tmp_path / f"{name}.png")) for name in ("here", "there"))
    assert np.array_equal(here, there) and here.std() > 1.0

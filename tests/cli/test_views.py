"""`--camera`, `--turntable` and `--transparent`: the camera of an image, and its background."""

import math
import shlex

import numpy as np
import pytest
from PIL import Image

from vertigrad.renderer import OrbitCamera
from vertigrad.scene.viewpoints import camera_text
from vertigrad.session import Session
from vertigrad.session.command_line import command_line
from vertigrad.session.commands import Orbit, Parallel

from ..session.running import SCENE, run_frame, written

BOOKMARK = (
    '[camera]\nposition = [0, 2, 8]\n[camera.bookmarks."from above"]\nposition = [0.4, 5, 0.1]\ntarget = [0.4, 0, 0]\n'
)
SIZE = ("--size", "96x64")


@pytest.fixture
def scene(row, tmp_path):
    return written(tmp_path, SCENE + BOOKMARK)


@pytest.fixture
def render(vertigrad, scene, tmp_path):
    def frame_image(*options, name="out.png"):
        outcome = vertigrad("render", scene, "-o", tmp_path / name, *SIZE, *options)
        assert (outcome.code, outcome.messages) == (0, []), outcome.err
        with Image.open(tmp_path / name) as image:
            return np.asarray(image).astype(int)

    return frame_image


@pytest.mark.turns(2)
def test_a_bookmark_or_two_positions(render):
    plain, above = render(), render("--camera", "from above")
    assert np.abs(plain - above).max() > 50
    assert (render("--camera", "0.4,5,0.1;0.4,0,0") == above).all()
    assert (render("--camera", "0.4,5,0.1;0.4,0,0;fov=45") == above).all()
    assert (render("--camera", "-0.4,5,0.1;0.4,0,0") != above).any(), "a minus does not make it an option"
    assert (render("--camera", "0.4,5,0.1;0.4,0,0;orthographic") != above).any()


def test_an_invalid_view_is_reported_before_drawing(vertigrad, scene, tmp_path):
    outcome = vertigrad("render", scene, "-o", tmp_path / "out.png", "--camera", "from abve")
    assert outcome.code == 2 and not (tmp_path / "out.png").exists()
    assert outcome.messages == [
        '--camera "from abve": neither a bookmark of the scene nor "x,y,z;x,y,z" (position of the eye; its target), '
        'optionally with ";fov=45" or ";orthographic"; did you mean "from above"?'
    ]


def test_the_copied_command_line_renders_the_same_image(render, steady, scene):
    with Session(steady, scene) as session:
        for command in (Orbit(0.7, 0.3), Parallel(True)):
            session.post(command)
        run_frame(session)
        for _ in range(9):
            session.cameras.advance(0.1)
        line = command_line(session, (96, 64))
        shown_camera = session.camera
        words = shlex.split(line)
    assert "--camera" in words and shown_camera.orthographic
    view = words[words.index("--camera") + 1]
    assert (render("--camera", view) == render("--camera", view, name="again.png")).all()
    with Session(steady, scene) as session:
        session.cameras.jump(shown_camera)
        from vertigrad.headless import render as draw

        draw(session, 1, (96, 64), [scene.parent / "session.png"])
    assert (
        np.abs(render("--camera", view) - np.asarray(Image.open(scene.parent / "session.png")).astype(int)).max() <= 1
    )


def test_the_turntable_turns_by_video_time(vertigrad, scene, tmp_path):
    options = ("--camera", "2,2,4;0.4,0,0", *SIZE)
    still = vertigrad("render", scene, "-o", tmp_path / "still.png", *options)
    turning = vertigrad("render", scene, "-o", tmp_path / "f%02d.png", *options, "--frames", "31", "--turntable", "90")
    assert still.code == turning.code == 0
    images = [np.asarray(Image.open(path)).astype(int) for path in sorted(tmp_path.glob("f*.png"))]
    assert (images[0] == np.asarray(Image.open(tmp_path / "still.png"))).all(), "it begins where it stands"
    camera = OrbitCamera.from_position((2, 2, 4), (0.4, 0, 0))
    camera.orbit(math.radians(45), 0.0)
    there = vertigrad(
        "render", scene, "-o", tmp_path / "there.png", *SIZE, "--camera", camera_text(camera), "--frames", "31"
    )
    assert there.code == 0
    assert np.abs(images[30] - np.asarray(Image.open(tmp_path / "there.png"))).max() <= 1, "half a second later"
    assert vertigrad("render", scene, "-o", tmp_path / "x.png", "--turntable", "nan").code == 2


def test_no_background(render):
    cut = render("--transparent")
    assert cut.shape == (64, 96, 4) and cut[..., 3].min() == 0 and cut[..., 3].max() > 100
    assert render().shape == (64, 96, 3)


def test_a_video_has_no_alpha(vertigrad, scene, tmp_path):
    outcome = vertigrad("render", scene, "-o", tmp_path / "out.mp4", *SIZE, "--transparent")
    assert outcome.code == 2 and outcome.messages == [
        f"{tmp_path / 'out.mp4'}: a video has no alpha; transparent images are written as .png and .webp"
    ]

"""Bookmarks, and cameras as text."""

import math
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad.errors import InputError
from vertigrad.renderer import OrbitCamera
from vertigrad.renderer.camera import MAX_PITCH
from vertigrad.scene.viewpoints import camera_from, camera_text, entries, home, marked

SCENE = """
version = 1

[camera]
position = [3, -11, 15]
target = [0, 1, 0]
up = "z"
fov = 40
{camera}

[camera.bookmarks."from above"]
position = [0, 0, 20]
target = [0, 0, 1]

[camera.bookmarks.near]
position = [1, 2, 3]
target = [1, 2.5, 3]
fov = 70
orthographic = {near}

[models.galaxy]
type = "nbody"
"""


@pytest.fixture
def scene(load):
    def read(camera="", near="true"):
        return load(SCENE.format(camera=camera, near=near))

    return read


position = st.tuples(*[st.floats(-1e4, 1e4)] * 3)


@st.composite
def cameras(draw):
    return OrbitCamera(
        target=draw(position),
        distance=draw(st.floats(0.01, 1e4)),
        yaw=draw(st.floats(-3.14, 3.14)),
        pitch=draw(st.floats(-1.55, 1.55) | st.sampled_from([-MAX_PITCH, MAX_PITCH])),
        fov=draw(st.floats(1, 170)),
        up="z",
        orthographic=draw(st.booleans()),
    )


def same(a, b, tolerance):
    """Whether the target and its surroundings are at the same positions in both images."""
    turned = np.abs(a.rotation() - b.rotation()).max()
    moved = np.linalg.norm(np.subtract(a.target, b.target)) / a.distance
    return max(turned, moved, abs(math.log(a.distance / b.distance)), abs(a.fov - b.fov)) < tolerance


def test_bookmarks_by_name_with_omitted_values_of_the_camera(scene):
    found = scene()
    above, near = (marked(found, found.bookmarks[name]) for name in ("from above", "near"))
    assert list(found.bookmarks) == ["from above", "near"]
    assert (above.target, above.distance, above.fov, above.up, above.orthographic) == ((0, 0, 1), 19, 40, "z", False)
    assert above.position == pytest.approx((0, 0, 20), abs=1e-2)
    assert (near.fov, near.orthographic) == (70, True)
    parallel = scene("orthographic = true", "false")
    assert home(parallel).orthographic and marked(parallel, parallel.bookmarks["from above"]).orthographic
    assert not marked(parallel, parallel.bookmarks["near"]).orthographic


@given(cameras())
def test_a_camera_reported_is_the_same_camera(camera):
    found = _scene_of_z()
    again = camera_from(camera_text(camera), found)
    assert again.orthographic == camera.orthographic
    assert same(camera, again, 1e-6)


@given(cameras())
def test_a_camera_as_the_scene_file_has_it(camera):
    """Rounded to far less than a pixel."""
    saved = entries(camera)
    again = OrbitCamera.from_position(saved["position"], saved["target"], saved["fov"], "z", saved["orthographic"])
    assert same(camera, again, 2e-4)
    assert all(len(repr(value)) < 20 for key in ("position", "target") for value in saved[key])


class _scene_of_z:  # noqa: N801
    """The parts of a scene that a camera as text needs."""

    class camera:  # noqa: N801
        fov, orthographic, up = 45.0, False, "z"

    bookmarks = MappingProxyType({})


def test_a_bookmark_is_selected_by_its_name(scene):
    found = scene()
    assert camera_from("from above", found) == marked(found, found.bookmarks["from above"])


@pytest.mark.parametrize("text", ["1,2,3;0,0,0", " 1, 2 ,3 ; 0,0,0 "])
def test_omitted_values_are_those_of_the_scene(scene, text):
    camera = camera_from(text, scene())
    assert (camera.fov, camera.up, camera.orthographic) == (40, "z", False)
    assert camera.position == pytest.approx((1, 2, 3))
    assert camera_from(text, scene("orthographic = true")).orthographic
    assert not camera_from(f"{text};fov=30", scene("orthographic = true")).orthographic


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("from abov", 'did you mean "from above"'),
        ("", "neither a bookmark"),
        ("1,2,3", "neither a bookmark"),
        ("1,2;3,4", 'expected 3 numbers, got "1,2"'),
        ("1,2,3;4,5,x", 'expected 3 numbers, got "4,5,x"'),
        ("1,2,3;4,5,6;fov=", 'expected 1 number, got ""'),
        ("1,2,3;4,5,6;fov=0", "below the minimum"),
        ("1,2,3;4,5,inf", "finite"),
        ("1,2,3;4,5,6;ortho", "neither fov=DEGREES nor orthographic"),
        ("1,2,3;1,2,3", "same point"),
    ],
)
def test_invalid_cameras(scene, text, problem):
    with pytest.raises(InputError, match=problem) as raised:
        camera_from(text, scene())
    assert str(raised.value).startswith("--camera ") and raised.value.exit_code == 2

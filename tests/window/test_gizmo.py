"""Places of the scene are moved by arrows in the picture, with the mouse."""

import numpy as np
import pytest

from vertigrad.models import registry
from vertigrad.panels.docks import Rect
from vertigrad.panels.gizmo import REACH, corners, finite_projection, is_near
from vertigrad.params import Params, number, vector
from vertigrad.renderer.camera import OrbitCamera
from vertigrad.session.commands import Undo
from vertigrad.session.parameters import Key

from ..session.running import LINKED, Rising, Scaled, written

SCENE = """
version = 1
[camera]
position = [0, 0, 8]
[models.row]
type = "hill"
[layers.dots]
type = "points"
position = "row.position"
size = 0.05
"""
PLACE = Key("models.row", "place")
REBUILT = Key("models.row", "anchor")


class Hill(Rising):
    """A row of points with two places that nothing depends on."""

    class Params(Rising.Params):
        place: tuple[float, float, float] = vector((0.5, 0.0, 0.0), gizmo="position", min=-3.0, max=3.0, doc="a place")
        anchor: tuple[float, float, float] = vector((0.0, 0.0, 0.0), gizmo="position", rebuild=True)
        drift: tuple[float, float, float] = vector((0.0, 0.0, 0.0))


@pytest.fixture
def hill(opened, tmp_path, monkeypatch):
    known = {"hill": Hill, "rising": Rising, "scaled": Scaled}
    monkeypatch.setattr(registry, "types", lambda: known)
    monkeypatch.setattr(Rising, "built", 0)
    return lambda **options: opened(written(tmp_path, SCENE), size=(1000, 700), **options)


def shown(driver, key=PLACE):
    driver.viewer.gui.workspace.gizmo = key
    driver.frames()
    gui = driver.viewer.gui
    return corners(driver.session.camera, value(driver, key), gui.viewport, REACH * gui.scale)


def value(driver, key=PLACE):
    return getattr(driver.session.parameters()[key.owner], key.name)


def beside(place, x, y):
    return place[0] + x, place[1] + y


def along(driver, start, end):
    """Drag from one place of the screen to another; returns where it stood halfway."""
    driver.hold(start)
    for share in (0.1, 0.3, 0.5):
        driver.desktop.move(*(np.asarray(start) + share * (np.asarray(end) - start)))
        driver.frames(2)
    halfway = value(driver)
    for share in (0.7, 0.9, 1.0):
        driver.desktop.move(*(np.asarray(start) + share * (np.asarray(end) - start)))
        driver.frames(2)
    driver.desktop.release()
    driver.frames()
    return halfway


def test_an_arrow_is_dragged_in_one_step(hill):
    driver = hill()
    middle, right = shown(driver)[:2]
    camera = driver.session.camera.position
    start = middle + 0.75 * (right - middle)
    halfway = along(driver, start, beside(start, 60.0, 0.0))
    x, y, z = value(driver)
    per_pixel = driver.session.camera.pixel(driver.viewer.gui.viewport.height) * 8.0
    assert x == pytest.approx(0.5 + 60.0 * per_pixel, rel=0.05), "as far as the mouse went"
    assert (y, z) == (0.0, 0.0), "along its axis only"
    assert 0.5 < halfway[0] < x, "it moves while it is dragged"
    assert driver.session.camera.position == camera, "the camera stays"
    assert driver.session.selection.row is None and not driver.session.selection.pending
    driver.session.post(Undo())
    driver.frames()
    assert value(driver) == (0.5, 0.0, 0.0), "one step of the history"
    assert not driver.session.tweaks.history.done


def test_two_drags_are_two_steps_and_limits_hold(hill):
    driver = hill()
    for _ in range(2):
        middle, right = shown(driver)[:2]
        start = middle + 0.75 * (right - middle)
        along(driver, start, beside(start, 40.0, 0.0))
    assert len(driver.session.tweaks.history.done) == 2
    middle, right = shown(driver)[:2]
    start = middle + 0.75 * (right - middle)
    along(driver, start, beside(start, -460.0, 0.0))
    assert value(driver)[0] == -3.0
    assert not driver.session.messages


def test_a_place_that_rebuilds_waits_for_the_release(hill):
    driver = hill()
    middle, _, up, _ = shown(driver, REBUILT)
    start, built = middle + 0.75 * (up - middle), Rising.built
    driver.hold(start)
    driver.carry(start, beside(start, 0.0, -50.0))
    assert (value(driver, REBUILT), Rising.built) == ((0.0, 0.0, 0.0), built)
    driver.desktop.release()
    driver.frames()
    assert value(driver, REBUILT)[1] > 0.1
    assert Rising.built == built + 1
    assert len(driver.session.tweaks.history.done) == 1


def test_a_press_in_the_frame_of_the_move_is_the_gizmos(hill):
    """The mouse crosses the screen and presses before another frame is drawn."""
    driver = hill()
    middle, right = shown(driver)[:2]
    camera = driver.session.camera.position
    driver.desktop.move(5, 400)
    driver.frames()
    place = middle + 0.75 * (right - middle)
    driver.desktop.xdotool("mousemove", round(place[0]), round(place[1]), "mousedown", 1)
    driver.frames(2)
    driver.carry(place, beside(place, 0.0, 90.0))
    driver.desktop.release()
    driver.frames()
    assert driver.session.camera.position == camera


def test_elsewhere_the_mouse_is_the_cameras(hill):
    driver = hill()
    middle = shown(driver)[0]
    camera = driver.session.camera.position
    driver.drag(beside(middle, -150.0, 120.0), beside(middle, -90.0, 120.0))
    assert driver.session.camera.position != camera
    assert value(driver) == (0.5, 0.0, 0.0)


def test_the_button_in_the_panel(hill, items):
    driver = hill()
    assert driver.viewer.gui.workspace.gizmo is None
    plain = driver.picture()
    driver.click(items.at("##gizmo"))
    assert driver.viewer.gui.workspace.gizmo in (PLACE, REBUILT)
    driver.desktop.move(0, 0)
    view = driver.viewer.gui.viewport
    over = slice(view.top, view.top + view.height), slice(view.left, view.left + view.width)
    assert (np.abs(driver.picture() - plain)[over].max(axis=2) > 60).sum() > 200, "arrows"
    driver.click(items.at("##gizmo"))
    assert driver.viewer.gui.workspace.gizmo is None


def test_it_goes_with_its_scene(hill, tmp_path):
    driver = hill()
    x, y = shown(driver)[0]
    assert driver.viewer.gui.covers(x, y)
    driver.session.reload(written(tmp_path, LINKED, "other.toml"))
    driver.frames()
    assert not driver.viewer.gui.covers(x, y)


@pytest.mark.parametrize("orthographic", [False, True])
def test_where_the_arrows_are(orthographic):
    camera = OrbitCamera((1.0, 2.0, 3.0), 6.0, 0.4, 0.3, 50.0, "y", orthographic)
    picture = Rect(100, 50, 800, 400)
    found = corners(camera, camera.target, picture, 50.0)
    assert found[0] == pytest.approx((500.0, 250.0)), "the target is in the middle"
    right, up, _ = camera.rotation().T
    lengths = np.hypot(*(found[1:] - found[0]).T)
    assert lengths.max() <= 50.0 * 1.2 and lengths.min() > 5.0
    flat = found[1:] - found[0]
    assert flat == pytest.approx(50.0 * np.column_stack([right, -up]), abs=0 if orthographic else 8.0, rel=1e-6)
    both = camera.projection(2.0), finite_projection(camera, 2.0)
    points = np.array([[0.3, -0.2, -5.0, 1.0], [1.0, 1.0, -9.0, 1.0]])
    one, other = ((points @ matrix.T)[:, :2] / (points @ matrix.T)[:, 3:] for matrix in both)
    assert one == pytest.approx(other)


def test_what_is_near():
    arrows = np.array([(100.0, 100.0), (180.0, 100.0), (100.0, 20.0), (60.0, 130.0)])
    assert is_near(arrows, 100, 100, 11) and is_near(arrows, 178, 105, 11) and is_near(arrows, 150, 60, 11)
    assert not is_near(arrows, 200, 100, 11) and not is_near(arrows, 140, 140, 11) and not is_near(arrows, 176, 30, 11)


def test_behind_the_eye_there_is_none():
    camera = OrbitCamera((0.0, 0.0, 0.0), 5.0)
    assert corners(camera, (0.0, 0.0, 9.0), Rect(0, 0, 100, 100), 50.0) is None
    assert corners(camera, (0.0, 0.0, 4.0), Rect(0, 0, 100, 100), 50.0) is not None


def test_only_three_numbers_are_a_place():
    with pytest.raises(TypeError, match="3 numbers, not 2"):

        class Flat(Params):
            spot: tuple[float, float] = vector((0.0, 0.0), length=2, gizmo="position")
            height: float = number(0.0)

"""Positions of the scene are moved with the mouse, by arrows in the viewport."""

import numpy as np
import pytest

from vertigrad.models import registry
from vertigrad.panels.gizmo import MIDDLE, PLANES, REACH, Grip, dragged, ends, part_at
from vertigrad.params import Params, number, vector
from vertigrad.renderer.camera import OrbitCamera
from vertigrad.session.commands import Undo
from vertigrad.session.parameters import Key
from vertigrad.session.tool import ray

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
POSITION = Key("models.row", "position")
REBUILT = Key("models.row", "anchor")


class Hill(Rising):
    """A row of points with two unused position parameters."""

    class Params(Rising.Params):
        position: tuple[float, float, float] = vector(
            (0.5, 0.0, 0.0), gizmo="position", min=-3.0, max=3.0, doc="a position"
        )
        anchor: tuple[float, float, float] = vector((0.0, 0.0, 0.0), gizmo="position", rebuild=True)
        drift: tuple[float, float, float] = vector((0.0, 0.0, 0.0))


@pytest.fixture
def hill(opened, tmp_path, monkeypatch):
    known = {"hill": Hill, "rising": Rising, "scaled": Scaled}
    monkeypatch.setattr(registry, "types", lambda: known)
    monkeypatch.setattr(Rising, "built", 0)
    return lambda **options: opened(written(tmp_path, SCENE), size=(1000, 700), **options)


def shown(driver, key=POSITION):
    driver.viewer.gui.workspace.gizmo = key
    driver.frames()
    gui = driver.viewer.gui
    left, top, *size = gui.viewport
    return ends(driver.session.camera, value(driver, key), tuple(size), REACH * gui.scale)[:, :2] + (left, top)


def value(driver, key=POSITION):
    return getattr(driver.session.parameters()[key.owner], key.name)


def offset(position, x, y):
    return position[0] + x, position[1] + y


def along(driver, start, end):
    """Drag from one position of the screen to another; return its value halfway."""
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


@pytest.mark.turns(2)
def test_an_arrow_is_dragged_in_one_step(hill):
    driver = hill()
    middle, right = shown(driver)[:2]
    camera = driver.session.camera.position
    start = middle + 0.75 * (right - middle)
    halfway = along(driver, start, offset(start, 60.0, 0.0))
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
    assert not driver.session.scene_edits.history.done


@pytest.mark.turns(2)
def test_two_drags_are_two_steps_and_limits_apply(hill):
    driver = hill()
    for _ in range(2):
        middle, right = shown(driver)[:2]
        start = middle + 0.75 * (right - middle)
        along(driver, start, offset(start, 40.0, 0.0))
    assert len(driver.session.scene_edits.history.done) == 2
    middle, right = shown(driver)[:2]
    start = middle + 0.75 * (right - middle)
    along(driver, start, offset(start, -460.0, 0.0))
    assert value(driver)[0] == -3.0
    assert not driver.session.messages


@pytest.mark.turns(2)
def test_a_position_that_rebuilds_is_set_at_the_release(hill):
    driver = hill()
    middle, _, up, _ = shown(driver, REBUILT)
    start, built = middle + 0.75 * (up - middle), Rising.built
    driver.hold(start)
    driver.carry(start, offset(start, 0.0, -50.0))
    assert (value(driver, REBUILT), Rising.built) == ((0.0, 0.0, 0.0), built)
    driver.desktop.release()
    driver.frames()
    assert value(driver, REBUILT)[1] > 0.1
    assert Rising.built == built + 1
    assert len(driver.session.scene_edits.history.done) == 1


@pytest.mark.turns(2)
def test_a_press_in_the_frame_of_the_move_goes_to_the_gizmo(hill):
    """The mouse crosses the screen and presses before another frame is drawn."""
    driver = hill()
    middle, right = shown(driver)[:2]
    camera = driver.session.camera.position
    driver.desktop.move(5, 400)
    driver.frames()
    position = middle + 0.75 * (right - middle)
    driver.desktop.xdotool("mousemove", round(position[0]), round(position[1]), "mousedown", 1)
    driver.frames(2)
    driver.carry(position, offset(position, 0.0, 90.0))
    driver.desktop.release()
    driver.frames()
    assert driver.session.camera.position == camera


@pytest.mark.turns(2)
def test_elsewhere_the_mouse_moves_the_camera(hill):
    driver = hill()
    middle = shown(driver)[0]
    camera = driver.session.camera.position
    driver.drag(offset(middle, -150.0, 120.0), offset(middle, -90.0, 120.0))
    assert driver.session.camera.position != camera
    assert value(driver) == (0.5, 0.0, 0.0)


@pytest.mark.turns(2)
def test_the_button_in_the_panel(hill, items):
    driver = hill()
    assert driver.viewer.gui.workspace.gizmo is None
    plain = driver.image()
    driver.click(items.at("##gizmo"))
    assert driver.viewer.gui.workspace.gizmo in (POSITION, REBUILT)
    driver.desktop.move(0, 0)
    view = driver.viewer.gui.viewport
    over = slice(view.top, view.top + view.height), slice(view.left, view.left + view.width)
    assert (np.abs(driver.image() - plain)[over].max(axis=2) > 60).sum() > 200, "arrows"
    driver.click(items.at("##gizmo"))
    assert driver.viewer.gui.workspace.gizmo is None


def test_the_gizmo_is_hidden_in_another_scene(hill, tmp_path):
    driver = hill()
    x, y = shown(driver)[0]
    assert driver.viewer.gui.covers(x, y)
    driver.session.reload(written(tmp_path, LINKED, "other.toml"))
    driver.frames()
    assert not driver.viewer.gui.covers(x, y)


@pytest.mark.parametrize("orthographic", [False, True])
def test_positions_of_the_arrows(orthographic):
    camera = OrbitCamera((1.0, 2.0, 3.0), 6.0, 0.4, 0.3, 50.0, "y", orthographic)
    found = ends(camera, camera.target, (800, 400), 50.0)
    assert found[0, :2] == pytest.approx((400.0, 200.0)), "the target is in the middle"
    right, up, back = camera.rotation().T
    lengths = np.hypot(*(found[1:, :2] - found[0, :2]).T)
    assert lengths.max() <= 50.0 * 1.2 and lengths.min() > 5.0
    flat = found[1:, :2] - found[0, :2]
    assert flat == pytest.approx(50.0 * np.column_stack([right, -up]), abs=0 if orthographic else 8.0, rel=1e-6)
    assert (np.sign(found[1:, 2] - found[0, 2]) == np.sign(back)).all(), "depth is larger nearer to the eye"


def test_the_arrow_under_the_mouse():
    arrows = np.array([(100.0, 100.0), (180.0, 100.0), (100.0, 20.0), (60.0, 130.0)])
    at = lambda x, y: part_at(arrows, x, y, 1.0)  # noqa: E731
    assert at(100, 100) == at(106, 104) == MIDDLE
    assert at(178, 105) == 0 and at(96, 40) == 1 and at(70, 122) == 2
    assert at(130, 70) == PLANES + 2, "between x and y: the plane across z"
    assert at(85, 81) == PLANES + 0 and at(117, 113) == PLANES + 1
    assert all(at(*position) is None for position in ((200, 100), (150, 140), (176, 30), (150, 60)))
    away = np.array([(100.0, 100.0), (103.0, 100.0), (100.0, 20.0), (60.0, 130.0)])
    assert part_at(away, 112, 100, 1.0) is None, "an arrow seen end-on"


@pytest.mark.parametrize("orthographic", [False, True])
@pytest.mark.parametrize("part", range(7))
def test_the_dragged_position_stays_under_the_mouse(part, orthographic):
    camera = OrbitCamera((0.0, 0.0, 0.0), 6.0, 0.6, 0.5, 50.0, "y", orthographic)
    position, size = (0.4, -0.2, 0.1), (800, 400)
    start = ends(camera, position, size, 50.0)[0, :2]
    lines = {0: (1, 0, 0), 1: (0, 1, 0), 2: (0, 0, 1), 3: (0, 1, -2), 4: (1, 0, 3), 5: (2, -1, 0)}
    direction = np.array(lines.get(part, camera.rotation()[:, 0]), float)
    goal = np.array(position) + 0.3 * direction
    cursor = ends(camera, tuple(goal), size, 50.0)[0, :2]
    grip = Grip(part, position, ray(camera, tuple(start), size))
    assert dragged(grip, ray(camera, tuple(cursor), size), camera) == pytest.approx(tuple(goal), abs=1e-9)


def test_a_line_of_sight_along_the_arrow_moves_nothing():
    camera = OrbitCamera((0.0, 0.0, 0.0), 5.0)
    grip = Grip(2, (0.0, 0.0, 0.0), ray(camera, (200, 200), (400, 400)))
    assert dragged(grip, ray(camera, (200, 200), (400, 400)), camera) is None
    flat = Grip(PLANES + 1, (0.0, 0.0, 0.0), ray(camera, (200, 200), (400, 400)))
    assert dragged(flat, ray(camera, (200, 260), (400, 400)), camera) is None
    behind = Grip(0, (0.0, 0.0, 9.0), ray(camera, (200, 200), (400, 400)))
    assert dragged(behind, ray(camera, (260, 200), (400, 400)), camera) is None


def test_behind_the_eye_there_is_no_gizmo():
    camera = OrbitCamera((0.0, 0.0, 0.0), 5.0)
    assert ends(camera, (0.0, 0.0, 9.0), (100, 100), 50.0) is None
    assert ends(camera, (0.0, 0.0, 4.0), (100, 100), 50.0) is not None


def test_only_vectors_of_three_have_a_gizmo():
    with pytest.raises(TypeError, match="3 components, not 2"):

        class Flat(Params):
            spot: tuple[float, float] = vector((0.0, 0.0), length=2, gizmo="position")
            height: float = number(0.0)

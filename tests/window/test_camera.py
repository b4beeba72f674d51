"""The mouse on the viewport moves the camera, and nothing else."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from vertigrad.panels import axes

from .desktop import MIDDLE, RIGHT, WHEEL_DOWN, WHEEL_UP
from .driver import Rows

CENTER, ASIDE = (320, 300), (400, 340)


def test_left_drag_orbits_the_target_and_h_resets_the_camera(opened):
    driver = opened(panels=False)
    camera, home = driver.session.camera, driver.image()
    yaw, pitch, target = camera.yaw, camera.pitch, camera.target
    driver.drag(CENTER, ASIDE)
    assert camera.yaw < yaw and camera.pitch > pitch and camera.target == target  # the scene follows the mouse
    turned = driver.image()
    assert abs(turned - home).mean() > 2.0
    driver.key("h")
    driver.frames_until(lambda: not driver.session.cameras.moving, most=400)
    assert driver.session.camera.yaw == pytest.approx(yaw)
    assert (driver.image() == home).all()


@pytest.mark.turns(2)
@pytest.mark.parametrize("button", [RIGHT, MIDDLE])
def test_right_or_middle_drag_moves_the_image_with_the_mouse(opened, button):
    driver = opened(panels=False)
    camera, before = driver.session.camera, driver.image()
    yaw, distance = camera.yaw, camera.distance
    driver.drag(CENTER, ASIDE, button)
    assert camera.target != (0.0, -0.06, 0.0) and (camera.yaw, camera.distance) == (yaw, distance)
    after = driver.image()
    # Points at the depth of the target have moved with the mouse: (80, 40) pixels.
    assert abs(after[190:210, 390:410] - before[150:170, 310:330]).mean() < abs(after - before).mean()


def test_shift_turns_a_left_drag_into_a_pan(opened):
    driver = opened(panels=False)
    yaw, target = driver.session.camera.yaw, driver.session.camera.target
    driver.desktop.xdotool("keydown", "shift")
    driver.drag(CENTER, ASIDE)
    driver.desktop.xdotool("keyup", "shift")
    assert driver.session.camera.yaw == yaw and driver.session.camera.target != target


def test_wheel_zooms_towards_the_mouse(opened):
    driver = opened(panels=False)
    camera, before = driver.session.camera, driver.image()
    distance, target = camera.distance, camera.target
    driver.desktop.move(*CENTER)
    driver.desktop.click(WHEEL_UP, times=3)
    driver.frames()
    assert camera.distance == pytest.approx(distance / 1.15**3) and camera.target != target
    assert abs(driver.image() - before).mean() > 2.0
    driver.desktop.click(WHEEL_DOWN, times=3)
    driver.frames()
    assert camera.distance == pytest.approx(distance)
    assert_allclose(camera.target, target, atol=1e-9)


def test_drag_and_wheel_on_a_panel_do_not_move_the_camera(opened, rows: Rows):
    driver = opened()
    before, camera = driver.image(), vars(driver.session.camera).copy()
    panel = rows.rects["height"]
    driver.drag((panel[0] - 30, panel[1]), (panel[0] - 60, panel[1] + 90))  # on its background
    driver.desktop.click(WHEEL_DOWN, times=3)
    driver.frames()
    assert vars(driver.session.camera) == camera
    middle = slice(60, 390), slice(220, 420)  # of the window, without panels
    assert (driver.image()[middle] == before[middle]).all()


def test_a_drag_that_begins_on_the_viewport_continues_over_a_panel(opened, rows: Rows):
    driver = opened()
    yaw, height = driver.session.camera.yaw, driver.session.stage.instances["terrain"].params.height
    driver.hold(CENTER)
    driver.carry(CENTER, rows.at("height", 0.1))
    there = driver.session.camera.yaw
    assert there < yaw
    driver.carry(rows.at("height", 0.1), rows.at("height", 0.9))  # all of it over the panel
    assert driver.session.camera.yaw < there
    driver.desktop.release()
    driver.frames()
    assert driver.session.stage.instances["terrain"].params.height == height


def test_a_drag_that_begins_on_a_slider_continues_over_the_viewport(opened, rows: Rows):
    driver = opened()
    camera = vars(driver.session.camera).copy()
    driver.drag(rows.at("height"), CENTER)
    assert vars(driver.session.camera) == camera
    assert driver.session.stage.instances["terrain"].params.height == 0.0  # the slider's low end


def test_mouse_faster_than_the_frames(opened, rows: Rows):
    """All events arrive in one frame: from the viewport to a panel, press, drag, release; and in reverse."""
    driver = opened()
    (x, y), camera = rows.at("height", 0.2), vars(driver.session.camera).copy()
    driver.desktop.move(*CENTER)
    driver.frames()
    driver.desktop.xdotool("mousemove", int(x), int(y), "mousedown", 1, "mousemove", int(x) + 20, int(y), "mouseup", 1)
    driver.frames(8)
    assert vars(driver.session.camera) == camera
    driver.desktop.xdotool("mousemove", *CENTER, "mousedown", 1, "mousemove", *ASIDE, "mouseup", 1)
    driver.frames(8)
    assert driver.session.camera.yaw != camera["yaw"]


def test_a_second_button_neither_ends_nor_changes_a_drag(opened):
    driver = opened(panels=False)
    target, yaw = driver.session.camera.target, driver.session.camera.yaw
    driver.hold(CENTER)
    driver.desktop.press(RIGHT)
    driver.frames()
    driver.desktop.release(RIGHT)
    driver.frames()
    driver.carry(CENTER, ASIDE)
    driver.desktop.release()
    assert driver.session.camera.target == target and driver.session.camera.yaw < yaw
    turned = driver.session.camera.yaw
    driver.desktop.move(*CENTER)
    driver.frames()
    assert driver.session.camera.yaw == turned


# further navigation -----------------------------------------------------------------------------------------------


def arrive(driver):
    """Wait until the camera's transition ends."""
    driver.frames_until(lambda: not driver.session.cameras.moving, most=400)


def holding(driver, *keys):
    for key in keys:
        driver.desktop.xdotool("keydown", key)
    driver.frames()


def letting_go(driver, *keys):
    for key in keys:
        driver.desktop.xdotool("keyup", key)
    driver.frames()


@pytest.mark.turns(2)
def test_flight_keys_fly_while_the_right_button_is_held_and_the_mouse_looks_around(opened):
    driver = opened(panels=False)
    camera = driver.session.camera
    eye, forward = np.array(camera.position), -camera.rotation()[:, 2]
    holding(driver, "w")
    assert camera.position == pytest.approx(eye), "not without the button"
    letting_go(driver, "w")
    driver.hold(CENTER, RIGHT)
    holding(driver, "w")
    moved = camera.position - eye
    assert moved @ forward > 0.9 * np.linalg.norm(moved) > 0.001
    letting_go(driver, "w")
    eye, yaw = np.array(camera.position), camera.yaw
    driver.carry(CENTER, ASIDE)
    assert camera.position == pytest.approx(eye) and camera.yaw < yaw, "to the right, from where it stands"
    driver.desktop.click(WHEEL_UP, times=3)
    holding(driver, "e")
    assert driver.session.cameras.thrust == (0, 1, 0)
    holding(driver, "shift")
    assert driver.session.cameras.thrust == (0, 4, 0)
    driver.desktop.release(RIGHT)
    driver.frames()
    assert driver.session.cameras.thrust == (0, 0, 0), "the button ends the flight"
    letting_go(driver, "e", "shift")
    driver.drag(CENTER, ASIDE, RIGHT)
    assert camera.yaw < yaw, "a right drag without keys moves sideways again"


@pytest.mark.turns(2)
def test_flight_mode_needs_no_button(opened):
    driver = opened(panels=False)
    camera, pace = driver.session.camera, driver.session.cameras.fly_speed
    driver.key("v")
    holding(driver, "d", "q")
    assert driver.session.cameras.thrust == (1, -1, 0)
    letting_go(driver, "d", "q")
    eye, yaw = np.array(camera.position), camera.yaw
    driver.drag(CENTER, ASIDE)
    assert camera.position == pytest.approx(eye) and camera.yaw < yaw
    driver.desktop.move(*CENTER)
    driver.desktop.click(WHEEL_UP, times=2)
    driver.frames()
    assert driver.session.cameras.fly_speed == pytest.approx(pace * 1.2**2)
    driver.key("v")
    driver.drag(CENTER, ASIDE)
    assert camera.position != pytest.approx(eye), "circles again"


def test_wheel_with_shift_pans_sideways_and_with_alt_orbits(opened):
    driver = opened(panels=False)
    camera = driver.session.camera
    distance, yaw, target = camera.distance, camera.yaw, np.array(camera.target)
    driver.desktop.move(*CENTER)
    holding(driver, "shift")
    driver.desktop.click(WHEEL_UP, times=2)
    driver.frames()
    letting_go(driver, "shift")
    assert (camera.distance, camera.yaw) == (distance, yaw)
    assert (camera.target - target) @ camera.rotation()[:, 1] == pytest.approx(2 * 0.04 * 2 * camera.half_height)
    pitch, target = camera.pitch, camera.target
    holding(driver, "alt")
    driver.desktop.click(WHEEL_DOWN)
    driver.frames()
    letting_go(driver, "alt")
    assert camera.pitch < pitch and camera.target == target
    driver.desktop.click(6)  # two fingers, sideways
    driver.frames()
    assert camera.target != target and camera.distance == pytest.approx(distance)


@pytest.mark.turns(2)
def test_keys_for_axis_aligned_and_previous_views(opened):
    driver = opened(panels=False)
    camera = driver.session.camera
    yaw = camera.yaw
    for key, expected in (("1", 0.0), ("3", math.pi / 2), ("shift+3", -math.pi / 2)):
        driver.key(key)
        arrive(driver)
        assert (camera.yaw, camera.pitch) == pytest.approx((expected, 0.0))
    driver.key("7")
    arrive(driver)
    assert camera.pitch > 1.57
    for _ in range(4):
        driver.key("BackSpace")
        arrive(driver)
    assert camera.yaw == pytest.approx(yaw)
    driver.key("o")
    arrive(driver)
    assert camera.orthographic
    driver.key("t")
    driver.frames_until(lambda: camera.yaw != pytest.approx(yaw), most=50)
    driver.key("t")
    assert driver.session.cameras.turntable == 0


def test_frame_everything_by_key(opened):
    driver = opened("neural_field", "camera.target=[50,0,0]", "camera.position=[50,0,9]", panels=False)
    driver.key("f")
    driver.frames_until(lambda: driver.session.cameras._transition is not None, most=60)
    arrive(driver)
    assert_allclose(driver.session.camera.target, (0, 0, 0), atol=0.2)
    before = driver.image()
    assert before.std() > 20, "there it is"


def test_keys_do_not_move_the_camera_while_typing(opened, rows: Rows):
    driver = opened()
    before = vars(driver.session.camera).copy()
    driver.type_into(rows.at("height"), "0.137")
    driver.key("Return")
    driver.frames()
    assert vars(driver.session.camera) == before and not driver.session.cameras.moving


@pytest.mark.turns(2)
def test_a_click_on_an_axis_looks_along_it_and_a_drag_turns(opened):
    driver = opened()
    camera, viewport = driver.session.camera, driver.viewer.gui.viewport
    side = 2 * (axes.RADIUS + axes.BALL + 3)
    middle = viewport.left + viewport.width - axes.MARGIN - side / 2, viewport.top + axes.MARGIN + side / 2

    def position(axis, sign):
        (end,) = (end for end in axes.ends(camera) if (end.axis, end.sign) == (axis, sign))
        return middle[0] + end.x * axes.RADIUS, middle[1] + end.y * axes.RADIUS

    for axis, sign in ((0, 1), (2, -1), (1, 1)):
        driver.click(position(axis, sign))
        arrive(driver)
        direction = (np.array(camera.position) - camera.target) / camera.distance
        assert direction[axis] * sign == pytest.approx(1, abs=1e-3)
        driver.key("h")
        arrive(driver)
    yaw, target = camera.yaw, camera.target
    driver.drag(middle, (middle[0] - 60, middle[1] + 20))
    assert camera.yaw > yaw and camera.target == target
    assert driver.session.selection.row is None, "and is not a click on the viewport"


def test_losing_the_keyboard_ends_flight_and_drag(opened):
    driver = opened(panels=False)
    driver.key("v")
    holding(driver, "w")
    assert driver.session.cameras.thrust == (0, 0, 1)
    driver.viewer._events.focus(False)
    driver.frames()
    assert driver.session.cameras.thrust == (0, 0, 0)
    letting_go(driver, "w")
